"""The effect on bounds of conversions to and from floats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    float_ordinals,
    floats_of,
    integer_range,
)
from pyhudi_expr.expr.functions.conversions import Within, within
from pyhudi_expr.expr.functions.signature import ordinals, where_known

#: Trino and Presto divide a decimal's digits by a power of ten in float32: three roundings.
_SINGLES_ERROR = 2.0**-21


def integers_to_doubles(*operands: Bounds) -> Bounds:
    """Convert integers to doubles, rounded outward."""
    (operand,) = operands
    lower, upper = ordinals(operand)
    return Bounds(
        float_ordinals(lower.astype(np.float64)),
        float_ordinals(upper.astype(np.float64)),
        operand.may_be_value,
        operand.may_be_null,
    )


def integers_as_singles(*operands: Bounds) -> Bounds:
    """Convert integers to float32, rounded once or through doubles; Hive's vectors keep doubles."""
    (operand,) = operands
    ends = []
    for end, outer in zip(ordinals(operand), (np.minimum, np.maximum), strict=True):
        doubles = end.astype(np.float64)
        singles = [one.astype(np.float32).astype(np.float64) for one in (end, doubles)]
        ends.append(float_ordinals(outer(doubles, outer(*singles))))
    return Bounds(ends[0], ends[1], operand.may_be_value, operand.may_be_null)


def quotients_to_floats(*operands: Bounds) -> Bounds:
    """Convert doubles to float32 values that an engine may have computed by a float32 division."""
    (operand,) = operands
    lower, upper = ordinals(operand)
    first, last = floats_of(lower), floats_of(upper)
    with np.errstate(over="ignore", invalid="ignore"):
        first, last = first - np.abs(first) * _SINGLES_ERROR, last + np.abs(last) * _SINGLES_ERROR
    widened = where_known(
        lower != MIN_ORDINAL,
        float_ordinals(first),
        upper != MAX_ORDINAL,
        float_ordinals(last),
        operand,
    )
    return doubles_to_floats(widened)


def doubles_to_floats(*operands: Bounds) -> Bounds:
    """Convert doubles to float32; Hive's vectors keep the doubles."""
    (operand,) = operands
    lower, upper = ordinals(operand)
    with np.errstate(over="ignore", invalid="ignore"):
        singles = [floats_of(ends).astype(np.float32) for ends in (lower, upper)]
    first, last = (float_ordinals(ends) for ends in singles)
    least, greatest = np.minimum(lower, first), np.maximum(upper, last)
    return where_known(lower != MIN_ORDINAL, least, upper != MAX_ORDINAL, greatest, operand)


@dataclass(frozen=True)
class FloatsToIntegers:
    """Floats without their fractions; NaN and too large values may be any integer or NULL."""

    bits: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        least, greatest = integer_range(self.bits)
        with np.errstate(invalid="ignore"):
            first, last = np.trunc(floats_of(lower)), np.trunc(floats_of(upper))
            inside = (first >= least) & (last <= float(min(greatest, 2**62)))
        whole = [np.where(inside, ends, 0).astype(np.int64) for ends in (first, last)]
        return Within(least, greatest).result(whole[0], whole[1], inside, operand)


@dataclass(frozen=True)
class DecimalsToDoubles:
    """Decimals as doubles, with a margin for the roundings of engines."""

    scale: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        factor = 10.0**self.scale
        first, last = lower.astype(np.float64) / factor, upper.astype(np.float64) / factor
        # A quotient of two exact doubles is the nearest double, which engines return.
        exact = [within(ends, 2**53) & (self.scale <= 22) for ends in (lower, upper)]
        first = np.where(exact[0], first, nudge_doubles(first, -np.inf))
        last = np.where(exact[1], last, nudge_doubles(last, np.inf))
        return where_known(
            lower != MIN_ORDINAL,
            float_ordinals(first),
            upper != MAX_ORDINAL,
            float_ordinals(last),
            operand,
        )


def nudge_doubles(values: np.ndarray, to: float) -> np.ndarray:
    """Move each double by two steps, the error of two roundings."""
    with np.errstate(over="ignore"):  # the step after the greatest double is infinity
        return np.asarray(np.nextafter(np.nextafter(values, to), to))
