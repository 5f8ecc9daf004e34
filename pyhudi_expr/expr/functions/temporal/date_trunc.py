"""Truncation to years, months, weeks, hours ..."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import Domain, Kind, Ordinals
from pyhudi_expr.expr.functions.casts import existing_times
from pyhudi_expr.expr.functions.conversions import FloorTo, Scale
from pyhudi_expr.expr.functions.signature import (
    DATE,
    Function,
    OnOperands,
    Rule,
    Signature,
    Site,
    opaque,
    ordinals,
    where_known,
)
from pyhudi_expr.expr.functions.temporal.calendar import (
    NO_ZONE,
    clock_function,
    clock_of,
    in_calendar,
    moments_of,
)
from pyhudi_expr.expr.functions.time_zones import FromWallClock
from pyhudi_expr.expr.semantics import Engine
from pyhudi_expr.expr.zones import SECONDS_PER_DAY

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


RULES: dict[str, Rule] = {"date_trunc": _date_trunc, "trunc": _trunc}
