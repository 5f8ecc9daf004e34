"""What the engine's process decides, as requests say it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Engine, Semantics, Zone, here, local_zone
from pyhudi_expr.protocol.conversion.literals import BadRequestError
from pyhudi_expr.protocol.conversion.semantics import decode_semantics, encode_semantics
from pyhudi_expr.protocol.generated import ttypes

TOKYO, BERLIN = local_zone("Asia/Tokyo"), local_zone("Europe/Berlin")


def test_what_is_sent_is_what_is_decoded() -> None:
    semantics = Semantics(
        Engine.HIVE, "4.0.1", TOKYO, BERLIN, {"Asia/Tokyo": TOKYO}, {"hive.x": "true"}
    )
    found = decode_semantics(encode_semantics(semantics))
    assert replace(found, zones={}) == replace(semantics, zones={})
    assert found.zones == {"Asia/Tokyo": TOKYO, "Europe/Berlin": BERLIN}


def test_nothing_is_known_of_a_request_without_them() -> None:
    assert decode_semantics(None) == UNKNOWN_SEMANTICS
    assert decode_semantics(ttypes.Semantics()) == UNKNOWN_SEMANTICS
    assert decode_semantics(encode_semantics(here(None))) == here(None)


def test_rules_are_never_those_of_this_process() -> None:
    found = decode_semantics(ttypes.Semantics(engine="hive", zone="Europe/Berlin"))
    assert found.zone == Zone("Europe/Berlin", None)
    assert found.reading_zone == found.zone
    assert decode_semantics(ttypes.Semantics(zone="GMT+9")).zone == local_zone("GMT+9")


def test_an_engine_that_is_not_known_is_any() -> None:
    assert decode_semantics(ttypes.Semantics(engine="impala")).engine is Engine.ANY


@pytest.mark.parametrize(
    "semantics",
    [
        ttypes.Semantics(zones=[ttypes.Zone(name="x", rules=b"\0" * 5)]),
        ttypes.Semantics(zones=[ttypes.Zone(name=None)]),
        ttypes.Semantics(zones=[ttypes.Zone(name=str(n)) for n in range(21)]),
        ttypes.Semantics(settings={str(n): "" for n in range(1001)}),
    ],
)
def test_what_breaks_the_protocol_is_refused(semantics: ttypes.Semantics) -> None:
    with pytest.raises(BadRequestError):
        decode_semantics(semantics)


@given(st.binary(max_size=64))
def test_any_bytes_are_rules_or_refused(rules: bytes) -> None:
    given = ttypes.Semantics(zone="x", zones=[ttypes.Zone(name="x", rules=rules)])
    try:
        zone = decode_semantics(given).zone
    except BadRequestError:
        return
    assert zone is not None
    first, last = zone.instants(0)
    assert -2 * 86_400 <= first <= last <= 2 * 86_400
