"""Decode one bound of a statistics entry into the order of the column's type.

A bound is decoded only if its wrapper, its value type and the column's type agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    Float64Array,
    Int64Array,
    arrow_list,
    arrow_nulls,
    numpy_flags,
    numpy_numbers,
)
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    Domain,
    Kind,
    Values,
    exact_decimal,
    float_ordinals,
    integer_range,
)

# HoodieMetadataColumnStats.valueType.typeOrdinal, index version 2. Version 1 has none.
_TYPES: Mapping[Kind, Collection[int | None]] = {
    Kind.BOOLEAN: (None, 2),
    Kind.INTEGER: (None, 3, 4),
    Kind.FLOAT: (None, 3, 4, 5, 6),
    Kind.TEXT: (None, 7),
    Kind.BINARY: (None, 8, 9),
    Kind.DECIMAL: (None, 10),
    Kind.DATE: (None, 12),
    Kind.INSTANT: (None, 15, 16, 17),
    Kind.WALL_CLOCK: (None, 18, 19, 20),
}
_DECIMAL_TYPE = 10
#: Index version 1 wraps every decimal as decimal(30, 15).
WRAPPED_DECIMAL_SCALE = 15
_TIMESTAMP_UNITS = {15: 10**3, 16: 10**6, 17: 10**9, 18: 10**3, 19: 10**6, 20: 10**9}
#: Index version 1 keeps microseconds without saying so; measured for such columns only.
_VERSION_1_UNITS = 10**6


@dataclass(frozen=True)
class Encoding:
    """How a bound is wrapped: the wrapper's record name, and the value type of index version 2."""

    wrapper: str
    type_ordinal: int | None = None
    type_info: str | None = None


def decode_ordinals(
    values: AnyArray, encoding: Encoding, domain: Domain, outward: float
) -> tuple[Int64Array, BoolArray]:
    """Return the ordinals of the bounds, and flags for those that can be decoded with certainty.

    Args:
        values: The wrapped bounds.
        encoding: How they are wrapped.
        domain: The domain of the column.
        outward: The infinity towards which a bound may be moved.
    """
    present = numpy_flags(values.is_valid())
    nothing = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.bool_)
    if encoding.type_ordinal not in _TYPES[domain.kind]:
        return nothing
    match domain.kind, encoding.wrapper:
        case (Kind.BOOLEAN, "BooleanWrapper"):
            return _integers(pc.cast(values, pa.int8())), present
        case (Kind.INTEGER, "IntWrapper" | "LongWrapper"):
            integers = _integers(values)
            low, high = integer_range(domain.bits)
            return integers, present & (low <= integers) & (integers <= high)
        case (Kind.DATE, "DateWrapper"):
            return _integers(values), present
        case (Kind.DATE, "IntWrapper") if encoding.type_ordinal is not None:
            return _integers(values), present
        case (Kind.FLOAT, "FloatWrapper" | "DoubleWrapper" | "IntWrapper" | "LongWrapper"):
            floats = numpy_numbers(pc.cast(values, pa.float64(), safe=False))
            evolved = encoding.wrapper != ("FloatWrapper" if domain.bits == 32 else "DoubleWrapper")
            return float_ordinals(widen_float32(floats, outward) if evolved else floats), present
        case (Kind.WALL_CLOCK | Kind.INSTANT, "LongWrapper" | "TimestampMicrosWrapper"):
            return _timestamps(_integers(values), present, encoding, domain)
        case (Kind.DECIMAL, "DecimalWrapper" | "BytesWrapper"):
            unscaled = [_unscaled(value, encoding, domain) for value in values.to_pylist()]
            fits = [u is not None for u in unscaled]
            numbers = [0 if u is None else u for u in unscaled]
            return np.array(numbers, dtype=np.int64), np.array(fits, dtype=np.bool_)
    return nothing


def widen_float32(floats: Float64Array, outward: float) -> Float64Array:
    """Return the next float32 beyond each bound of a column that was widened to double since.

    Readers do not agree on the widened value: Hudi converts a float to a double through its decimal
    text, so that 0.1 becomes 0.1, others keep the bits. Zeros do not change.
    """
    with np.errstate(over="ignore"):
        single = floats.astype(np.float32)
        beyond = np.nextafter(single, np.float32(outward)).astype(np.float64)
    return np.where(np.isfinite(floats) & (floats != 0), beyond, floats)


def _integers(values: AnyArray) -> Int64Array:
    return numpy_numbers(pc.cast(values, pa.int64()))


def _timestamps(
    values: Int64Array, present: BoolArray, encoding: Encoding, domain: Domain
) -> tuple[Int64Array, BoolArray]:
    if encoding.type_ordinal is None:
        units = _VERSION_1_UNITS if domain.units == _VERSION_1_UNITS else None
    else:
        units = _TIMESTAMP_UNITS.get(encoding.type_ordinal)
    if units is None or domain.units % units:
        return values, np.zeros_like(present)
    factor = domain.units // units
    fits = np.abs(values) <= MAX_ORDINAL // factor
    return np.where(fits, values, 0) * np.int64(factor), present & fits


def _unscaled(value: Values, encoding: Encoding, domain: Domain) -> int | None:
    """Return the decimal's unscaled value in the column's type; None if it is none of its values.

    Readers give NULL for decimals with more digits than the column's type.
    """
    if value is None:
        return None
    own_scale = _decimal_scale(encoding)
    if own_scale is None:
        return None
    unscaled = int.from_bytes(value, "big", signed=True) * 10**domain.scale
    exact, rest = divmod(unscaled, 10**own_scale)
    return None if rest or abs(exact) >= 10**domain.precision else int(exact)


def _decimal_scale(encoding: Encoding) -> int | None:
    if encoding.wrapper == "DecimalWrapper":
        return WRAPPED_DECIMAL_SCALE
    if encoding.type_ordinal != _DECIMAL_TYPE:
        return None
    _, _, scale = (encoding.type_info or "").partition(",")
    return int(scale) if scale.strip().isdecimal() else None


def decode_arrow(values: AnyArray, encoding: Encoding, domain: Domain) -> Values:
    """Return the bounds as an array of the domain's type; null where one cannot be decoded."""
    if encoding.type_ordinal not in _TYPES[domain.kind]:
        return arrow_nulls(len(values), domain.arrow_type)
    match domain.kind, encoding.wrapper:
        case (Kind.TEXT, "StringWrapper"):
            return pc.cast(pc.cast(values, pa.large_string()), pa.large_binary())
        case (Kind.BINARY, "BytesWrapper"):
            return pc.cast(values, pa.large_binary())
        case (Kind.DECIMAL, "DecimalWrapper" | "BytesWrapper"):
            unscaled = [_unscaled(value, encoding, domain) for value in values.to_pylist()]
            return arrow_list(
                [None if u is None else exact_decimal(u, domain.scale) for u in unscaled],
                domain.arrow_type,
            )
    return arrow_nulls(len(values), domain.arrow_type)
