"""Functions whose result is bounded by the bounds of their operand.

A `Function` maps the `Bounds` of its operand to those of its result, over all containers at once.
Only functions are here for which this is provable for every engine that we serve; an overflow, a
rounding or a null that one of them could produce widens the result. All others are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    Ordinals,
    domain_of,
    float_ordinals,
    integer_range,
)
from pyhudi_expr.expr.nodes import Call, CharType, Literal

_SECONDS_PER_DAY = 86_400
# Readers may relabel days before 1582-10-15 (see pyhudi_expr.expr.literals).
_GREGORIAN_START_DAY = -141_427
_RELABELLING_DAYS = 400
# Where clocks are put back, instants shown as wall clocks repeat up to a day (at the date line).
_FOLD_DAYS = 1


class Function(Protocol):
    """A function of one operand, given on bounds."""

    def __call__(self, operand: Bounds, /) -> Bounds:
        """The bounds of the results."""


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
    """The domain in which engines compare two columns; None where they differ or round."""
    if left == right:
        return left
    if left.kind is right.kind and left.kind in (Kind.INTEGER, Kind.FLOAT):
        return left if left.bits >= right.bits else right
    if left.kind is right.kind and left.kind in (Kind.WALL_CLOCK, Kind.INSTANT):
        return left if left.units >= right.units else right
    pair = {left.kind: left, right.kind: right}
    if pair.keys() == {Kind.INTEGER, Kind.FLOAT}:
        exact = pair[Kind.INTEGER].bits <= 32 and pair[Kind.FLOAT].bits == 64
        return pair[Kind.FLOAT] if exact else None
    return None


def conversion(source: Domain, target: Domain) -> Function | None:
    """The cast between two domains; None where its result cannot be bounded soundly."""
    match source.kind, target.kind:
        case (Kind.INTEGER, Kind.INTEGER):
            return _same if target.bits >= source.bits else _Within(*integer_range(target.bits))
        case (Kind.FLOAT, Kind.FLOAT) if target.bits >= source.bits:
            return _same
        case (Kind.INTEGER, Kind.FLOAT) if target.bits == 64:
            return _integers_to_doubles
        case (Kind.INTEGER, Kind.DECIMAL) if target.is_ordinal:
            return _Scale(10**target.scale)
        case (Kind.DECIMAL, Kind.DECIMAL) if (
            source.scale == target.scale
            and target.precision >= source.precision
            and target.is_ordinal == source.is_ordinal
        ):
            return _same
        case (Kind.DATE, Kind.WALL_CLOCK):
            return _DatesToTimestamps(_SECONDS_PER_DAY * target.units)
        case (Kind.WALL_CLOCK, Kind.WALL_CLOCK) | (Kind.INSTANT, Kind.INSTANT) if (
            target.units >= source.units
        ):
            return _Scale(target.units // source.units)
    return None


def as_read(domain: Domain) -> Function | None:
    """What a reader may turn stored dates and times into; None where it reads them as they are.

    Two columns need it. Against a literal the literal's interval holds the same margins.
    """
    if domain.kind is Kind.DATE:
        return _AsRead(1, 0)
    if domain.kind is Kind.WALL_CLOCK:
        return _AsRead(_SECONDS_PER_DAY * domain.units, 0)
    if domain.kind is Kind.INSTANT:
        return _AsRead(_SECONDS_PER_DAY * domain.units, _FOLD_DAYS)
    return None


def lookup(call: Call, operand: Domain) -> tuple[Function, Domain] | None:
    """The function that a call means for its one operand that is no literal, and its result."""
    if call.name in ("+", "-") and len(call.args) == 2 and operand.kind is Kind.INTEGER:
        return _addition(call, operand)
    if call.name == "year" and len(call.args) == 1 and operand.kind is Kind.DATE:
        return _year, Domain(Kind.INTEGER, bits=32)
    return None


def _addition(call: Call, operand: Domain) -> tuple[Function, Domain] | None:
    left, right = call.args
    literal = left if isinstance(left, Literal) else right
    if not isinstance(literal, Literal) or isinstance(literal.type, CharType):
        return None
    type_ = domain_of(literal.type)
    if type_ is None or type_.kind is not Kind.INTEGER or literal.value is None:
        return None
    domain = Domain(Kind.INTEGER, bits=max(operand.bits, type_.bits))
    amount = int(literal.value)
    if not MIN_ORDINAL < amount <= MAX_ORDINAL:
        return None
    if call.name == "+":
        return _Shift(amount, operand.bits), domain
    if literal is right:
        return _Shift(-amount, operand.bits), domain
    return _Reflect(amount, operand.bits), domain


def _ordinals(bounds: Bounds) -> tuple[Ordinals, Ordinals]:
    return cast(Ordinals, np.asarray(bounds.lower)), cast(Ordinals, np.asarray(bounds.upper))


def _same(operand: Bounds) -> Bounds:
    return operand


def _integers_to_doubles(operand: Bounds) -> Bounds:
    lower, upper = _ordinals(operand)
    return Bounds(
        float_ordinals(lower.astype(np.float64)),
        float_ordinals(upper.astype(np.float64)),
        operand.may_be_value,
        operand.may_be_null,
    )


@dataclass(frozen=True)
class _Within:
    """A narrowing that keeps values inside [least, greatest] and wraps or nulls the others."""

    least: int
    greatest: int

    def __call__(self, operand: Bounds) -> Bounds:
        lower, upper = _ordinals(operand)
        return self.result(lower, upper, (lower >= self.least) & (upper <= self.greatest), operand)

    def result(
        self, lower: Ordinals, upper: Ordinals, inside: np.ndarray, operand: Bounds
    ) -> Bounds:
        """The given bounds where `inside`; elsewhere anything of the range, and perhaps NULL."""
        return Bounds(
            np.where(inside, lower, np.int64(self.least)),
            np.where(inside, upper, np.int64(self.greatest)),
            operand.may_be_value,
            operand.may_be_null | ~inside,
        )


@dataclass(frozen=True)
class _Shift:
    """Integer ``x + amount``; a result beyond the operand's own width may have wrapped."""

    amount: int
    bits: int

    def __call__(self, operand: Bounds) -> Bounds:
        lower, upper = _ordinals(operand)
        least, greatest = integer_range(self.bits)
        inside = (lower >= max(least, least - self.amount)) & (
            upper <= min(greatest, greatest - self.amount)
        )
        shift = np.int64(self.amount)
        with np.errstate(over="ignore"):
            return _wrapped(lower + shift, upper + shift, inside, operand)


@dataclass(frozen=True)
class _Reflect:
    """Integer ``amount - x``."""

    amount: int
    bits: int

    def __call__(self, operand: Bounds) -> Bounds:
        lower, upper = _ordinals(operand)
        least, greatest = integer_range(self.bits)
        inside = (upper <= min(greatest, self.amount - least)) & (
            lower >= max(least, self.amount - greatest)
        )
        base = np.int64(self.amount)
        with np.errstate(over="ignore"):
            return _wrapped(base - upper, base - lower, inside, operand)


def _wrapped(lower: Ordinals, upper: Ordinals, inside: np.ndarray, operand: Bounds) -> Bounds:
    return _Within(MIN_ORDINAL, MAX_ORDINAL).result(lower, upper, inside, operand)


@dataclass(frozen=True)
class _Scale:
    """A multiplication by a positive factor; overflow gives an unknown bound or NULL."""

    factor: int

    def __call__(self, operand: Bounds) -> Bounds:
        lower, upper = _ordinals(operand)
        limit = MAX_ORDINAL // self.factor
        factor = np.int64(self.factor)
        with np.errstate(over="ignore"):
            return Bounds(
                np.where(_within(lower, limit), lower * factor, np.int64(MIN_ORDINAL)),
                np.where(_within(upper, limit), upper * factor, np.int64(MAX_ORDINAL)),
                operand.may_be_value,
                True,
            )


def _within(ordinals: Ordinals, limit: int) -> np.ndarray:
    """Whether each magnitude is at most `limit` (the least int64 has no int64 magnitude)."""
    inside: np.ndarray = (ordinals >= -limit) & (ordinals <= limit)
    return inside


@dataclass(frozen=True)
class _AsRead:
    """The margins of `as_read`. day: ordinals in a day; fold_days: margin for repeated hours."""

    day: int
    fold_days: int

    def __call__(self, operand: Bounds) -> Bounds:
        lower, upper = _ordinals(operand)
        start = _GREGORIAN_START_DAY * self.day
        below = np.where(lower < start, _RELABELLING_DAYS, self.fold_days) * np.int64(self.day)
        above = np.where(upper < start, _RELABELLING_DAYS, self.fold_days) * np.int64(self.day)
        with np.errstate(over="ignore"):
            least, greatest = lower - below, upper + above
        return Bounds(
            np.where(least <= lower, least, np.int64(MIN_ORDINAL)),
            np.where(greatest >= upper, greatest, np.int64(MAX_ORDINAL)),
            operand.may_be_value,
            operand.may_be_null,
        )


_DATES_AS_READ = _AsRead(1, 0)


@dataclass(frozen=True)
class _DatesToTimestamps:
    """Midnight of each date; per_day: units in a day."""

    per_day: int

    def __call__(self, operand: Bounds) -> Bounds:
        return _Scale(self.per_day)(_DATES_AS_READ(operand))


def _year(operand: Bounds) -> Bounds:
    dates = _DATES_AS_READ(operand)
    lower, upper = _ordinals(dates)
    # Days beyond int32 are no dates: such bounds are unknown ones.
    first_known, last_known = _within(lower, 2**31), _within(upper, 2**31)
    return Bounds(
        np.where(first_known, _years(np.where(first_known, lower, 0)), np.int64(MIN_ORDINAL)),
        np.where(last_known, _years(np.where(last_known, upper, 0)), np.int64(MAX_ORDINAL)),
        operand.may_be_value,
        operand.may_be_null,
    )


def _years(days: Ordinals) -> Ordinals:
    return days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970
