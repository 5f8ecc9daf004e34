"""Rows with difficult values: the limits of every type, and values that engines treat differently.

Columns come in pairs of one type, so that a predicate can compare two. An eighth of the values is
NULL. Random values are drawn from a seeded generator.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia")
_EPOCH = datetime(1970, 1, 1)
_NULLS = 1 / 8
_MICROS_PER_DAY = 86_400 * 10**6

#: The columns by name; two of most types.
COLUMNS: Mapping[str, pa.DataType] = {
    **{"b": pa.bool_(), "b2": pa.bool_()},
    **{"i1": pa.int8(), "i2": pa.int16()},
    **{"i4": pa.int32(), "j4": pa.int32(), "i8": pa.int64(), "j8": pa.int64()},
    **{"f4": pa.float32(), "g4": pa.float32(), "f8": pa.float64(), "g8": pa.float64()},
    **{"d5": pa.decimal128(5, 2), "d18": pa.decimal128(18, 6), "d20": pa.decimal128(20, 0)},
    **{"d38": pa.decimal128(38, 10), "e38": pa.decimal128(38, 37)},
    **{"s": pa.string(), "t": pa.string(), "y": pa.binary()},
    **{"dt": pa.date32(), "du": pa.date32()},
    **{"ts": pa.timestamp("us", "UTC"), "tu": pa.timestamp("us", "UTC")},
    **{"tn": pa.timestamp("us"), "tm": pa.timestamp("us")},
}

_WHOLE = (0, 1, -1, 2, -2, 3, 5, 7, 9, 10, 11, 12, 31, 99, 100, 101, 127, -128, 128, 255, 999)
_WIDE = (32767, -32768, 65536, 10**6, 2**24 + 1, 86_399, 86_400, 2**31 - 1, -(2**31), 2**30)
_WIDER = (2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 10**15, 10**18, 2**62, 2**63 - 1)
_WIDEST = (-(2**63), -(2**63) + 1, 253402300799, -62135596800, -62135596801)
_FLOATS = (
    *(0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(1.7976931348623157e308, -1.7976931348623157e308, 0.1, 0.2, 0.3, 0.5, 1.5, 2.5, -0.5, -1.5),
    *(-2.5, 0.49999999999999994, 1.0, -1.0, 2.0, 3.0, 4.0, 10.0, 100.0, 1e-7, 1e7, 1.005, 2.675),
    *(2.0**24 + 1, 2.0**31, -(2.0**31), 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 1e15 + 0.5),
    *(1e18, 1e19, 1e22, 3.4028234663852886e38, 1.17549435e-38, 1e-45, 16777216.0, 16777217.0),
)
_WORDS = (
    *("", " ", "  ", "a", "A", "a ", " a", " a ", "a\t", "a\tb", "a\nb", "a  ", "a\x01", "\x00"),
    *("\x1f", "\x7f", "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "\ufffd", "\uffff", "\ue000"),
    *("i", "I", "\u0130", "\u0131", "istanbul", "ISTANBUL", "ß", "ẞ", "ss", "SS", "ǆ", "ǅ", "ﬀ"),
    *("é", "e\u0301", "É", "ſ", "K", "Å", "σ", "ς", "Σ", "ΑΣ", "𐀀", "😀", "a😀b", "𐐨", "𐐀"),
    *("ab", "abc", "abd", "ABC", "Abc", "b", "z", "Z", "zz", "x" * 70, "x" * 70 + "a", "x" * 31),
    *("x" * 32, "x" * 33, "é" * 20, "😀" * 20, "name_005", "name_0051", "nameX005", "Name_005"),
    *(
        "CITY05",
        "city05",
        "City06",
        "%",
        "_",
        "\\",
        "a%b",
        "a_b",
        "a\\b",
        "a\\%",
        "a\\_b",
        "'",
        '"',
    ),
    *("0", "00", "1", "01", "-0", "+1", "-1", "12", " 12", "12 ", "1.0", "1.50", ".5", "5.", "1e3"),
    *("127", "128", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808"),
    *("NaN", "nan", "Infinity", "-Infinity", "inf", "true", "TRUE", "t", "false", "f", "yes", "no"),
    *("2020-01-15", "2020-1-5", "2020-01", "2020", "2020-02-30", "2020-02-29", "1582-10-10"),
    *("2020-01-15 10:00:00", "2020-01-15T10:00:00", "2020-01-15 10:00:00.123456", "0001-01-01"),
    *("9999-12-31", "10000-01-01", "2020-01-15 ", " 2020-01-15", "2020-01-15 25:00:00", "20200115"),
    *("2020-03-29 02:30:00", "2020-01-15 10:00", "2020-01-15 10:00:00Z", "12:30:00", "abc:def"),
)
_LETTERS = "aAbBiIszZ 019.-_%\\\t\x01éßıİ😀"
_DAYS = tuple(
    date.fromisoformat(day)
    for day in (
        *("0001-01-01", "0001-01-02", "0100-02-28", "0999-12-31", "1000-01-01", "1500-02-28"),
        *("1582-10-04", "1582-10-05", "1582-10-14", "1582-10-15", "1582-10-16", "1600-02-29"),
        *("1700-03-01", "1883-11-18", "1893-04-01", "1899-12-31", "1900-01-01", "1900-02-28"),
        *("1969-12-31", "1970-01-01", "1970-01-02", "1999-12-31", "2000-01-01", "2000-02-28"),
        *("2000-02-29", "2000-03-01", "2004-02-29", "2019-12-30", "2020-01-01", "2020-01-15"),
        *("2020-01-31", "2020-02-28", "2020-02-29", "2020-03-01", "2020-03-08", "2020-03-28"),
        *("2020-03-29", "2020-03-30", "2020-07-01", "2020-10-24", "2020-10-25", "2020-11-01"),
        *("2020-12-27", "2020-12-28", "2020-12-31", "2011-12-29", "2011-12-30", "2011-12-31"),
        *("2021-01-01", "2021-01-03", "2038-01-19", "2199-12-31", "2400-02-29", "9999-12-31"),
    )
)
_CLOCKS: tuple[int, ...] = (0, 1, 999_999, 10**6, 3_600 * 10**6, 2 * 3_600 * 10**6, 43_200 * 10**6)
_CLOCKS += (_MICROS_PER_DAY - 1, _MICROS_PER_DAY - 10**6, 9_000 * 10**6 + 123_456, 84_600 * 10**6)
_FIRST_DAY, _LAST_DAY = date(1, 1, 1).toordinal(), date(9999, 12, 31).toordinal()
_EPOCH_DAY = date(1970, 1, 1).toordinal()


def rows(count: int, seed: int, moments: Sequence[int] = ()) -> pa.Table:
    """This many rows of `COLUMNS`.

    moments: seconds since 1970 to which a part of the dates, times and long integers is close.
    """
    rng = random.Random(seed)
    columns = {name: _column(type_, count, rng, moments) for name, type_ in COLUMNS.items()}
    return pa.table(columns)


def _column(type_: pa.DataType, count: int, rng: random.Random, moments: Sequence[int]) -> pa.Array:
    draw = _near(_drawer(type_), type_, moments)
    # Runs of few values as well, so that some files have a single value.
    few = [draw(rng) for _ in range(rng.choice((3, 12, count)))]
    values = [None if rng.random() < _NULLS else rng.choice(few) for _ in range(count)]
    if pa.types.is_temporal(type_):
        bits = pa.int32() if pa.types.is_date32(type_) else pa.int64()
        return pa.array(values, bits).cast(type_)
    return pa.array(values, type_)


def _drawer(type_: pa.DataType) -> Callable[[random.Random], Any]:
    for applies, drawer in _DRAWERS:
        if applies(type_):
            return lambda rng: drawer(rng, type_)
    raise TypeError(type_)


def _near(
    draw: Callable[[random.Random], Any], type_: pa.DataType, moments: Sequence[int]
) -> Callable[[random.Random], Any]:
    """Draws values close to the moments, too: as often as such types are about times."""
    if not moments or not (pa.types.is_temporal(type_) or pa.types.is_int64(type_)):
        return draw
    share = 0.5 if pa.types.is_temporal(type_) else 0.25

    def near(rng: random.Random) -> Any:
        if rng.random() >= share:
            return draw(rng)
        second = rng.choice(moments)
        if pa.types.is_date32(type_):
            return second // 86_400 + rng.choice((0, 0, 1))
        if pa.types.is_timestamp(type_):
            return second * 10**6 + rng.choice((0, 0, 0, 999_999, 500_000))
        return second

    return near


def integer(rng: random.Random, type_: pa.DataType) -> int:
    """An integer of the type."""
    limit = 2 ** (type_.bit_width - 1)
    if rng.random() < 0.4:
        edge = rng.choice((0, 10, 100, limit, 2**31, 2**53)) + rng.randint(-3, 3)
        value = edge * rng.choice((1, -1))
    elif rng.random() < 0.6:
        value = rng.choice((*_WHOLE, *_WIDE, *_WIDER, *_WIDEST))
    else:
        value = rng.randint(-(10 ** rng.randint(1, 18)), 10 ** rng.randint(1, 18))
    return max(-limit, min(value, limit - 1))


def floating(rng: random.Random, type_: pa.DataType) -> float:
    """A float of the type."""
    value = rng.choice(_FLOATS)
    if rng.random() < 0.3:
        value = rng.randint(-1000, 1000) / rng.choice((1, 2, 3, 8, 10, 100))
    elif rng.random() < 0.3:
        value = rng.uniform(-1, 1) * 10.0 ** rng.randint(-20, 40)
    if type_.bit_width == 32:
        with np.errstate(over="ignore"):
            return float(np.float32(value))
    return value


def decimal(rng: random.Random, type_: pa.Decimal128Type) -> Decimal:
    """A decimal of the type."""
    limit, one = 10**type_.precision, 10**type_.scale
    kind = rng.random()
    if kind < 0.3:
        unscaled = rng.choice((0, 1, one, one // 2, 5 * one // 10 + 1, limit - 1, limit // 2))
    elif kind < 0.6:
        unscaled = rng.randint(0, 30) * one // rng.choice((1, 2, 4, 10))
    else:
        unscaled = rng.randint(0, 10 ** rng.randint(1, type_.precision))
    unscaled = min(unscaled, limit - 1) * rng.choice((1, -1))
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((int(unscaled < 0), digits, -type_.scale))


def _written_day(rng: random.Random) -> str:
    """A text that some engine reads as a date, or nearly so."""
    before = rng.choice(("", "", "", "", " ", "+", "\t", "0", "-", "\x01"))
    year = rng.choice(("2020", "2020", "2020", "2019", "20200", "0999", "9999"))
    month, day = (
        rng.choice((f"{number:02}", f"{number:02}", f"{number:02}", str(number), str(-number)))
        for number in (rng.choice((0, 1, 2, 6, 7, 9, 10, 12, 13, 99)), rng.randint(0, 33))
    )
    behind = ("", "", "", "", " ", " 10:00:00", "T23:59:59", "T", "Z", "x", "1", " 23:30:00-08:00")
    pieces = (year, month, day)[: rng.choice((3, 3, 3, 3, 2, 1))]
    return before + "-".join(pieces) + rng.choice(behind)


def spelled_day(rng: random.Random) -> str:
    """A day as engines write it: what most partitions by text have."""
    return (date(1970, 1, 1) + timedelta(days=day(rng, pa.date32()))).isoformat()


def text(rng: random.Random, _: pa.DataType) -> str:
    """A text."""
    kind = rng.random()
    if kind < 0.15:
        return _written_day(rng)
    if kind < 0.3:
        return spelled_day(rng) + rng.choice(("", "", "", " 00:00:00", " 23:59:59"))
    if rng.random() < 0.7:
        return rng.choice(_WORDS)
    return "".join(rng.choice(_LETTERS) for _ in range(rng.randint(1, 6)))


def _binary(rng: random.Random, _: pa.DataType) -> bytes:
    return bytes(rng.choice((0, 1, 65, 127, 128, 255)) for _ in range(rng.randint(0, 4)))


def day(rng: random.Random, _: pa.DataType) -> int:
    """A day since 1970, of the years 1 to 9999."""
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(_DAYS).toordinal() - _EPOCH_DAY
    if kind < 0.9:
        return rng.randint(-25_000, 25_000)
    return rng.randint(_FIRST_DAY, _LAST_DAY) - _EPOCH_DAY


def moment(rng: random.Random, type_: pa.DataType) -> int:
    """Microseconds since 1970, often near a change of a zone's clock."""
    if rng.random() < 0.3:
        wall = datetime(2020, *rng.choice(((3, 29, 1), (10, 25, 1), (3, 8, 7), (11, 1, 6))))
        zone = ZoneInfo(rng.choice(ZONES)) if rng.random() < 0.3 else timezone.utc
        instant = wall.replace(tzinfo=zone) - _EPOCH.replace(tzinfo=timezone.utc)
        offset = rng.choice((0, -1, 1, -1_800_000_000, 1_800_000_000, 3_600_000_000))
        return instant // timedelta(microseconds=1) + offset
    clock = rng.choice(_CLOCKS) if rng.random() < 0.7 else rng.randrange(_MICROS_PER_DAY)
    return day(rng, type_) * _MICROS_PER_DAY + clock


_DRAWERS: Sequence[tuple[Callable[[pa.DataType], bool], Callable[..., Any]]] = (
    (pa.types.is_boolean, lambda rng, _: rng.random() < 0.5),
    (pa.types.is_integer, integer),
    (pa.types.is_floating, floating),
    (pa.types.is_decimal, decimal),
    (pa.types.is_string, text),
    (pa.types.is_binary, _binary),
    (pa.types.is_date32, day),
    (pa.types.is_timestamp, moment),
)
