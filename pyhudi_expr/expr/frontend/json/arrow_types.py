"""Type names in JSON: Arrow's own, with `char(n)` and `varchar(n)`."""

from __future__ import annotations

import re

import pyarrow as pa

from pyhudi_expr.arrays import timestamp_type
from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError, Type
from pyhudi_expr.expr.nodes import CharType

_CHARS = re.compile(r"(char|varchar)\(([1-9]\d{0,4})\)", re.ASCII)
_DECIMAL = re.compile(r"decimal(128|256)\((\d{1,2}), ?(-?\d{1,2})\)", re.ASCII)
_INSTANT = re.compile(r"timestamp\[(s|ms|us|ns), tz=([\w/+:-]{1,64})\]", re.ASCII)
_FIXED = re.compile(r"fixed_size_binary\[(\d{1,6})\]", re.ASCII)
_SIMPLE_TYPES: tuple[pa.DataType, ...] = (
    *(pa.null(), pa.bool_(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us")),
    *(pa.time64("ns"), *(timestamp_type(unit) for unit in ("s", "ms", "us", "ns"))),
)
_PLAIN = {str(type_): type_ for type_ in _SIMPLE_TYPES}


def parse_arrow_type(name: str) -> Type:
    """Return the type of a name from `arrow_type_name`. Raises InexpressibleError."""
    if name in _PLAIN:
        return _PLAIN[name]
    try:
        if match := _CHARS.fullmatch(name):
            return CharType(int(match[2]), padded=match[1] == "char")
        if match := _DECIMAL.fullmatch(name):
            make = pa.decimal128 if match[1] == "128" else pa.decimal256
            return make(int(match[2]), int(match[3]))
        if match := _INSTANT.fullmatch(name):
            return timestamp_type(match[1], match[2])
        if match := _FIXED.fullmatch(name):
            return pa.binary(int(match[1]))
    except (ValueError, pa.ArrowException):
        pass
    raise InexpressibleError(f"the type {name[:100]!r}")


def arrow_type_name(type_: Type) -> str:
    """Return ``int32``, ``timestamp[us, tz=UTC]``, ``char(3)`` ... Raises InexpressibleError."""
    if isinstance(type_, CharType):
        name = f"{'char' if type_.padded else 'varchar'}({type_.length})"
    else:
        name = str(type_)
    if parse_arrow_type(name) != type_:
        raise InexpressibleError(f"the type {name[:100]!r}")
    return name
