"""Make literals comparable: from a typed constant to an interval of a column's domain.

Engines disagree on how a literal is compared with a column of another type: one widens the column
to double, another rounds the literal, a third reads instants in a session's zone. So a literal
becomes the smallest *interval* of the column's own domain that holds every value that it may be
converted to. A comparison with an interval is true if it is true for some point of it. This is
sound for each of these conversions, and exact where all agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from pyhudi_expr.expr.domains import (
    NO_MARGIN,
    Domain,
    Kind,
    domain_of,
    exact_decimal,
    float_ordinal,
)
from pyhudi_expr.expr.nodes import CharType, Literal, PythonValue
from pyhudi_expr.expr.semantics import ANY_RULES, Engine, Semantics, Zone

_EPOCH = datetime(1970, 1, 1)
_FORM = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:(?P<between>[ T])(?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?"
    r"(?: ?(?P<zone>Z|UTC|[+-](?:0\d|1[0-4]):[0-5]\d))?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class TimeText:
    """A time as a text shows it.

    Attributes:
        wall: Seconds of the clock in the text since the beginning of 1970 on the same clock.
        offset: Seconds by which that clock is ahead of UTC; None if the text has no zone.
        is_plain: Whether all engines read the text alike: it has neither a T nor a zone.
    """

    wall: Fraction
    offset: int | None
    is_plain: bool

    @property
    def midnight(self) -> Fraction:
        """The beginning of the day in the text, on its clock."""
        return self.wall - self.wall % 86_400


def time_of_text(text: str) -> TimeText | None:
    """Return the time that a text of a known form shows; None of others, and of days that are none.

    The forms are ``2024-01-31``, ``2024-01-31 23:59:59``, with a T instead of the space, with up to
    nine digits of a second, and with a zone: Z, UTC or an offset such as ``+01:00``.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    try:
        shown = datetime.fromisoformat(f"{match['day']} {match['clock'] or '00:00:00'}")
    except ValueError:
        return None
    digits = match["fraction"] or "0"
    wall = (shown - _EPOCH) // timedelta(seconds=1) + Fraction(int(digits), 10 ** len(digits))
    is_plain = match["between"] != "T" and match["zone"] is None
    return TimeText(wall, _offset(match["zone"]), is_plain)


def _offset(zone: str | None) -> int | None:
    if zone is None or zone in ("Z", "UTC"):
        return None if zone is None else 0
    hours, minutes = zone[1:].split(":")
    seconds = int(hours) * 3600 + int(minutes) * 60
    return seconds if zone[0] == "+" else -seconds


_DAY = 86_400

#: Integers of so many bits are exact as floats: comparing as float or as integer is the same.
_SIGNIFICANT_BITS = {32: 24, 64: 53}

# Before the Gregorian calendar of 1582-10-15 readers may rebase days (Hive does, for files
# without a marker of their calendar); before standard time, libraries disagree on offsets.
_GREGORIAN_START_DAY = -141_427
_RELABELLING_DAYS = 400
_STANDARD_TIME_DAY = -25_567
_OFFSET_DAYS = 2
#: Days, and by how many days readers may differ about times before them; the first that applies.
CALENDAR_MARGINS = (
    (_GREGORIAN_START_DAY + _RELABELLING_DAYS, _RELABELLING_DAYS),
    (_STANDARD_TIME_DAY, _OFFSET_DAYS),
)

_MAX_CHAR_LENGTH = 255


@dataclass(frozen=True)
class Interval:
    """The values of a domain that a literal may stand for, both ends included.

    Attributes:
        lower: An ordinal (of any size: the caller checks the domain's range), ``Decimal`` or bytes.
        upper: The other end.
        equals_none: The literal lies between two neighbouring values, so no value equals it.
        is_nan: The literal is NaN, which engines order differently.
    """

    lower: Any
    upper: Any
    equals_none: bool = False
    is_nan: bool = False


def hull(intervals: Iterable[Interval]) -> Interval:
    """Return the smallest interval around some."""
    found = list(intervals)
    return Interval(
        min(interval.lower for interval in found),
        max(interval.upper for interval in found),
        all(interval.equals_none for interval in found),
        any(interval.is_nan for interval in found),
    )


class NotComparableError(ValueError):
    """The literal cannot be compared with the column's domain soundly; the message says why."""


def interval(
    literal: Literal,
    domain: Domain,
    char: CharType | None,
    semantics: Semantics,
    margin: Fraction = NO_MARGIN,
) -> Interval:
    """Return the interval of `domain` for a literal that is not null.

    Args:
        literal: The literal.
        domain: The domain of the term that it is compared with.
        char: The column's declared char or varchar type.
        semantics: What the engine's process decides.
        margin: How far rounding may move a number and the values that it is compared with.

    Raises:
        NotComparableError: They cannot be compared soundly.
    """
    if isinstance(literal.type, CharType):
        length = char.length if char else _MAX_CHAR_LENGTH
        char = CharType(length, literal.type.padded or (char is not None and char.padded))
        source = Domain(Kind.TEXT)
    else:
        found = domain_of(literal.type)
        if found is None:
            raise NotComparableError(f"a literal of type {literal.type} has no order")
        source = found
    match domain.kind:
        case Kind.BOOLEAN if source.kind is Kind.BOOLEAN:
            return Interval(int(literal.value), int(literal.value))
        case Kind.INTEGER | Kind.DECIMAL if source.kind in _NUMBERS:
            return _fixed_point(literal.value, source, domain, margin)
        case Kind.FLOAT if source.kind in _NUMBERS:
            return _floating_point(literal.value, source, domain)
        case Kind.DATE | Kind.WALL_CLOCK | Kind.INSTANT:
            return _temporal(literal, source, domain, semantics)
        case Kind.TEXT if source.kind is Kind.TEXT:
            return _text(str(literal.value), char)
        case Kind.BINARY if source.kind is Kind.BINARY:
            return Interval(bytes(literal.value), bytes(literal.value))
    raise _not_comparable(source, domain)


def _not_comparable(source: Domain, domain: Domain) -> NotComparableError:
    hint = "; a column alone means that it is TRUE" if source.kind is Kind.BOOLEAN else ""
    return NotComparableError(f"{_a(source)} literal against {_a(domain)} column{hint}")


_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)


def _fixed_point(value: PythonValue, source: Domain, domain: Domain, margin: Fraction) -> Interval:
    if source.kind is Kind.INTEGER and domain.kind is Kind.INTEGER:
        return Interval(value, value)  # long IN lists usually have these
    if isinstance(value, float) and not math.isfinite(value):
        # Every fixed-point value lies on one known side of an infinity; NaN has no side.
        if math.isnan(value):
            raise NotComparableError("a NaN literal against a fixed-point column")
        beyond = int(math.copysign(2**200, value))
        if domain.is_ordinal:
            return Interval(beyond, beyond, equals_none=True)
        raise NotComparableError("an infinity against a wide decimal column")
    exact = Fraction(value)
    low = high = exact
    significant = _SIGNIFICANT_BITS[source.bits] if source.kind is Kind.FLOAT else 0
    inexact = significant > 0 and (domain.kind is Kind.DECIMAL or abs(exact) >= 2**significant)
    if inexact:
        # The engine compares as floats, so values that round to the literal equal it.
        unit = Fraction(math.ulp(float(exact))) * 2 ** (_SIGNIFICANT_BITS[64] - significant)
        low, high = exact - 2 * unit, exact + 2 * unit
    scale = 10**domain.scale
    lower, upper = math.floor((low - margin) * scale), math.ceil((high + margin) * scale)
    equals_none = not inexact and not margin and lower != upper
    if domain.is_ordinal:
        return Interval(lower, upper, equals_none)
    if max(abs(lower), abs(upper)) >= 10**76:
        raise NotComparableError("a literal beyond 76 digits")
    return Interval(
        exact_decimal(lower, domain.scale), exact_decimal(upper, domain.scale), equals_none
    )


def _floating_point(value: PythonValue, source: Domain, domain: Domain) -> Interval:
    try:
        nearest = float(value)
    except OverflowError as error:
        raise NotComparableError("a literal beyond the range of doubles") from error
    if math.isnan(nearest):
        top = float_ordinal(math.nan)
        return Interval(top, top, is_nan=True)
    readings = [nearest]
    if math.isfinite(nearest) and Fraction(nearest) != Fraction(value):
        readings += [math.nextafter(nearest, -math.inf), math.nextafter(nearest, math.inf)]
    if domain.bits == 32 or (source.kind is Kind.FLOAT and source.bits == 32):
        with np.errstate(over="ignore"):
            readings += [float(np.float32(reading)) for reading in readings]
    return Interval(float_ordinal(min(readings)), float_ordinal(max(readings)))


def _temporal(literal: Literal, source: Domain, domain: Domain, semantics: Semantics) -> Interval:
    zone = semantics.reading_zone
    if source.kind is Kind.TEXT:
        text = _time_of(str(literal.value), semantics)
        if not text.is_plain:
            return hull(_readings(text, domain, zone))
        seconds, is_instant = text.wall, False
    elif source.kind is Kind.DATE:
        seconds, is_instant = Fraction(int(literal.value) * _DAY), False
    elif source.kind in (Kind.WALL_CLOCK, Kind.INSTANT):
        seconds = Fraction(int(literal.value), source.units)
        is_instant = source.kind is Kind.INSTANT
    else:
        raise _not_comparable(source, domain)
    if is_instant and domain.kind is not Kind.INSTANT:
        raise NotComparableError(f"an instant against {_a(domain)} column")
    low = high = seconds
    if domain.kind is Kind.INSTANT:
        low, high = _as_read(seconds, semantics) if is_instant else _instants(seconds, zone)
    if domain.kind is source.kind is Kind.WALL_CLOCK and semantics.concerns(Engine.SPARK):
        low, high = _equal_times(seconds, semantics.zone)
    moves = semantics.zone is None or semantics.zone.fixed_offset is None
    if domain.kind is Kind.DATE and source.kind is Kind.WALL_CLOCK and moves:
        # A time that the zone skips is a later one, and at the date line a day later.
        low, high = low - _DAY, high + _DAY
    return _span(low, high, domain)


def _readings(text: TimeText, domain: Domain, zone: Zone | None) -> Iterator[Interval]:
    """Return how engines read a time with a T or a zone.

    Spark reads an instant where there is a zone. Hive drops the zone; a version that does not know
    the form takes its day, from midnight.
    """
    if domain.kind is not Kind.INSTANT:
        raise NotComparableError(_NO_PLAIN_TIME)
    for wall in (text.wall, text.midnight):
        yield _span(*_instants(wall, zone), domain)
    if text.offset is not None:
        instant = text.wall - text.offset
        yield _span(instant, instant, domain)


def _span(low: Fraction, high: Fraction, domain: Domain) -> Interval:
    """Return the values of a domain between two times, in seconds, as any calendar has them."""
    margin = _calendar_margin(low)
    low, high = low - margin, high + margin
    per_second = Fraction(1, _DAY) if domain.kind is Kind.DATE else Fraction(domain.units)
    return Interval(math.floor(low * per_second), math.ceil(high * per_second))


def _a(domain: Domain) -> str:
    kind = domain.kind.value
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _calendar_margin(seconds: Fraction) -> int:
    return next((days * _DAY for day, days in CALENDAR_MARGINS if seconds < day * _DAY), 0)


_NO_PLAIN_TIME = "no plain time: write '2024-01-31 23:59:59', without T and zone"


#: A year, perhaps with a month and a day, of fewer digits than usual.
_BEGIN = re.compile(r"([1-9]\d{3})(?:-(\d\d?)(?:-(\d\d?))?)?", re.ASCII)


def _time_of(text: str, semantics: Semantics) -> TimeText:
    begin = _BEGIN.fullmatch(text)
    if begin and semantics.engine is Engine.SPARK:  # takes it for the first day; others for none
        text = "-".join(part.zfill(2) for part in begin.groups(default="01"))
    found = time_of_text(text)
    if found is None:
        raise NotComparableError(_NO_PLAIN_TIME)
    return found


def _instants(wall_seconds: Fraction, zone: Zone | None) -> tuple[Fraction, Fraction]:
    """Return the instants at which a zone's wall clock may show the time: two around a change."""
    if zone is None:
        raise NotComparableError("a wall clock against instants in an unknown zone")
    second = math.floor(wall_seconds)
    first, last = zone.instants(second)
    return wall_seconds + (first - second), wall_seconds + (last - second)


def _equal_times(wall_seconds: Fraction, zone: Zone | None) -> tuple[Fraction, Fraction]:
    """Return the times that Spark may take for one, as it compares one with ``TIMESTAMP '...'``.

    It makes instants of TIMESTAMP_NTZ for that, unless the session's own type is that.
    """
    if zone is None:
        return wall_seconds - ANY_RULES, wall_seconds + ANY_RULES
    second = math.floor(wall_seconds)
    first, last = zone.equal_times(second)
    if first == last:
        return wall_seconds, wall_seconds
    return Fraction(first), wall_seconds + (last - second)


def _as_read(seconds: Fraction, semantics: Semantics) -> tuple[Fraction, Fraction]:
    """Return the instants of files that an engine may take for one, in seconds.

    For Hive these are wall clocks when they are compared: another instant may show the same.
    """
    zone = semantics.reading_zone
    if not semantics.has_reading_zone or zone is None:
        return seconds, seconds
    if not semantics.has_one_zone:
        raise NotComparableError(
            "an instant, where times are read in another zone than the session's"
        )
    second = math.floor(seconds)
    wall = zone.shows(second)
    if wall is None:
        return seconds - ANY_RULES, seconds + ANY_RULES
    first, last = zone.instants(wall)
    return seconds + (first - second), seconds + (last - second)


def _text(value: str, char: CharType | None) -> Interval:
    try:
        encoded = value.encode()
    except UnicodeEncodeError as error:
        raise NotComparableError("a text literal that is not UTF-8") from error
    if char is None:
        return Interval(encoded, encoded)
    # Stored values may be longer than the declared length (read truncated) and char(n) values
    # padded with spaces. No UTF-8 text contains the byte 0xff, so it closes the interval.
    length = char.length
    if char.padded:
        value = value.rstrip(" ")
        if any(letter < " " for letter in value):
            raise NotComparableError("a char literal with control characters")
        padding = b" " * max(0, length - len(value))
        return Interval(value.encode(), value[:length].encode() + padding + b"\xff")
    if len(value) < length:
        return Interval(encoded, encoded)
    return Interval(encoded, max(encoded, value[:length].encode() + b"\xff"))
