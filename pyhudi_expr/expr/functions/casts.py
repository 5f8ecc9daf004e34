"""Conversions between domains: casts, those of readers, and texts cast to dates.

Texts are not in the order of the dates that engines parse from them: ``2020-7-1``, ``+2020-07-01``,
`` 2020-07-01`` and ``20200-07-01`` are dates, too. But texts between two bounds that begin with
``2020-0`` followed by a digit have a month of two digits, and these are in order. Some engines
accept months and days beyond the calendar: day 0 is the one before the first, and a day may be 99,
or negative.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, UInt8Array, arrow_array
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Ordinals,
    Values,
    as_decimal,
    integer_range,
)
from pyhudi_expr.expr.functions.conversions import (
    DatesToTimestamps,
    DecimalsToDoubles,
    FitDigits,
    FloatsToIntegers,
    FloorTo,
    Hull,
    ReaderMargins,
    Rounded,
    Scale,
    Truncated,
    UpperMargin,
    Widened,
    Within,
    doubles_to_floats,
    identity,
    identity_or_null,
    integers_as_singles,
    integers_to_doubles,
    quotients_to_floats,
    strings_as_read,
)
from pyhudi_expr.expr.functions.signature import (
    DATE,
    LONG,
    NO_TEXT,
    After,
    ByValue,
    Function,
    OnOperands,
    arrow,
    by_value,
)
from pyhudi_expr.expr.functions.time_zones import FromWallClock, ToWallClock
from pyhudi_expr.expr.functions.wide_decimals import (
    FLOAT_ERROR,
    RELATIVE_ERROR,
    FromDoubles,
    Refitted,
    decimals_to_integers,
    to_doubles,
)
from pyhudi_expr.expr.semantics import SECONDS_PER_DAY, UNKNOWN_SEMANTICS, Semantics, Zone

_WIDTH = len("2020-07-01")
_PADDING, _NOTHING = (pa.scalar(one, pa.large_binary()) for one in (b"\0" * _WIDTH, b""))
_YEAR, _DASH, _TENS, _MONTH, _SECOND_DASH, _DAY_TENS, _DAY = slice(0, 4), 4, 5, 6, 7, 8, 9
#: Before it, engines disagree on the calendar.
_FIRST_YEAR = 1600
_MOST_DAY, _LEAST_DAY, _MOST_MONTH = 99, -99, 99


def days_of_texts(*operands: Bounds) -> Bounds:
    """Return the dates in texts; NULL for other texts."""
    (operand,) = operands
    lower, upper = _codes(operand.lower), _codes(operand.upper)
    shared = np.cumprod(lower == upper, axis=1).astype(np.bool_)
    digits = _is_digit(lower) & _is_digit(upper)
    year = _number(lower[:, _YEAR])
    one_year = shared[:, _DASH] & digits[:, _YEAR].all(axis=1)
    one_year &= (lower[:, _DASH] == ord("-")) & (year >= _FIRST_YEAR)
    in_order = one_year & shared[:, _TENS] & digits[:, _TENS] & digits[:, _MONTH]
    begin, end = (_number(codes[:, _TENS : _MONTH + 1]) for codes in (lower, upper))
    # Without the sign of a negative month.
    known = in_order | (one_year & _is_digit(lower)[:, _TENS])
    first = _first_day(year, np.where(in_order, begin, 0))
    last = _first_day(year, np.where(in_order, end, _MOST_MONTH))
    least, greatest = _least(lower, upper, first, shared), _greatest(upper, last)
    # Any day may be in a month between the first and the last one.
    following = _first_day(year, np.where(in_order, begin, 0) + 1) + _LEAST_DAY - 1
    preceding = _first_day(year, np.where(in_order, end, _MOST_MONTH) - 1) + _MOST_DAY - 1
    several = ~in_order | (begin != end)
    least = np.where(several, np.minimum(first + _LEAST_DAY - 1, following), least)
    last_known = np.where(in_order, greatest, last + _MOST_DAY - 1)
    greatest = np.where(several, np.maximum(last_known, preceding), greatest)
    return Bounds(
        _like(np.where(known, least, np.int64(MIN_ORDINAL)), operand.lower),
        _like(np.where(known, greatest, np.int64(MAX_ORDINAL)), operand.upper),
        operand.may_be_value,
        True,
    )


def _least(lower: UInt8Array, upper: UInt8Array, first: Ordinals, shared: BoolArray) -> Ordinals:
    """Return the first date of the month `first` in a text from `lower` on."""
    digits = _is_digit(lower)
    has_day = (lower[:, _SECOND_DASH] == ord("-")) & digits[:, _DAY_TENS]
    two_digits = has_day & shared[:, _DAY_TENS] & digits[:, _DAY] & _is_digit(upper)[:, _DAY]
    day = np.where(two_digits, _number(lower[:, _DAY_TENS:]), np.where(has_day, 0, _LEAST_DAY))
    return np.asarray(first + day - 1)


def _greatest(upper: UInt8Array, first: Ordinals) -> Ordinals:
    """Return the last date of the month `first` in a text up to `upper`."""
    digits = _is_digit(upper)
    has_day = (upper[:, _SECOND_DASH] == ord("-")) & digits[:, _DAY_TENS] & digits[:, _DAY]
    day = np.where(has_day, np.maximum(_number(upper[:, _DAY_TENS:]), 1), _MOST_DAY)
    return np.asarray(first + day - 1)


def _first_day(year: Ordinals, month: Ordinals) -> Ordinals:
    months = (year - 1970) * 12 + month - 1
    return np.asarray(months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64))


def _codes(ends: Values) -> UInt8Array:
    """Return the first bytes of each text, zero behind its end and where it is unknown."""
    texts = pc.fill_null(arrow(ends), b"")
    padded = pc.binary_slice(pc.binary_join_element_wise(texts, _PADDING, _NOTHING), 0, _WIDTH)
    fixed = padded.cast(pa.binary(_WIDTH))
    codes = np.frombuffer(fixed.buffers()[1] or b"", dtype=np.uint8).reshape(-1, _WIDTH)
    return codes[fixed.offset : fixed.offset + len(fixed)]


def _is_digit(codes: UInt8Array) -> BoolArray:
    flags: BoolArray = (codes >= ord("0")) & (codes <= ord("9"))
    return flags


def _number(digits: UInt8Array) -> Ordinals:
    """Return the number of some digits; any number for other bytes."""
    weights = 10 ** np.arange(digits.shape[1] - 1, -1, -1)
    values = np.where(_is_digit(digits), digits.astype(np.int64) - ord("0"), 0)
    return np.asarray(values @ weights)


def _like(ordinals: Ordinals, shape: Values) -> Ordinals:
    return np.asarray(ordinals[0]) if isinstance(shape, pa.Scalar) else ordinals


#: How each field of a pattern is written, in the years of one calendar.
_WRITTEN = {
    **{"yyyy": r"(?:1[6-9]|[2-9]\d)\d\d", "MM": r"(?:0[1-9]|1[0-2])"},
    **{"dd": r"(?:0[1-9]|[12]\d|3[01])", "HH": r"(?:[01]\d|2[0-3])"},
    **dict.fromkeys(("mm", "ss"), r"[0-5]\d"),
}
_FIELD = re.compile("|".join(_WRITTEN))
#: Patterns of fields, and signs that stand for themselves.
_PATTERN = re.compile(rf"(?:{_FIELD.pattern}|[-_/.,:; ])+", re.ASCII)


@dataclass(frozen=True)
class SecondsOfTexts:
    """The times in texts of a pattern, as seconds of a wall clock; others are not known.

    Engines parse texts that do not quite have the pattern, each in its own way.
    """

    pattern: str

    def __call__(self, *values: AnyArray) -> AnyArray:
        """Return seconds since 1970, in the years 1600 to 9999."""
        (texts,) = values
        written = _FIELD.sub(lambda field: _WRITTEN[field[0]], re.escape(self.pattern))
        is_written = pc.match_substring_regex(texts, rf"\A{written}\z")
        texts = pc.if_else(is_written, texts, NO_TEXT)
        found = {
            match[0]: self._numbers(texts, *match.span()) for match in _FIELD.finditer(self.pattern)
        }
        year, month, day = (found.get(name, np.int64(1)) for name in ("yyyy", "MM", "dd"))
        months = (np.asarray(year) - 1970) * 12 + month - 1
        first = months.astype("datetime64[M]")
        days = first.astype("datetime64[D]").astype(np.int64) + day - 1
        following = (first + 1).astype("datetime64[D]").astype(np.int64)
        hour, minute, second = (found.get(name, np.int64(0)) for name in ("HH", "mm", "ss"))
        seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second
        known = np.asarray(texts.is_valid()) & (days < following)
        return arrow_array(seconds, ~known)

    @staticmethod
    def _numbers(texts: AnyArray, begin: int, end: int) -> Ordinals:
        digits = pc.fill_null(pc.utf8_slice_codeunits(texts, begin, end), "1")
        return np.asarray(digits.cast(pa.int64()))


def seconds_of_texts(pattern: str) -> Function | None:
    """Return the function for texts of a pattern of Java's; None for patterns without a rule."""
    fields = _FIELD.findall(pattern)
    if not _PATTERN.fullmatch(pattern) or "yyyy" not in fields or len({*fields}) < len(fields):
        return None
    return by_value(SecondsOfTexts(pattern), LONG, f"a text as a time by {pattern!r}").function


def _plain_days(*values: AnyArray) -> AnyArray:
    """Return the days in texts such as ``2020-07-01``, which all engines read alike."""
    seconds = SecondsOfTexts("yyyy-MM-dd")(*values)
    days = np.asarray(seconds.fill_null(0)) // SECONDS_PER_DAY
    return arrow_array(days, np.asarray(seconds.is_null()))


def _plain_times(*values: AnyArray) -> AnyArray:
    """Return the seconds of texts such as ``2020-07-01 10:00:00``, or of a day."""
    patterns = ("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd")
    return pc.coalesce(*(SecondsOfTexts(pattern)(*values) for pattern in patterns))


@dataclass(frozen=True)
class PlainIntegers:
    """The integers in texts such as ``-120``, which all engines read alike, and compare so.

    Attributes:
        digits: The most digits. Longer ones may overflow.
    """

    digits: int

    def __call__(self, *values: AnyArray) -> AnyArray:
        """Return int64; null for other texts."""
        (texts,) = values
        is_plain = pc.match_substring_regex(
            texts, rf"\A-?[1-9][0-9]{{0,{self.digits - 1}}}\z|\A0\z"
        )
        return pc.if_else(is_plain, texts, NO_TEXT).cast(pa.int64())


#: By the bits of an integer, how many digits each number of so many has.
_PLAIN_DIGITS = {8: 2, 16: 4, 32: 9, 64: 9}


PLAIN_DAYS = by_value(_plain_days, DATE, "a text as a day in a function").function


# Where clocks are put back, instants shown as wall clocks repeat up to a day (at the date line).
_FOLD_DAYS = 1


#: Integers with as many digits as ordinals of decimals have.
_LARGE_WHOLE = Domain(Kind.DECIMAL, precision=18)
#: Below the last place of all decimals.
_LEAST_ERROR = 1e-38


def conversion(
    source: Domain, target: Domain, semantics: Semantics = UNKNOWN_SEMANTICS
) -> Function | None:
    """Return the cast between two domains; None if its results cannot be bounded soundly."""
    if source == target:
        return identity
    match source.kind, target.kind:
        case (Kind.INTEGER, Kind.INTEGER):
            return identity if target.bits >= source.bits else Within(*integer_range(target.bits))
        case (Kind.BOOLEAN, Kind.INTEGER):
            return identity
        case (Kind.FLOAT, Kind.FLOAT):
            return identity if target.bits >= source.bits else doubles_to_floats
        case (Kind.INTEGER, Kind.FLOAT) if target.bits == 64:
            return integers_to_doubles
        case (Kind.INTEGER, Kind.FLOAT):
            return integers_as_singles
        case (Kind.INTEGER, Kind.DECIMAL) if target.is_ordinal:
            return FitDigits(Scale(10**target.scale), target.precision)
        case (Kind.INTEGER, Kind.DECIMAL):
            return _widening(source, target)
        case (Kind.DECIMAL, Kind.DECIMAL):
            return _rescaling(source, target)
        case (Kind.DECIMAL, Kind.FLOAT):
            doubles = DecimalsToDoubles(source.scale) if source.is_ordinal else to_doubles
            if source.precision - source.scale > _MOST_BRIDGED:
                doubles = After(identity_or_null, doubles)
            if target.bits == 64:
                return doubles
            return After(quotients_to_floats, doubles)
        case (Kind.DECIMAL, Kind.INTEGER) if source.is_ordinal:
            return Truncated(10**source.scale, target.bits)
        case (Kind.DECIMAL, Kind.INTEGER):
            fitting = OnOperands(Refitted(_LARGE_WHOLE), ((0, decimals_to_integers),))
            return OnOperands(Within(*integer_range(target.bits)), ((0, fitting),))
        case (Kind.FLOAT, Kind.DECIMAL):
            # Hive converts a float to the decimal that it prints.
            error = RELATIVE_ERROR if source.bits == 64 else FLOAT_ERROR
            fitted = After(Refitted(target), FromDoubles(_LEAST_ERROR, error))
            return After(identity_or_null, fitted)  # Hive cannot convert the smallest doubles
        case (Kind.FLOAT, Kind.INTEGER):
            return FloatsToIntegers(target.bits)
        case (Kind.DATE, Kind.WALL_CLOCK):
            return existing_times(
                DatesToTimestamps(SECONDS_PER_DAY * target.units), target, semantics.zone
            )
        case (Kind.WALL_CLOCK, Kind.WALL_CLOCK) | (Kind.INSTANT, Kind.INSTANT) if (
            target.units >= source.units
        ):
            return Scale(target.units // source.units)
        case (Kind.TEXT, Kind.INTEGER | Kind.DATE | Kind.WALL_CLOCK):
            return _of_text(target, semantics.zone)
        case (Kind.WALL_CLOCK | Kind.INSTANT, Kind.DATE):
            shown = wall_clock(source, semantics.reading_zone)
            return shown and OnOperands(FloorTo(SECONDS_PER_DAY * source.units), ((0, shown),))
    return None


def _of_text(target: Domain, zone: Zone | None) -> Function | None:
    if target.kind is Kind.INTEGER:
        plain = PlainIntegers(_PLAIN_DIGITS[target.bits])
        return by_value(plain, target, "a text as an integer").function
    if target.units != 1:
        return None
    if target.kind is Kind.DATE:
        return ByValue(_plain_days, days_of_texts, DATE)
    times = by_value(_plain_times, target, "a text as a time").function
    return existing_times(times, target, zone)


#: Hive converts a decimal to one of 38 digits, 18 of them fractional, before it makes a double.
_MOST_BRIDGED = 20


def existing_times(times: Function, target: Domain, zone: Zone | None) -> Function:
    """Return wall clocks as an engine has them that converts them to instants of a zone and back.

    Times that the zone's clocks never show, as they are put forward, become later ones: midnight is
    the first time of the day, and at the date line a whole day may be left out.
    """
    if zone is None:
        return OnOperands(UpperMargin(SECONDS_PER_DAY * target.units), ((0, times),))
    if zone.fixed_offset is not None:
        return times
    instants = OnOperands(FromWallClock(zone, target.units), ((0, times),))
    return Hull(times, OnOperands(ToWallClock(zone, target.units), ((0, instants),)))


def _holds_decimals(target: Domain, source: Domain) -> bool:
    """Return whether the decimals of one domain are decimals of the other, digit by digit."""
    whole = target.precision - target.scale >= source.precision - source.scale
    return whole and target.scale >= source.scale


def _widening(source: Domain, target: Domain) -> Function:
    """Return the conversion of ordinals to decimals with more than 18 digits."""
    decimals = as_decimal(source)
    if _holds_decimals(target, decimals):
        return Widened(source, target)
    return OnOperands(Refitted(target), ((0, Widened(source, decimals)),))


def _rescaling(source: Domain, target: Domain) -> Function | None:
    if not source.is_ordinal:
        return Refitted(target)
    if not target.is_ordinal:
        return _widening(source, target)
    if target.scale >= source.scale:
        return FitDigits(Scale(10 ** (target.scale - source.scale)), target.precision)
    return FitDigits(Rounded(10 ** (source.scale - target.scale)), target.precision)


def as_read(domain: Domain) -> Function | None:
    """Return the conversion that a reader may apply to stored values; None if it applies none.

    Only comparisons of two columns need it. Against a literal, the literal's interval has the same
    margins.
    """
    if domain.kind is Kind.DATE:
        return ReaderMargins(1, 0)
    if domain.kind is Kind.WALL_CLOCK:
        return ReaderMargins(SECONDS_PER_DAY * domain.units, 0)
    if domain.kind is Kind.INSTANT:
        return ReaderMargins(SECONDS_PER_DAY * domain.units, _FOLD_DAYS)
    if domain.kind is Kind.TEXT:
        return strings_as_read
    return None


def wall_clock(domain: Domain, zone: Zone | None) -> Function | None:
    """Return what a calendar shows for dates and times; None for instants in an unknown zone."""
    if domain.kind is Kind.INSTANT:
        return None if zone is None else ToWallClock(zone, domain.units)
    return as_read(domain)
