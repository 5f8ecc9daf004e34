"""The current date and time of a query: not before the request, and unbounded after it.

The same predicate may be evaluated again later, and an engine may fix its current time before it
sends the request, by another clock. So the current time begins a day before this process's clock.
If an engine shows it in another zone than it reads instants in, the two differ by more.

A process that evaluates a query itself says the query's time, which is exact.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.expr.domains import Bounds, Domain, Kind
from pyhudi_expr.expr.functions.signature import DATE, Function, Rule, Signature, Site
from pyhudi_expr.expr.semantics import ANY_RULES, SECONDS_PER_DAY, Semantics

_MICROS = 10**6
#: How much earlier an engine's time may be, and how many days later it is at most.
_EARLIER, _LATEST_DAYS = SECONDS_PER_DAY, 36_525


@dataclass(frozen=True)
class _Present:
    """Times from a day ago on, in units of so many seconds."""

    domain: Domain
    margin_days: int

    def __call__(self, *operands: Bounds) -> Bounds:
        first = int(time.time()) - _EARLIER - self.margin_days * SECONDS_PER_DAY
        if self.domain.kind is Kind.DATE:
            day = first // SECONDS_PER_DAY
            return _between(day, day + _LATEST_DAYS)
        last = first + _LATEST_DAYS * SECONDS_PER_DAY
        return _between(first * self.domain.units, last * self.domain.units)


def _between(first: int, last: int) -> Bounds:
    return Bounds(np.int64(first), np.int64(last), True, False)


def _rule(domain: Domain, margin_days: Callable[[Semantics], int]) -> Rule:
    def rule(site: Site) -> Signature | None:
        if site.domains:
            return None
        found = _at_time(domain, site) or _Present(domain, margin_days(site.semantics))
        return Signature(found, domain)

    return rule


def _at_time(domain: Domain, site: Site) -> Function | None:
    """Return the time of the query, if it is known."""
    now = site.semantics.now
    if now is None or domain.kind is not Kind.DATE:
        return None if now is None else _Fixed(now)
    shown = None if site.zone is None else site.zone.shows(now // _MICROS)
    return None if shown is None else _Fixed(shown // SECONDS_PER_DAY)


@dataclass(frozen=True)
class _Fixed:
    """A value that is the same for all rows."""

    ordinal: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the value, whatever the operands are."""
        return _between(self.ordinal, self.ordinal)


#: The day of a zone may be one before that of UTC.
_CURRENT_DATE = _rule(DATE, lambda _: 1)
_NOW = _rule(
    Domain(Kind.INSTANT, units=_MICROS),
    lambda semantics: 0 if semantics.has_one_zone else ANY_RULES // SECONDS_PER_DAY,
)

RULES: dict[str, Rule] = {"current_date": _CURRENT_DATE, "current_timestamp": _NOW, "now": _NOW}
