"""Conversions between domains: casts, and what a reader makes of stored values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.expr.bounds import Bounds, Values
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    Ordinals,
    float_ordinals,
    floats_of,
    integer_range,
)
from pyhudi_expr.expr.functions.signature import (
    Flags,
    Function,
    Of,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.functions.zones import SECONDS_PER_DAY, Shown

# Readers may relabel days before 1582-10-15 (see pyhudi_expr.expr.literals).
_GREGORIAN_START_DAY = -141_427
_RELABELLING_DAYS = 400
# Where clocks are put back, instants shown as wall clocks repeat up to a day (at the date line).
_FOLD_DAYS = 1
#: Digits of the integers of so many bits.
INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


def reads_alike(stored: Domain, declared: Domain) -> bool:
    """Whether an engine that declares a column so reads the stored values unchanged."""
    # Hive and Spark show instants on a wall clock; literals take the zone along.
    shown = declared.kind is Kind.WALL_CLOCK and stored.kind is Kind.INSTANT
    if declared.kind is not stored.kind and not shown:
        return False
    if declared.kind is Kind.DECIMAL:
        return declared.scale == stored.scale and declared.precision >= stored.precision
    return declared.bits >= stored.bits and declared.units >= stored.units


def common_domain(left: Domain, right: Domain) -> Domain | None:
    """The domain in which engines compare two terms; None where they differ or round."""
    if left == right:
        return left
    if left.kind is right.kind and left.kind in (Kind.INTEGER, Kind.FLOAT):
        return left if left.bits >= right.bits else right
    if left.kind is right.kind and left.kind in (Kind.WALL_CLOCK, Kind.INSTANT):
        return left if left.units >= right.units else right
    if left.kind is right.kind is Kind.DECIMAL or {left.kind, right.kind} == {
        Kind.INTEGER,
        Kind.DECIMAL,
    }:
        return _common_decimal(left, right)
    pair = {left.kind: left, right.kind: right}
    if pair.keys() == {Kind.INTEGER, Kind.FLOAT}:
        exact = pair[Kind.INTEGER].bits <= 32 and pair[Kind.FLOAT].bits == 64
        return pair[Kind.FLOAT] if exact else None
    return None


def _common_decimal(left: Domain, right: Domain) -> Domain | None:
    left, right = as_decimal(left), as_decimal(right)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return (
        Domain(Kind.DECIMAL, precision=whole + scale, scale=scale) if whole + scale <= 38 else None
    )


def as_decimal(domain: Domain) -> Domain:
    """The decimals that hold all numbers of a fixed-point domain."""
    if domain.kind is Kind.DECIMAL:
        return domain
    return Domain(Kind.DECIMAL, precision=INTEGER_DIGITS[domain.bits])


def conversion(source: Domain, target: Domain, zone: str | None = None) -> Function | None:
    """The cast between two domains; None where its result cannot be bounded soundly."""
    if source == target:
        return same
    match source.kind, target.kind:
        case (Kind.INTEGER, Kind.INTEGER):
            return same if target.bits >= source.bits else Within(*integer_range(target.bits))
        case (Kind.BOOLEAN, Kind.INTEGER):
            return same
        case (Kind.FLOAT, Kind.FLOAT):
            return same if target.bits >= source.bits else _doubles_to_floats
        case (Kind.INTEGER, Kind.FLOAT) if target.bits == 64:
            return _integers_to_doubles
        case (Kind.INTEGER, Kind.DECIMAL) if target.is_ordinal:
            return Scale(10**target.scale, target.precision)
        case (Kind.INTEGER, Kind.DECIMAL):
            return _Widened(source, target) if _holds(target, as_decimal(source)) else None
        case (Kind.DECIMAL, Kind.DECIMAL):
            return _rescaling(source, target)
        case (Kind.DECIMAL, Kind.FLOAT) if target.bits == 64 and source.is_ordinal:
            return _DecimalsToDoubles(source.scale)
        case (Kind.DECIMAL, Kind.INTEGER) if source.is_ordinal:
            return _Truncated(10**source.scale, target.bits)
        case (Kind.FLOAT, Kind.INTEGER):
            return _FloatsToIntegers(target.bits)
        case (Kind.DATE, Kind.WALL_CLOCK):
            return _DatesToTimestamps(SECONDS_PER_DAY * target.units)
        case (Kind.WALL_CLOCK, Kind.WALL_CLOCK) | (Kind.INSTANT, Kind.INSTANT) if (
            target.units >= source.units
        ):
            return Scale(target.units // source.units)
        case (Kind.WALL_CLOCK | Kind.INSTANT, Kind.DATE):
            shown = on_the_wall(source, zone)
            return shown and Of(FloorTo(SECONDS_PER_DAY * source.units), ((0, shown),))
    return None


def _holds(target: Domain, source: Domain) -> bool:
    """Whether the decimals of one domain are decimals of the other, digit by digit."""
    whole = target.precision - target.scale >= source.precision - source.scale
    return whole and target.scale >= source.scale


def _rescaling(source: Domain, target: Domain) -> Function | None:
    if not target.is_ordinal:
        return _Widened(source, target) if _holds(target, source) else None
    if not source.is_ordinal:
        return None
    if target.scale >= source.scale:
        return Scale(10 ** (target.scale - source.scale), target.precision)
    return Rounded(10 ** (source.scale - target.scale))


def as_read(domain: Domain) -> Function | None:
    """What a reader may turn stored dates and times into; None where it reads them as they are.

    Two columns need it. Against a literal the literal's interval holds the same margins.
    """
    if domain.kind is Kind.DATE:
        return _AsRead(1, 0)
    if domain.kind is Kind.WALL_CLOCK:
        return _AsRead(SECONDS_PER_DAY * domain.units, 0)
    if domain.kind is Kind.INSTANT:
        return _AsRead(SECONDS_PER_DAY * domain.units, _FOLD_DAYS)
    return None


def on_the_wall(domain: Domain, zone: str | None) -> Function | None:
    """What a calendar shows for stored dates and times; None for instants in no known zone."""
    if domain.kind is Kind.INSTANT:
        return None if zone is None else Shown(zone, domain.units)
    return as_read(domain)


def same(*operands: Bounds) -> Bounds:
    """The operand itself."""
    return operands[0]


def _integers_to_doubles(*operands: Bounds) -> Bounds:
    (operand,) = operands
    lower, upper = ordinals(operand)
    return Bounds(
        float_ordinals(lower.astype(np.float64)),
        float_ordinals(upper.astype(np.float64)),
        operand.may_be_value,
        operand.may_be_null,
    )


def _doubles_to_floats(*operands: Bounds) -> Bounds:
    (operand,) = operands
    lower, upper = ordinals(operand)
    with np.errstate(over="ignore"):
        singles = [floats_of(ends).astype(np.float32) for ends in (lower, upper)]
    first, last = (float_ordinals(ends) for ends in singles)
    return where_known(lower != MIN_ORDINAL, first, upper != MAX_ORDINAL, last, operand)


@dataclass(frozen=True)
class Within:
    """A narrowing that keeps values inside [least, greatest] and wraps or nulls the others."""

    least: int
    greatest: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        return self.result(lower, upper, (lower >= self.least) & (upper <= self.greatest), operand)

    def result(self, lower: Ordinals, upper: Ordinals, inside: Flags, operand: Bounds) -> Bounds:
        """The given bounds where `inside`; elsewhere anything of the range, and perhaps NULL."""
        return Bounds(
            np.where(inside, lower, np.int64(self.least)),
            np.where(inside, upper, np.int64(self.greatest)),
            operand.may_be_value,
            operand.may_be_null | ~inside,
        )


@dataclass(frozen=True)
class Scale:
    """A multiplication by a positive factor; results of more digits may be NULL."""

    factor: int
    digits: int = 18

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        limit = MAX_ORDINAL // self.factor
        factor = np.int64(self.factor)
        with np.errstate(over="ignore"):
            least = np.where(within(lower, limit), lower * factor, np.int64(MIN_ORDINAL))
            greatest = np.where(within(upper, limit), upper * factor, np.int64(MAX_ORDINAL))
        most = 10**self.digits - 1
        fits = within(least, most) & within(greatest, most)
        return Bounds(least, greatest, operand.may_be_value, operand.may_be_null | ~fits)


@dataclass(frozen=True)
class Rounded:
    """Division by a power of ten, halves away from zero; or towards zero in some engine's step."""

    factor: int

    def __call__(self, *operands: Bounds) -> Bounds:
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
class _Truncated:
    """Integers below decimals, towards zero; beyond the integer's width they wrap or are null."""

    factor: int
    bits: int

    def __call__(self, *operands: Bounds) -> Bounds:
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
class _FloatsToIntegers:
    """Floats without their fractions; what does not fit, and NaN, may be any integer or NULL."""

    bits: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        least, greatest = integer_range(self.bits)
        with np.errstate(invalid="ignore"):
            first, last = np.trunc(floats_of(lower)), np.trunc(floats_of(upper))
            inside = (first >= least) & (last <= float(min(greatest, 2**62)))
        whole = [np.where(inside, ends, 0).astype(np.int64) for ends in (first, last)]
        return Within(least, greatest).result(whole[0], whole[1], inside, operand)


@dataclass(frozen=True)
class _DecimalsToDoubles:
    """Decimals as doubles, with a margin for the roundings on the way."""

    scale: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        factor = 10.0**self.scale
        first, last = lower.astype(np.float64) / factor, upper.astype(np.float64) / factor
        # A quotient of two exact doubles is the nearest double, as which engines read it.
        exact = [within(ends, 2**53) & (self.scale <= 22) for ends in (lower, upper)]
        first = np.where(exact[0], first, nudged(first, -np.inf))
        last = np.where(exact[1], last, nudged(last, np.inf))
        return where_known(
            lower != MIN_ORDINAL,
            float_ordinals(first),
            upper != MAX_ORDINAL,
            float_ordinals(last),
            operand,
        )


def nudged(values: np.ndarray, to: float) -> np.ndarray:
    """Each double two steps on, as far as two roundings may have been from the truth."""
    with np.errstate(over="ignore"):  # the step after the greatest double is infinity
        return np.asarray(np.nextafter(np.nextafter(values, to), to))


@dataclass(frozen=True)
class _Widened:
    """Integers and decimals as decimals of more than 18 digits."""

    source: Domain
    target: Domain

    def __call__(self, *operands: Bounds) -> Bounds:
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
        # A decimal256 is four little-endian words; the sign fills the upper three.
        values = np.atleast_1d(ends)
        words = np.stack([values, *[values >> 63] * 3], axis=1).astype("<i8")
        type_ = pa.decimal256(76, self.source.scale)
        array = pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(words)])
        known = pc.if_else(pa.array(values != unknown), array, pa.scalar(None, type=type_))
        wide = known.cast(self.target.arrow_type)
        return wide if ends.ndim else wide[0]


def within(values: Ordinals, limit: int) -> Flags:
    """Whether each magnitude is at most `limit` (the least int64 has no int64 magnitude)."""
    inside: Flags = (values >= -limit) & (values <= limit)
    return inside


@dataclass(frozen=True)
class _AsRead:
    """The margins of `as_read`. day: ordinals in a day; fold_days: margin for repeated hours."""

    day: int
    fold_days: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        start = _GREGORIAN_START_DAY * self.day
        below = np.where(lower < start, _RELABELLING_DAYS, self.fold_days) * np.int64(self.day)
        above = np.where(upper < start, _RELABELLING_DAYS, self.fold_days) * np.int64(self.day)
        with np.errstate(over="ignore"):
            least, greatest = lower - below, upper + above
        return where_known(least <= lower, least, greatest >= upper, greatest, operand)


DATES_AS_READ = _AsRead(1, 0)


@dataclass(frozen=True)
class _DatesToTimestamps:
    """Midnight of each date; per_day: units in a day."""

    per_day: int

    def __call__(self, *operands: Bounds) -> Bounds:
        return Scale(self.per_day)(DATES_AS_READ(*operands))


@dataclass(frozen=True)
class FloorTo:
    """How many whole units of `size` there are in each value."""

    size: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        return where_known(
            lower != MIN_ORDINAL,
            lower // self.size,
            upper != MAX_ORDINAL,
            upper // self.size,
            operand,
        )
