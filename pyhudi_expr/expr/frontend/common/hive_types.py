"""Hive's type names and the corresponding Arrow types."""

from __future__ import annotations

import re
from typing import TypeAlias

import pyarrow as pa

from pyhudi_expr.expr.nodes import CharType

Type: TypeAlias = pa.DataType | CharType

_SIMPLE: dict[str, pa.DataType] = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "double precision": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("ns"),
    "timestamp with local time zone": pa.timestamp("ns", tz="UTC"),
    "binary": pa.binary(),
}
_PARAMETERS = re.compile(r"(decimal|numeric|char|varchar)(?:\((\d{1,5})(?:,(\d{1,5}))?\))?")
_MAX_DIGITS = 76
_MAX_SMALL_DIGITS = 38


class InexpressibleError(ValueError):
    """Expressions do not have the type, function or value; the message says which."""


def parse_type(name: str) -> Type:
    """Return the type of a Hive type name, in any letter case. Raises InexpressibleError."""
    words = " ".join(name.lower().split())
    if words in _SIMPLE:
        return _SIMPLE[words]
    match = _PARAMETERS.fullmatch(words.replace(" ", ""))
    if match is None:
        raise InexpressibleError(f"the type {name[:100]!r}")
    kind, first, second = match[1], match[2], match[3]
    if kind in ("decimal", "numeric"):
        return decimal_type(int(first or 10), int(second or 0))
    if first is None or second is not None or int(first) == 0:
        raise InexpressibleError(f"the type {name[:100]!r}")
    return CharType(int(first), padded=kind == "char")


def decimal_type(precision: int, scale: int) -> pa.DataType:
    """Return decimal(precision,scale). Raises InexpressibleError beyond 76 digits."""
    if not 1 <= precision <= _MAX_DIGITS or scale > precision:
        raise InexpressibleError(f"the type decimal({precision},{scale})")
    if precision > _MAX_SMALL_DIGITS:
        return pa.decimal256(precision, scale)
    return pa.decimal128(precision, scale)


def type_name(type_: Type) -> str:
    """Return the inverse of `parse_type`. Raises InexpressibleError."""
    if isinstance(type_, CharType):
        return f"{'char' if type_.padded else 'varchar'}({type_.length})"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp with local time zone" if type_.tz else "timestamp"
    if pa.types.is_large_string(type_):
        return "string"
    if pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return "binary"
    for name, known in _SIMPLE.items():
        if known == type_:
            return name
    raise InexpressibleError(f"Hive has no name for {type_}")


def nested_type_name(type_: pa.DataType) -> str:
    """Return `type_name`, also of an array. Raises InexpressibleError."""
    if pa.types.is_list(type_):
        return f"array<{type_name(type_.value_type)}>"
    return type_name(type_)
