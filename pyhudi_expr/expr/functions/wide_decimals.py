"""Decimals of more than 18 digits: bounds as Arrow's decimals, and as doubles with margins.

An unknown bound is null, and stays null.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, AnyScalar
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Ordinals,
    Values,
    float_ordinals,
    floats_of,
    mask_or,
)
from pyhudi_expr.expr.functions.signature import arrow, like, ordinals

#: Digits that Arrow's decimals have at most.
ARROW_DIGITS = 76
#: The decimals of all results that doubles bound: engines' have no more digits on either side.
BY_DOUBLES = Domain(Kind.DECIMAL, precision=ARROW_DIGITS, scale=38)
#: Relative error of a few roundings to doubles.
RELATIVE_ERROR = 1e-14
#: Relative error of a float32 against the decimal that it is printed as.
FLOAT_ERROR = 2.0**-23
#: Decimals above it are not zero as doubles.
_LEAST_KEPT = 1e-12
_LARGEST_DOUBLE = 1e37
_GREATEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class Refitted:
    """Decimals in another type, halves away from zero; a value that does not fit may be any."""

    target: Domain

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, fits_lower = self._fitted(operand.lower)
        upper, fits_upper = self._fitted(operand.upper)
        fits = pc.and_(fits_lower, fits_upper)
        overflows = np.asarray(pc.invert(fits).to_numpy(zero_copy_only=False), dtype=np.bool_)
        if isinstance(operand.lower, pa.Scalar) and isinstance(operand.upper, pa.Scalar):
            overflows = overflows[0]
        ends = [like(pc.if_else(fits, end, _null(end)), shape)
                for end, shape in ((lower, operand.lower), (upper, operand.upper))]  # fmt: skip
        nulls = mask_or(operand.may_be_null, overflows)
        if self.target.is_ordinal:
            first, last = unscaled_of(ends[0], MIN_ORDINAL), unscaled_of(ends[1], MAX_ORDINAL)
            return Bounds(first, last, operand.may_be_value, nulls)
        return Bounds(ends[0], ends[1], operand.may_be_value, nulls)

    def _fitted(self, ends: Values) -> tuple[AnyArray, AnyArray]:
        """Return the ends in the target's type, and whether they are known and fit."""
        values = arrow(ends)
        scale = values.type.scale
        if self.target.scale < scale:
            values = pc.round(values, self.target.scale, round_mode="half_towards_infinity")
        whole = min(self.target.precision, ARROW_DIGITS) - self.target.scale
        fits = pc.is_valid(values)
        if whole + scale < ARROW_DIGITS:
            limit = pa.scalar(Decimal(1).scaleb(whole), pa.decimal256(ARROW_DIGITS, scale))
            fits = pc.fill_null(pc.less(pc.abs(values), limit), False)
        type_ = pa.decimal256(ARROW_DIGITS, self.target.scale)
        return pc.cast(pc.if_else(fits, values, _null(values)), type_), fits


def _null(values: AnyArray) -> AnyScalar:
    return pa.scalar(None, values.type)


def unscaled_of(ends: Values, unknown: int) -> Ordinals:
    """Return decimals as their unscaled values, which fit into int64; `unknown` for nulls."""
    values = pc.cast(arrow(ends), pa.decimal256(ARROW_DIGITS, arrow(ends).type.scale))
    filled = pc.fill_null(values, pa.scalar(Decimal(0), values.type))
    words = np.frombuffer(filled.buffers()[1], dtype="<i8").reshape(-1, 4)
    low = words[filled.offset : filled.offset + len(filled), 0]
    known = np.asarray(pc.is_valid(values).to_numpy(zero_copy_only=False), dtype=np.bool_)
    found = np.where(known, low, np.int64(unknown))
    return np.asarray(found[0]) if isinstance(ends, pa.Scalar) else found


@dataclass(frozen=True)
class Whole:
    """The integer below or above a decimal, as a decimal without places."""

    up: bool

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        whole = pc.ceil if self.up else pc.floor
        return replace(operand, lower=whole(operand.lower), upper=whole(operand.upper))


def decimals_to_integers(*operands: Bounds) -> Bounds:
    """Convert decimals to integers: truncated, but Hive rounds some with more digits."""
    (operand,) = operands
    return replace(operand, lower=pc.floor(operand.lower), upper=pc.ceil(operand.upper))


def negated(*operands: Bounds) -> Bounds:
    """Return ``-x``."""
    (operand,) = operands
    return replace(operand, lower=pc.negate(operand.upper), upper=pc.negate(operand.lower))


def magnitude(*operands: Bounds) -> Bounds:
    """Return ``abs(x)``."""
    (operand,) = operands
    lower, upper = arrow(operand.lower), arrow(operand.upper)
    zero = pa.scalar(Decimal(0), lower.type)
    positive = pc.fill_null(pc.greater(lower, zero), False)
    negative = pc.fill_null(pc.less(upper, zero), False)
    nearest = pc.if_else(positive, lower, pc.if_else(negative, pc.negate(upper), zero))
    flipped = pc.negate(lower)
    farthest = pc.if_else(pc.less(flipped, upper), upper, flipped)
    return replace(operand, lower=like(nearest, operand.lower), upper=like(farthest, operand.upper))


def to_doubles(*operands: Bounds) -> Bounds:
    """Convert decimals to doubles, with a margin for the roundings of engines.

    Hive converts small ones to zero.
    """
    (operand,) = operands
    return Bounds(
        _doubles(operand.lower, -np.inf),
        _doubles(operand.upper, np.inf),
        operand.may_be_value,
        operand.may_be_null,
    )


def _doubles(ends: Values, to: float) -> Ordinals:
    known = np.asarray(pc.is_valid(arrow(ends)).to_numpy(zero_copy_only=False), dtype=np.bool_)
    values = pc.fill_null(pc.cast(arrow(ends), pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    unknown = MIN_ORDINAL if to < 0 else MAX_ORDINAL
    ends_of_doubles = widened(values, to)
    if to < 0:
        positive = np.maximum(ends_of_doubles - _LEAST_KEPT, 0.0)
        ends_of_doubles = np.where(values > 0, positive, ends_of_doubles)
    else:
        negative = np.minimum(ends_of_doubles + _LEAST_KEPT, 0.0)
        ends_of_doubles = np.where(values < 0, negative, ends_of_doubles)
    found = np.where(known, float_ordinals(ends_of_doubles), np.int64(unknown))
    return np.asarray(found[0]) if isinstance(ends, pa.Scalar) else found


def widened(values: np.ndarray, to: float, error: float = RELATIVE_ERROR) -> np.ndarray:
    """Move doubles outward by a relative error."""
    with np.errstate(over="ignore", invalid="ignore"):
        # What is infinite here may be the greatest double in another library.
        finite = np.clip(values, -_GREATEST, _GREATEST)
        moved = np.nextafter(finite + np.copysign(np.abs(finite) * error, to), to)
        kept = (values == 0) | (values == to)
        return np.asarray(np.where(kept, values, moved))


@dataclass(frozen=True)
class FromDoubles:
    """Doubles as decimals `BY_DOUBLES`.

    Attributes:
        error: The absolute error of engines' roundings.
        relative: The relative error.
    """

    error: float
    relative: float = RELATIVE_ERROR

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        first = self._decimals(lower, -np.inf)
        last = self._decimals(upper, np.inf)
        return Bounds(first, last, operand.may_be_value, operand.may_be_null)

    def _decimals(self, ends: Ordinals, to: float) -> Values:
        values = np.atleast_1d(floats_of(ends))
        with np.errstate(invalid="ignore"):
            known = np.abs(values) < _LARGEST_DOUBLE
        moved = widened(np.where(known, values, 0.0), to, self.relative)
        moved = moved + np.copysign(self.error, to)
        found = pa.array(moved, mask=~known).cast(BY_DOUBLES.arrow_type)
        return found if ends.ndim else found[0]
