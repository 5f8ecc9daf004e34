"""hoodie.properties: the configuration of a table.

Names and defaults are those of Hudi's `HoodieTableConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import MappingProxyType

from pyhudi_expr.errors import HudiError, TableNotFound, UnsupportedTable
from pyhudi_expr.tables import config_keys
from pyhudi_expr.tables.hudi_names import (
    HOODIE_DIR,
    INDEX_DEFINITIONS_FILE,
    PROPERTIES_BACKUP_FILE,
    PROPERTIES_FILE,
)
from pyhudi_expr.tables.parsing.budget import PROPERTIES_BYTES, check_file_size
from pyhudi_expr.tables.properties_text import parse_properties
from pyhudi_expr.tables.storage import Storage

SUPPORTED_VERSIONS = frozenset({6, 8, 9})


class TableType(Enum):
    """Hudi's table types."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


@dataclass(frozen=True)
class TableProperties:
    """The properties that reading needs, typed. `raw` holds all of them as written."""

    name: str
    table_type: TableType
    version: int
    timeline_layout: int
    partition_fields: tuple[str, ...]
    record_key_fields: tuple[str, ...]
    ordering_fields: tuple[str, ...]
    key_generator: str
    """The key generator's type (SIMPLE, TIMESTAMP ...) or, before version 8, its class name."""
    hive_style_partitioning: bool
    url_encoded_partitions: bool
    meta_fields: bool
    """False: the `_hoodie_*` columns hold nothing (virtual keys)."""
    drop_partition_columns: bool
    """True: base files do not hold the partition columns."""
    merge_mode: str
    merge_strategy_id: str
    payload_class: str
    partial_update_mode: str
    base_file_format: str
    create_schema: str | None
    timeline_path: str
    history_path: str
    timeline_zone: str
    """LOCAL or UTC: the zone in which instants were written."""
    metadata_partitions: frozenset[str]
    """MDT partitions that are complete; those still being built are left out."""
    metadata_partitions_inflight: frozenset[str]
    raw: Mapping[str, str]

    @staticmethod
    def read(storage: Storage) -> TableProperties:
        """Read `.hoodie/hoodie.properties`.

        Raises:
            TableNotFound: There is no such file.
            UnsupportedTable: The table's version is not supported.
        """
        for file in (PROPERTIES_FILE, PROPERTIES_BACKUP_FILE):
            content = storage.read_if_present(file)
            if content is not None:
                break
        else:
            raise TableNotFound(f"{storage.uri}: no Hudi table here ({PROPERTIES_FILE} is missing)")
        check_file_size(f"{storage.uri}/{file}", len(content), PROPERTIES_BYTES)
        try:
            return _parsed(content, storage.uri)
        except ValueError as error:
            raise HudiError(f"{storage.uri}: {file} cannot be read: {error}") from error

    @staticmethod
    def parse(raw: Mapping[str, str], uri: str) -> TableProperties:
        """Parse the properties of the table at `uri` (for messages)."""
        version = _version(raw, uri)
        layout = int(raw.get(config_keys.TIMELINE_LAYOUT_VERSION) or (1 if version < 8 else 2))
        inflight = _names(raw, config_keys.METADATA_PARTITIONS_INFLIGHT)
        complete = _names(raw, config_keys.METADATA_PARTITIONS)
        type_name = raw.get(config_keys.TABLE_TYPE, TableType.COPY_ON_WRITE.value)
        if type_name not in TableType.__members__:
            raise UnsupportedTable(f"{uri}: table type {type_name!r} is not known")
        return TableProperties(
            name=raw.get(config_keys.TABLE_NAME, ""),
            table_type=TableType(type_name),
            version=version,
            timeline_layout=layout,
            partition_fields=tuple(name for name, _ in _partition_fields(raw)),
            record_key_fields=_names(raw, config_keys.RECORDKEY_FIELDS),
            ordering_fields=_names(raw, config_keys.ORDERING_FIELDS)
            or _names(raw, config_keys.PRECOMBINE_FIELD),
            key_generator=raw.get(config_keys.KEY_GENERATOR_TYPE)
            or raw.get(config_keys.KEY_GENERATOR_CLASS, ""),
            hive_style_partitioning=_flag(raw, config_keys.HIVE_STYLE_PARTITIONING),
            url_encoded_partitions=_flag(raw, config_keys.URL_ENCODE_PARTITIONING),
            meta_fields=_flag(raw, config_keys.POPULATE_META_FIELDS, True),
            drop_partition_columns=_flag(raw, config_keys.DROP_PARTITION_COLUMNS),
            merge_mode=raw.get(config_keys.RECORD_MERGE_MODE, ""),
            merge_strategy_id=raw.get(config_keys.RECORD_MERGE_STRATEGY_ID)
            or raw.get("hoodie.compaction.record.merger.strategy", ""),
            payload_class=raw.get(config_keys.PAYLOAD_CLASS, ""),
            partial_update_mode=raw.get(config_keys.PARTIAL_UPDATE_MODE, ""),
            base_file_format=raw.get(config_keys.BASE_FILE_FORMAT, "PARQUET").upper(),
            create_schema=raw.get(config_keys.CREATE_SCHEMA) or None,
            timeline_path=raw.get(config_keys.TIMELINE_PATH, "timeline"),
            history_path=raw.get(config_keys.TIMELINE_HISTORY_PATH, "history"),
            timeline_zone=raw.get(config_keys.TIMELINE_TIMEZONE, "LOCAL").upper(),
            metadata_partitions=frozenset(complete) - frozenset(inflight),
            metadata_partitions_inflight=frozenset(inflight),
            raw=MappingProxyType(dict(raw)),
        )

    @property
    def partition_fields_and_kinds(self) -> tuple[tuple[str, str], ...]:
        """The partition fields, with the types (SIMPLE, TIMESTAMP) of a custom key generator."""
        return _partition_fields(self.raw)

    @property
    def is_partitioned(self) -> bool:
        """Whether the table has partition fields."""
        return bool(self.partition_fields)

    @property
    def index_definitions_path(self) -> str:
        """The file with the definitions of indexes, relative to the base path."""
        return self.raw.get(config_keys.INDEX_DEFINITIONS_PATH) or INDEX_DEFINITIONS_FILE

    @property
    def timeline_dir(self) -> str:
        """The directory of the active timeline, relative to the base path."""
        if self.timeline_layout == 1:
            return HOODIE_DIR
        return f"{HOODIE_DIR}/{self.timeline_path}"


def load_properties(content: bytes) -> Mapping[str, str]:
    """Parse a properties file."""
    return parse_properties(content)


@lru_cache(maxsize=1024)
def _parsed(content: bytes, uri: str) -> TableProperties:
    """Parse a table's properties file. Cached: warm requests read the same content again."""
    return TableProperties.parse(load_properties(content), uri)


def _version(raw: Mapping[str, str], uri: str) -> int:
    text = raw.get(config_keys.TABLE_VERSION, "")
    if not text.isdigit() or int(text) not in SUPPORTED_VERSIONS:
        supported = ", ".join(str(version) for version in sorted(SUPPORTED_VERSIONS))
        remedy = "upgrade the table with Hudi's upgrade command"
        if not text.isdigit():
            remedy = f"{config_keys.TABLE_VERSION} in hoodie.properties must be one of them"
        elif int(text) > max(SUPPORTED_VERSIONS):
            remedy = "a newer pyhudi-expr may read it"
        raise UnsupportedTable(
            f"{uri}: table version {text or 'unknown'} is not supported "
            f"(supported: {supported}); {remedy}"
        )
    return int(text)


def _partition_fields(raw: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the fields without the types that custom key generators append (`field:TYPE`)."""
    fields = (name.partition(":") for name in _names(raw, config_keys.PARTITION_FIELDS))
    return tuple((name, kind.upper()) for name, _, kind in fields)


def _names(raw: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in raw.get(key, "").split(",") if name.strip())


def _flag(raw: Mapping[str, str], key: str, default: bool = False) -> bool:
    text = raw.get(key, "").strip().lower()
    return text == "true" if text else default
