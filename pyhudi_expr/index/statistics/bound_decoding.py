"""Decode one bound of a statistics entry into the order of the column's type.

A bound is decoded only if its wrapper, its value type and the column's type agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Float64Array, Int64Array, arrow_nulls
from pyhudi_expr.expr.bounds import Values
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    exact_decimal,
    float_ordinals,
)

# HoodieMetadataColumnStats.valueType.typeOrdinal, index version 2.
_BYTES_TYPES = (None, 8, 9)
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
    present = values.is_valid().to_numpy(zero_copy_only=False)
    nothing = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.bool_)
    match domain.kind, encoding.wrapper:
        case (Kind.BOOLEAN, "BooleanWrapper"):
            return _integers(pc.cast(values, pa.int8())), present
        case (Kind.INTEGER | Kind.DATE, "IntWrapper" | "LongWrapper" | "DateWrapper"):
            return _integers(values), present
        case (Kind.FLOAT, "FloatWrapper" | "DoubleWrapper" | "IntWrapper" | "LongWrapper"):
            floats = pc.fill_null(pc.cast(values, pa.float64(), safe=False), 0.0).to_numpy()
            evolved = encoding.wrapper != ("FloatWrapper" if domain.bits == 32 else "DoubleWrapper")
            return float_ordinals(widen_float32(floats, outward) if evolved else floats), present
        case (Kind.WALL_CLOCK | Kind.INSTANT, "LongWrapper" | "TimestampMicrosWrapper"):
            return _timestamps(_integers(values), present, encoding, domain)
        case (Kind.DECIMAL, "DecimalWrapper" | "BytesWrapper"):
            unscaled = [_unscaled(value, encoding, domain.scale) for value in values.to_pylist()]
            fits = [u is not None and MIN_ORDINAL <= u <= MAX_ORDINAL for u in unscaled]
            numbers = [u if fit else 0 for u, fit in zip(unscaled, fits, strict=True)]
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
    filled = pc.fill_null(pc.cast(values, pa.int64()), 0)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


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


def _unscaled(value: Values, encoding: Encoding, scale: int) -> int | None:
    """Return the decimal's unscaled value at the column's scale; None if it is not exact."""
    if value is None:
        return None
    own_scale = _decimal_scale(encoding)
    if own_scale is None:
        return None
    unscaled = int.from_bytes(value, "big", signed=True)
    if own_scale <= scale:
        return int(unscaled * 10 ** (scale - own_scale))
    exact, rest = divmod(unscaled, 10 ** (own_scale - scale))
    return None if rest else int(exact)


def _decimal_scale(encoding: Encoding) -> int | None:
    if encoding.wrapper == "DecimalWrapper":
        return WRAPPED_DECIMAL_SCALE
    if encoding.type_ordinal != _DECIMAL_TYPE:
        return None
    _, _, scale = (encoding.type_info or "").partition(",")
    return int(scale) if scale.strip().isdecimal() else None


def decode_arrow(values: AnyArray, encoding: Encoding, domain: Domain) -> Values:
    """Return the bounds as an array of the domain's type; null where one cannot be decoded."""
    match domain.kind, encoding.wrapper:
        case (Kind.TEXT, "StringWrapper"):
            return pc.cast(pc.cast(values, pa.large_string()), pa.large_binary())
        case (Kind.BINARY, "BytesWrapper") if encoding.type_ordinal in _BYTES_TYPES:
            return pc.cast(values, pa.large_binary())
        case (Kind.DECIMAL, "DecimalWrapper" | "BytesWrapper"):
            unscaled = [_unscaled(value, encoding, domain.scale) for value in values.to_pylist()]
            return pa.array(
                [None if u is None else exact_decimal(u, domain.scale) for u in unscaled],
                type=domain.arrow_type,
            )
    return arrow_nulls(len(values), domain.arrow_type)
