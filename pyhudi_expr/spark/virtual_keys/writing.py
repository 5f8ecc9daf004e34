"""Writing tables with virtual keys: through Apache Hudi, after what it would not refuse is refused.

>>> create(empty_or_full_frame, "/warehouse/trips", VirtualTable("trips", ("id",), ordering="ts"))
>>> write(frame, "/warehouse/trips", "upsert")

Everything is checked before Hudi is called, so what is refused has changed nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.sql import DataFrame, Row
from pyspark.sql.pandas.types import to_arrow_type

from pyhudi_expr.index.key_switching import KeyDefinitionChanged, KeySettings, agreed, enable
from pyhudi_expr.keys.definition import (
    COLUMNS,
    CONSISTENT_TIMESTAMPS,
    ENABLED,
    HUDIS_CONCATENATOR,
    META_FIELDS,
    PREFIX,
    Generator,
    KeyDefinition,
    defined,
    virtual_keys,
)
from pyhudi_expr.keys.generators import MissingKey
from pyhudi_expr.keys.hudi_limits import require_mergeable
from pyhudi_expr.spark.virtual_keys.key_column import column, column_types
from pyhudi_expr.spark.writing import writer_options
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock
from pyhudi_expr.table.properties import PROPERTIES_FILE
from pyhudi_expr.table.storage import Storage

OPERATIONS = ("bulk_insert", "insert", "upsert", "delete", "insert_overwrite")
_COLUMNS = "hoodie.datasource.write.recordkey.field"
_PARTITIONS = "hoodie.datasource.write.partitionpath.field"
_GENERATOR = "hoodie.datasource.write.keygenerator.class"
_OPERATION = "hoodie.datasource.write.operation"
_INDEX = "hoodie.index.type"
_PATHS = (
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
)
_INDEXES = frozenset({"SIMPLE"})
"""Indexes of Hudi's writers that were found to find rows by keys that are not stored."""
_DEFAULTS = {
    _INDEX: "SIMPLE",
    # Hudi's row writer leaves empty texts in the meta columns, all other writers nulls.
    "hoodie.datasource.write.row.writer.enable": "false",
}
_RECORD_INDEXES = (
    "hoodie.metadata.record.index.enable",
    "hoodie.metadata.global.record.level.index.enable",
    "hoodie.metadata.record.level.index.enable",
)


@dataclass(frozen=True)
class VirtualTable:
    """A table that is to be made.

    Attributes:
        name: the table's.
        key: the columns of the key.
        ordering: the column that decides between two versions of a row; "" without.
        partitions: the partition columns, outermost first.
        is_merge_on_read: how updates are stored.
        generator: Hudi's key generator; None: as the numbers of columns ask for.
        settings: more of the key, see `KeySettings`.
        options: more options of Hudi's writer.
    """

    name: str
    key: tuple[str, ...]
    ordering: str = ""
    partitions: tuple[str, ...] = ()
    is_merge_on_read: bool = False
    generator: Generator | None = None
    settings: KeySettings = field(default_factory=KeySettings)
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def hudi(self) -> Generator:
        """Hudi's key generator."""
        return self.generator or Generator.inferred(self.key, self.partitions)

    def writer_options(self) -> dict[str, str]:
        """The options of Hudi's writer that make the table."""
        kind = "MERGE_ON_READ" if self.is_merge_on_read else "COPY_ON_WRITE"
        ordering = {"hoodie.datasource.write.precombine.field": self.ordering}
        return {
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.table.type": kind,
            _COLUMNS: ",".join(self.key),
            _PARTITIONS: ",".join(self.partitions),
            _GENERATOR: self.hudi.class_name,
            META_FIELDS: "false",
            **_DEFAULTS,
            **(ordering if self.ordering else {}),
            **self.options,
        }


def create(frame: DataFrame, path: str, table: VirtualTable) -> None:
    """Makes a table with virtual keys at a base path, and writes the frame's rows.

    The table is empty until its settings are saved. Raises HudiError: nothing has been made, unless
    Hudi fails at the rows themselves.
    """
    storage = Storage.open(path)
    if storage.stat(PROPERTIES_FILE) is not None:
        raise HudiError(f"{path}: there is a table already; write to it")
    settings = table.settings
    wanted = KeyDefinition(
        table.key,
        table.hudi,
        concatenator=settings.concatenator or HUDIS_CONCATENATOR,
        names_only_column=True,
    )
    _require_keys(frame, wanted, path)
    _require_index(table.writer_options(), path)
    _save(frame.limit(0), path, table.writer_options(), "bulk_insert", "errorifexists")
    enable(HudiTable.at(storage), settings, TableLock(storage))
    write(frame, path, "bulk_insert", table.options)


def write(
    frame: DataFrame, path: str, operation: str, options: Mapping[str, str] | None = None
) -> None:
    """Writes rows to a table with virtual keys: an operation of `OPERATIONS`.

    options: more options of Hudi's writer. Those that say what keys are made of have to say what
    the table says. Raises HudiError: nothing has been written.
    """
    if operation not in OPERATIONS:
        raise HudiError(f"{path}: {operation!r} is none of {', '.join(OPERATIONS)}")
    table = HudiTable.open(path)
    definition = virtual_keys(table.properties, table.base_path)
    if definition is None:
        raise HudiError(f"{path}: the table has no virtual keys; see `pyhudi virtual-keys enable`")
    given = dict(options or {})
    _require_same(table, definition, given)
    _require_keys(frame, definition, path)
    chosen = {**service_options(path), **_DEFAULTS, **_of_hudi(given)}
    _require_index(chosen, path)
    _save(frame, path, chosen, operation, "append")


def service_options(path: str) -> dict[str, str]:
    """What any of Hudi's writers and table services (compaction, clustering) has to be told of a
    table with virtual keys. Raises HudiError."""
    properties = HudiTable.open(path).properties
    definition = defined(properties, path)
    raw = properties.raw
    ordering = ",".join(properties.ordering_fields)
    return {
        **writer_options(path),
        "hoodie.table.name": properties.name,
        "hoodie.datasource.write.table.type": properties.table_type.value,
        "hoodie.write.table.version": str(properties.version),
        "hoodie.write.auto.upgrade": "false",
        _COLUMNS: ",".join(definition.columns),
        _PARTITIONS: raw.get("hoodie.table.partition.fields", ""),
        _GENERATOR: definition.hudi.class_name,
        META_FIELDS: str(properties.meta_fields).lower(),
        CONSISTENT_TIMESTAMPS: raw.get(CONSISTENT_TIMESTAMPS, "false"),
        # Asks whether an older Hudi spelled the keys that are stored; here none are.
        "hoodie.write.complex.keygen.validation.enable": "false",
        **({"hoodie.datasource.write.precombine.field": ordering} if ordering else {}),
        **{key: raw[key] for key in _PATHS if key in raw},
    }


def _require_same(table: HudiTable, definition: KeyDefinition, given: Mapping[str, str]) -> None:
    """Raises KeyDefinitionChanged, or HudiError with the setting and what the table has saved."""
    agreed(table, KeySettings.of(given))
    own = definition.settings()
    saved = {
        _COLUMNS: own[COLUMNS],
        _GENERATOR: definition.hudi.class_name,
        META_FIELDS: str(table.properties.meta_fields).lower(),
        CONSISTENT_TIMESTAMPS: str(definition.text.consistent_timestamps).lower(),
        ENABLED: "true",
    }
    for key, has in saved.items():
        if given.get(key, has) != has:
            raise KeyDefinitionChanged(
                f"{table.base_path}: {key} is {given[key]!r}, but the table has saved {has!r}"
            )


def _require_keys(frame: DataFrame, definition: KeyDefinition, shown: str) -> None:
    """Raises HudiError: a key column is missing, has a type that Hudi would merge wrongly, or is
    null in a row, which the message has."""
    types = column_types(frame.schema, definition.columns)
    require_mergeable(definition, [to_arrow_type(type_) for type_ in types], shown)
    columns = [column(name) for name in definition.columns]
    missing = reduce(or_, (one.isNull() for one in columns))
    if len(columns) == 1:
        missing = missing | (columns[0].cast("string") == "")
    for row in frame.where(missing).limit(1).collect():
        blank = [name for name in definition.columns if not _value(row, name)]
        raise MissingKey(
            f"{shown}: the key column {blank[0]!r} is null or empty, as in {row.asDict(True)}; "
            "nothing was written"
        )


def _value(row: Row, name: str) -> object:
    value: object = row
    for part in name.split("."):
        value = value[part] if isinstance(value, Row) else None
    return True if value == 0 or value is False else value


def _require_index(options: Mapping[str, str], shown: str) -> None:
    """Raises HudiError: Hudi would look keys up where there are none."""
    chosen = options.get(_INDEX, "SIMPLE").upper()
    if chosen not in _INDEXES:
        raise HudiError(
            f"{shown}: {_INDEX} {chosen} needs keys that are stored; with virtual keys take one of "
            f"{', '.join(sorted(_INDEXES))}"
        )
    for key in _RECORD_INDEXES:
        if options.get(key, "false").lower() == "true":
            raise HudiError(
                f"{shown}: {key} makes Hudi build a record index of no keys on a table without "
                "meta fields; it would write rows twice, lose deletes, and find no row by its key. "
                "Create the index in the extension: pyhudi index create ... --store extension"
            )


def _of_hudi(given: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in given.items() if not key.startswith(PREFIX)}


def _save(
    frame: DataFrame, path: str, options: Mapping[str, str], operation: str, mode: str
) -> None:
    writer = frame.write.format("hudi").options(**options).option(_OPERATION, operation)
    writer.mode(mode).save(path)
