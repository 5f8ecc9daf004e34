"""Seconds since 1970 of dates and times."""

from __future__ import annotations

from pyhudi_expr.expr.domains import Domain, Kind
from pyhudi_expr.expr.functions.conversions import (
    CutTo,
    FloorTo,
    Hull,
    UpperMargin,
    identity_or_null,
)
from pyhudi_expr.expr.functions.float_conversions import integers_to_doubles
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
)
from pyhudi_expr.expr.functions.temporal.calendar import NO_ZONE, clock_of
from pyhudi_expr.expr.functions.time_zones import FromWallClock
from pyhudi_expr.expr.semantics import Semantics


def _unix_timestamp(site: Site) -> Signature | None:
    """Return the signature for an instant, or a wall clock in the session's zone."""
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


RULES: dict[str, Rule] = dict.fromkeys(("unix_timestamp", "to_unix_timestamp"), _unix_timestamp)
