"""Days, months and intervals added to dates and times, and the days and months between two."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

import numpy as np

from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Ordinals,
    float_ordinals,
    mask_and,
    mask_or,
)
from pyhudi_expr.expr.functions.calendar import (
    MAX_DAY,
    NO_ZONE,
    DayFunction,
    clock_function,
    clock_of,
    four_digit_years,
    in_calendar,
    last_of_month,
    moments_of,
)
from pyhudi_expr.expr.functions.casts import existing_times, wall_clock
from pyhudi_expr.expr.functions.conversions import FloorTo, Hull, Scale, identity, within
from pyhudi_expr.expr.functions.signature import (
    DATE,
    DOUBLE,
    INT,
    LONG,
    TIMES,
    Function,
    OnOperands,
    Rule,
    Signature,
    Site,
    on_first,
    opaque,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.functions.time_zones import FromWallClock
from pyhudi_expr.expr.nodes import DAYS_TO
from pyhudi_expr.expr.semantics import SECONDS_PER_DAY, Engine


def _months_later(days: np.ndarray, count: int) -> np.ndarray:
    """Return the same day `count` months later, or that month's last day."""
    months = days.astype("datetime64[M]")
    there = (months + count).astype("datetime64[D]")
    same_day = there + (days - months.astype("datetime64[D]"))
    return np.asarray(np.minimum(same_day, last_of_month(there)))


@dataclass(frozen=True)
class _MonthsLater:
    """`_months_later`; if `to_last`, the last day of a month becomes the last day of a month."""

    count: int
    to_last: bool

    def __call__(self, days: np.ndarray) -> np.ndarray:
        later = _months_later(days, self.count)
        if not self.to_last:
            return later
        return np.where(days == last_of_month(days), last_of_month(later), later)


def _add_months(site: Site) -> Signature | None:
    count = site.integer(1)
    if count is None or abs(count) > 100_000 or len(site.domains) != 2:
        return None
    # Hive keeps to the last day of months, Spark does not.
    function = DayFunction(_MonthsLater(count, to_last=False), _MonthsLater(count, to_last=True))
    found = clock_function(function, DATE)(site)
    return found and Signature(on_first(four_digit_years, found.function), DATE)


def _plus_interval(site: Site) -> Signature | None:
    """Return the signature of ``plus interval(t, months, days, microseconds)``: ``t + INTERVAL``.

    Days are added to what the calendar shows; hours by some engines there, by others to the
    instant. ``plus exact interval`` has days of 24 hours.
    """
    months, days, micros = (site.integer(index) for index in (1, 2, 3))
    if site.kind(0) not in TIMES or months is None or days is None or micros is None:
        return None
    if site.name == "plus exact interval" and site.kind(0) is not Kind.DATE:
        days, micros = 0, micros + days * SECONDS_PER_DAY * 10**6
    if site.kind(0) is Kind.DATE and (days or micros):
        return _date_plus(site, months, days, micros)
    domain, clock = site.domains[0], clock_of(site)
    shown = wall_clock(domain, site.semantics.reading_zone)
    if clock is None or isinstance(clock, Signature) or shown is None:
        return opaque(domain, NO_ZONE)
    of_day = days * SECONDS_PER_DAY * domain.units
    of_time = Fraction(micros * domain.units, 10**6)
    if (
        (months and (days or micros))
        or abs(months) > _MAX_MONTHS
        or abs(of_day) + abs(of_time) > _MAX_SHIFT
        or of_time.denominator > 1
    ):
        return opaque(domain, _SEVERAL_FIELDS)
    if domain.kind is Kind.DATE:
        first, last = _MonthsLater(months, to_last=False), _MonthsLater(months, to_last=True)
        return Signature(on_first(DayFunction(first, last), clock[0]), domain)
    if months:
        moved: Function = on_first(_MonthsLaterAt(months, domain.units), clock[0])
    else:
        moved = on_first(_Later(of_day + int(of_time)), shown)
    reading = site.semantics.reading_zone
    if domain.kind is Kind.WALL_CLOCK or reading is None:
        return Signature(moved, domain)
    instants = FromWallClock(reading, domain.units)
    function: Function = on_first(instants, moved)
    if not months:
        on_day = on_first(instants, on_first(_Later(of_day), shown)) if days else identity
        function = Hull(function, on_first(_Later(int(of_time)), on_day))
    return Signature(function, domain)


def _date_plus(site: Site, months: int, days: int, micros: int) -> Signature:
    """Return the signature of a date plus days and hours: in Hive a timestamp, else a date."""
    clock, engine = clock_of(site), site.semantics.engine
    is_long = abs(days) > MAX_DAY or abs(micros) > _MAX_SHIFT
    if clock is None or isinstance(clock, Signature) or months or is_long:
        return opaque(DATE, _SEVERAL_FIELDS)
    if engine is Engine.HIVE:
        target = Domain(Kind.WALL_CLOCK, units=10**6)
        later = _Later(days * SECONDS_PER_DAY * target.units + micros)
        times = on_first(later, clock[0], Scale(target.units))
        return Signature(existing_times(times, target, site.zone), target)
    if engine is Engine.ANY or micros:
        return opaque(DATE, "an interval that makes times of dates")
    if engine is Engine.PRESTO and (site.zone is None or site.zone.fixed_offset is None):
        return opaque(DATE, "an interval after a date, whose midnight clocks may not show")
    return Signature(on_first(_Later(days), clock[0], FloorTo(SECONDS_PER_DAY)), DATE)


_SEVERAL_FIELDS = "an interval of several fields, or of another precision"
_MAX_MONTHS = 100_000


_MAX_SHIFT = 2**61


@dataclass(frozen=True)
class _Later:
    """Times that are so many of their units later."""

    amount: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        known = [within(end, _MAX_SHIFT) for end in (lower, upper)]
        with np.errstate(over="ignore"):
            first, last = lower + self.amount, upper + self.amount
        return where_known(known[0], first, known[1], last, operand)


@dataclass(frozen=True)
class _MonthsLaterAt:
    """Wall-clock seconds some months later, in `units` a second: the whole day.

    The last days of a long month become one day of a short one, so the time of day has no order.
    """

    months: int
    units: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        first = _MonthsLater(self.months, to_last=False)
        last = _MonthsLater(self.months, to_last=True)
        begin = Scale(self.units * SECONDS_PER_DAY)(DayFunction(first, last)(operand))
        lower, upper = ordinals(begin)
        to_end = self.units * SECONDS_PER_DAY - 1
        end = np.where(within(upper, _MAX_SHIFT), upper + np.int64(to_end), np.int64(MAX_ORDINAL))
        return replace(begin, lower=lower, upper=end, may_be_null=operand.may_be_null)


def _days(site: Site, index: int) -> Function | None:
    """Return the conversion of an argument to a day; None if there is none."""
    clock = clock_of(site, index)
    if clock is None or isinstance(clock, Signature):
        return None
    return OnOperands(FloorTo(SECONDS_PER_DAY), ((0, clock[0]),))


def _shift_days(site: Site) -> Signature | None:
    """Return the signature of ``date_add(t, n)``, ``date_sub(t, n)``, ``date + n`` and ``- n``."""
    if len(site.domains) != 2 or site.kind(1) is not Kind.INTEGER:
        return None
    if site.name in ("+", "-") and site.kind(0) is not Kind.DATE:
        return None
    days = _days(site, 0)
    if days is None:
        return opaque(DATE, NO_ZONE) if site.kind(0) in TIMES else None
    function = _Shifted(-1 if site.name in ("-", "date_sub") else 1)
    return Signature(OnOperands(function, ((0, days), (1, None))), DATE)


def _date_diff(site: Site) -> Signature | None:
    if len(site.domains) != 2 or any(domain.kind not in TIMES for domain in site.domains):
        return None
    left, right = _days(site, 0), _days(site, 1)
    if left is None or right is None:
        return opaque(INT, NO_ZONE)
    return Signature(OnOperands(_Shifted(-1), ((0, left), (1, right))), INT)


def _days_to(site: Site) -> Signature | None:
    if [domain.kind for domain in site.domains] != [Kind.DATE] * 2:
        return None
    days = _days(site, 0)
    return Signature(OnOperands(_Shifted(-1), ((1, days), (0, days))), LONG)


@dataclass(frozen=True)
class _Shifted:
    """Days plus (sign 1) or minus (-1) a number of days."""

    sign: int

    def __call__(self, *operands: Bounds) -> Bounds:
        days, amount = operands
        lower, upper = ordinals(days)
        amounts = ordinals(amount)
        first, last = amounts if self.sign > 0 else amounts[::-1]
        # Beyond some engine's days results wrap around, to either end.
        known = within(lower, MAX_DAY) & within(upper, MAX_DAY)
        known = known & within(first, MAX_DAY) & within(last, MAX_DAY)
        nulls = mask_or(days.may_be_null, amount.may_be_null)
        values = replace(days, may_be_null=nulls)
        with np.errstate(over="ignore"):
            least, greatest = lower + self.sign * first, upper + self.sign * last
        return where_known(known, least, known, greatest, values)


_EPOCH = date(1970, 1, 1)
_DAY = re.compile(r"(19|20)\d\d-\d\d-\d\d", re.ASCII)
_SECONDS_PER_MONTH = 31 * SECONDS_PER_DAY


def _months_between(site: Site) -> Signature | None:
    if len(site.domains) != 2:
        return None
    found = [_clock(site, index) for index in (0, 1)]
    if None in found:
        zoned = all(site.kind(index) in TIMES for index in (0, 1))
        return opaque(DOUBLE, NO_ZONE) if zoned else None
    return Signature(OnOperands(_between, tuple(enumerate(found))), DOUBLE)


def _clock(site: Site, index: int) -> Function | None:
    """Return the conversion of an argument to wall-clock seconds; None if unknown."""
    text = site.text(index)
    if text is not None:
        try:
            day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
        except ValueError:
            return None
        return None if day is None else _Midnight((day - _EPOCH).days)
    clock = clock_of(site, index)
    return None if clock is None or isinstance(clock, Signature) else clock[0]


@dataclass(frozen=True)
class _Midnight:
    """The seconds of a day that is written in a text."""

    day: int

    def __call__(self, *operands: Bounds) -> Bounds:
        seconds = np.int64(self.day * SECONDS_PER_DAY)
        return replace(operands[0], lower=seconds, upper=seconds)


def _between(*operands: Bounds) -> Bounds:
    """Return whole months between equal or last days of months; else by months of 31 days.

    That is the difference of `_position`, except for last days, of which the shortest month has
    three fewer; engines may show a day as the next one where clocks change.
    """
    left, right = (ordinals(operand) for operand in operands)
    known = [[in_calendar(end) for end in ends] for ends in (left, right)]
    least = _position(left[0]) - _position(right[1]) - _MARGIN
    greatest = _position(left[1]) - _position(right[0]) + _MARGIN
    return Bounds(
        np.where(known[0][0] & known[1][1], float_ordinals(least), np.int64(MIN_ORDINAL)),
        np.where(known[0][1] & known[1][0], float_ordinals(greatest), np.int64(MAX_ORDINAL)),
        mask_and(*(operand.may_be_value for operand in operands)),
        mask_or(*(operand.may_be_null for operand in operands)),
    )


_MARGIN = 0.3


def _position(seconds: Ordinals) -> np.ndarray:
    """Return months since 1970, with the day as a fraction of 31."""
    moments = moments_of(seconds)
    months = moments.astype("datetime64[M]")
    into = (moments - months.astype("datetime64[s]")).astype(np.int64)
    return np.asarray(months.astype(np.int64) + into / _SECONDS_PER_MONTH)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("date_add", "dateadd", "date_sub", "+", "-"), _shift_days),
    **dict.fromkeys(("datediff", "date_diff"), _date_diff),
    DAYS_TO: _days_to,
    "add_months": _add_months,
    **dict.fromkeys(("plus interval", "plus exact interval"), _plus_interval),
    "months_between": _months_between,
}
