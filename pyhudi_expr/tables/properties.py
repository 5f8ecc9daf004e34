"""hoodie.properties, the configuration of a table, and what `hudi-defaults.conf` says of writers.

Names and defaults are those of Hudi's `HoodieTableConfig`. Files are parsed here: the package
javaproperties, which writes them, takes longer to import than an answer takes.

A copy is kept while the file is replaced. Readers take the copy if the file is missing, and a
writer that finds one restores it first.

The file is in /etc/hudi/conf and in the directory named by HUDI_CONF_DIR, whose settings win. A
line is `key value` or `key=value`, a comment, or `include=file`, relative to the file's own
directory.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from functools import lru_cache
from types import MappingProxyType

from pyhudi_expr.errors import HudiError, TableNotFound, UnsupportedTable
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import (
    HOODIE_DIR,
    INDEX_DEFINITIONS_FILE,
    PROPERTIES_BACKUP_FILE,
    PROPERTIES_FILE,
)
from pyhudi_expr.tables.parsing.budget import PROPERTIES_BYTES, check_size
from pyhudi_expr.tables.storage import Storage

#: A comment, or a line with the lines that continue it; before it white space, which may be all.
_LINE = re.compile(r"[ \t\f\r\n]*(?:[#!][^\r\n]*|((?:[^\\\r\n]+|\\(?:\r\n|[\s\S]|\Z))+)|\Z)")
_CONTINUED = re.compile(r"\\(?:(?:\r\n|\r|\n)[ \t\f]*|\Z)|(\\[^\r\n])")
_KEY = re.compile(r"((?:[^\\=: \t\f]+|\\[\s\S])*)[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\s\S]))")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(content: bytes) -> dict[str, str]:
    """Return the properties of a file; of equal keys the last one.

    Raises:
        ValueError: An escape with `u` is not followed by four hexadecimal digits.
    """
    found: dict[str, str] = {}
    for match in _LINE.finditer(content.decode("latin-1")):
        if match[1] is None:
            continue
        line = _CONTINUED.sub(lambda part: part[1] or "", match[1])
        if not line:
            continue
        key = _KEY.match(line)
        assert key is not None  # it may be empty
        found[_unescaped(key[1])] = _unescaped(line[key.end() :])
    return found


def table_checksum(raw: Mapping[str, str]) -> str:
    """Return what `hoodie.table.checksum` is for a table with the names in these properties.

    Hudi's readers fail if the table's checksum is another one (`HoodieTableConfig`).
    """
    database, name = raw.get(hudi_names.DATABASE_NAME, ""), raw.get(hudi_names.TABLE_NAME, "")
    return str(zlib.crc32(f"{database}.{name}".encode()))


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_character, text)
    # Java writes a character beyond 16 bits as two.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(escape: re.Match[str]) -> str:
    digits, letter = escape.groups()
    if digits is not None:
        return chr(int(digits, 16))
    if letter == "u":
        raise ValueError("an escape with u has not four hexadecimal digits")
    return _LETTERS.get(letter, letter)


#: Of the number with which the id of a file group begins.
_BUCKET_DIGITS = 8
CHANGEABLE_VERSIONS = frozenset({6, 8, 9})
SUPPORTED_VERSIONS = CHANGEABLE_VERSIONS | frozenset(range(6))
"""Older ones are read without their metadata tables; 0 is of tables from before versions."""


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
        check_size(f"{storage.uri}/{file}", len(content), PROPERTIES_BYTES)
        try:
            return _parsed(content, storage.uri)
        except ValueError as error:
            raise HudiError(f"{storage.uri}: {file} cannot be read: {error}") from error

    @staticmethod
    def parse(raw: Mapping[str, str], uri: str) -> TableProperties:
        """Parse the properties of the table at `uri` (for messages)."""
        version = _version(raw, uri)
        layout = int(raw.get(hudi_names.TIMELINE_LAYOUT_VERSION) or (1 if version < 8 else 2))
        layout = layout or 1  # the files of layout 0 have the same names
        has_metadata = version in CHANGEABLE_VERSIONS
        inflight = _names(raw, hudi_names.METADATA_PARTITIONS_INFLIGHT) if has_metadata else ()
        complete = _names(raw, hudi_names.METADATA_PARTITIONS) if has_metadata else ()
        type_name = raw.get(hudi_names.TABLE_TYPE, TableType.COPY_ON_WRITE.value)
        if type_name not in TableType.__members__:
            raise UnsupportedTable(f"{uri}: table type {type_name!r} is not known")
        return TableProperties(
            name=raw.get(hudi_names.TABLE_NAME, ""),
            table_type=TableType(type_name),
            version=version,
            timeline_layout=layout,
            partition_fields=tuple(name for name, _ in _partition_fields(raw)),
            record_key_fields=_names(raw, hudi_names.RECORDKEY_FIELDS),
            ordering_fields=_names(raw, hudi_names.ORDERING_FIELDS)
            or _names(raw, hudi_names.PRECOMBINE_FIELD),
            key_generator=raw.get(hudi_names.KEY_GENERATOR_TYPE)
            or raw.get(hudi_names.KEY_GENERATOR_CLASS, ""),
            hive_style_partitioning=_flag(raw, hudi_names.HIVE_STYLE_PARTITIONING),
            url_encoded_partitions=_flag(raw, hudi_names.URL_ENCODE_PARTITIONING),
            meta_fields=_flag(raw, hudi_names.POPULATE_META_FIELDS, True),
            drop_partition_columns=_flag(raw, hudi_names.DROP_PARTITION_COLUMNS),
            merge_mode=raw.get(hudi_names.RECORD_MERGE_MODE, ""),
            merge_strategy_id=raw.get(hudi_names.RECORD_MERGE_STRATEGY_ID)
            or raw.get("hoodie.compaction.record.merger.strategy", ""),
            payload_class=raw.get(hudi_names.PAYLOAD_CLASS, ""),
            partial_update_mode=raw.get(hudi_names.PARTIAL_UPDATE_MODE, ""),
            base_file_format=raw.get(hudi_names.BASE_FILE_FORMAT, "PARQUET").upper(),
            create_schema=raw.get(hudi_names.CREATE_SCHEMA) or None,
            timeline_path=raw.get(hudi_names.TIMELINE_PATH, "timeline"),
            history_path=raw.get(hudi_names.TIMELINE_HISTORY_PATH, "history"),
            timeline_zone=raw.get(hudi_names.TIMELINE_TIMEZONE, "LOCAL").upper(),
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
        return self.raw.get(hudi_names.INDEX_DEFINITIONS_PATH) or INDEX_DEFINITIONS_FILE

    @property
    def timeline_dir(self) -> str:
        """The directory of the active timeline, relative to the base path."""
        if self.timeline_layout == 1:
            return HOODIE_DIR
        return f"{HOODIE_DIR}/{self.timeline_path}"


class BucketEngine(Enum):
    """How a bucket index finds the file group of a key."""

    SIMPLE = "SIMPLE"
    CONSISTENT_HASHING = "CONSISTENT_HASHING"


@dataclass(frozen=True)
class StatedBuckets:
    """What a catalog, a session or a caller states of a table's buckets: the table does not.

    Attributes:
        number: The number of buckets in a partition. None: each partition may have another.
        columns: The hashed columns, in order; none: those of the record key.
        engine: How a key's bucket is found.
    """

    number: int | None
    columns: tuple[str, ...] = ()
    engine: BucketEngine = BucketEngine.SIMPLE

    @staticmethod
    def of(properties: Mapping[str, str]) -> StatedBuckets | None:
        """Return what properties with Hudi's names state; None without a bucket index.

        Raises:
            HudiError: The number of buckets is none.
        """
        kind = properties.get(hudi_names.INDEX_TYPE) or properties.get(hudi_names.FLINK_INDEX_TYPE)
        engine = properties.get(hudi_names.BUCKET_ENGINE, "SIMPLE").upper()
        number = properties.get(hudi_names.BUCKET_NUMBER, "").strip()
        columns = _names(properties, hudi_names.BUCKET_COLUMNS)
        if (kind or "").upper() != "BUCKET" or engine not in BucketEngine.__members__:
            return None
        if engine == BucketEngine.CONSISTENT_HASHING.value:
            return StatedBuckets(None, columns, BucketEngine.CONSISTENT_HASHING)
        if properties.get(hudi_names.BUCKET_EXPRESSIONS):
            return StatedBuckets(None, columns)
        if not number:
            return None
        if not (number.isdecimal() and len(number) <= _BUCKET_DIGITS and int(number)):
            raise HudiError(f"{hudi_names.BUCKET_NUMBER}: expected a number from 1, got {number!r}")
        return StatedBuckets(int(number), columns)


class SliceMerging(Enum):
    """How a table merges the records of one key."""

    WHOLE_RECORDS = "whole records"
    FIELDS = "fields"
    OPAQUE = "opaque"


_WHOLE_RECORD_MODES = frozenset({"COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"})
_WHOLE_RECORD_PAYLOADS = frozenset(
    {"", "OverwriteWithLatestAvroPayload", "DefaultHoodieRecordPayload", "EventTimeAvroPayload"}
)
_FIELD_PAYLOADS = frozenset(
    {"PartialUpdateAvroPayload", "OverwriteNonDefaultsWithLatestAvroPayload"}
)
#: Ids of HoodieRecordMerger's strategies of event time and of commit time.
_WHOLE_RECORD_STRATEGIES = frozenset(
    {
        "",
        "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
        "ce9acb64-bde0-424c-9b91-f6ebba25356d",
    }
)


def slice_merging(properties: TableProperties) -> SliceMerging:
    """Return how a table merges, by its properties."""
    payload = properties.payload_class.rpartition(".")[2]
    mode = properties.merge_mode.upper()
    if payload in _FIELD_PAYLOADS or properties.partial_update_mode.upper() not in ("", "NONE"):
        return SliceMerging.FIELDS
    if mode:
        whole = mode in _WHOLE_RECORD_MODES
    else:
        whole = properties.merge_strategy_id.lower() in _WHOLE_RECORD_STRATEGIES
    known = payload in _WHOLE_RECORD_PAYLOADS
    return SliceMerging.WHOLE_RECORDS if whole and known else SliceMerging.OPAQUE


def load_properties(content: bytes) -> Mapping[str, str]:
    """Parse a properties file."""
    return parse_properties(content)


@lru_cache(maxsize=1024)
def _parsed(content: bytes, uri: str) -> TableProperties:
    """Parse a table's properties file. Cached: warm requests read the same content again."""
    return TableProperties.parse(load_properties(content), uri)


def _version(raw: Mapping[str, str], uri: str) -> int:
    text = raw.get(hudi_names.TABLE_VERSION, "0" if raw.get(hudi_names.TABLE_NAME) else "")
    if not text.isdigit() or int(text) not in SUPPORTED_VERSIONS:
        remedy = "it is of no release of Hudi; upgrade the table with Hudi's upgrade command"
        if not text.isdigit():
            remedy = f"{hudi_names.TABLE_VERSION} in hoodie.properties must be one of them"
        elif int(text) > max(SUPPORTED_VERSIONS):
            remedy = "a newer pyhudi-expr may read it"
        raise UnsupportedTable(
            f"{uri}: table version {text or 'unknown'} is not supported "
            f"(supported: up to 6, 8 and 9); {remedy}"
        )
    return int(text)


def require_changeable(found: TableProperties, uri: str) -> None:
    """Check that a table is of a version that is changed, and not only read.

    Raises:
        UnsupportedTable: It is older.
    """
    if found.version not in CHANGEABLE_VERSIONS:
        raise UnsupportedTable(
            f"{uri}: tables of version {found.version} are read, and not changed; "
            "Hudi 0.14 or 0.15 upgrades them, and Hudi 1 does not"
        )


def _partition_fields(raw: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the fields without the types that custom key generators append (`field:TYPE`)."""
    fields = (name.partition(":") for name in _names(raw, hudi_names.PARTITION_FIELDS))
    return tuple((name, kind.upper()) for name, _, kind in fields)


def _names(raw: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in raw.get(key, "").split(",") if name.strip())


def _flag(raw: Mapping[str, str], key: str, default: bool = False) -> bool:
    text = raw.get(key, "").strip().lower()
    return text == "true" if text else default


def update(storage: Storage, changes: Mapping[str, str | None]) -> None:
    """Set properties, and remove those that are None; all others do not change.

    The caller holds the table's lock. If this raises HudiError, the properties are the old or the
    new ones.

    Raises:
        HudiError: The table does not exist (TableNotFound); another writer has changed the
            properties meanwhile, and its change stays; or the storage fails.
    """
    recover(storage)
    found = storage.read_versioned(PROPERTIES_FILE)
    if found is None:
        raise TableNotFound(f"{storage.uri}: no Hudi table here ({PROPERTIES_FILE} is missing)")
    old = load_properties(found.content)
    kept = {key: value for key, value in {**old, **changes}.items() if value is not None}
    if kept == old:
        return
    storage.write(PROPERTIES_BACKUP_FILE, found.content)
    try:
        written = storage.replace(PROPERTIES_FILE, dump_properties(kept), found.version)
    except HudiError:
        recover(storage)
        raise
    if written is None:  # that writer may need the copy now; the next change removes it
        raise HudiError(
            f"{storage.uri}: another writer changed {PROPERTIES_FILE} at the same time, although "
            "the table's lock is held here; check that all writers take the same lock "
            "(hoodie.write.lock.provider), and try again"
        )
    storage.delete(PROPERTIES_BACKUP_FILE)


def recover(storage: Storage) -> None:
    """Complete what a failed writer started: keep its properties if whole, else the old ones."""
    if storage.stat(PROPERTIES_BACKUP_FILE) is None:
        return
    if storage.stat(PROPERTIES_FILE) is None:
        storage.write(PROPERTIES_FILE, storage.read(PROPERTIES_BACKUP_FILE))
    storage.delete(PROPERTIES_BACKUP_FILE)


def dump_properties(properties: Mapping[str, str]) -> bytes:
    """Return the content of a properties file."""
    # Imported on use: few processes write properties, and the import takes time.
    import javaproperties

    now = datetime.now(timezone.utc).isoformat()
    text: str = javaproperties.dumps(
        dict(sorted(properties.items())), comments=f"Updated at {now}", timestamp=False
    )
    return text.encode("latin-1")


_DIRECTORY = "/etc/hudi/conf"
_FILE = "hudi-defaults.conf"
_INCLUDE = "include"


def hudi_defaults() -> dict[str, str]:
    """Read the settings; empty if the machine has no such file.

    Raises:
        HudiError: A file cannot be read.
    """
    directories = [_DIRECTORY]
    if named := os.environ.get("HUDI_CONF_DIR"):
        directories.append(named)
    settings: dict[str, str] = {}
    for directory in directories:
        storage = Storage.open(directory)
        if storage.stat(_FILE) is not None:
            settings.update(_settings(storage, _FILE, ()))
    return settings


def _settings(directory: Storage, file: str, within: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    path = f"{directory.uri}/{file}"
    if path in within:
        raise HudiError(f"{path} includes itself; take out the line that does")
    for line in directory.read(file).decode(errors="replace").splitlines():
        key, value = _setting(line)
        if key == _INCLUDE:
            parent, _, name = value.rpartition("/")
            of = directory.resolve(parent) if parent else directory
            yield from _settings(of, name, (*within, path))
        elif key:
            yield key, value


def _setting(line: str) -> tuple[str, str]:
    """Return the key and the value of a line; empty ones for other lines."""
    if line.startswith("#"):
        return "", ""
    key, separator, value = line.partition("=")
    if not separator:
        key, separator, value = " ".join(line.split()).partition(" ")
    return (key.strip(), value.strip()) if separator else ("", "")
