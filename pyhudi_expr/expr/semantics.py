"""What the meaning of a predicate depends on beside its text.

The engine and the process that prunes are two processes. What the engine's process decides is one
value here, which travels with the question: nothing of it is taken from this process, unless the
question is this process's own (`here`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from types import MappingProxyType

from pyhudi_expr.expr.zones import Zone, local_zone, unknown_rules


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
