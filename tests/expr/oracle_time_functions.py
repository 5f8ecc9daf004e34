"""Functions of dates and times, value by value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from tests.expr.oracle_values import EPOCH, FunctionOptions, OutOfScopeError, Typed, is_time


def _units(type_: Any) -> int:
    return (
        1
        if pa.types.is_date(type_)
        else {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit]
    )


def _zone(function_options: FunctionOptions) -> tzinfo:
    if function_options.zone is None:
        raise OutOfScopeError("no zone")
    return timezone.utc if function_options.zone == "UTC" else ZoneInfo(function_options.zone)


def _wall(arg: Typed, function_options: FunctionOptions) -> datetime:
    """The wall clock, to the second."""
    if not is_time(arg.type):
        raise OutOfScopeError("no time")
    if pa.types.is_date(arg.type):
        return EPOCH + timedelta(days=arg.value)
    moment = EPOCH + timedelta(seconds=arg.value // _units(arg.type))
    if arg.type.tz is None:
        return moment
    wall_clock = moment.replace(tzinfo=timezone.utc).astimezone(_zone(function_options))
    return wall_clock.replace(tzinfo=None, fold=0)


def _days(moment: datetime) -> int:
    return (moment - EPOCH).days


def integer(
    part: Callable[[datetime], int],
) -> Callable[[str, list[Typed], FunctionOptions], Typed]:
    return lambda name, args, function_options: Typed(
        part(_wall(args[0], function_options)), pa.int32()
    )


def day_of(
    part: Callable[[datetime], datetime],
) -> Callable[[str, list[Typed], FunctionOptions], Typed]:
    return lambda name, args, function_options: Typed(
        _days(part(_wall(args[0], function_options))), pa.date32()
    )


def end_of_month(moment: datetime) -> datetime:
    after = moment.replace(day=28) + timedelta(days=4)
    return after - timedelta(days=after.day)


def _beginning(moment: datetime, unit: str) -> datetime:
    day = datetime(moment.year, moment.month, moment.day)
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month" | "MM":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
        case "day":
            return day
        case "hour":
            return moment.replace(minute=0, second=0)
    raise OutOfScopeError(unit)


def trunc_of(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    day = _beginning(_wall(args[0], function_options), args[1].value)
    return Typed(_days(day), pa.date32())


def date_trunc_of(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    unit, arg = args[0].value, args[1]
    wall_clock = _wall(arg, function_options)
    begin = _beginning(wall_clock, unit)
    if pa.types.is_date(arg.type) or arg.type.tz is None:
        return Typed((begin - EPOCH) // timedelta(seconds=1), pa.timestamp("s"))
    return Typed(_instant(begin, function_options), pa.timestamp("s", "UTC"))


def _instant(wall: datetime, function_options: FunctionOptions) -> int:
    offset = wall.replace(tzinfo=_zone(function_options), fold=0).utcoffset()
    assert offset is not None
    return (wall - offset - EPOCH) // timedelta(seconds=1)


def shift_of(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    if not pa.types.is_integer(args[1].type):
        raise OutOfScopeError("no number of days")
    if name in "+-" and not pa.types.is_date(args[0].type):
        raise OutOfScopeError("no date")
    sign = -1 if name in ("-", "date_sub") else 1
    if abs(args[1].value) > 10**6:
        raise OutOfScopeError("too many days")
    return Typed(_days(_wall(args[0], function_options)) + sign * args[1].value, pa.date32())


def difference(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    left, right = (_days(_wall(arg, function_options)) for arg in args)
    return Typed(left - right, pa.int32())


def add_months_of(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    day = _wall(args[0], function_options)
    months = day.year * 12 + day.month - 1 + args[1].value
    first = datetime(months // 12, months % 12 + 1, 1)
    end = end_of_month(first)
    last = function_options.keeps_last_day and _days(day) == _days(end_of_month(day))
    return Typed(_days(end if last else first.replace(day=min(day.day, end.day))), pa.date32())


def plus_interval(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    """Adds days and months on the calendar, and hours on the calendar or on the instant."""
    time, months, days, micros = args[0], *(arg.value for arg in args[1:])
    clips = replace(function_options, keeps_last_day=False)
    if pa.types.is_date(time.type):
        if days or micros:
            raise OutOfScopeError("a date or a timestamp")
        return add_months_of("add_months", args[:2], clips)
    units = _units(time.type)
    shift, rest = divmod(micros * units, 10**6)
    if rest:
        raise OutOfScopeError("another precision")
    wall_clock = _wall(time, function_options)
    day = add_months_of("add_months", args[:2], clips).value + days
    wall = (
        day * 86_400
        + (wall_clock - datetime(wall_clock.year, wall_clock.month, wall_clock.day)).seconds
    )
    fraction = time.value % units
    if time.type.tz is None:
        return Typed(wall * units + fraction + shift, time.type)
    if function_options.from_wall:
        seconds, fraction = divmod(wall * units + fraction + shift, units)
        return Typed(_at(seconds, function_options) * units + fraction, time.type)
    if not months and not days:
        return Typed(time.value + shift, time.type)
    return Typed(_at(wall, function_options) * units + fraction + shift, time.type)


def _at(wall: int, function_options: FunctionOptions) -> int:
    return _instant(EPOCH + timedelta(seconds=wall), function_options)


def unix(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    arg = args[0]
    if pa.types.is_timestamp(arg.type) and arg.type.tz and not function_options.from_wall:
        return Typed(arg.value // _units(arg.type), pa.int64())
    return Typed(_instant(_wall(arg, function_options), function_options), pa.int64())


_CODES = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


def format(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    wall_clock, pattern = _wall(args[0], function_options), args[1].value
    for field, code in _CODES.items():
        text = f"{wall_clock.year:04d}" if field == "yyyy" else wall_clock.strftime(code)
        pattern = pattern.replace(field, text)
    return Typed(pattern, pa.string())


def from_unixtime_of(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    if abs(args[0].value) > 10**11:
        raise OutOfScopeError("far away")
    instant = Typed(args[0].value, pa.timestamp("s", "UTC"))
    pattern = Typed("yyyy-MM-dd HH:mm:ss", pa.string())
    return format(name, [instant, pattern], function_options)


def to_date(arg: Typed, function_options: FunctionOptions) -> Typed:
    """``CAST(t AS date)``."""
    return day_of(lambda moment: moment)("to_date", [arg], function_options)


def to_text(arg: Typed, function_options: FunctionOptions) -> Typed:
    """``CAST(x AS string)`` of integers, dates and times."""
    if pa.types.is_integer(arg.type):
        return Typed(str(arg.value), pa.string())
    wall_clock = _wall(arg, function_options)
    text = f"{wall_clock.year:04d}-{wall_clock:%m-%d}"
    if pa.types.is_date(arg.type):
        return Typed(text, pa.string())
    rest = arg.value % _units(arg.type) * (10**9 // _units(arg.type))
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return Typed(f"{text} {wall_clock:%H:%M:%S}{fraction}", pa.string())
