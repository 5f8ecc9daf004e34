"""Calendar and clock functions of a time: its parts, its day, its month's last day, truncation.

They start from what the engine's calendar shows (`expr.functions.casts.wall_clock`): instants in
its zone, days before 1582 with the margins of readers that rebase them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pyhudi_expr.arrays import AnyArray, BoolArray, arrow_array
from pyhudi_expr.expr.domains import Bounds, Domain, Kind, Ordinals
from pyhudi_expr.expr.functions.casts import days_of_texts, existing_times, wall_clock
from pyhudi_expr.expr.functions.conversions import FloorTo, Scale, within
from pyhudi_expr.expr.functions.signature import (
    DATE,
    INT,
    TIMES,
    Function,
    OnOperands,
    Rule,
    Signature,
    Site,
    by_value,
    nullable_where,
    on_first,
    opaque,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.functions.time_zones import FromWallClock
from pyhudi_expr.expr.semantics import SECONDS_PER_DAY, Engine

NO_ZONE = "instants on the wall clock of an unknown zone"


_UNIX_EPOCH_YEAR = 1970


#: Limits of the supported calendar in seconds and days: about the year 100,000.
MAX_DAY = 36_000_000


def clock_of(site: Site, index: int = 0) -> tuple[Function, int] | Signature | None:
    """Return the conversion of an argument to wall-clock seconds, and its units in a second."""
    if site.kind(index) not in TIMES:
        return None
    domain = site.domains[index]
    shown = wall_clock(domain, site.semantics.reading_zone)
    if shown is None:
        return opaque(domain, NO_ZONE)
    if domain.kind is Kind.DATE:
        return OnOperands(Scale(SECONDS_PER_DAY), ((0, shown),)), 1
    return OnOperands(FloorTo(domain.units), ((0, shown),)), domain.units


def clock_function(function: Function, domain: Domain) -> Rule:
    """Return the rule of a function of wall-clock seconds."""

    def rule(site: Site) -> Signature | None:
        """Return the signature of a call."""
        clock = clock_of(site)
        if clock is None:
            return None
        if isinstance(clock, Signature):
            return opaque(domain, NO_ZONE)
        return Signature(on_first(function, clock[0]), domain)

    return rule


@dataclass(frozen=True)
class _Part:
    """A field of the calendar: increasing within its period, beyond it any value of its range.

    Attributes:
        period: The numpy unit within which it increases (None: always).
        part: Computes it from seconds.
    """

    period: str | None
    part: Callable[[np.ndarray], Ordinals]
    least: int = 0
    greatest: int = 0

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        known = [in_calendar(end) for end in (lower, upper)]
        moments = [moments_of(end) for end in (lower, upper)]
        parts = [self.part(moment) for moment in moments]
        if self.period is None:
            return where_known(known[0], parts[0], known[1], parts[1], operand)
        begins = [moment.astype(f"datetime64[{self.period}]") for moment in moments]
        one_period = known[0] & known[1] & (begins[0] == begins[1])
        return Bounds(
            np.where(one_period, parts[0], np.int64(self.least)),
            np.where(one_period, parts[1], np.int64(self.greatest)),
            operand.may_be_value,
            operand.may_be_null,
        )


def in_calendar(seconds: Ordinals) -> BoolArray:
    """Return whether seconds are within the supported calendar."""
    return within(seconds, MAX_DAY * SECONDS_PER_DAY)


def moments_of(seconds: Ordinals) -> np.ndarray:
    """Return seconds as numpy datetimes."""
    return np.where(in_calendar(seconds), seconds, 0).astype("datetime64[s]")


def _years(moments: np.ndarray) -> Ordinals:
    return np.asarray(moments.astype("datetime64[Y]").astype(np.int64) + _UNIX_EPOCH_YEAR)


def _since(period: str, unit: str, first: int) -> Callable[[np.ndarray], Ordinals]:
    """Return a function that counts units since the period began, plus `first`."""

    def count(moments: np.ndarray) -> Ordinals:
        begin = moments.astype(f"datetime64[{period}]").astype(f"datetime64[{unit}]")
        passed = (moments.astype(f"datetime64[{unit}]") - begin).astype(np.int64)
        return np.asarray(passed + first)

    return count


def _quarters(moments: np.ndarray) -> Ordinals:
    return _since("Y", "M", 0)(moments) // 3 + 1


_PARTS: dict[str, _Part] = {
    "year": _Part(None, _years),
    "quarter": _Part("Y", _quarters, 1, 4),
    "month": _Part("Y", _since("Y", "M", 1), 1, 12),
    "day": _Part("M", _since("M", "D", 1), 1, 31),
    "dayofyear": _Part("Y", _since("Y", "D", 1), 1, 366),
    "hour": _Part("D", _since("D", "h", 0), 0, 23),
    "minute": _Part("h", _since("h", "m", 0), 0, 59),
    "second": _Part("m", _since("m", "s", 0), 0, 60),
}


@dataclass(frozen=True)
class DayFunction:
    """A function of the day that a wall clock shows, to days or integers.

    Attributes:
        least: The first day that an engine supports.
        greatest: The last day that an engine supports.
    """

    least: Callable[[np.ndarray], np.ndarray]
    greatest: Callable[[np.ndarray], np.ndarray]

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the results."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        first = self.least(moments_of(lower).astype("datetime64[D]"))
        last = self.greatest(moments_of(upper).astype("datetime64[D]"))
        return where_known(
            in_calendar(lower),
            first.astype("datetime64[D]").astype(np.int64),
            in_calendar(upper),
            last.astype("datetime64[D]").astype(np.int64),
            operand,
        )


def four_digit_years(*operands: Bounds) -> Bounds:
    """Return days that some engine returns as text: ordered in the years 1 to 9999 only."""
    (operand,) = operands
    lower, upper = ordinals(operand)
    known = (lower >= _FIRST_DAY) & (upper <= _LAST_DAY)
    return nullable_where(where_known(known, lower, known, upper, operand), ~known)


_FIRST_DAY, _LAST_DAY = (
    int(np.datetime64(day, "D").astype(np.int64)) for day in ("0001-01-01", "9999-12-31")
)


def last_of_month(days: np.ndarray) -> np.ndarray:
    """Return the last day of each day's month."""
    months = days.astype("datetime64[M]")
    return np.asarray((months + 1).astype("datetime64[D]") - 1)


def _to_date(site: Site) -> Signature | None:
    if len(site.domains) != 1:
        return None
    if site.kind(0) is Kind.TEXT:
        return Signature(on_first(days_of_texts), DATE)
    return clock_function(FloorTo(SECONDS_PER_DAY), DATE)(site)


def _of_days(evaluate: Callable[[Ordinals], Ordinals], name: str) -> Rule:
    """Return the rule of a function of days that is evaluated for single values."""
    return clock_function(by_value(_OfDays(evaluate), INT, f"{name}()").function, INT)


@dataclass(frozen=True)
class _OfDays:
    """A function of the days of wall-clock seconds, in the years of one calendar."""

    evaluate: Callable[[Ordinals], Ordinals]

    def __call__(self, *values: AnyArray) -> AnyArray:
        seconds = np.asarray(values[0].fill_null(0))
        known = np.asarray(values[0].is_valid()) & (seconds >= _FIRST_SECOND) & in_calendar(seconds)
        days = np.where(known, seconds, 0) // SECONDS_PER_DAY
        return arrow_array(self.evaluate(days), ~known)


_FIRST_SECOND = int(np.datetime64("1600-01-01", "s").astype(np.int64))


def _from_monday(days: Ordinals) -> Ordinals:
    return np.asarray((days + _MONDAY) % 7)


def _from_sunday(days: Ordinals) -> Ordinals:
    return np.asarray((days + _MONDAY + 1) % 7 + 1)


def _week_of_year(days: Ordinals) -> Ordinals:
    """Return the number of the week by ISO 8601, which its Thursday decides."""
    thursdays = days - _from_monday(days) + 3
    years = thursdays.astype("datetime64[D]").astype("datetime64[Y]")
    return np.asarray((thursdays - years.astype("datetime64[D]").astype(np.int64)) // 7 + 1)


def _make_date(site: Site) -> Signature | None:
    """Return the signature of ``make_date(year, month, day)``; of no day it is NULL, or fails."""
    if [domain.kind for domain in site.domains] != [Kind.INTEGER] * 3:
        return None
    return by_value(_day_of_parts, DATE, "make_date()")


def _day_of_parts(*values: AnyArray) -> AnyArray:
    year, month, day = (np.asarray(value.fill_null(0)) for value in values)
    known = (year >= _UNIX_EPOCH_YEAR - 370) & (year <= _LAST_YEAR) & (month >= 1) & (month <= 12)
    months = np.where(known, (year - _UNIX_EPOCH_YEAR) * 12 + month - 1, 0).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    known &= (day >= 1) & (day <= (months + 1).astype("datetime64[D]").astype(np.int64) - first)
    return arrow_array(np.where(known, first + day - 1, 0), ~known)


_LAST_YEAR = 9999


_TRUNCATIONS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "Y"),
    "quarter": "Q",
    **dict.fromkeys(("month", "mon", "mm"), "M"),
    "week": "W",
    **dict.fromkeys(("day", "dd"), "D"),
    "hour": "h",
    "minute": "m",
    "second": "s",
}


_MONDAY = 3  # 1970-01-01 was a Thursday


@dataclass(frozen=True)
class _Truncated:
    """The beginning of the period of wall-clock seconds, in `units` a second."""

    unit: str
    units: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        first, last = (_beginning(moments_of(end), self.unit) for end in (lower, upper))
        seconds = where_known(in_calendar(lower), first, in_calendar(upper), last, operand)
        return replace(Scale(self.units)(seconds), may_be_null=operand.may_be_null)


def _beginning(moments: np.ndarray, unit: str) -> Ordinals:
    if unit == "W":
        days = moments.astype("datetime64[D]").astype(np.int64)
        return ((days + _MONDAY) // 7 * 7 - _MONDAY) * SECONDS_PER_DAY
    if unit == "Q":
        months = moments.astype("datetime64[M]").astype(np.int64) // 3 * 3
        begin = months.astype("datetime64[M]")
    else:
        begin = moments.astype(f"datetime64[{unit}]")
    return begin.astype("datetime64[s]").astype(np.int64)


def _date_trunc(site: Site) -> Signature | None:
    """Return the signature of ``date_trunc('month', t)``: a timestamp, or an instant."""
    unit, clock = _TRUNCATIONS.get((site.text(0) or "").lower()), clock_of(site, 1)
    if unit is None or clock is None or len(site.domains) != 2:
        return None
    domain = site.domains[1]
    if domain.kind is Kind.DATE:
        domain = Domain(Kind.WALL_CLOCK, units=1)
    if domain.kind is Kind.WALL_CLOCK and site.semantics.engine is Engine.SPARK:
        return _of_instants(unit, clock, replace(domain, kind=Kind.INSTANT), site)
    if isinstance(clock, Signature):
        return opaque(domain, NO_ZONE)
    function: Function = OnOperands(_Truncated(unit, domain.units), ((0, clock[0]),))
    if site.kind(1) is Kind.DATE:
        function = existing_times(function, domain, site.zone)
    reading = site.semantics.reading_zone
    if domain.kind is Kind.INSTANT and reading is not None:
        function = OnOperands(FromWallClock(reading, domain.units), ((0, function),))
    return Signature(OnOperands(function, ((1, None),)), domain)


def _of_instants(
    unit: str, clock: tuple[Function, int] | Signature, domain: Domain, site: Site
) -> Signature:
    """Return the signature where Spark makes instants of the session's zone of what has none.

    A time that the zone's clocks never show becomes a later one, before and after it is truncated.
    """
    if isinstance(clock, Signature) or site.zone is None:
        return opaque(domain, NO_ZONE)
    shown = existing_times(clock[0], Domain(Kind.WALL_CLOCK, units=1), site.zone)
    begins = OnOperands(_Truncated(unit, domain.units), ((0, shown),))
    instants = OnOperands(FromWallClock(site.zone, domain.units), ((0, begins),))
    return Signature(OnOperands(instants, ((1, None),)), domain)


def _trunc(site: Site) -> Signature | None:
    """Return the signature of ``trunc(t, 'MM')``: a date."""
    unit = _TRUNCATIONS.get((site.text(1) or "").lower())
    if unit not in ("Y", "Q", "M", "W") or len(site.domains) != 2:
        return None
    days = OnOperands(FloorTo(SECONDS_PER_DAY), ((0, _Truncated(unit, 1)),))
    return clock_function(days, DATE)(site)


RULES: dict[str, Rule] = {
    **{name: clock_function(part, INT) for name, part in _PARTS.items()},
    "dayofmonth": clock_function(_PARTS["day"], INT),
    **dict.fromkeys(("to_date", "date"), _to_date),
    "last_day": clock_function(
        on_first(four_digit_years, DayFunction(last_of_month, last_of_month)), DATE
    ),
    "dayofweek": _of_days(_from_sunday, "dayofweek"),
    "weekday": _of_days(_from_monday, "weekday"),
    "weekofyear": _of_days(_week_of_year, "weekofyear"),
    "make_date": _make_date,
    "date_trunc": _date_trunc,
    "trunc": _trunc,
}
