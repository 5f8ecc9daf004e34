"""Seconds since 1970 of dates and times, and the precision with which engines read times."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pyhudi_expr.expr.domains import Bounds, Domain, Kind, may_be_nan
from pyhudi_expr.expr.functions.calendar import NO_ZONE, clock_of
from pyhudi_expr.expr.functions.casts import seconds_of_texts
from pyhudi_expr.expr.functions.conversions import (
    CutTo,
    FloorTo,
    Hull,
    UpperMargin,
    identity,
    identity_or_null,
    integers_to_doubles,
)
from pyhudi_expr.expr.functions.signature import (
    LONG,
    TIMES,
    After,
    Function,
    Rule,
    Signature,
    Site,
    on_first,
    opaque,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.functions.time_zones import FromWallClock
from pyhudi_expr.expr.nodes import (
    IN_ANY_ZONE,
    NAN_AS_NULL,
    NO_DECIMAL,
    OR_NULL,
    PARSED_TIME,
    TO_MILLISECOND_INSTANTS,
    TO_MILLISECONDS,
)
from pyhudi_expr.expr.semantics import Semantics, Zone, here


def _unix_timestamp(site: Site) -> Signature | None:
    """Return the signature for an instant, or a wall clock in the session's zone."""
    if site.kind(0) is Kind.TEXT and len(site.domains) == 2:
        return _parsed(site)
    if len(site.domains) != 1 or site.kind(0) not in TIMES:
        return None
    clock = clock_of(site)
    if clock is None or isinstance(clock, Signature) or site.zone is None:
        return opaque(LONG, NO_ZONE)
    # Some engines compute the instant from what the wall clock shows, or read the wall clock as
    # UTC;
    # some truncate fractions of seconds before 1970 towards zero.
    at_instant = on_first(FromWallClock(site.zone, 1), clock[0])
    if site.kind(0) is Kind.DATE:
        # Some of Hive's day functions return texts, which it does not convert to times.
        return Signature(After(identity_or_null, at_instant), LONG)
    return Signature(Hull(at_instant, CutTo(clock[1])), LONG)


def _parsed(site: Site) -> Signature | None:
    """Return the signature of ``unix_timestamp(s, 'yyyy-MM-dd')``."""
    seconds = seconds_of_texts(site.text(1) or "")
    if seconds is None or site.zone is None:
        return opaque(LONG, NO_ZONE if seconds else "a pattern of times that has no rule")
    return Signature(on_first(FromWallClock(site.zone.of_old_formatters(), 1), seconds), LONG)


def _parsed_time(site: Site) -> Signature | None:
    seconds = seconds_of_texts(site.text(1) or "")
    if site.kind(0) is not Kind.TEXT or seconds is None:
        return None
    return Signature(on_first(seconds), Domain(Kind.WALL_CLOCK, units=1))


def _in_any_zone(site: Site) -> Signature | None:
    clock = clock_of(replace(site, semantics=_IN_UTC))
    if clock is None or isinstance(clock, Signature):
        return None
    # A second more, as the clock is cut off at whole ones.
    instants = on_first(After(UpperMargin(1), FromWallClock(_ANY_ZONE, 1)), clock[0])
    return Signature(instants, Domain(Kind.INSTANT, units=1))


_ANY_ZONE, _IN_UTC = Zone("any", None), here("UTC")


def as_seconds(domain: Domain, semantics: Semantics) -> Function | None:
    """Return the cast of timestamps to integers: seconds of the instant, or of the clock in UTC."""
    clock = clock_of(Site("cast", (domain,), (None,), semantics))
    if domain.kind is not Kind.INSTANT or clock is None or isinstance(clock, Signature):
        return None
    return Hull(FloorTo(domain.units), on_first(clock[0]))


def as_double_seconds(domain: Domain, semantics: Semantics) -> Function | None:
    """Return the cast of timestamps to doubles: seconds with their fraction."""
    seconds = as_seconds(domain, semantics)
    return After(integers_to_doubles, After(UpperMargin(1), seconds)) if seconds else None


_MILLIS = 1000


@dataclass(frozen=True)
class _Near:
    """Times that are rounded or truncated by less than `margin` units."""

    margin: int

    def __call__(self, *operands: Bounds) -> Bounds:
        (operand,) = operands
        lower, upper = ordinals(operand)
        with np.errstate(over="ignore"):
            least, greatest = lower - np.int64(self.margin), upper + np.int64(self.margin)
        return where_known(least <= lower, least, greatest >= upper, greatest, operand)


def _to_milliseconds(site: Site) -> Signature | None:
    """Return the signature of a time with three digits of a second, or more; others unchanged."""
    if len(site.domains) != 1:
        return None
    domain = site.domains[0]
    is_finer = domain.kind in (Kind.WALL_CLOCK, Kind.INSTANT) and domain.units > _MILLIS
    return Signature(_Near(domain.units // _MILLIS) if is_finer else identity, domain)


def _to_millisecond_instants(site: Site) -> Signature | None:
    """Return the same signature, with wall clocks as instants of UTC."""
    found = _to_milliseconds(site)
    if found is None or found.domain.kind is not Kind.WALL_CLOCK:
        return found
    return replace(found, domain=replace(found.domain, kind=Kind.INSTANT))


def _no_decimal(site: Site) -> Signature | None:
    if len(site.domains) != 1:
        return None
    domain = site.domains[0]
    if domain.kind is Kind.DECIMAL:
        return opaque(domain, "<=> of decimals in Hive, whose vectors find other rows")
    return Signature(identity, domain)


def _nan_as_null(site: Site) -> Signature | None:
    if len(site.domains) != 1:
        return None
    domain = site.domains[0]
    return Signature(_null_of_nan if domain.kind is Kind.FLOAT else _never_null, domain)


def _null_of_nan(*operands: Bounds) -> Bounds:
    (operand,) = operands
    return replace(operand, may_be_null=may_be_nan(operand))


def _never_null(*operands: Bounds) -> Bounds:
    (operand,) = operands
    return replace(operand, may_be_null=False)


def _or_null(site: Site) -> Signature | None:
    return Signature(identity_or_null, site.domains[0]) if len(site.domains) == 1 else None


RULES: dict[str, Rule] = {
    **dict.fromkeys(("unix_timestamp", "to_unix_timestamp"), _unix_timestamp),
    TO_MILLISECONDS: _to_milliseconds,
    TO_MILLISECOND_INSTANTS: _to_millisecond_instants,
    NO_DECIMAL: _no_decimal,
    NAN_AS_NULL: _nan_as_null,
    OR_NULL: _or_null,
    PARSED_TIME: _parsed_time,
    IN_ANY_ZONE: _in_any_zone,
}
