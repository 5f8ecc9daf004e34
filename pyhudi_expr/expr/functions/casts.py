"""Conversions between domains: casts, and the conversions of readers."""

from __future__ import annotations

from pyhudi_expr.expr.common_domains import as_decimal
from pyhudi_expr.expr.domains import Domain, Kind, integer_range
from pyhudi_expr.expr.functions.conversions import (
    DatesToTimestamps,
    FitDigits,
    FloorTo,
    Hull,
    ReaderMargins,
    Rounded,
    Scale,
    Truncated,
    UpperMargin,
    Widened,
    Within,
    identity,
    identity_or_null,
    strings_as_read,
)
from pyhudi_expr.expr.functions.date_texts import days_of_texts
from pyhudi_expr.expr.functions.float_conversions import (
    DecimalsToDoubles,
    FloatsToIntegers,
    doubles_to_floats,
    integers_as_singles,
    integers_to_doubles,
    quotients_to_floats,
)
from pyhudi_expr.expr.functions.signature import After, Function, OnOperands
from pyhudi_expr.expr.functions.time_zones import FromWallClock, ToWallClock
from pyhudi_expr.expr.functions.wide_decimals import (
    FLOAT_ERROR,
    RELATIVE_ERROR,
    FromDoubles,
    Refitted,
    decimals_to_integers,
    to_doubles,
)
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Semantics
from pyhudi_expr.expr.zones import SECONDS_PER_DAY, Zone

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
        case (Kind.TEXT, Kind.DATE):
            return days_of_texts
        case (Kind.WALL_CLOCK | Kind.INSTANT, Kind.DATE):
            shown = wall_clock(source, semantics.reading_zone)
            return shown and OnOperands(FloorTo(SECONDS_PER_DAY * source.units), ((0, shown),))
    return None


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
