"""Convert bounds of instants to a zone's wall clock, and back.

A wall clock runs backwards where clocks are put back, so it is not a monotone function of the
instant. Its bounds over a range of instants follow from the zone's transitions: from an instant on,
the clock shows at least the minimum of what it shows then and after each later transition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, Ordinals
from pyhudi_expr.expr.functions.signature import ordinals, where_known
from pyhudi_expr.expr.semantics import ANY_RULES, FIRST_DAY, SECONDS_PER_DAY, Zone, ZoneOffsets

# Before 1582-10-15 (and as far as labels then move) readers may show other days.
_RELABELLED_BEFORE = -141_427 + 400
_RELABELLING = 400 * SECONDS_PER_DAY


@dataclass(frozen=True)
class ToWallClock:
    """What the zone's wall clock shows at instants; both in `units` a second."""

    zone: Zone
    units: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the wall clock."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        table = self.zone.offsets
        if table is None:
            return _by_any_rules(lower, upper, self, operand)
        at_lower = np.searchsorted(table.starts, lower // self.units, side="right")
        at_upper = np.searchsorted(table.starts, upper // self.units, side="right")
        later = np.append(table.lows, MAX_ORDINAL // self.units)[at_lower]
        earlier = np.insert(table.highs, 0, MIN_ORDINAL // self.units + 1)[at_upper]
        least = np.minimum(_plus(lower, table.offsets[at_lower] * self.units), later * self.units)
        most = np.maximum(_plus(upper, table.offsets[at_upper] * self.units), earlier * self.units)
        return _with_margins(lower, least, upper, most, self, operand)


@dataclass(frozen=True)
class FromWallClock:
    """The instants at which the zone's wall clock shows times: all of them around a change."""

    zone: Zone
    units: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the instants."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        table = self.zone.offsets
        if table is None:
            return _by_any_rules(lower, upper, self, operand)
        most, least = (
            self._offsets(table, ends, choose)
            for ends, choose in ((lower, np.maximum), (upper, np.minimum))
        )
        first, last = _plus(lower, -most * self.units), _plus(upper, -least * self.units)
        return _with_margins(lower, first, upper, last, self, operand)

    def _offsets(self, table: ZoneOffsets, walls: Ordinals, choose: np.ufunc) -> Ordinals:
        seconds = np.clip(walls // self.units, -(2**60), 2**60)
        before = np.searchsorted(table.starts, seconds - ANY_RULES, side="right")
        after = np.searchsorted(table.starts, seconds + ANY_RULES, side="right")
        found = table.offsets[before]
        for step in range(1, int(np.max(after - before, initial=0)) + 1):
            found = choose(found, table.offsets[np.minimum(before + step, after)])
        return np.asarray(found)


_Conversion: TypeAlias = ToWallClock | FromWallClock


def _by_any_rules(
    lower: Ordinals, upper: Ordinals, conversion: _Conversion, operand: Bounds
) -> Bounds:
    """Return bounds that hold whatever the rules of a zone are."""
    margin = np.asarray(ANY_RULES * conversion.units, np.int64)
    first, last = _plus(lower, -margin), _plus(upper, margin)
    return _with_margins(lower, first, upper, last, conversion, operand)


def _plus(values: Ordinals, amounts: Ordinals) -> Ordinals:
    """Return sums, saturated to int64."""
    with np.errstate(over="ignore"):
        sums = values + amounts
    sums = np.where((amounts > 0) & (sums < values), np.int64(MAX_ORDINAL), sums)
    return np.where((amounts < 0) & (sums > values), np.int64(MIN_ORDINAL), sums)


def _with_margins(
    lower: Ordinals,
    first: Ordinals,
    upper: Ordinals,
    last: Ordinals,
    conversion: _Conversion,
    operand: Bounds,
) -> Bounds:
    """Return the ends `first` and `last`, with margins where calendars or offsets are uncertain."""
    units = conversion.units
    below, above = _margin(lower, conversion), _margin(upper, conversion)
    return where_known(
        lower != MIN_ORDINAL,
        _plus(first, -below * units),
        upper != MAX_ORDINAL,
        _plus(last, above * units),
        operand,
    )


def _margin(values: Ordinals, conversion: _Conversion) -> Ordinals:
    days = values // (conversion.units * SECONDS_PER_DAY)
    known = (days > FIRST_DAY) & (days < conversion.zone.last_day)
    relabelled = days < _RELABELLED_BEFORE
    return np.where(known, 0, np.where(relabelled, _RELABELLING + ANY_RULES, ANY_RULES))
