"""Convert the protocol's typed constants (``Literal`` of pruning.thrift) to literals, and back."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

from pyhudi_expr.arrays import zone_of
from pyhudi_expr.expr import nodes
from pyhudi_expr.expr.frontend.common.constants import split_timestamp, timestamp_literal
from pyhudi_expr.expr.frontend.common.hive_types import (
    InexpressibleError,
    Type,
    parse_type,
    type_name,
)
from pyhudi_expr.expr.nodes import CharType, PythonValue
from pyhudi_expr.protocol.generated import ttypes

_VALUE_FIELDS = (
    "booleanValue",
    "integerValue",
    "doubleValue",
    "stringValue",
    "binaryValue",
    "unscaledValue",
    "epochDays",
    "epochSeconds",
)
_MAX_SCALE = 76
_MAX_UNSCALED_BYTES = 32
_NANOS = 10**9
#: The protocol's reader replaces bytes that are not UTF-8 by this.
REPLACED = "\ufffd"


class BadRequestError(ValueError):
    """The request violates the protocol or a limit; the message says where and how."""


def decode_literal(wire: ttypes.Literal, max_bytes: int) -> nodes.Literal:
    """Return the constant of a protocol literal.

    Raises:
        BadRequestError: It violates the protocol or has more than `max_bytes`.
        InexpressibleError: Expressions do not have its type or text.
    """
    if not isinstance(wire.type, str):
        raise BadRequestError("a literal without a type")
    found = [name for name in _VALUE_FIELDS if getattr(wire, name) is not None]
    type_ = parse_type(wire.type)
    if not found:
        return nodes.Literal(None, type_)
    expected = _field(type_)
    if found != [expected]:
        raise BadRequestError(f"a literal of type {wire.type[:100]} with {' and '.join(found)}")
    value = getattr(wire, expected)
    if isinstance(value, str) and REPLACED in value:
        raise InexpressibleError("a text that was no UTF-8")
    if isinstance(value, str | bytes) and len(value) > max_bytes:
        raise BadRequestError(f"a literal of {len(value)} bytes, {max_bytes} are allowed")
    decoded: nodes.Literal = _DECODERS.get(expected, _primitive)(value, wire, type_)
    return decoded


def _field(type_: Type) -> str:
    if isinstance(type_, CharType) or pa.types.is_string(type_):
        return "stringValue"
    if pa.types.is_boolean(type_):
        return "booleanValue"
    if pa.types.is_integer(type_):
        return "integerValue"
    if pa.types.is_floating(type_):
        return "doubleValue"
    if pa.types.is_decimal(type_):
        return "unscaledValue"
    if pa.types.is_date(type_):
        return "epochDays"
    if pa.types.is_timestamp(type_):
        return "epochSeconds"
    return "binaryValue" if pa.types.is_binary(type_) else ""


def _primitive(value: PythonValue, wire: ttypes.Literal, type_: Type) -> nodes.Literal:
    return nodes.Literal(value, type_)


def _integer(value: int, wire: ttypes.Literal, type_: pa.DataType) -> nodes.Literal:
    limit = 2 ** (type_.bit_width - 1)
    if not -limit <= value < limit:
        raise BadRequestError(f"a {wire.type} literal is out of range")
    return nodes.Literal(value, type_)


def _decimal(value: bytes, wire: ttypes.Literal, type_: pa.DataType) -> nodes.Literal:
    scale = wire.scale
    if not value or scale is None or not 0 <= scale <= _MAX_SCALE:
        raise BadRequestError(f"a decimal literal with scale {scale} and {len(value)} bytes")
    if len(value) > _MAX_UNSCALED_BYTES:
        raise BadRequestError(f"a decimal literal of {len(value)} bytes")
    unscaled = int.from_bytes(value, "big", signed=True)
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return nodes.Literal(Decimal((int(unscaled < 0), digits, -scale)), type_)


def _timestamp(value: int, wire: ttypes.Literal, type_: pa.DataType) -> nodes.Literal:
    nanos = wire.nanos or 0
    if not 0 <= nanos < _NANOS:
        raise BadRequestError(f"a timestamp literal with {nanos} nanoseconds")
    return timestamp_literal(value, nanos, zone_of(type_))


_DECODERS: dict[str, Any] = {
    "integerValue": _integer,
    "unscaledValue": _decimal,
    "epochSeconds": _timestamp,
}


def encode_literal(literal: nodes.Literal) -> ttypes.Literal:
    """Return the inverse of `decode_literal`. Raises ValueError for unsupported constants."""
    type_, value = literal.type, literal.value
    wire = ttypes.Literal(type=type_name(type_))
    if value is None:
        return wire
    field = _field(parse_type(wire.type))
    if field == "unscaledValue":
        value, wire.scale = _unscaled(Decimal(value))
    elif field == "epochSeconds":
        value, wire.nanos = split_timestamp(literal)
    elif field == "doubleValue":
        value = float(value)
        if math.isfinite(value) and Decimal(value) != Decimal(literal.value):
            raise ValueError(f"{literal.value} is not a double")
    setattr(wire, field, value)
    return wire


def _unscaled(value: Decimal) -> tuple[bytes, int]:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("a decimal that is not a number")
    unscaled = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    unscaled = -unscaled if sign else unscaled
    return unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True), max(-exponent, 0)
