"""The protocol's `Semantics`: what the engine's process decides of a filter's meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Engine, Semantics
from pyhudi_expr.expr.zones import Zone, are_rules, unknown_rules
from pyhudi_expr.frontend.thrift.literals import BadRequestError
from pyhudi_expr.protocol import ttypes

#: A filter names few zones: its session's, and those of sessions in which views were made.
_MOST_ZONES = 100
_MOST_SETTINGS = 1_000
_ENGINES = {engine.value: engine for engine in Engine}


def decode_semantics(given: ttypes.Semantics | None) -> Semantics:
    """Return what a request says. Raises BadRequestError."""
    if given is None:
        return UNKNOWN_SEMANTICS
    zones = _zones(given.zones or ())
    settings = given.settings or {}
    if len(settings) > _MOST_SETTINGS:
        raise BadRequestError(f"more than {_MOST_SETTINGS} settings")
    zone = _named(given.zone, zones)
    return Semantics(
        engine=_ENGINES.get(given.engine, Engine.ANY),
        version=given.engineVersion or "",
        zone=zone,
        reading_zone=zone if given.readingZone is None else _named(given.readingZone, zones),
        zones=MappingProxyType(zones),
        settings=MappingProxyType(settings),
    )


def encode_semantics(semantics: Semantics) -> ttypes.Semantics:
    """Return what `decode_semantics` takes."""
    own = [zone for zone in (semantics.zone, semantics.reading_zone) if zone is not None]
    zones = {zone.name: zone for zone in (*semantics.zones.values(), *own)}
    return ttypes.Semantics(
        engine=semantics.engine.value,
        engineVersion=semantics.version or None,
        zones=[ttypes.Zone(name=zone.name, rules=zone.rules) for zone in zones.values()],
        zone=semantics.zone and semantics.zone.name,
        readingZone=semantics.reading_zone and semantics.reading_zone.name,
        settings=dict(semantics.settings) or None,
    )


def _zones(given: Iterable[ttypes.Zone]) -> dict[str, Zone]:
    zones = {}
    for number, zone in enumerate(given):
        if number >= _MOST_ZONES:
            raise BadRequestError(f"more than {_MOST_ZONES} zones")
        if not isinstance(zone.name, str):
            raise BadRequestError("a zone without a name")
        if zone.rules is None:
            zones[zone.name] = unknown_rules(zone.name)
        elif _are_rules(zone.rules):
            zones[zone.name] = Zone(zone.name, zone.rules)
        else:
            raise BadRequestError(f"the zone {zone.name[:100]!r} has malformed rules")
    return zones


_are_rules = lru_cache(maxsize=256)(are_rules)


def _named(name: str | None, zones: Mapping[str, Zone]) -> Zone | None:
    if name is None:
        return None
    return zones.get(name) or unknown_rules(name)
