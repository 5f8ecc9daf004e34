"""Functions of dates and times: parts, truncations, shifts, differences, and their text.

All begin with what the engine's calendar shows (`casts.on_the_wall`): instants in its zone, days
before 1582 with the margins of readers that relabel them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.bounds import Bounds, either
from pyhudi_expr.expr.domains import Domain, Kind, Ordinals
from pyhudi_expr.expr.functions.casts import FloorTo, Scale, on_the_wall, within
from pyhudi_expr.expr.functions.signature import (
    Flags,
    Function,
    Of,
    Rule,
    Signature,
    Site,
    of_first,
    opaque,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.functions.zones import SECONDS_PER_DAY, Instants, Shown

_INT, _LONG = Domain(Kind.INTEGER, bits=32), Domain(Kind.INTEGER, bits=64)
_DATE, _TEXT = Domain(Kind.DATE), Domain(Kind.TEXT)
_TIMES = (Kind.DATE, Kind.WALL_CLOCK, Kind.INSTANT)
_NO_ZONE = "instants on the wall clock of an unknown zone"
_UNIX_EPOCH_YEAR = 1970
#: Seconds and days that calendars count: about the year 100,000.
_MAX_DAY = 36_000_000


def _clock(site: Site, index: int = 0) -> tuple[Function, int] | Signature | None:
    """How an argument becomes wall-clock seconds, and how many of its units a second has."""
    if site.kind(index) not in _TIMES:
        return None
    domain = site.domains[index]
    shown = on_the_wall(domain, site.zone)
    if shown is None:
        return opaque(domain, _NO_ZONE)
    if domain.kind is Kind.DATE:
        return Of(Scale(SECONDS_PER_DAY), ((0, shown),)), 1
    return Of(FloorTo(domain.units), ((0, shown),)), domain.units


def _of_clock(function: Function, domain: Domain) -> Rule:
    """The rule of a function of wall-clock seconds."""

    def rule(site: Site) -> Signature | None:
        clock = _clock(site)
        if clock is None:
            return None
        if isinstance(clock, Signature):
            return opaque(domain, _NO_ZONE)
        return Signature(of_first(function, clock[0]), domain)

    return rule


@dataclass(frozen=True)
class _Part:
    """A field of the calendar: increasing within its period, anything of its range beyond.

    period: the numpy unit within which it grows (None: always). part: from seconds.
    """

    period: str | None
    part: Callable[[np.ndarray], Ordinals]
    least: int = 0
    greatest: int = 0

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        known = [_in_calendar(end) for end in (lower, upper)]
        moments = [_moments(end) for end in (lower, upper)]
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


def _in_calendar(seconds: Ordinals) -> Flags:
    return within(seconds, _MAX_DAY * SECONDS_PER_DAY)


def _moments(seconds: Ordinals) -> np.ndarray:
    return np.where(_in_calendar(seconds), seconds, 0).astype("datetime64[s]")


def _years(moments: np.ndarray) -> Ordinals:
    return np.asarray(moments.astype("datetime64[Y]").astype(np.int64) + _UNIX_EPOCH_YEAR)


def _since(period: str, unit: str, first: int) -> Callable[[np.ndarray], Ordinals]:
    """How many units have passed since the period began, plus `first`."""

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
class _OfDay:
    """A function of the day that a wall clock shows, to days or integers.

    least, greatest: the lowest and highest day that an engine may make of one.
    """

    least: Callable[[np.ndarray], np.ndarray]
    greatest: Callable[[np.ndarray], np.ndarray]

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        first = self.least(_moments(lower).astype("datetime64[D]"))
        last = self.greatest(_moments(upper).astype("datetime64[D]"))
        return where_known(
            _in_calendar(lower),
            first.astype("datetime64[D]").astype(np.int64),
            _in_calendar(upper),
            last.astype("datetime64[D]").astype(np.int64),
            operand,
        )


def _last_of_month(days: np.ndarray) -> np.ndarray:
    months = days.astype("datetime64[M]")
    return np.asarray((months + 1).astype("datetime64[D]") - 1)


def _months_later(days: np.ndarray, count: int) -> np.ndarray:
    """The same day `count` months later, or that month's last day."""
    months = days.astype("datetime64[M]")
    there = (months + count).astype("datetime64[D]")
    same_day = there + (days - months.astype("datetime64[D]"))
    return np.asarray(np.minimum(same_day, _last_of_month(there)))


@dataclass(frozen=True)
class _MonthsLater:
    """`_months_later`; to_last: the last day of a month becomes the last day of a month."""

    count: int
    to_last: bool

    def __call__(self, days: np.ndarray) -> np.ndarray:
        later = _months_later(days, self.count)
        if not self.to_last:
            return later
        return np.where(days == _last_of_month(days), _last_of_month(later), later)


def _add_months(site: Site) -> Signature | None:
    count = site.integer(1)
    if count is None or abs(count) > 100_000 or len(site.domains) != 2:
        return None
    # Hive keeps to the last day of months, Spark does not.
    function = _OfDay(_MonthsLater(count, to_last=False), _MonthsLater(count, to_last=True))
    return _of_clock(function, _DATE)(site)


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
        first, last = (_beginning(_moments(end), self.unit) for end in (lower, upper))
        seconds = where_known(_in_calendar(lower), first, _in_calendar(upper), last, operand)
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
    """``date_trunc('month', t)``: a timestamp, an instant of an instant."""
    unit, clock = _TRUNCATIONS.get((site.text(0) or "").lower()), _clock(site, 1)
    if unit is None or clock is None or len(site.domains) != 2:
        return None
    domain = site.domains[1]
    if domain.kind is Kind.DATE:
        domain = Domain(Kind.WALL_CLOCK, units=1)
    if isinstance(clock, Signature):
        return opaque(domain, _NO_ZONE)
    function: Function = Of(_Truncated(unit, domain.units), ((0, clock[0]),))
    if domain.kind is Kind.INSTANT and site.zone is not None:
        function = Of(Instants(site.zone, domain.units), ((0, function),))
    return Signature(Of(function, ((1, None),)), domain)


def _trunc(site: Site) -> Signature | None:
    """``trunc(t, 'MM')``: a date."""
    unit = _TRUNCATIONS.get((site.text(1) or "").lower())
    if unit not in ("Y", "Q", "M", "W") or len(site.domains) != 2:
        return None
    days = Of(FloorTo(SECONDS_PER_DAY), ((0, _Truncated(unit, 1)),))
    return _of_clock(days, _DATE)(site)


def _to_date(site: Site) -> Signature | None:
    if len(site.domains) != 1:
        return None
    return _of_clock(FloorTo(SECONDS_PER_DAY), _DATE)(site)


def _days(site: Site, index: int) -> Function | None:
    """How an argument becomes a day; None where it does not."""
    clock = _clock(site, index)
    if clock is None or isinstance(clock, Signature):
        return None
    return Of(FloorTo(SECONDS_PER_DAY), ((0, clock[0]),))


def _shift_days(site: Site) -> Signature | None:
    """``date_add(t, n)``, ``date_sub(t, n)``, ``date + n``, ``date - n``."""
    if len(site.domains) != 2 or site.kind(1) is not Kind.INTEGER:
        return None
    if site.name in ("+", "-") and site.kind(0) is not Kind.DATE:
        return None
    days = _days(site, 0)
    if days is None:
        return opaque(_DATE, _NO_ZONE) if site.kind(0) in _TIMES else None
    function = _Shifted(-1 if site.name in ("-", "date_sub") else 1)
    return Signature(Of(function, ((0, days), (1, None))), _DATE)


def _date_diff(site: Site) -> Signature | None:
    if len(site.domains) != 2 or any(domain.kind not in _TIMES for domain in site.domains):
        return None
    left, right = _days(site, 0), _days(site, 1)
    if left is None or right is None:
        return opaque(_INT, _NO_ZONE)
    return Signature(Of(_Shifted(-1), ((0, left), (1, right))), _INT)


@dataclass(frozen=True)
class _Shifted:
    """Days plus (sign 1) or minus (-1) a number of days."""

    sign: int

    def __call__(self, *operands: Bounds) -> Bounds:
        days, amount = operands
        lower, upper = ordinals(days)
        amounts = ordinals(amount)
        first, last = amounts if self.sign > 0 else amounts[::-1]
        known = [within(end, _MAX_DAY) for end in (lower, upper, first, last)]
        nulls = either(days.may_be_null, amount.may_be_null)
        values = replace(days, may_be_null=nulls)
        with np.errstate(over="ignore"):
            least, greatest = lower + self.sign * first, upper + self.sign * last
        return where_known(known[0] & known[2], least, known[1] & known[3], greatest, values)


def _unix_timestamp(site: Site) -> Signature | None:
    """Seconds since 1970 of an instant, or of a wall clock in the session's zone."""
    if len(site.domains) != 1 or site.kind(0) not in _TIMES:
        return None
    clock = _clock(site)
    if clock is None or isinstance(clock, Signature) or site.zone is None:
        return opaque(_LONG, _NO_ZONE)
    # Some engines take the instant back from what the wall clock shows.
    return Signature(of_first(Instants(site.zone, 1), clock[0]), _LONG)


def _from_unixtime(site: Site) -> Signature | None:
    if site.kind(0) is not Kind.INTEGER or len(site.domains) > 2:
        return None
    pattern = "yyyy-MM-dd HH:mm:ss" if len(site.domains) == 1 else site.text(1)
    layout = _layout(pattern or "")
    if layout is None or site.zone is None:
        return opaque(_TEXT, _NO_ZONE if site.zone is None else "a pattern without order")
    return Signature(of_first(_Formatted(layout), Shown(site.zone, 1)), _TEXT)


def _date_format(site: Site) -> Signature | None:
    clock, layout = _clock(site), _layout(site.text(1) or "")
    if clock is None or len(site.domains) != 2:
        return None
    if layout is None or isinstance(clock, Signature):
        return opaque(_TEXT, _NO_ZONE if layout else "a pattern whose texts have another order")
    return Signature(of_first(_Formatted(layout), clock[0]), _TEXT)


#: Where the fields of 'yyyy-mm-ddThh:mm:ss' are, in the order that makes texts grow with time.
_FIELDS = {"yyyy": (0, 4), "MM": (5, 7), "dd": (8, 10), "HH": (11, 13), "mm": (14, 16)}
_FIELDS["ss"] = (17, 19)
_PATTERN = re.compile(r"yyyy|MM|dd|HH|mm|ss|'[^']+'|[^A-Za-z']")

#: Parts of a formatted time: texts as they are, and (begin, end) in an ISO text.
_Layout = tuple[bytes | tuple[int, int], ...]


def _layout(pattern: str) -> _Layout | None:
    """The parts of a pattern of which the coarser come first; None for all others."""
    pieces = _PATTERN.findall(pattern)
    if "".join(pieces) != pattern or not pattern.isascii():
        return None
    fields = [piece for piece in pieces if piece in _FIELDS]
    if not fields or fields != list(_FIELDS)[: len(fields)]:
        return None
    return tuple(
        _FIELDS[piece] if piece in _FIELDS else piece.strip("'").encode() for piece in pieces
    )


ISO_DAY = _layout("yyyy-MM-dd")
ISO_SECOND = _layout("yyyy-MM-dd HH:mm:ss")
_FIRST_YEAR = int(np.datetime64("0001-01-01", "s").astype(np.int64))
_LAST_YEAR = int(np.datetime64("9999-12-31T23:59:59", "s").astype(np.int64))


@dataclass(frozen=True)
class _Formatted:
    """Wall-clock seconds as texts of one width, for the years 1 to 9999.

    fraction: an engine may put a fraction behind.
    """

    layout: _Layout
    fraction: bool = False

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        # Years of other widths are texts in another order, wherever the range reaches them.
        known = (lower >= _FIRST_YEAR) & (upper <= _LAST_YEAR)
        first = self._texts(lower, known, b"")
        last = self._texts(upper, known, b".\xff" if self.fraction else b"")
        return Bounds(first, last, operand.may_be_value, operand.may_be_null)

    def _texts(self, seconds: Ordinals, known: Flags, tail: bytes) -> pa.Array | pa.Scalar:
        moments = np.atleast_1d(np.where(known, seconds, 0)).astype("datetime64[s]")
        iso = np.datetime_as_string(moments).astype("S19").view(np.uint8).reshape(-1, 19)
        columns = [
            np.broadcast_to(np.frombuffer(part, dtype=np.uint8), (len(iso), len(part)))
            if isinstance(part, bytes)
            else iso[:, slice(*part)]
            for part in (*self.layout, tail)
        ]
        matrix = np.ascontiguousarray(np.concatenate(columns, axis=1))
        width = matrix.shape[1]
        mask = pa.array(np.atleast_1d(known)).buffers()[1]
        fixed = pa.Array.from_buffers(pa.binary(width), len(matrix), [mask, pa.py_buffer(matrix)])
        texts = fixed.cast(pa.binary()).cast(pa.large_binary())
        return texts if known.ndim else texts[0]


def as_text(domain: Domain, zone: str | None) -> Function | None:
    """The cast of dates and times to text; None for instants in no known zone."""
    clock = _clock(Site("cast", (domain,), (None,), zone))
    if clock is None or isinstance(clock, Signature) or ISO_DAY is None or ISO_SECOND is None:
        return None
    is_date = domain.kind is Kind.DATE
    return of_first(_Formatted(ISO_DAY if is_date else ISO_SECOND, not is_date), clock[0])


def as_seconds(domain: Domain, zone: str | None) -> Function | None:
    """The cast of timestamps to integers: seconds of the instant, or of the wall clock as UTC."""
    clock = _clock(Site("cast", (domain,), (None,), zone))
    if domain.kind is not Kind.INSTANT or clock is None or isinstance(clock, Signature):
        return None
    return _Hull(FloorTo(domain.units), of_first(clock[0]))


@dataclass(frozen=True)
class _Hull:
    """What either of two functions may give, of ordinals."""

    one: Function
    other: Function

    def __call__(self, *operands: Bounds) -> Bounds:
        one, other = self.one(*operands), self.other(*operands)
        (lower, upper), (least, greatest) = ordinals(one), ordinals(other)
        return replace(one, lower=np.minimum(lower, least), upper=np.maximum(upper, greatest))


def _opaque_integer(site: Site) -> Signature | None:
    return opaque(_INT, f"{site.name}() has no order") if site.kind(0) in _TIMES else None


RULES: dict[str, Rule] = {
    **{name: _of_clock(part, _INT) for name, part in _PARTS.items()},
    "dayofmonth": _of_clock(_PARTS["day"], _INT),
    **dict.fromkeys(("to_date", "date"), _to_date),
    "date_trunc": _date_trunc,
    "trunc": _trunc,
    **dict.fromkeys(("date_add", "dateadd", "date_sub", "+", "-"), _shift_days),
    **dict.fromkeys(("datediff", "date_diff"), _date_diff),
    "add_months": _add_months,
    "last_day": _of_clock(_OfDay(_last_of_month, _last_of_month), _DATE),
    **dict.fromkeys(("unix_timestamp", "to_unix_timestamp"), _unix_timestamp),
    "from_unixtime": _from_unixtime,
    "date_format": _date_format,
    **dict.fromkeys(("dayofweek", "weekday", "weekofyear"), _opaque_integer),
}
