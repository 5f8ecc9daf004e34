"""What the meaning of a predicate depends on beside its text: the engine, and time zones.

A name does not say what a zone's clocks show: the rules of a JVM, of Python's ``zoneinfo`` and of
an older tzdata differ, also for today's times. So a zone is its rules, and its name is for people.

The engine and the process that prunes are two processes. What the engine's process decides is one
value here, which travels with the question: nothing of it is taken from this process, unless the
question is this process's own (`here`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone, tzinfo
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

SECONDS_PER_DAY = 86_400
#: Rules are used from 1900 to 2200, in days since 1970. Before, libraries disagree on offsets and
#: readers on the calendar; after, rules are not known: margins of days replace them.
FIRST_DAY, LAST_DAY = -25_567, 84_006
#: No two zones, under any rules, are further apart, in seconds.
ANY_RULES = 2 * SECONDS_PER_DAY
_FIRST_SECOND = FIRST_DAY * SECONDS_PER_DAY
#: 2037-01-01; and the offsets of which `java.util.TimeZone` has none, see `Zone.of_old_formatters`.
_LAST_DAY_OF_OLD_RULES = 24_472
_OLD_RULES_ARE_GMT = re.compile(r"^UTC?[+-]|[+-]\d\d?:?\d\d:?\d\d$", re.ASCII)
_MOST_OFFSET = SECONDS_PER_DAY
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Seconds: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ZoneOffsets:
    """The offsets of a zone to UTC, in seconds.

    Attributes:
        starts: T instants (seconds since 1970), ascending, from which a new offset is valid.
        offsets: T + 1 offsets.
        lows: The least that the clock shows at or after transition k.
        highs: The greatest that it has shown just before one of the transitions up to k.
    """

    starts: Seconds
    offsets: Seconds
    lows: Seconds
    highs: Seconds


@dataclass(frozen=True)
class Zone:
    """A time zone.

    Attributes:
        name: As the process that evaluates names it.
        rules: Its transitions between 1900 and 2200 as little-endian bytes: T instants of 8 bytes,
            in seconds since 1970, from each of which a new offset is valid, and T + 1 offsets of 4
            bytes, in seconds. None: the rules are not known, so any are possible.
        last_day: The day, counted from 1970, from which on the rules are not known.
    """

    name: str
    rules: bytes | None = field(repr=False)
    last_day: int = LAST_DAY

    def shows_what(self, other: Zone) -> bool:
        """Return whether clocks of two zones are known to show the same."""
        return self == other if self.rules is None else self.rules == other.rules

    def of_old_formatters(self) -> Zone:
        """Return the zone by the rules of `java.util.TimeZone`, by which `SimpleDateFormat` writes.

        An engine's zone is one of `java.time`. In its place, offsets after UTC or UT, and offsets
        with seconds, are GMT there, so any rules are assumed; and the rules of some regions
        (Africa/Casablanca, Africa/Windhoek, Asia/Gaza and others) end with the year 2036.
        """
        if self.fixed_offset is None:
            return replace(self, last_day=min(self.last_day, _LAST_DAY_OF_OLD_RULES))
        return Zone(self.name, None) if _OLD_RULES_ARE_GMT.search(self.name) else self

    @property
    def offsets(self) -> ZoneOffsets | None:
        """The offsets; None if the rules are not known."""
        return None if self.rules is None else _offsets(self.rules)

    @property
    def fixed_offset(self) -> int | None:
        """The only offset, in seconds; None if clocks are changed, or the rules are not known."""
        if self.rules is None or len(self.rules) != _OFFSET.itemsize:
            return None
        return int.from_bytes(self.rules, "little", signed=True)

    def instants(self, wall: int) -> tuple[int, int]:
        """Return the first and last instants at which clocks may show a time, in seconds.

        Where clocks are put forward they never show it: engines take an instant around the change.
        """
        fixed = self.fixed_offset
        if fixed is not None:
            return wall - fixed, wall - fixed
        table = self.offsets
        if table is None or wall > self.last_day * SECONDS_PER_DAY - ANY_RULES:
            return wall - ANY_RULES, wall + ANY_RULES
        first, last = np.searchsorted(table.starts, [wall - ANY_RULES, wall + ANY_RULES])
        around = [(wall - int(table.offsets[k]), k) for k in range(int(first), int(last) + 1)]
        shown = [
            instant
            for instant, k in around
            if int(np.searchsorted(table.starts, instant, side="right")) == k
        ]
        found = shown or [instant for instant, _ in around]
        return min(found), max(found)

    def equal_times(self, wall: int) -> tuple[int, int]:
        """Return the first and last of the times that are one with a time, in seconds.

        An engine that makes instants of two times, to compare them, takes one that clocks skip, as
        they are put forward, for one that is as much later. Each time from the first one on may be
        taken for this one or a later one, and this one for each up to the last one.
        """
        if self.fixed_offset is not None:
            return wall, wall
        table = self.offsets
        if table is None or wall > self.last_day * SECONDS_PER_DAY - ANY_RULES:
            return wall - ANY_RULES, wall + ANY_RULES
        first = last = wall
        begin, end = np.searchsorted(table.starts, [wall - ANY_RULES, wall + ANY_RULES])
        for k in range(int(begin), int(end)):
            before, after = int(table.offsets[k]), int(table.offsets[k + 1])
            skipped = int(table.starts[k]) + before
            if skipped < wall < skipped + 2 * (after - before):
                first = min(first, skipped)
            if skipped <= wall < skipped + (after - before):
                last = max(last, wall + (after - before))
        return first, last

    def shows(self, instant: int) -> int | None:
        """Return what clocks show at an instant, in seconds; None if rules do not say it."""
        table = self.offsets
        if table is None or not _FIRST_SECOND <= instant < self.last_day * SECONDS_PER_DAY:
            return None
        return instant + int(table.offsets[np.searchsorted(table.starts, instant, side="right")])


class UnknownZoneError(ValueError):
    """The zone is unknown; the message has its name."""


def zone_of(name: str, starts: Seconds, offsets: Seconds) -> Zone:
    """Return a zone of its transitions: T instants, and T + 1 offsets, in seconds."""
    return Zone(name, starts.astype("<i8").tobytes() + offsets.astype(_OFFSET).tobytes())


def are_rules(rules: bytes) -> bool:
    """Return whether bytes are the rules of a zone, see `Zone.rules`."""
    if len(rules) % _STEP != _OFFSET.itemsize or len(rules) > _MOST_BYTES:
        return False
    table = _offsets(rules)
    ascend = bool((np.diff(table.starts) > 0).all())
    return ascend and bool((np.abs(table.offsets) < _MOST_OFFSET).all())


def unknown_rules(name: str) -> Zone:
    """Return a zone whose rules another process has not sent: they are known if it is fixed."""
    fixed = _fixed_offset(name)
    return Zone(name, None) if fixed is None else _fixed(name, fixed)


@lru_cache(maxsize=64)
def local_zone(name: str) -> Zone:
    """Return a zone by the rules of this process.

    Args:
        name: An IANA zone, an offset as Java and SQL write it (``+09:00``, ``GMT+9``), or one of
            Java's short names (``PST``).

    Raises:
        UnknownZoneError: There is no such zone.
    """
    fixed = _fixed_offset(name)
    if fixed is not None:
        return _fixed(name, fixed)
    starts, offsets = _transitions(python_zone(name))
    return zone_of(name, np.array(starts, np.int64), np.array(offsets, np.int64))


def python_zone(name: str) -> tzinfo:
    """Return the zone of a name as `local_zone` takes it. Raises UnknownZoneError."""
    fixed = _fixed_offset(name)
    if fixed is not None:
        return timezone(timedelta(seconds=fixed))
    try:
        return ZoneInfo(_SHORT_NAMES.get(name, name))
    except (KeyError, ValueError, OSError) as error:
        raise UnknownZoneError(f"the zone {name!r} is unknown") from error


def _transitions(info: tzinfo) -> tuple[list[int], list[int]]:
    def offset(second: int) -> int:
        found = (_EPOCH + timedelta(seconds=second)).astimezone(info).utcoffset()
        return (found or timedelta()) // timedelta(seconds=1)

    starts: list[int] = []
    offsets = [offset(_FIRST_SECOND)]
    for day in range(FIRST_DAY, LAST_DAY):
        before, after = day * SECONDS_PER_DAY, (day + 1) * SECONDS_PER_DAY
        if offset(after) == offsets[-1]:
            continue
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (middle, after) if offset(middle) == offsets[-1] else (before, middle)
        starts.append(after)
        offsets.append(offset((day + 1) * SECONDS_PER_DAY))
    return starts, offsets


def _fixed(name: str, offset: int) -> Zone:
    return zone_of(name, np.array([], np.int64), np.array([offset], np.int64))


def _fixed_offset(name: str) -> int | None:
    """Return the offset in seconds that the name of a zone says; None of other names."""
    if name in _FIXED_NAMES:
        return _FIXED_NAMES[name]
    match = _OFFSET_NAME.fullmatch(name)
    if match is None:
        return None
    hours, minutes, seconds = (int(match[part] or 0) for part in ("hours", "minutes", "seconds"))
    if hours > _MOST_HOURS or minutes > 59 or seconds > 59:
        return None
    found = hours * 3600 + minutes * 60 + seconds
    return found if match["sign"] == "+" else -found


_OFFSET_NAME = re.compile(
    r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d\d?)(?::?(?P<minutes>\d\d)(?::?(?P<seconds>\d\d))?)?",
    re.ASCII,
)
_MOST_HOURS = 18
#: Names without rules; the last three are Java's.
_FIXED_NAMES = {
    **dict.fromkeys(("UTC", "Z", "GMT", "UT", "Etc/UTC", "Etc/GMT"), 0),
    **{"EST": -5 * 3600, "MST": -7 * 3600, "HST": -10 * 3600},
}
#: Java's other short names (``java.time.ZoneId.SHORT_IDS``).
_SHORT_NAMES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
#: A transition's instant and offset, in bytes, and how many at most: a JVM has up to 600.
_OFFSET = np.dtype("<i4")
_STEP = 12
_MOST_BYTES = 1_000 * _STEP


@lru_cache(maxsize=256)
def _offsets(rules: bytes) -> ZoneOffsets:
    count = len(rules) // _STEP
    starts = np.frombuffer(rules, "<i8", count).astype(np.int64)
    offsets = np.frombuffer(rules, _OFFSET, count + 1, count * 8).astype(np.int64)
    return ZoneOffsets(
        starts,
        offsets,
        np.minimum.accumulate((starts + offsets[1:])[::-1])[::-1],
        np.maximum.accumulate(starts + offsets[:-1]),
    )


class Engine(Enum):
    """The engine whose rows the predicate selects; the value is its name in the protocol."""

    ANY = "any"
    HIVE = "hive"
    SPARK = "spark"
    TRINO = "trino"
    PRESTO = "presto"


_NO_ZONES: Mapping[str, Zone] = MappingProxyType({})
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Semantics:
    """What decides the meaning of a predicate.

    Attributes:
        engine: The engine. `Engine.ANY`: an answer has to hold for each of them.
        version: The engine's version; empty: not known.
        zone: The zone in which expressions that name none are evaluated: the session's. None: not
            known.
        reading_zone: The zone whose wall clock an engine shows for an instant of a file, if it
            reads instants as wall clocks: for Hive that of the task's JVM. Else the same as `zone`.
        zones: The zones that expressions may name, by name. Of others the rules are not known.
        settings: The settings of the session that change an evaluation and are not the engine's
            defaults.
        now: The time of the query, in microseconds since 1970 in UTC, if this process is the one
            that evaluates it. None: an engine has a clock of its own.
    """

    engine: Engine = Engine.ANY
    version: str = ""
    zone: Zone | None = None
    reading_zone: Zone | None = None
    zones: Mapping[str, Zone] = field(default_factory=lambda: _NO_ZONES, repr=False)
    settings: Mapping[str, str] = field(default_factory=lambda: _NO_SETTINGS)
    now: int | None = None

    def in_zone(self, zone: Zone) -> Semantics:
        """Return the semantics of an expression that names its zone."""
        reading = self.reading_zone if self.has_reading_zone else zone
        return replace(self, zone=zone, reading_zone=reading)

    def zone_named(self, name: str) -> Zone:
        """Return a zone that an expression names."""
        if self.zone is not None and self.zone.name == name:
            return self.zone
        return self.zones.get(name) or unknown_rules(name)

    @property
    def has_reading_zone(self) -> bool:
        """Whether instants of files become wall clocks as they are read."""
        return self.concerns(Engine.HIVE)

    def concerns(self, engine: Engine) -> bool:
        """Return whether an answer has to hold for an engine."""
        return self.engine in (engine, Engine.ANY)

    @property
    def has_one_zone(self) -> bool:
        """Whether expressions and readers have the same zone, by the same rules."""
        zone, reading = self.zone, self.reading_zone
        return zone is not None and reading is not None and zone.shows_what(reading)

    def of_old_formatters(self) -> Semantics:
        """Return the semantics of what Java's older formatters write, see `Zone`."""
        zone, reading = self.zone, self.reading_zone
        return replace(
            self,
            zone=zone and zone.of_old_formatters(),
            reading_zone=reading and reading.of_old_formatters(),
        )


#: Nothing is known.
UNKNOWN_SEMANTICS = Semantics()


@lru_cache(maxsize=64)
def here(zone: str | None, engine: Engine = Engine.ANY) -> Semantics:
    """Return the semantics of a question of this process, by its own rules of a zone.

    Args:
        zone: See `local_zone`; None: not known.
        engine: The engine whose dialect the question is in.

    Raises:
        UnknownZoneError: There is no such zone.
    """
    found = None if zone is None else local_zone(zone)
    return Semantics(engine, zone=found, reading_zone=found)


def for_engine(zone: str | None, engine: Engine) -> Semantics:
    """Return the semantics of this process's question about what an engine reads.

    Presto has rules of zones that no client sends and that belong to no JVM (Joda's), so of a zone
    whose clocks are changed any rules are assumed.

    Args:
        zone: See `local_zone`; None: not known.
        engine: The engine that reads the files.

    Raises:
        UnknownZoneError: There is no such zone.
    """
    own = here(zone, engine)
    if engine is not Engine.PRESTO or own.zone is None:
        return own
    found = unknown_rules(own.zone.name)
    return replace(own, zone=found, reading_zone=found)
