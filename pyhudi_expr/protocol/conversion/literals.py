"""Convert the protocol's typed constants (``Literal``) and packed keys (``Keys``), and back.

No step is a loop over keys: they come from the network in their hundreds of thousands.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    Int64Array,
    arrow_array,
    arrow_buffer,
    from_buffer,
    runs,
    value_list,
    zone_of,
)
from pyhudi_expr.expr import nodes
from pyhudi_expr.expr.frontend.common.constants import (
    InexpressibleError,
    Type,
    parse_type,
    split_timestamp,
    timestamp_literal,
    type_name,
)
from pyhudi_expr.expr.keys import KeyList
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


_NUMBER = np.dtype("<i8")
#: Of a timestamp in nanoseconds; 26 days before the ends of what int64 holds.
_MOST_NANOS = 9_221 * 10**15
_WIDTHS = {
    pa.int8(): 8,
    pa.int16(): 16,
    pa.int32(): 32,
    pa.int64(): 64,
    pa.date32(): 32,
}


def decode_keys(wire: ttypes.Keys, most: int, max_bytes: int) -> KeyList:
    """Return the keys of a node.

    Args:
        wire: The keys as they were sent.
        most: Limit of their number.
        max_bytes: Limit of the size of one text, in bytes.

    Raises:
        BadRequestError: They violate the protocol or a limit.
        InexpressibleError: Expressions do not have their type or one of their texts.
    """
    if not isinstance(wire.type, str) or wire.count is None:
        raise BadRequestError("keys without their type or number")
    type_ = parse_type(wire.type)
    if not isinstance(type_, pa.DataType):
        raise InexpressibleError(f"keys of type {wire.type[:100]}")
    found = _texts(wire, max_bytes) if pa.types.is_string(type_) else _ranges(wire, type_, most)
    if len(found.lows) > most or wire.count < len(found.lows):
        raise BadRequestError(f"{wire.count} keys in {len(found.lows)} ranges; {most} are allowed")
    return found


def _ranges(wire: ttypes.Keys, type_: pa.DataType, most: int) -> KeyList:
    lows = _numbers(wire.starts, wire.type)
    highs = lows if wire.ends is None else _numbers(wire.ends, wire.type)
    if len(highs) != len(lows) or (highs < lows).any() or (lows[1:] <= highs[:-1]).any():
        raise BadRequestError(f"{wire.type[:100]} keys that are no ascending ranges")
    _check_values(lows, highs, type_, wire.type)
    # The difference may exceed int64, but not uint64.
    values = (highs - lows).view(np.uint64).astype(np.float64).sum() + len(lows)
    if highs is not lows and values == wire.count and values <= most:
        lows = highs = runs(lows, highs - lows + 1)
    low = arrow_array(lows)
    return KeyList(type_, low, low if highs is lows else arrow_array(highs), wire.count)


def _check_values(lows: Int64Array, highs: Int64Array, type_: pa.DataType, name: str) -> None:
    if not len(lows):
        return
    if pa.types.is_timestamp(type_) and type_ == pa.timestamp("ns"):
        if lows[0] < -_MOST_NANOS or highs[-1] > _MOST_NANOS:
            raise InexpressibleError("keys that are times beyond the years 1678 to 2262")
        return
    width = _WIDTHS.get(type_)
    if width is None:
        raise InexpressibleError(f"keys of type {name[:100]}")
    if lows[0] < -(2 ** (width - 1)) or highs[-1] >= 2 ** (width - 1):
        raise BadRequestError(f"{name} keys are out of range")


def _numbers(packed: bytes | None, name: str) -> Int64Array:
    if packed is None or len(packed) % _NUMBER.itemsize:
        raise BadRequestError(f"{name[:100]} keys that are no packed numbers")
    return from_buffer(packed, _NUMBER).astype(np.int64, copy=False)


def _texts(wire: ttypes.Keys, max_bytes: int) -> KeyList:
    texts, ends = wire.texts, _numbers(wire.textEnds, wire.type)
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    lengths = np.diff(offsets)
    if texts is None or (lengths < 0).any() or offsets[-1] != len(texts):
        raise BadRequestError("string keys that do not end within their bytes")
    if (lengths > max_bytes).any():
        raise BadRequestError(f"a string key of {lengths.max()} bytes, {max_bytes} are allowed")
    buffers = [None, arrow_buffer(offsets), pa.py_buffer(texts)]
    found: AnyArray = pa.Array.from_buffers(pa.large_binary(), len(ends), buffers)
    if not pc.all(pc.less(found[:-1], found[1:]), min_count=0).as_py():
        raise BadRequestError("string keys that do not ascend")
    try:
        found.view(pa.large_string()).validate(full=True)
    except pa.ArrowInvalid as error:
        raise BadRequestError("string keys that are not UTF-8") from error
    if REPLACED.encode() in texts:
        raise InexpressibleError("a text that was no UTF-8")
    return KeyList(pa.string(), found, found, wire.count)


def encode_keys(keys: KeyList, has_null: bool) -> ttypes.Keys:
    """Return the inverse of `decode_keys`. Raises ValueError for keys that the protocol lacks."""
    wire = ttypes.Keys(type=type_name(keys.type), count=keys.count, hasNull=has_null or None)
    if pa.types.is_string(keys.type):
        if not keys.are_values:
            raise ValueError("ranges of texts")
        lengths = pc.binary_length(keys.lows).to_numpy(zero_copy_only=False)
        wire.texts = b"".join(value_list(keys.lows))
        wire.textEnds = np.cumsum(lengths, dtype=_NUMBER).tobytes()
        return wire
    scale = _nanos_of_unit(keys.type) if pa.types.is_timestamp(keys.type) else 1
    lows, highs = keys.lows, keys.highs
    wire.starts = _packed(lows, scale)
    if not keys.are_values:
        wire.ends = _packed(highs, scale)
    return wire


def _packed(numbers: AnyArray, scale: int) -> bytes:
    return pc.multiply_checked(numbers, scale).to_numpy().astype(_NUMBER).tobytes()


def _nanos_of_unit(type_: pa.TimestampType) -> int:
    return {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[type_.unit]
