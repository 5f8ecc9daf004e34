"""The effect of conversions on bounds: scalings, roundings, margins, values that do not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Ordinals,
    Values,
    decimals_of,
    float_ordinals,
    floats_of,
    integer_range,
)
from pyhudi_expr.expr.functions.signature import Function, nullable_where, ordinals, where_known

# Readers may rebase days before 1582-10-15 (see pyhudi_expr.expr.literals).
_GREGORIAN_START_DAY = -141_427
_RELABELLING_DAYS = 400


def identity(*operands: Bounds) -> Bounds:
    """Return the operand."""
    return operands[0]


def identity_or_null(*operands: Bounds) -> Bounds:
    """Return the operand, or NULL instead."""
    return nullable_where(operands[0])


@dataclass(frozen=True)
class Within:
    """A narrowing that keeps values inside [least, greatest].

    Other values wrap or become NULL, or stay beyond their type, as in Hive's vectors.
    """

    least: int
    greatest: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        return self.result(lower, upper, (lower >= self.least) & (upper <= self.greatest), operand)

    def result(
        self, lower: Ordinals, upper: Ordinals, inside: BoolArray, operand: Bounds
    ) -> Bounds:
        """Return the given bounds where `inside`; elsewhere any value, and perhaps NULL."""
        return Bounds(
            np.where(inside, lower, np.int64(MIN_ORDINAL)),
            np.where(inside, upper, np.int64(MAX_ORDINAL)),
            operand.may_be_value,
            operand.may_be_null | ~inside,
        )


@dataclass(frozen=True)
class Scale:
    """A multiplication by a positive factor; very large results may be NULL."""

    factor: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        limit = MAX_ORDINAL // self.factor
        factor = np.int64(self.factor)
        with np.errstate(over="ignore"):
            least = np.where(within(lower, limit), lower * factor, np.int64(MIN_ORDINAL))
            greatest = np.where(within(upper, limit), upper * factor, np.int64(MAX_ORDINAL))
        fits = within(least, _MOST_DIGITS) & within(greatest, _MOST_DIGITS)
        return Bounds(least, greatest, operand.may_be_value, operand.may_be_null | ~fits)


_MOST_DIGITS = 10**18 - 1


@dataclass(frozen=True)
class FitDigits:
    """Unscaled values of a decimal of so many digits; longer ones are NULL, or any value."""

    convert: Function
    digits: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        converted = self.convert(*operands)
        most = 10**self.digits - 1
        return Within(-most, most)(converted)


@dataclass(frozen=True)
class Rounded:
    """Division by a power of ten, halves away from zero; or towards zero in one engine's step."""

    factor: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        bounds = where_known(
            within(lower, 10**18),
            _round_half_up(lower, self.factor),
            within(upper, 10**18),
            _round_half_up(upper, self.factor),
            operand,
        )
        return Bounds(bounds.lower, bounds.upper, operand.may_be_value, True)


def _round_half_up(values: Ordinals, factor: int) -> Ordinals:
    magnitudes = (np.abs(np.where(within(values, 10**18), values, 0)) + factor // 2) // factor
    return np.asarray(np.sign(values) * magnitudes)


@dataclass(frozen=True)
class Truncated:
    """Decimals truncated to integers; beyond the integer's width they wrap or are NULL."""

    factor: int
    bits: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        least, greatest = integer_range(self.bits)
        known = within(lower, 10**18) & within(upper, 10**18)
        first, last = _toward_zero(lower, self.factor), _toward_zero(upper, self.factor)
        inside = known & (first >= least) & (last <= greatest)
        return Within(least, greatest).result(first, last, inside, operand)


def _toward_zero(values: Ordinals, factor: int) -> Ordinals:
    return np.where(values < 0, -(-np.maximum(values, -(10**18)) // factor), values // factor)


@dataclass(frozen=True)
class Widened:
    """Integers and decimals as decimals with more than 18 digits."""

    source: Domain
    target: Domain

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        if not self.source.is_ordinal:
            lower, upper = operand.lower, operand.upper
            type_ = self.target.arrow_type
            return replace(operand, lower=pc.cast(lower, type_), upper=pc.cast(upper, type_))
        lower, upper = (
            self._wide(ends, unknown)
            for ends, unknown in zip(ordinals(operand), (MIN_ORDINAL, MAX_ORDINAL), strict=True)
        )
        return replace(operand, lower=lower, upper=upper)

    def _wide(self, ends: Ordinals, unknown: int) -> Values:
        values = np.atleast_1d(ends)
        decimals = decimals_of(values, self.source.scale)
        nothing = pa.scalar(None, type=decimals.type)
        known = pc.if_else(pa.array(values != unknown), decimals, nothing)
        wide = known.cast(self.target.arrow_type)
        return wide if ends.ndim else wide[0]


def within(values: Ordinals, limit: int) -> BoolArray:
    """Return whether each magnitude is at most `limit` (the least int64 has no int64 magnitude)."""
    inside: BoolArray = (values >= -limit) & (values <= limit)
    return inside


@dataclass(frozen=True)
class ReaderMargins:
    """The margins of `as_read`.

    Attributes:
        day: Ordinals in a day.
        fold_days: Margin for repeated hours, in days.
    """

    day: int
    fold_days: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        start = _GREGORIAN_START_DAY * self.day
        below = np.where(lower < start, _RELABELLING_DAYS, self.fold_days) * np.int64(self.day)
        above = np.where(upper < start, _RELABELLING_DAYS, self.fold_days) * np.int64(self.day)
        with np.errstate(over="ignore"):
            least, greatest = lower - below, upper + above
        return where_known(least <= lower, least, greatest >= upper, greatest, operand)


DATES_AS_READ = ReaderMargins(1, 0)


def strings_as_read(*operands: Bounds) -> Bounds:
    """Return bounds of texts that hold in every engine's order, by UTF-8 or by UTF-16.

    The two orders differ only where a character beyond the BMP is compared with one from U+E000 on.
    If an upper bound has such a byte, only the bytes before it are used.
    """
    (operand,) = operands
    cut = pc.replace_substring_regex(operand.upper, _HIGH_BYTE, "")
    closed = pc.binary_join_element_wise(cut, _LAST, _NOTHING)
    high = pc.match_substring_regex(operand.upper, _HIGH_BYTE)
    return replace(operand, upper=pc.if_else(high, closed, operand.upper))


#: From the first byte of a character that is U+E000 or above; Arrow reads binaries as Latin 1.
_HIGH_BYTE = r"(?s)[\xee-\xff].*"
_LAST, _NOTHING = (pa.scalar(one, pa.large_binary()) for one in (b"\xff", b""))


@dataclass(frozen=True)
class DatesToTimestamps:
    """Midnight of each date.

    Attributes:
        per_day: Units in a day.
    """

    per_day: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        return Scale(self.per_day)(DATES_AS_READ(*operands))


@dataclass(frozen=True)
class FloorTo:
    """The number of whole units of `size` in each value."""

    size: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        return where_known(
            lower != MIN_ORDINAL,
            lower // self.size,
            upper != MAX_ORDINAL,
            upper // self.size,
            operand,
        )


@dataclass(frozen=True)
class CutTo:
    """`FloorTo`, or the same truncated towards zero."""

    size: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        floor = FloorTo(self.size)(*operands)
        lower, upper = ordinals(floor)
        return replace(floor, upper=np.where(upper < 0, upper + 1, upper), lower=lower)


@dataclass(frozen=True)
class Hull:
    """The results of either of two functions, of ordinals."""

    one: Function
    other: Function

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        one, other = self.one(*operands), self.other(*operands)
        (lower, upper), (least, greatest) = ordinals(one), ordinals(other)
        return replace(one, lower=np.minimum(lower, least), upper=np.maximum(upper, greatest))


@dataclass(frozen=True)
class UpperMargin:
    """Values that may be greater by this amount."""

    amount: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        with np.errstate(over="ignore"):
            greatest = upper + np.int64(self.amount)
        return replace(operand, lower=lower, upper=np.where(greatest < upper, upper, greatest))


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
