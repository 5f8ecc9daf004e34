"""Writing tables with virtual keys: through Apache Hudi, after what it would not refuse is refused.

>>> create(empty_or_full_frame, "/warehouse/trips", VirtualTable("trips", ("id",), ordering="ts"))
>>> write(frame, "/warehouse/trips", "upsert")

Everything is checked before Hudi is called, so what is refused has changed nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pyhudi_expr.arrays import arrow_nulls
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.indexing.writer_options import writer_options
from pyhudi_expr.manage.virtual_key_settings import (
    KeyDefinitionChanged,
    UnmergeableKeys,
    VirtualKeySettings,
    merge_definition,
    require_mergeable,
)
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.jobs.slice_frames import arrow_type
from pyhudi_expr.spark.virtual_keys.key_column import column, column_types
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import PROPERTIES_FILE
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import (
    APPEND_ONLY,
    CLASS,
    COLUMNS,
    CONCATENATOR,
    CONSISTENT_TIMESTAMPS,
    ENABLED,
    HUDI_CONCATENATOR,
    PREFIX,
    Generator,
    KeyDefinition,
    key_definition,
    python_generator,
    split_names,
    virtual_keys,
)
from pyhudi_expr.tables.keys.generators import JavaText, MissingKey
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.storage import Storage

OPERATIONS = ("bulk_insert", "insert", "upsert", "delete", "insert_overwrite")
_APPENDING = ("bulk_insert", "insert", "insert_overwrite")
_WITHOUT_LOOKUP = {
    "hoodie.datasource.insert.dup.policy": "none",
    "hoodie.datasource.write.insert.drop.duplicates": "false",
}
_PATHS = (
    hudi_names.HIVE_STYLE_PARTITIONING,
    hudi_names.URL_ENCODE_PARTITIONING,
)
_PARTITION_BY = "__partition_columns"
"""In which Spark passes on the columns of `partitionBy`, as a list in JSON."""
_INDEXES = frozenset({"SIMPLE"})
"""Indexes of Hudi's writers that were found to find rows by keys that are not stored."""
_DEFAULTS = {
    hudi_names.INDEX_TYPE: "SIMPLE",
    # Hudi's row writer leaves empty texts in the meta columns, all other writers nulls.
    "hoodie.datasource.write.row.writer.enable": "false",
}
_RECORD_INDEXES = (
    hudi_names.METADATA_RECORD_INDEX_ENABLE,
    hudi_names.METADATA_GLOBAL_RECORD_LEVEL_INDEX_ENABLE,
    hudi_names.METADATA_RECORD_LEVEL_INDEX_ENABLE,
)


@dataclass(frozen=True)
class VirtualTable:
    """A table to create.

    Attributes:
        name: Its name.
        key: The columns of the key.
        ordering: The column that decides between two versions of a row; "" if there is none.
        partitions: The partition columns, outermost first.
        is_merge_on_read: How updates are stored.
        generator: Hudi's key generator. None: the default for the numbers of columns.
        options: More options of Hudi's writer, and settings of virtual keys (`keys.definition`).
    """

    name: str
    key: tuple[str, ...]
    ordering: str = ""
    partitions: tuple[str, ...] = ()
    is_merge_on_read: bool = False
    generator: Generator | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(options: Mapping[str, str], label: str) -> VirtualTable:
        """Return the table that the options of a writer ask for.

        Raises:
            HudiError: They do not say that keys are virtual, of which columns, or the table's name.
        """
        key = split_names(options.get(COLUMNS) or options.get(hudi_names.WRITE_RECORDKEY_FIELD, ""))
        wanted = {
            hudi_names.TABLE_NAME: options.get(hudi_names.TABLE_NAME),
            COLUMNS: key,
            f"{ENABLED}=true": options.get(ENABLED),
        }
        missing = [name for name, value in wanted.items() if not value]
        if missing:
            raise HudiError(f"{label}: a new table with virtual keys needs {', '.join(missing)}")
        return VirtualTable(
            options[hudi_names.TABLE_NAME],
            key,
            options.get(hudi_names.WRITE_PRECOMBINE_FIELD, ""),
            _partitions(options),
            options.get(hudi_names.WRITE_TABLE_TYPE, "").upper() == "MERGE_ON_READ",
            Generator.of(
                options.get(hudi_names.WRITE_KEY_GENERATOR_CLASS)
                or options.get(hudi_names.WRITE_KEY_GENERATOR_TYPE, "")
            ),
            options,
        )

    @property
    def hudi(self) -> Generator:
        """Return Hudi's key generator."""
        named = self.generator or Generator.of(self.options.get(CLASS, ""))
        return named or Generator.inferred(self.key, self.partitions)

    @property
    def definition(self) -> KeyDefinition:
        """Return how its keys will be computed."""
        return KeyDefinition(
            self.key,
            self.hudi,
            python_generator(self.options.get(CLASS, "")),
            self.options.get(CONCATENATOR, HUDI_CONCATENATOR),
            text=JavaText(self.options.get(CONSISTENT_TIMESTAMPS, "").lower() == "true"),
            append_only=self.options.get(APPEND_ONLY, "").lower() == "true",
        )

    def writer_options(self) -> dict[str, str]:
        """Return the options of Hudi's writer that create the table."""
        kind = "MERGE_ON_READ" if self.is_merge_on_read else "COPY_ON_WRITE"
        ordering = {hudi_names.WRITE_PRECOMBINE_FIELD: self.ordering}
        return {
            hudi_names.TABLE_NAME: self.name,
            hudi_names.WRITE_TABLE_TYPE: kind,
            hudi_names.WRITE_RECORDKEY_FIELD: ",".join(self.key),
            hudi_names.WRITE_PARTITIONPATH_FIELD: ",".join(self.partitions),
            hudi_names.WRITE_KEY_GENERATOR_CLASS: self.hudi.class_name,
            hudi_names.POPULATE_META_FIELDS: "false",
            **_DEFAULTS,
            **(ordering if self.ordering else {}),
            **_hudi_options(self.options),
        }


def save(frame: DataFrame, path: str, options: Mapping[str, str], mode: str) -> None:
    """Write rows as Spark's writer of Hudi tables does, by options that have those of virtual keys.

    Args:
        frame: The rows.
        path: The base path.
        options: Those of the writer.
        mode: `append`, `overwrite`, `errorifexists` or `ignore`.

    Raises:
        HudiError: The request is refused, and nothing is changed, unless Hudi fails on the rows.
    """
    operation = options.get(hudi_names.WRITE_OPERATION, "upsert").lower()
    exists = Storage.open(path).stat(PROPERTIES_FILE) is not None
    replaces = mode == "overwrite" and not operation.startswith("insert_overwrite")
    if exists and mode == "ignore":
        return
    if exists and not replaces and mode != "errorifexists":
        write(frame, path, operation, options)
    elif options.get(ENABLED, "").lower() == "false":
        _save(frame, path, _hudi_options(options), operation, mode)
    else:
        table = VirtualTable.of(options, path)
        create(frame, path, table, operation, mode if replaces else "errorifexists")


def create(
    frame: DataFrame,
    path: str,
    table: VirtualTable,
    operation: str = "bulk_insert",
    mode: str = "errorifexists",
) -> None:
    """Create a table with virtual keys at a base path, and write the frame's rows.

    The table is empty until its settings are saved.

    Args:
        frame: The rows.
        path: The base path.
        table: The table.
        operation: The operation of Hudi's writer, one of `OPERATIONS`.
        mode: `overwrite` replaces a table that is there; with `errorifexists` there must be none.

    Raises:
        HudiError: The request is refused, and nothing is created, unless Hudi fails on the rows.
    """
    _require_operation(operation, path)
    storage = Storage.open(path)
    if storage.stat(PROPERTIES_FILE) is not None:
        if mode != "overwrite":
            raise HudiError(f"{path}: there is a table already; write to it")
        _require_other_source(frame, path)
    _require_generator(table.options, path)
    definition, options = table.definition, table.writer_options()
    if definition.append_only and table.is_merge_on_read:
        raise HudiError(f"{path}: {APPEND_ONLY} is for copy on write: log files are merged by keys")
    expected = {
        **definition.settings(),
        **_key_options(definition),
        hudi_names.POPULATE_META_FIELDS: "false",
    }
    for key, given_value, has in _differing(expected, table.options):
        raise HudiError(f"{path}: {key} is {given_value!r}, but the table is to have {has!r}")
    if definition.append_only:
        _require_appending(path, operation, table.options)
    _require_keys(frame, definition, path)
    _require_index(options, path)
    _save(frame.limit(0), path, options, "bulk_insert", mode)
    enable(HudiTable.at(storage), VirtualKeySettings.of(table.options), TableLock.of(storage))
    _save(frame, path, {**service_options(path), **options}, operation, "append")


def write(
    frame: DataFrame, path: str, operation: str, options: Mapping[str, str] | None = None
) -> None:
    """Write rows to a table with virtual keys, by an operation of `OPERATIONS`.

    Args:
        frame: The rows.
        path: The base path.
        operation: The operation.
        options: More options of Hudi's writer. Those that define keys must agree with the table.

    Raises:
        HudiError: The request is refused, and nothing is written.
    """
    _require_operation(operation, path)
    table = HudiTable.open(path)
    definition = virtual_keys(table.properties, table.base_path)
    if definition is None:
        raise HudiError(f"{path}: the table has no virtual keys; see `pyhudi virtual-keys enable`")
    given = dict(options or {})
    _require_same(table, definition, given)
    if definition.append_only:
        _require_appending(path, operation, given)
    _require_keys(frame, definition, path)
    chosen = {**service_options(path), **_DEFAULTS, **_hudi_options(given)}
    _require_index(chosen, path)
    _save(frame, path, chosen, operation, "append")


def service_options(path: str) -> dict[str, str]:
    """Return the options that Hudi's writers and table services need for virtual keys.

    Table services are compaction and clustering. Raises HudiError.
    """
    properties = HudiTable.open(path).properties
    definition = key_definition(properties, path)
    raw = properties.raw
    ordering = ",".join(properties.ordering_fields)
    return {
        **writer_options(path),
        hudi_names.TABLE_NAME: properties.name,
        hudi_names.WRITE_TABLE_TYPE: properties.table_type.value,
        hudi_names.WRITE_TABLE_VERSION: str(properties.version),
        hudi_names.WRITE_AUTO_UPGRADE: "false",
        hudi_names.WRITE_RECORDKEY_FIELD: ",".join(definition.columns),
        hudi_names.WRITE_PARTITIONPATH_FIELD: raw.get(hudi_names.PARTITION_FIELDS, ""),
        hudi_names.WRITE_KEY_GENERATOR_CLASS: definition.hudi.class_name,
        hudi_names.POPULATE_META_FIELDS: str(properties.meta_fields).lower(),
        CONSISTENT_TIMESTAMPS: raw.get(CONSISTENT_TIMESTAMPS, "false"),
        # Checks whether an older Hudi formatted the stored keys; here there are none.
        "hoodie.write.complex.keygen.validation.enable": "false",
        **({hudi_names.WRITE_PRECOMBINE_FIELD: ordering} if ordering else {}),
        **{key: raw[key] for key in _PATHS if key in raw},
    }


def _partitions(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the partition columns: those of the option, or of Spark's `partitionBy`."""
    named = options.get(hudi_names.WRITE_PARTITIONPATH_FIELD)
    if named is not None:
        return split_names(named)
    return tuple(json.loads(options.get(_PARTITION_BY, "[]")))


def _require_operation(operation: str, label: str) -> None:
    if operation not in OPERATIONS:
        raise HudiError(f"{label}: {operation!r} is none of {', '.join(OPERATIONS)}")


def _require_generator(options: Mapping[str, str], label: str) -> None:
    """Raise UnmergeableKeys if a class is named that Hudi has not without meta fields."""
    for key in (CLASS, hudi_names.WRITE_KEY_GENERATOR_CLASS):
        name = options.get(key, "")
        if name and python_generator(name) is None and Generator.of(name) is None:
            raise UnmergeableKeys(
                f"{label}: Apache Hudi cannot keep a table with virtual keys of {name} ({key}):"
                " without meta fields it has its simple, complex and non-partitioned generators"
                f" alone. Let it store the keys, without {ENABLED}; or add the keys of this class"
                f" to the rows as a column, and name that one by {COLUMNS}"
            )


def _require_other_source(frame: DataFrame, path: str) -> None:
    """Raise HudiError if the frame reads files of the table that it is to replace."""
    table = urlsplit(path)
    for file in map(urlsplit, frame.inputFiles()):
        is_other_store = bool(table.netloc and file.netloc and table.netloc != file.netloc)
        if not is_other_store and unquote(file.path).startswith(table.path.rstrip("/") + "/"):
            raise HudiError(
                f"{path}: the rows are read from the table that they are to replace; write them to"
                " another path first"
            )


def _require_same(table: HudiTable, definition: KeyDefinition, given: Mapping[str, str]) -> None:
    """Raise KeyDefinitionChanged with a setting that differs from the table's."""
    merge_definition(table, VirtualKeySettings.of(given))
    saved = {
        **_key_options(definition),
        hudi_names.POPULATE_META_FIELDS: str(table.properties.meta_fields).lower(),
        CONSISTENT_TIMESTAMPS: str(definition.text.consistent_timestamps).lower(),
    }
    for key, given_value, has in _differing(saved, given):
        raise KeyDefinitionChanged(
            f"{table.base_path}: {key} is {given_value!r}, but the table has saved {has!r}"
        )


def _key_options(definition: KeyDefinition) -> dict[str, str]:
    """Return the options of a writer that define the keys."""
    return {
        ENABLED: "true",
        hudi_names.WRITE_RECORDKEY_FIELD: ",".join(definition.columns),
        hudi_names.WRITE_KEY_GENERATOR_CLASS: definition.hudi.class_name,
    }


def _differing(
    settings: Mapping[str, str], given: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Return settings that are given with another value: the key, the given and the own value."""
    for key, value in settings.items():
        if given.get(key, value) != value:
            yield key, given[key], value


def _require_keys(frame: DataFrame, definition: KeyDefinition, label: str) -> None:
    """Raise HudiError if a key column is missing, not supported, or null in a row.

    The message has the row.
    """
    types = [arrow_type(type_) for type_ in column_types(frame.schema, definition.columns)]
    require_mergeable(definition, types, label)
    definition.generator().keys([arrow_nulls(0, type_) for type_ in types])
    blank = f.coalesce(*(_named_if_blank(name, definition) for name in definition.columns))
    blanks = frame.select(blank.alias("name"), f.struct("*").alias("row")).where("name IS NOT NULL")
    for name, row in blanks.limit(1).collect():
        raise MissingKey(
            f"{label}: the key column {name!r} is null or empty, as in {row.asDict(True)}; "
            "nothing was written"
        )


def _named_if_blank(name: str, definition: KeyDefinition) -> Column:
    """Return the name if the column is null, or an empty text that would be the whole key."""
    values = column(name)
    blank = values.isNull()
    if len(definition.columns) == 1:
        blank |= values.cast("string") == ""
    return f.when(blank, f.lit(name))


def _require_appending(label: str, operation: str, given: Mapping[str, str]) -> None:
    """Raise HudiError if Hudi would look for rows by keys that it does not find."""
    if operation not in _APPENDING:
        raise HudiError(
            f"{label}: rows are only added to the table ({APPEND_ONLY}), and {operation} looks for"
            f" rows by their keys; take one of {', '.join(_APPENDING)}"
        )
    for key, harmless in _WITHOUT_LOOKUP.items():
        if given.get(key, harmless).lower() != harmless:
            raise HudiError(
                f"{label}: rows are only added to the table ({APPEND_ONLY}), and {key} looks for"
                f" rows by their keys; leave it at {harmless}"
            )


def _require_index(options: Mapping[str, str], label: str) -> None:
    """Raise HudiError if Hudi would look keys up where there are none."""
    chosen = options.get(hudi_names.INDEX_TYPE, "SIMPLE").upper()
    if chosen not in _INDEXES:
        raise HudiError(
            f"{label}: {hudi_names.INDEX_TYPE} {chosen} needs keys that are stored; with virtual"
            f" keys take one of {', '.join(sorted(_INDEXES))}"
        )
    for key in _RECORD_INDEXES:
        if options.get(key, "false").lower() == "true":
            raise HudiError(
                f"{label}: {key} makes Hudi build a record index of no keys on a table without "
                "meta fields; it would write rows twice, lose deletes, and find no row by its key. "
                "Create the index in the extension: pyhudi index create ... --store extension"
            )


def _hudi_options(given: Mapping[str, str]) -> dict[str, str]:
    own = (_PARTITION_BY, "path")
    return {
        key: value for key, value in given.items() if key not in own and not key.startswith(PREFIX)
    }


def _save(
    frame: DataFrame, path: str, options: Mapping[str, str], operation: str, mode: str
) -> None:
    writer = (
        frame.write.format("hudi").options(**options).option(hudi_names.WRITE_OPERATION, operation)
    )
    writer.mode(mode).save(path)
