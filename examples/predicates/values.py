"""Values of Presto's and Trino's types, as literals."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from pyhudi_expr.expr.frontend.common.constants import InexpressibleError, decimal_type
from pyhudi_expr.expr.nodes import CharType, Literal

MAX_TEXT = 1 << 24

#: What JSON becomes in Python.
Json: TypeAlias = Any

_TYPE = re.compile(r"([a-z]+)(?:\((\d{1,10})(?:,\s*(\d{1,4}))?\))?", re.ASCII)
_TIME = re.compile(r"timestamp\((\d{1,2})\)( with time zone)?", re.ASCII)
_ZONE_BITS = 12
_PICOS = 10**12
_PLAIN: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "varbinary": pa.binary(),
}

_Reader = Callable[[Any], Literal]


def read_json(text: str, error: Callable[[str], Exception]) -> Json:
    """Parse untrusted JSON. Raises the exception that `error` creates from a message."""
    if len(text) > MAX_TEXT:
        raise error(f"the text is longer than {MAX_TEXT} characters")
    try:
        return json.loads(text)
    except RecursionError:
        raise error("no JSON: nested too deeply") from None
    except ValueError as problem:
        raise error(f"no JSON: {str(problem)[:200]}") from None


@dataclass(frozen=True)
class ValueType:
    """How values of a type are written.

    Attributes:
        read: Converts a value of `blocks` to a literal; raises InexpressibleError.
        rounded_by: Nanoseconds by which a column's value may differ from the stored one, because
            the engine reads times with fewer digits.
    """

    read: _Reader
    rounded_by: int = 0


def value_type(type_: str) -> ValueType:
    """Return the values of a type by its signature. Raises InexpressibleError.

    A time without zone is a wall clock, up to microseconds in a long, finer ones in a pair.
    Presto's ``timestamp`` without precision may be a wall clock or an instant, by a setting.
    """
    match = _TIME.fullmatch(type_.lower())
    if match is None:
        return ValueType(_reader(type_))
    precision = int(match[1])
    read = _instant(precision) if match[2] else _wall_clock(precision)
    return ValueType(read, 10 ** (9 - precision) if precision < 9 else 0)


def _reader(type_: str) -> _Reader:
    match = _TYPE.fullmatch(type_.lower())
    if match is None:
        raise InexpressibleError(f"the type {type_[:100]!r}")
    name, first, second = match.groups()
    plain = _PLAIN.get(name)
    if plain is not None and first is None:
        cast = bool if name == "boolean" else lambda value: value
        return lambda value: Literal(cast(_checked(value, plain)), plain)
    match name, first, second:
        case "double", None, None:
            return lambda value: Literal(_bits("<q", "<d", value), pa.float64())
        case "real", None, None:
            return lambda value: Literal(_bits("<i", "<f", value), pa.float32())
        case "varchar", None, None:
            return lambda value: Literal(_text(value), pa.string())
        case "varchar" | "char", str(), None:
            type_of = CharType(int(first), padded=name == "char")
            return lambda value: Literal(_text(value), type_of)
        case "decimal", str(), str():
            return _decimal(int(first), int(second))
    raise InexpressibleError(f"the type {type_[:100]!r}")


def _checked(value: Json, type_: pa.DataType) -> Json:
    expected = bytes if pa.types.is_binary(type_) else int
    if not isinstance(value, expected):
        raise InexpressibleError(f"a {type(value).__name__} for a value of {type_}")
    return value


def _text(value: Json) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            pass
    raise InexpressibleError("a text that is not UTF-8")


def _bits(integer: str, floating: str, value: Json) -> float:
    try:
        (number,) = struct.unpack(floating, struct.pack(integer, value))
    except struct.error:
        raise InexpressibleError("a floating point number of other bits") from None
    return float(number)


def _decimal(precision: int, scale: int) -> _Reader:
    type_ = decimal_type(precision, scale)

    def read(value: Json) -> Literal:
        unscaled = _checked(value, pa.int64())
        digits = tuple(int(digit) for digit in str(abs(unscaled)))
        return Literal(Decimal((int(unscaled < 0), digits, -scale)), type_)

    return read


def _wall_clock(precision: int) -> _Reader:
    def read(value: Json) -> Literal:
        if precision <= 6:
            return Literal(_checked(value, pa.int64()), pa.timestamp("us"))
        micros, picos = _pair(value)
        return _nanos(micros * 1000, picos, None)

    return read


def _instant(precision: int) -> _Reader:
    """Read milliseconds since the epoch, beside the number of a zone that is not needed."""

    def read(value: Json) -> Literal:
        if precision <= 3:
            packed = _checked(value, pa.int64())
            return Literal(packed >> _ZONE_BITS, pa.timestamp("ms", "UTC"))
        packed, picos = _pair(value)
        return _nanos((packed >> _ZONE_BITS) * 10**6, picos, "UTC")

    return read


def _nanos(nanos: int, picos: int, zone: str | None) -> Literal:
    whole, rest = divmod(picos, 1000)
    if rest or not 0 <= picos < _PICOS:
        raise InexpressibleError("a time finer than nanoseconds")
    return Literal(nanos + whole, pa.timestamp("ns", zone))


def _pair(value: Json) -> tuple[int, int]:
    match value:
        case (int(long), int(rest)):
            return long, rest
    raise InexpressibleError("a time of other bits")
