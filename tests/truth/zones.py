"""Zones that a JVM and this process know by other rules; moments around changes."""

from __future__ import annotations

import random
import subprocess
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

from tests.truth.engines.java_classes import compiled
from tests.truth.values import ZONES

_SOURCES = Path(__file__).parent / "engines" / "zones"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: Names that `TimeZone.getTimeZone` of Java knows, and other zones without rules.
JVM_NAMES = ("GMT+9", "GMT+09:00", "GMT-03:30", "PST", "JST", "IST", "CST", "EST")
FIXED_OFFSETS = ("+09:00", "-03:30", "GMT+9", "UTC+09:00", "Z")
NAMED = tuple(dict.fromkeys((*JVM_NAMES, *FIXED_OFFSETS)))
#: How far from a change of the clocks rows are.
_AROUND = 26 * 3600
#: Where rules are compared: before and after each change, and in between in steps of a month.
_STEP = 30 * 86_400
_FIRST, _LAST = -2_208_902_400, 4_102_444_800
#: 1915: where zones were unified since, most of them have other rules before.
_LATELY = -1_735_689_600


@dataclass(frozen=True)
class ZoneRules:
    """A zone by the rules of a JVM.

    starts: the seconds since 1970 from which offsets are valid. offsets: in seconds.
    """

    starts: Sequence[int]
    offsets: Sequence[int]

    def offset(self, second: int) -> int:
        """The offset at an instant."""
        return self.offsets[max(0, bisect_right(self.starts, second) - 1)]


UTC = ZoneRules([0], [0])


@dataclass(frozen=True)
class Zones:
    """The zones of the engine's JVM.

    rules: by name.
    """

    rules: Mapping[str, ZoneRules]
    _disputed: dict[str, Sequence[int]] = field(default_factory=dict, repr=False)

    def draw(self, rng: random.Random, named: Sequence[str]) -> str:
        """A zone: of those whose rules differ, those that are named, common ones, and all."""
        kind = rng.random()
        if kind < 0.4 and self.differing:
            lately = self._differing_lately
            return rng.choice(lately if lately and rng.random() < 0.75 else self.differing)
        if kind < 0.55:
            return rng.choice(named)
        return rng.choice(ZONES) if kind < 0.8 else rng.choice(self._regions)

    def moments(self, zone: str, rng: random.Random, count: int) -> list[int]:
        """Seconds since 1970 around a few changes of a zone's clocks, and where rules are disputed.

        What clocks make of a time is compared with times of the same change, so they are few. Half
        of the moments are what the zone's clocks would show, as if it were UTC: so there are times
        without a zone that its clocks never show.
        """
        disputed = self.disputed(zone)
        starts = [one for one in self.rules[zone].starts if one < _LAST]
        few = [rng.choice(disputed if disputed and rng.random() < 0.6 else starts)]
        few += [rng.choice(disputed or starts), *(rng.choice(starts) for _ in range(2))]
        drawn = [rng.choice(few) for _ in range(count + 1)]
        near = (0, 0, 1, -1, 1800, 3600, -3600, 7200, 43_200, -_AROUND, _AROUND)
        found = [one + rng.choice((*near, rng.randint(-_AROUND, _AROUND))) for one in drawn]
        before = [self.rules[zone].offset(one - 1) for one in drawn]
        return [one + rng.choice((0, offset)) for one, offset in zip(found, before, strict=True)]

    @cached_property
    def differing(self) -> Sequence[str]:
        """The zones that this process knows by other rules, or not at all."""
        return [name for name in self._regions if self.disputed(name)]

    def disputed(self, name: str) -> Sequence[int]:
        """Seconds at which the two rules differ, and changes by either at which this begins."""
        if name not in self._disputed:
            self._disputed[name] = _disputed(name, self.rules[name])
        return self._disputed[name]

    @cached_property
    def _differing_lately(self) -> Sequence[str]:
        return [name for name in self.differing if self.disputed(name)[-1] > _LATELY]

    @cached_property
    def _regions(self) -> Sequence[str]:
        return [name for name in self.rules if name not in NAMED]


def zones_of(java: Path) -> Zones:
    """The zones of a JVM."""
    command = [str(java), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", str(zone_classes())]
    printed = subprocess.run(
        [*command, "io.pyhudi.truth.ZoneRules", *NAMED],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return Zones(dict(_parsed(line) for line in printed.splitlines()))


def zone_classes() -> Path:
    """The directory of the classes that print a JVM's zones."""
    return compiled(_SOURCES)


def _parsed(line: str) -> tuple[str, ZoneRules]:
    name, *spans = line.split()
    pairs = [span.split(":") for span in spans]
    return name, ZoneRules([int(one) for one, _ in pairs], [int(one) for _, one in pairs])


def _disputed(name: str, rules: ZoneRules) -> Sequence[int]:
    try:
        here = ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return rules.starts

    def is_disputed(second: int) -> bool:
        offset = (_EPOCH + timedelta(seconds=second)).astimezone(here).utcoffset()
        return offset != timedelta(seconds=rules.offset(second))

    around = [second for start in rules.starts for second in (start - 1, start)]
    seconds = sorted({*around, *range(_FIRST, _LAST, 12 * _STEP)})
    found = []
    for before, after in pairwise(seconds):
        if before >= _FIRST and is_disputed(before):
            found.append(before)
            if not is_disputed(after):
                found.append(_change(before, after, is_disputed))
    return found


def _change(disputed: int, agreed: int, is_disputed: object) -> int:
    """The second from which the two rules agree again."""
    assert callable(is_disputed)
    while agreed - disputed > 1:
        middle = (disputed + agreed) // 2
        disputed, agreed = (middle, agreed) if is_disputed(middle) else (disputed, middle)
    return agreed
