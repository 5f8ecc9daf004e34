"""Functions, value by value, in plain Python, as each engine would compute them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

_EPOCH = datetime(1970, 1, 1)
_EXACT = Context(prec=100)


class OutOfScopeError(Exception):
    """The function is not modelled for these values."""


@dataclass(frozen=True)
class Typed:
    """A value (None is NULL) with its type."""

    value: Any
    type: pa.DataType


@dataclass(frozen=True)
class Habits:
    """What engines leave open in functions.

    units: texts are counted in UTF-16 units, a half character becomes '?'. turkish: the JVM's
    locale has a dotted capital I. keeps_last_day: add_months goes from the last day of a month to
    the last day. skips_nulls: greatest and least do. wraps: an integer that overflows wraps.
    """

    zone: str | None
    units: bool
    turkish: bool
    keeps_last_day: bool
    skips_nulls: bool
    wraps: bool
    from_wall: bool


def call(name: str, args: list[Typed], habits: Habits) -> Typed:
    """The function's value. Raises OutOfScopeError."""
    if name in ("greatest", "least"):
        return _extreme(name, args, habits)
    found = _FUNCTIONS.get(name)
    if found is None:
        raise OutOfScopeError(name)
    if any(arg.value is None for arg in args):
        type_ = found(name, [_sample(arg.type) for arg in args], habits).type
        return Typed(None, type_)
    try:
        return found(name, args, habits)
    except (OverflowError, ValueError, ArithmeticError) as error:
        raise OutOfScopeError(str(error)) from error


def _sample(type_: pa.DataType) -> Typed:
    """Some value of the type, to learn a result's type."""
    if pa.types.is_string(type_):
        return Typed("a", type_)
    if pa.types.is_decimal(type_):
        return Typed(Decimal(1), type_)
    return Typed(1.0 if pa.types.is_floating(type_) else 1, type_)


def _is_time(type_: pa.DataType) -> bool:
    return bool(pa.types.is_date(type_) or pa.types.is_timestamp(type_))


# Numbers


def _arithmetic(name: str, args: list[Typed], habits: Habits) -> Typed:
    if _is_time(args[0].type) and name in "+-" and len(args) == 2:
        return _shift(name, args, habits)
    if len(args) == 1:
        return _arithmetic("-", [Typed(0, pa.int8()), args[0]], habits)
    types = [arg.type for arg in args]
    if all(map(pa.types.is_integer, types)):
        wider = max(types, key=lambda type_: type_.bit_width)
        exact = _operate(name, args[0].value, args[1].value)
        bits = wider.bit_width
        wrapped = (exact + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
        return Typed(wrapped if wrapped == exact or habits.wraps else None, wider)
    if any(map(pa.types.is_floating, types)):
        with np.errstate(all="ignore"):
            left, right = (np.float64(float(arg.value)) for arg in args)
            return Typed(float(_operate(name, left, right)), pa.float64())
    left, right = (_decimal(arg) for arg in args)
    exact = {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}[name](left, right)
    scales = [_digits(arg)[1] for arg in args]
    wholes = [_digits(arg)[0] - _digits(arg)[1] for arg in args]
    if name == "*":
        scale, precision = sum(scales), sum(_digits(arg)[0] for arg in args) + 1
    else:
        scale, precision = max(scales), max(wholes) + max(scales) + 1
    if precision > 38:
        raise OutOfScopeError("decimals are rounded")
    return Typed(exact, pa.decimal128(precision, scale))


def _operate(name: str, left: Any, right: Any) -> Any:
    return {"+": left + right, "-": left - right, "*": left * right}[name]


def _decimal(arg: Typed) -> Decimal:
    return arg.value if isinstance(arg.value, Decimal) else Decimal(arg.value)


def _digits(arg: Typed) -> tuple[int, int]:
    if pa.types.is_decimal(arg.type):
        return arg.type.precision, arg.type.scale
    return {8: 3, 16: 5, 32: 10, 64: 20}[arg.type.bit_width], 0


def _division(name: str, args: list[Typed], habits: Habits) -> Typed:
    if any(pa.types.is_decimal(arg.type) for arg in args) and not any(
        pa.types.is_floating(arg.type) for arg in args
    ):
        left, right = (_decimal(arg) for arg in args)
        quotient = _EXACT.divide(left, right) if right else None
        type_ = pa.decimal128(38, 6)
        return Typed(quotient and _places(quotient, 6), type_)
    left, right = (np.float64(float(arg.value)) for arg in args)
    if right == 0 and not habits.skips_nulls:
        return Typed(None, pa.float64())
    with np.errstate(all="ignore"):
        return Typed(float(left / right), pa.float64())


def _places(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)


def _sign(name: str, args: list[Typed], habits: Habits) -> Typed:
    (arg,) = args
    if name == "abs" and not math.copysign(1, arg.value) < 0:
        return arg
    if isinstance(arg.value, float):
        return Typed(-arg.value, arg.type)
    if isinstance(arg.value, Decimal):
        return Typed(arg.value.copy_negate(), arg.type)
    return _arithmetic("-", [Typed(0, pa.int8()), arg], habits)


def _whole(name: str, args: list[Typed], habits: Habits) -> Typed:
    (arg,) = args
    if isinstance(arg.value, Decimal):
        up = ROUND_FLOOR if name == "floor" else ROUND_CEILING
        whole = arg.value.quantize(Decimal(1), up, _EXACT)
        precision = min(38, arg.type.precision - arg.type.scale + 1)
        return Typed(whole, pa.decimal128(precision, 0))
    if isinstance(arg.value, int):
        return arg
    if math.isnan(arg.value):
        return Typed(0, pa.int64())
    bounded = min(max(arg.value, -(2.0**63)), 2.0**63)
    whole = math.floor(bounded) if name == "floor" else math.ceil(bounded)
    return Typed(min(whole, 2**63 - 1), pa.int64())


def _round(name: str, args: list[Typed], habits: Habits) -> Typed:
    arg, places = args[0], args[1].value if len(args) > 1 else 0
    if isinstance(arg.value, Decimal):
        scale = min(places, arg.type.scale)
        precision = min(38, arg.type.precision - arg.type.scale + scale + 1)
        return Typed(_places(arg.value, scale), pa.decimal128(precision, scale))
    if isinstance(arg.value, int) or not math.isfinite(arg.value):
        return arg
    if pa.types.is_float32(arg.type):
        raise OutOfScopeError("float")
    exact = Decimal(repr(arg.value)) if habits.units else Decimal(arg.value)
    if exact.adjusted() > 60:
        return arg
    return Typed(float(_places(exact, places)), arg.type)


def _remainder(name: str, args: list[Typed], habits: Habits) -> Typed:
    value, divisor = args[0].value, args[1].value
    found = int(math.fmod(abs(value) % abs(divisor), abs(divisor))) * (1 if value >= 0 else -1)
    if name == "pmod" and found < 0:
        found += abs(divisor)
    return Typed(found, pa.int64())


def _extreme(name: str, args: list[Typed], habits: Habits) -> Typed:
    types = {arg.type for arg in args}
    given = [arg for arg in args if arg.value is not None]
    if len(types) > 1 or any(pa.types.is_string(type_) for type_ in types):
        raise OutOfScopeError("types")
    if not given or (len(given) < len(args) and not habits.skips_nulls):
        return Typed(None, args[0].type)

    def key(arg: Typed) -> Any:
        is_nan = isinstance(arg.value, float) and math.isnan(arg.value)
        return (is_nan, 0 if is_nan else arg.value)

    return (max if name == "greatest" else min)(given, key=key)


# Dates and times


def _units(type_: pa.DataType) -> int:
    return (
        1
        if pa.types.is_date(type_)
        else {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit]
    )


def _zone(habits: Habits) -> tzinfo:
    if habits.zone is None:
        raise OutOfScopeError("no zone")
    return timezone.utc if habits.zone == "UTC" else ZoneInfo(habits.zone)


def _wall(arg: Typed, habits: Habits) -> datetime:
    """What the calendar shows, to the second."""
    if not _is_time(arg.type):
        raise OutOfScopeError("no time")
    if pa.types.is_date(arg.type):
        return _EPOCH + timedelta(days=arg.value)
    moment = _EPOCH + timedelta(seconds=arg.value // _units(arg.type))
    if arg.type.tz is None:
        return moment
    shown = moment.replace(tzinfo=timezone.utc).astimezone(_zone(habits))
    return shown.replace(tzinfo=None, fold=0)


def _days(moment: datetime) -> int:
    return (moment - _EPOCH).days


def _integer(part: Callable[[datetime], int]) -> Callable[[str, list[Typed], Habits], Typed]:
    return lambda name, args, habits: Typed(part(_wall(args[0], habits)), pa.int32())


def _day(part: Callable[[datetime], datetime]) -> Callable[[str, list[Typed], Habits], Typed]:
    return lambda name, args, habits: Typed(_days(part(_wall(args[0], habits))), pa.date32())


def _end_of_month(moment: datetime) -> datetime:
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


def _trunc(name: str, args: list[Typed], habits: Habits) -> Typed:
    day = _beginning(_wall(args[0], habits), args[1].value)
    return Typed(_days(day), pa.date32())


def _date_trunc(name: str, args: list[Typed], habits: Habits) -> Typed:
    unit, arg = args[0].value, args[1]
    shown = _wall(arg, habits)
    begin = _beginning(shown, unit)
    if pa.types.is_date(arg.type) or arg.type.tz is None:
        return Typed((begin - _EPOCH) // timedelta(seconds=1), pa.timestamp("s"))
    return Typed(_instant(begin, habits), pa.timestamp("s", "UTC"))


def _instant(wall: datetime, habits: Habits) -> int:
    offset = wall.replace(tzinfo=_zone(habits), fold=0).utcoffset()
    assert offset is not None
    return (wall - offset - _EPOCH) // timedelta(seconds=1)


def _shift(name: str, args: list[Typed], habits: Habits) -> Typed:
    if not pa.types.is_integer(args[1].type):
        raise OutOfScopeError("no number of days")
    if name in "+-" and not pa.types.is_date(args[0].type):
        raise OutOfScopeError("no date")
    sign = -1 if name in ("-", "date_sub") else 1
    if abs(args[1].value) > 10**6:
        raise OutOfScopeError("too many days")
    return Typed(_days(_wall(args[0], habits)) + sign * args[1].value, pa.date32())


def _difference(name: str, args: list[Typed], habits: Habits) -> Typed:
    left, right = (_days(_wall(arg, habits)) for arg in args)
    return Typed(left - right, pa.int32())


def _add_months(name: str, args: list[Typed], habits: Habits) -> Typed:
    day = _wall(args[0], habits)
    months = day.year * 12 + day.month - 1 + args[1].value
    first = datetime(months // 12, months % 12 + 1, 1)
    end = _end_of_month(first)
    last = habits.keeps_last_day and _days(day) == _days(_end_of_month(day))
    return Typed(_days(end if last else first.replace(day=min(day.day, end.day))), pa.date32())


def _plus_interval(name: str, args: list[Typed], habits: Habits) -> Typed:
    """Days and months on the calendar; hours there, too, or later on the instant."""
    time, months, days, micros = args[0], *(arg.value for arg in args[1:])
    clips = replace(habits, keeps_last_day=False)
    if pa.types.is_date(time.type):
        if days or micros:
            raise OutOfScopeError("a date or a timestamp")
        return _add_months("add_months", args[:2], clips)
    units = _units(time.type)
    shift, rest = divmod(micros * units, 10**6)
    if rest:
        raise OutOfScopeError("another precision")
    shown = _wall(time, habits)
    day = _add_months("add_months", args[:2], clips).value + days
    wall = day * 86_400 + (shown - datetime(shown.year, shown.month, shown.day)).seconds
    fraction = time.value % units
    if time.type.tz is None:
        return Typed(wall * units + fraction + shift, time.type)
    if habits.from_wall:
        seconds, fraction = divmod(wall * units + fraction + shift, units)
        return Typed(_at(seconds, habits) * units + fraction, time.type)
    if not months and not days:
        return Typed(time.value + shift, time.type)
    return Typed(_at(wall, habits) * units + fraction + shift, time.type)


def _at(wall: int, habits: Habits) -> int:
    return _instant(_EPOCH + timedelta(seconds=wall), habits)


def _unix(name: str, args: list[Typed], habits: Habits) -> Typed:
    arg = args[0]
    if pa.types.is_timestamp(arg.type) and arg.type.tz and not habits.from_wall:
        return Typed(arg.value // _units(arg.type), pa.int64())
    return Typed(_instant(_wall(arg, habits), habits), pa.int64())


_CODES = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


def _format(name: str, args: list[Typed], habits: Habits) -> Typed:
    shown, pattern = _wall(args[0], habits), args[1].value
    for field, code in _CODES.items():
        text = f"{shown.year:04d}" if field == "yyyy" else shown.strftime(code)
        pattern = pattern.replace(field, text)
    return Typed(pattern, pa.string())


def _from_unixtime(name: str, args: list[Typed], habits: Habits) -> Typed:
    if abs(args[0].value) > 10**11:
        raise OutOfScopeError("far away")
    instant = Typed(args[0].value, pa.timestamp("s", "UTC"))
    pattern = Typed("yyyy-MM-dd HH:mm:ss", pa.string())
    return _format(name, [instant, pattern], habits)


def to_date(arg: Typed, habits: Habits) -> Typed:
    """``CAST(t AS date)``."""
    return _day(lambda moment: moment)("to_date", [arg], habits)


def to_text(arg: Typed, habits: Habits) -> Typed:
    """``CAST(x AS string)`` of integers, dates and times."""
    if pa.types.is_integer(arg.type):
        return Typed(str(arg.value), pa.string())
    shown = _wall(arg, habits)
    text = f"{shown.year:04d}-{shown:%m-%d}"
    if pa.types.is_date(arg.type):
        return Typed(text, pa.string())
    rest = arg.value % _units(arg.type) * (10**9 // _units(arg.type))
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return Typed(f"{text} {shown:%H:%M:%S}{fraction}", pa.string())


# Texts


def _text(arg: Typed) -> str:
    if not pa.types.is_string(arg.type):
        raise OutOfScopeError("no text")
    return str(arg.value)


def _case(name: str, args: list[Typed], habits: Habits) -> Typed:
    text = _text(args[0])
    if name == "upper":
        text = text.replace("i", "\u0130") if habits.turkish else text
        return Typed(text.upper(), pa.string())
    text = text.replace("I", "\u0131") if habits.turkish else text
    return Typed(text.lower(), pa.string())


def _substring(name: str, args: list[Typed], habits: Habits) -> Typed:
    text, count = _text(args[0]), args[-1].value
    if not habits.units:
        return Typed(text[:count], pa.string())
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * count]
    whole = units.decode("utf-16-le", "ignore")
    half = len(whole.encode("utf-16-le")) < len(units)
    return Typed(whole + "?" * half, pa.string())


def _concatenation(name: str, args: list[Typed], habits: Habits) -> Typed:
    return Typed("".join(map(_text, args)), pa.string())


def _trim(name: str, args: list[Typed], habits: Habits) -> Typed:
    strip = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}[name]
    return Typed(strip(_text(args[0]), " "), pa.string())


_FUNCTIONS: dict[str, Callable[[str, list[Typed], Habits], Typed]] = {
    **dict.fromkeys(("+", "-", "*"), _arithmetic),
    "/": _division,
    **dict.fromkeys(("negative", "abs"), _sign),
    **dict.fromkeys(("floor", "ceil"), _whole),
    "round": _round,
    **dict.fromkeys(("%", "pmod"), _remainder),
    "year": _integer(lambda moment: moment.year),
    "quarter": _integer(lambda moment: (moment.month - 1) // 3 + 1),
    "month": _integer(lambda moment: moment.month),
    "day": _integer(lambda moment: moment.day),
    "dayofyear": _integer(lambda moment: moment.timetuple().tm_yday),
    "hour": _integer(lambda moment: moment.hour),
    "minute": _integer(lambda moment: moment.minute),
    "to_date": _day(lambda moment: moment),
    "last_day": _day(_end_of_month),
    "trunc": _trunc,
    "plus interval": _plus_interval,
    "date_trunc": _date_trunc,
    **dict.fromkeys(("date_add", "date_sub"), _shift),
    "datediff": _difference,
    "add_months": _add_months,
    "unix_timestamp": _unix,
    "from_unixtime": _from_unixtime,
    "date_format": _format,
    **dict.fromkeys(("upper", "lower"), _case),
    **dict.fromkeys(("substr", "left"), _substring),
    "concat": _concatenation,
    **dict.fromkeys(("trim", "ltrim", "rtrim"), _trim),
}
