"""The schemas of a table: Avro's as Arrow's, exactly, and those that it had before.

Avro specification, "Logical Types": `timestamp-*` are instants (Arrow timestamps in UTC),
`local-timestamp-*` are wall-clock times (Arrow timestamps without a zone). Hudi 1.2 adds
`vector`, a fixed number of floats, doubles or bytes (an Arrow list of a fixed size).

Schema-on-read evolution stores them in ``.hoodie/.schema/<instant>.schemacommit``: JSON with all
versions so far, each with the instant from which it is valid (``version_id``, 0 for the first one).
A column keeps its id under another name or type. A column that is dropped and added again gets
another id.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pyhudi_expr.arrays import AnyField
from pyhudi_expr.errors import CorruptFile, UnsupportedTable
from pyhudi_expr.tables.hudi_names import META_COLUMNS, SCHEMA_DIR
from pyhudi_expr.tables.parsing.avro_schemas import AvroSchema
from pyhudi_expr.tables.parsing.budget import parse_json
from pyhudi_expr.tables.storage import Storage

#: The types of a vector's elements by Hudi's names.
_ELEMENTS: Mapping[str, pa.DataType] = {
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "INT8": pa.int8(),
}

#: The field metadata that holds a column's comment.
DOC = b"doc"
#: That of a default value in Avro, as JSON, if it is another than null.
_DEFAULT = b"default"

_PRIMITIVES: Mapping[str, Callable[[], pa.DataType]] = {
    "null": pa.null,
    "boolean": pa.bool_,
    "int": pa.int32,
    "long": pa.int64,
    "float": pa.float32,
    "double": pa.float64,
    "bytes": pa.binary,
    "string": pa.string,
}

_LOGICAL: Mapping[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz="UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", tz="UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}


def nested_type(schema: pa.Schema, column: str) -> pa.DataType | None:
    """Return the type of a column, of a nested one by its dotted name; None if there is none."""
    type_: pa.DataType = pa.struct(list(schema))
    for name in column.split("."):
        if not pa.types.is_struct(type_) or type_.get_field_index(name) < 0:
            return None
        type_ = type_.field(name).type
    return type_


def arrow_schema(avro_schema: str) -> pa.Schema:
    """Return the Arrow schema of an Avro record schema (JSON), with the fields' comments.

    Raises:
        UnsupportedTable: It is not a record, or has a type without an Arrow type.
    """
    try:
        parsed = parse_json(avro_schema, "the table's Avro schema")
    except CorruptFile as error:
        raise UnsupportedTable(str(error)) from error
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise UnsupportedTable("the table's Avro schema is not a record")
    try:
        return _record_schema(parsed)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UnsupportedTable(f"the table's Avro schema is none: {error!r}") from error


def optional_columns(schema: pa.Schema) -> Iterator[str]:
    """Return the columns that may be null and have no default value, nested ones with dots.

    Readers fill in NULL for these, and for no others, where data was written before they were
    added.
    """
    return _optional_fields(schema, "")


def _optional_fields(fields: Iterable[AnyField], prefix: str) -> Iterator[str]:
    for field in fields:
        if field.nullable and _DEFAULT not in (field.metadata or {}):
            yield f"{prefix}{field.name}"
            if pa.types.is_struct(field.type):
                yield from _optional_fields(field.type, f"{prefix}{field.name}.")


def _record_schema(parsed: dict[str, Any]) -> pa.Schema:
    struct = _Converter().data_type(parsed, "")
    return pa.schema([_with_doc(struct.field(i), of) for i, of in enumerate(parsed["fields"])])


def _with_doc(field: AnyField, avro: dict[str, Any]) -> AnyField:
    doc = avro.get("doc")
    return field.with_metadata({DOC: doc, **_default(avro)}) if doc else field


def _default(avro: dict[str, Any]) -> dict[bytes | str, bytes | str]:
    return {} if avro.get("default") is None else {_DEFAULT: json.dumps(avro["default"])}


def with_meta_fields(schema: pa.Schema) -> pa.Schema:
    """Return the schema with Hudi's five meta columns first, where they are missing."""
    present = set(schema.names)
    meta = [pa.field(name, pa.string()) for name in META_COLUMNS if name not in present]
    return pa.schema([*meta, *schema])


class _Converter:
    """Converts types, and keeps the named types that the schema has defined so far."""

    def __init__(self) -> None:
        self._named: dict[str, pa.DataType] = {}

    def data_type(self, avro: AvroSchema, namespace: str) -> pa.DataType:
        if isinstance(avro, str):
            return self._by_name(avro, namespace)
        if isinstance(avro, list):
            return self._union(avro, namespace)[0]
        kind = avro["type"]
        if isinstance(kind, (dict, list)):
            return self.data_type(kind, namespace)
        if kind in ("record", "error"):
            return self._record(avro, namespace)
        if kind == "enum":
            return self._define(avro, namespace, pa.string())
        if kind == "fixed":
            fixed = _logical(avro) or pa.binary(avro["size"])
            return self._define(avro, namespace, fixed)
        if kind == "array":
            item, nullable = self._field_type(avro["items"], namespace)
            return pa.list_(pa.field("element", item, nullable))
        if kind == "map":
            value, nullable = self._field_type(avro["values"], namespace)
            return pa.map_(pa.string(), pa.field("value", value, nullable))  # type: ignore[call-overload]
        return _logical(avro) or self._by_name(kind, namespace)

    def _record(self, avro: dict[str, Any], namespace: str) -> pa.DataType:
        inner = _namespace(avro, namespace)
        fields = []
        for field in avro["fields"]:
            data_type, nullable = self._field_type(field["type"], inner)
            fields.append(pa.field(field["name"], data_type, nullable, _default(field) or None))
        return self._define(avro, namespace, pa.struct(fields))

    def _field_type(self, avro: AvroSchema, namespace: str) -> tuple[pa.DataType, bool]:
        if isinstance(avro, list):
            return self._union(avro, namespace)
        return self.data_type(avro, namespace), avro == "null"

    def _union(self, branches: list[Any], namespace: str) -> tuple[pa.DataType, bool]:
        values = [branch for branch in branches if branch != "null"]
        if len(values) > 1:
            raise UnsupportedTable(f"a union of several types is not supported: {branches}")
        if not values:
            return pa.null(), True
        return self.data_type(values[0], namespace), len(values) < len(branches)

    def _define(self, avro: dict[str, Any], namespace: str, data_type: pa.DataType) -> pa.DataType:
        self._named[_full_name(avro["name"], _namespace(avro, namespace))] = data_type
        return data_type

    def _by_name(self, name: str, namespace: str) -> pa.DataType:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]()
        known = self._named.get(_full_name(name, namespace)) or self._named.get(name)
        if known is None:
            raise UnsupportedTable(f"the table's Avro schema has an unknown type {name!r}")
        return known


def _logical(avro: dict[str, Any]) -> pa.DataType | None:
    """Return the Arrow type of a logical type; None if the plain type applies."""
    logical = avro.get("logicalType")
    if logical == "decimal":
        precision, scale = int(avro["precision"]), int(avro.get("scale", 0))
        if precision <= 38:
            return pa.decimal128(precision, scale)
        return pa.decimal256(precision, scale) if precision <= 76 else None
    if logical == "vector" and (element := _ELEMENTS.get(avro["elementType"])):
        return pa.list_(pa.field("element", element), int(avro["dimension"]))
    return _LOGICAL.get((avro["type"], logical)) if logical else None


def _namespace(avro: dict[str, Any], outer: str) -> str:
    name = str(avro.get("name", ""))
    return name.rpartition(".")[0] if "." in name else str(avro.get("namespace", outer) or "")


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


RECORD = "record"
"""The type of structs."""

_SUFFIX = ".schemacommit"


@dataclass(frozen=True)
class HistoricField:
    """A (nested) column in some version.

    Attributes:
        name: Its name, with dots.
        type: Its type as Hudi spells it: "record" for a struct; for a list or a map its JSON, which
            has the ids and names of everything in it.
    """

    name: str
    type: str


@dataclass(frozen=True)
class SchemaVersion:
    """One version of the schema.

    Attributes:
        since: The instant from which it is valid, as a number.
        fields: Columns and fields of structs by their ids.
        json: The version as Hudi writes it.
    """

    since: int
    fields: Mapping[int, HistoricField]
    json: str

    def id_of(self, name: str) -> int | None:
        """Return the id of a column by its dotted name."""
        return next((id_ for id_, field in self.fields.items() if field.name == name), None)


@dataclass(frozen=True)
class SchemaHistory:
    """All versions, ascending."""

    versions: tuple[SchemaVersion, ...]

    def at(self, instant: str | None) -> SchemaVersion | None:
        """Return the version of files written at an instant (None: the newest); None if unknown."""
        if instant is None:
            return self.versions[-1] if self.versions else None
        if not instant.isdecimal():
            return None
        at = bisect_right([version.since for version in self.versions], int(instant))
        return self.versions[at - 1] if at else None


def schema_history(storage: Storage, is_committed: Callable[[str], bool]) -> SchemaHistory | None:
    """Read the table's history; None if there is none.

    Args:
        storage: The table's storage.
        is_committed: Whether the changes of an instant count; a failed change does not.

    Raises:
        CorruptFile: The history cannot be parsed.
    """
    entries = storage.list(SCHEMA_DIR)
    names = sorted(entry.name for entry in entries if entry.name.endswith(_SUFFIX))
    if not names:
        return None
    path = f"{SCHEMA_DIR}/{names[-1]}"
    history = _parsed(storage.read(path), f"{storage.uri}/{path}")
    counting = (v for v in history.versions if not v.since or is_committed(str(v.since)))
    return SchemaHistory(tuple(counting))


def _parsed(content: bytes, file: str) -> SchemaHistory:
    try:
        versions = [
            SchemaVersion(
                int(version["version_id"]),
                dict(_fields(version["fields"], "")),
                json.dumps(version),
            )
            for version in parse_json(content, file)["schemas"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptFile(file, f"no history of schemas: {error!r}") from error
    return SchemaHistory(tuple(sorted(versions, key=lambda version: version.since)))


def _fields(fields: list[dict[str, Any]], prefix: str) -> Iterator[tuple[int, HistoricField]]:
    for field in fields:
        id_, name, type_ = int(field["id"]), f"{prefix}{field['name']}", field["type"]
        if isinstance(type_, str):
            yield id_, HistoricField(name, type_)
        elif type_["type"] == RECORD:
            yield id_, HistoricField(name, RECORD)
            yield from _fields(type_["fields"], f"{name}.")
        else:
            yield id_, HistoricField(name, json.dumps(type_, sort_keys=True))
