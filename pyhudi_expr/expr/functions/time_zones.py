"""Convert bounds of instants to a zone's wall clock, and back.

A wall clock runs backwards where clocks are put back, so it is not a monotone function of the
instant. Its bounds over a range of instants follow from the zone's transitions: from an instant on,
the clock shows at least the minimum of what it shows then and after each later transition.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Ordinals
from pyhudi_expr.expr.functions.signature import ordinals, where_known

SECONDS_PER_DAY = 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: Zones are used from 1900 to 2200. Before, libraries disagree on offsets and readers on the
#: calendar; after, rules are unknown: margins of days replace them.
_FIRST_DAY, _LAST_DAY = -25_567, 84_006
_MARGIN = 2 * SECONDS_PER_DAY
# Before 1582-10-15 (and as far as labels then move) readers may show other days.
_RELABELLED_BEFORE = -141_427 + 400
_RELABELLING = 400 * SECONDS_PER_DAY


@dataclass(frozen=True)
class ZoneOffsets:
    """The offsets of a zone to UTC, in seconds.

    Attributes:
        starts: T instants (seconds since 1970) from which a new offset is valid.
        offsets: T + 1 offsets.
        lows: The least that the clock shows at or after transition k.
        highs: The greatest that it has shown just before one of the transitions up to k.
    """

    starts: Ordinals
    offsets: Ordinals
    lows: Ordinals
    highs: Ordinals


class UnknownZoneError(ValueError):
    """The zone is unknown; the message has its name."""


@lru_cache(maxsize=64)
def zone_offsets(name: str) -> ZoneOffsets:
    """Return a zone's transitions between 1900 and 2200. Raises UnknownZoneError."""
    try:
        zone: tzinfo = timezone.utc if name in ("UTC", "Z", "GMT") else ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UnknownZoneError(f"the zone {name!r} is unknown") from error

    def offset(second: int) -> int:
        """Return the offset at a second."""
        found = (_EPOCH + timedelta(seconds=second)).astimezone(zone).utcoffset()
        return (found or timedelta()) // timedelta(seconds=1)

    starts: list[int] = []
    offsets = [offset(_FIRST_DAY * SECONDS_PER_DAY)]
    for day in range(_FIRST_DAY, _LAST_DAY):
        before, after = day * SECONDS_PER_DAY, (day + 1) * SECONDS_PER_DAY
        if offset(after) == offsets[-1]:
            continue
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (middle, after) if offset(middle) == offsets[-1] else (before, middle)
        starts.append(after)
        offsets.append(offset((day + 1) * SECONDS_PER_DAY))
    begins, shown = np.array(starts, dtype=np.int64), np.array(offsets, dtype=np.int64)
    return ZoneOffsets(
        begins,
        shown,
        np.minimum.accumulate((begins + shown[1:])[::-1])[::-1],
        np.maximum.accumulate(begins + shown[:-1]),
    )


@dataclass(frozen=True)
class ToWallClock:
    """What the zone's wall clock shows at instants; both in `units` a second."""

    zone: str
    units: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the wall clock."""
        (operand,) = operands
        table = zone_offsets(self.zone)
        lower, upper = ordinals(operand)
        at_lower = np.searchsorted(table.starts, lower // self.units, side="right")
        at_upper = np.searchsorted(table.starts, upper // self.units, side="right")
        later = np.append(table.lows, MAX_ORDINAL // self.units)[at_lower]
        earlier = np.insert(table.highs, 0, MIN_ORDINAL // self.units + 1)[at_upper]
        least = np.minimum(_plus(lower, table.offsets[at_lower] * self.units), later * self.units)
        most = np.maximum(_plus(upper, table.offsets[at_upper] * self.units), earlier * self.units)
        return _with_margins(lower, least, upper, most, self.units, operand)


@dataclass(frozen=True)
class FromWallClock:
    """The instants at which the zone's wall clock shows times: all of them around a change."""

    zone: str
    units: int

    def __call__(self, *operands: Bounds) -> Bounds:
        """Return the bounds of the instants."""
        (operand,) = operands
        lower, upper = ordinals(operand)
        most, least = self._offsets(lower, np.maximum), self._offsets(upper, np.minimum)
        first, last = _plus(lower, -most * self.units), _plus(upper, -least * self.units)
        return _with_margins(lower, first, upper, last, self.units, operand)

    def _offsets(self, walls: Ordinals, choose: np.ufunc) -> Ordinals:
        table = zone_offsets(self.zone)
        seconds = np.clip(walls // self.units, -(2**60), 2**60)
        before = np.searchsorted(table.starts, seconds - _MARGIN, side="right")
        after = np.searchsorted(table.starts, seconds + _MARGIN, side="right")
        return np.asarray(choose(table.offsets[before], table.offsets[after]))


def _plus(values: Ordinals, amounts: Ordinals) -> Ordinals:
    """Return sums, saturated to int64."""
    with np.errstate(over="ignore"):
        sums = values + amounts
    sums = np.where((amounts > 0) & (sums < values), np.int64(MAX_ORDINAL), sums)
    return np.where((amounts < 0) & (sums > values), np.int64(MIN_ORDINAL), sums)


def _with_margins(
    lower: Ordinals, first: Ordinals, upper: Ordinals, last: Ordinals, units: int, operand: Bounds
) -> Bounds:
    """Return the ends `first` and `last`, with margins where calendars or offsets are uncertain."""
    below, above = _margin(lower, units), _margin(upper, units)
    return where_known(
        lower != MIN_ORDINAL,
        _plus(first, -below * units),
        upper != MAX_ORDINAL,
        _plus(last, above * units),
        operand,
    )


def _margin(values: Ordinals, units: int) -> Ordinals:
    days = values // (units * SECONDS_PER_DAY)
    known = (days > _FIRST_DAY) & (days < _LAST_DAY)
    relabelled = days < _RELABELLED_BEFORE
    return np.where(known, 0, np.where(relabelled, _RELABELLING + _MARGIN, _MARGIN))
