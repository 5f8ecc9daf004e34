"""The protocol's `Semantics`: what the engine's process decides of a filter's meaning."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from pyhudi_expr.expr.semantics import (
    UNKNOWN_SEMANTICS,
    Engine,
    Semantics,
    Zone,
    are_rules,
    unknown_rules,
)
from pyhudi_expr.protocol.conversion.literals import BadRequestError
from pyhudi_expr.protocol.generated import ttypes

#: A filter names few zones: its session's, and those of sessions in which views were made.
_MOST_ZONES = 20
_MOST_SETTINGS = 1_000
_ENGINES = {engine.value: engine for engine in Engine}


def decode_semantics(given: ttypes.Semantics | None) -> Semantics:
    """Return what a request says. Raises BadRequestError."""
    if given is None:
        return UNKNOWN_SEMANTICS
    zones, settings = given.zones or (), given.settings or {}
    if len(zones) > _MOST_ZONES:
        raise BadRequestError(f"more than {_MOST_ZONES} zones")
    if len(settings) > _MOST_SETTINGS:
        raise BadRequestError(f"more than {_MOST_SETTINGS} settings")
    return _decoded(
        given.engine,
        given.engineVersion or "",
        tuple((zone.name, _known_rules(zone.name, zone.rules)) for zone in zones),
        given.zone,
        given.readingZone,
        tuple(settings.items()),
    )


@lru_cache(maxsize=64)
def _decoded(
    engine: str | None,
    version: str,
    given: tuple[tuple[str, bytes | None], ...],
    zone: str | None,
    reading_zone: str | None,
    settings: tuple[tuple[str, str], ...],
) -> Semantics:
    """Return the value of what requests repeat: a session asks many questions."""
    zones = {name: _zone(name, rules) for name, rules in given}
    own = _named(zone, zones)
    return Semantics(
        engine=_ENGINES.get(engine or "", Engine.ANY),
        version=version,
        zone=own,
        reading_zone=own if reading_zone is None else _named(reading_zone, zones),
        zones=MappingProxyType(zones),
        settings=MappingProxyType(dict(settings)),
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


def _known_rules(name: str, rules: bytes | None) -> bytes | None:
    """Return rules as the object that the zone's last request had, if they are the same.

    Its hash is known: to hash kilobytes takes a hundredth of a warm question, to compare them not.
    """
    known = _RULES.get(name)
    if known is not None and known == rules:
        return known
    if rules is not None and len(rules) < _LONGEST_RULES:
        if len(_RULES) >= _MOST_RULES:
            _RULES.clear()
        _RULES[name] = rules
    return rules


_RULES: dict[str, bytes] = {}
_MOST_RULES, _LONGEST_RULES = 256, 1 << 14


def _zone(name: str, rules: bytes | None) -> Zone:
    if not isinstance(name, str):
        raise BadRequestError("a zone without a name")
    if rules is None:
        return unknown_rules(name)
    if not are_rules(rules):
        raise BadRequestError(f"the zone {name[:100]!r} has malformed rules")
    return Zone(name, rules)


def _named(name: str | None, zones: Mapping[str, Zone]) -> Zone | None:
    if name is None:
        return None
    return zones.get(name) or unknown_rules(name)
