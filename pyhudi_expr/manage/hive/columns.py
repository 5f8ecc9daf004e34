"""A Hudi table's columns as Hive declares them, by the rules of the handler's HiveTypes.java."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from pyhudi_expr.arrays import AnyField
from pyhudi_expr.errors import UnsupportedTable
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
    (pa.types.is_date32, "date"),
    (pa.types.is_timestamp, "timestamp"),
    # Times of day are the integers that they are stored as.
    (pa.types.is_time32, "int"),
    (pa.types.is_time64, "bigint"),
)
