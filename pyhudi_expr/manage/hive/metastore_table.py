"""A table in Hive's metastore, and its columns as Hive declares them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from pyhudi_expr.arrays import AnyField
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.tables.schema import DOC

_MAX_DIGITS = 38
_Name = Callable[[str], str]


@dataclass(frozen=True)
class HiveColumn:
    """One column.

    Attributes:
        type: The type in DESCRIBE.
        declared: The type in DDL (with quoted names).
    """

    name: str
    type: str
    declared: str = field(compare=False)
    comment: str = ""


def hive_columns(schema: pa.Schema) -> tuple[HiveColumn, ...]:
    """Return the columns of a table's schema (`HudiTable.schema`), names in lower case.

    Raises:
        UnsupportedTable: Hive has no type for a column.
    """
    return tuple(_column(field) for field in schema)


def quote_identifier(name: str) -> str:
    """Return an identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def accepts(declared: str, actual: str) -> bool:
    """Return whether the handler accepts a declared type for the table's own.

    Hive's type may be more specific than Hudi's for texts and small integers, never less.
    """
    if declared == actual:
        return True
    if actual == "string":
        return declared.startswith(("char(", "varchar("))
    return actual == "int" and declared in ("tinyint", "smallint")


def _column(of: AnyField) -> HiveColumn:
    doc = (of.metadata or {}).get(DOC, b"")
    try:
        plain, declared = _type(of.type, lambda name: name), _type(of.type, quote_identifier)
    except UnsupportedTable as error:
        raise UnsupportedTable(f"column {of.name}: {error}") from error
    return HiveColumn(of.name.lower(), plain, declared, doc.decode())


def _type(type_: pa.DataType, name: _Name) -> str:
    if pa.types.is_struct(type_):
        fields = (type_.field(i) for i in range(type_.num_fields))
        inner = ",".join(f"{name(each.name.lower())}:{_type(each.type, name)}" for each in fields)
        return f"struct<{inner}>"
    if pa.types.is_list(type_):
        return f"array<{_type(type_.value_type, name)}>"
    if pa.types.is_map(type_):
        return f"map<string,{_type(type_.item_type, name)}>"
    if pa.types.is_decimal(type_) and type_.precision <= _MAX_DIGITS:
        return f"decimal({type_.precision},{type_.scale})"
    for is_type, text in _PRIMITIVES:
        if is_type(type_):
            return text
    raise UnsupportedTable(f"Hive has no type for {type_}")


_PRIMITIVES: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int32, "int"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_fixed_size_binary, "binary"),
    # Vectors are the bytes that they are stored as.
    (pa.types.is_fixed_size_list, "binary"),
    (pa.types.is_date32, "date"),
    (pa.types.is_timestamp, "timestamp"),
    # Times of day are the integers that they are stored as.
    (pa.types.is_time32, "int"),
    (pa.types.is_time64, "bigint"),
)


STORAGE_HANDLER = "io.pyhudi.hive.HudiStorageHandler"
INPUT_FORMATS = (
    "io.pyhudi.hive.HudiCopyOnWriteInputFormat",
    "io.pyhudi.hive.HudiMergeOnReadInputFormat",
)
_OF_HIVE = frozenset(
    {"EXTERNAL", "storage_handler", "transient_lastDdlTime", "bucketing_version", "numFiles"}
    | {"totalSize", "numRows", "rawDataSize", "COLUMN_STATS_ACCURATE", "numFilesErasureCoded"}
    | {"last_modified_by", "last_modified_time", "TRANSLATED_TO_EXTERNAL"}
)
"""The properties of a table in which Hive itself notes something."""
_SLASHES = re.compile("/+")
_S3 = frozenset({"s3", "s3a", "s3n"})


@dataclass(frozen=True)
class TableName:
    """A table's name in Hive."""

    database: str
    table: str

    @staticmethod
    def parse(text: str, database: str) -> TableName:
        """Parse `table`, in this database, or `database.table`."""
        before, dot, after = text.partition(".")
        return TableName(*((before, after) if dot else (database, text)))

    @property
    def aside(self) -> TableName:
        """The name of a table that an operation has beside this one until it ends."""
        return TableName(self.database, f"{self.table}__registering")

    def __str__(self) -> str:
        return f"{quote_identifier(self.database)}.{quote_identifier(self.table)}"


@dataclass(frozen=True)
class FileFormat:
    """The classes that read and write the files of a table or of a partition.

    Attributes:
        input: The input format.
        output: The output format.
        serde: The serialization library.
    """

    input: str
    output: str
    serde: str


@dataclass(frozen=True)
class MetastoreTable:
    """A table of the metastore.

    Attributes:
        kind: For example, EXTERNAL_TABLE.
        handler: The storage handler. None for a native table.
        partition_keys: The columns of its partitions in the metastore, in lower case.
        buckets: Their number; 0 for a table without.
    """

    columns: tuple[HiveColumn, ...]
    kind: str
    location: str
    handler: str | None
    input_format: str
    properties: Mapping[str, str]
    output_format: str = ""
    serde: str = ""
    partition_keys: tuple[str, ...] = ()
    buckets: int = 0

    @property
    def format(self) -> FileFormat:
        """The classes of its files, and of new partitions."""
        return FileFormat(self.input_format, self.output_format, self.serde)

    @property
    def has_our_handler(self) -> bool:
        """Whether this project's handler or input formats read it."""
        return self.handler == STORAGE_HANDLER or self.input_format in INPUT_FORMATS

    @property
    def survives_drop(self) -> bool:
        """Whether DROP TABLE keeps its data."""
        purge = self.properties.get("external.table.purge", "false").lower() == "true"
        return self.kind == "EXTERNAL_TABLE" and not purge


def without_notes(table: MetastoreTable) -> MetastoreTable:
    """Return a table without the properties that Hive itself sets."""
    kept = {key: value for key, value in table.properties.items() if key not in _OF_HIVE}
    return replace(table, properties=kept)


def is_same(one: MetastoreTable | None, other: MetastoreTable | None) -> bool:
    """Return whether a table is the same, but for what Hive itself notes of it."""
    if one is None or other is None:
        return one is other
    return without_notes(one) == without_notes(other)


def metastore_table(session: HiveSession, name: TableName) -> MetastoreTable | None:
    """Return the table of the metastore; None if there is none. Raises QueryError."""
    shown = session.run(f"SHOW TABLES IN {quote_identifier(name.database)} LIKE '{name.table}'")
    if not any(row[0] == name.table.lower() for row in shown):
        return None
    return _parse(_described(session, str(name))["tableInfo"])


def partition_format(
    session: HiveSession, name: TableName, keys: Sequence[str], values: Sequence[str]
) -> FileFormat:
    """Return the classes of one partition. Raises QueryError."""
    found = _described(session, f"{name}{partition_clause(keys, values)}")
    return _format(found["partitionInfo"]["sd"])


def partition_clause(keys: Sequence[str], values: Sequence[str]) -> str:
    """Return ` PARTITION (key='value', ...)` with the values of all keys."""
    pairs = zip(keys, values, strict=True)
    named = ", ".join(f"{quote_identifier(key)}={quote_string(value)}" for key, value in pairs)
    return f" PARTITION ({named})"


def quote_string(value: str) -> str:
    """Return a string literal of Hive's SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace(";", "\\;")
    return f"'{escaped}'"


def same_place(one: str, other: str) -> bool:
    """Return whether two locations are the same directory, by their texts."""
    first, second = urlsplit(one), urlsplit(other)
    # Hadoop takes several slashes for one.
    if _SLASHES.sub("/", first.path).rstrip("/") != _SLASHES.sub("/", second.path).rstrip("/"):
        return False
    schemes = {"s3" if part.scheme in _S3 else part.scheme for part in (first, second)}
    hosts = {first.netloc, second.netloc}
    return len(schemes - {""}) <= 1 and len(hosts - {""}) <= 1


def _described(session: HiveSession, what: str) -> Mapping[str, Any]:
    # As text, comments and long types would have to be reassembled.
    session.run("SET hive.ddl.output.format=json")
    try:
        rows = session.run(f"DESCRIBE EXTENDED {what}")
    finally:
        session.run("SET hive.ddl.output.format=text")
    found: Mapping[str, Any] = json.loads(rows[0][0])
    return found


def _format(storage: Mapping[str, Any]) -> FileFormat:
    return FileFormat(
        storage.get("inputFormat") or "",
        storage.get("outputFormat") or "",
        (storage.get("serdeInfo") or {}).get("serializationLib") or "",
    )


def _parse(info: Mapping[str, Any]) -> MetastoreTable:
    storage = info["sd"]
    formats = _format(storage)
    properties = {key: str(value) for key, value in info["parameters"].items()}
    return MetastoreTable(
        columns=_columns(storage["cols"]),
        kind=info["tableType"],
        location=storage.get("location") or "",
        handler=properties.get("storage_handler"),
        input_format=formats.input,
        properties=properties,
        output_format=formats.output,
        serde=formats.serde,
        partition_keys=tuple(key["name"].lower() for key in info.get("partitionKeys") or ()),
        buckets=max(0, int(storage.get("numBuckets") or 0)),
    )


def _columns(fields: list[dict[str, Any]]) -> tuple[HiveColumn, ...]:
    return tuple(
        HiveColumn(field["name"], field["type"], field["type"], field.get("comment") or "")
        for field in fields
    )
