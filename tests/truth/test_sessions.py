"""Sessions of the judge: what is drawn, and where rows are close to."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa

from tests.truth import values
from tests.truth.engine import Place
from tests.truth.witnesses import LOCAL, hive_session_options, spark_session_options
from tests.truth.zones import FIXED_OFFSETS, NAMED, ZoneRules, Zones

DAY = 86_400
#: Summer time in 1948 that Python does not know, and a change that both know.
DISPUTED = ZoneRules([-3_000_000_000, -670_000_000, -660_000_000], [3600, 7200, 3600])


def test_offsets_are_those_of_the_jvm(zones: Zones) -> None:
    berlin = zones.rules["Europe/Berlin"]
    assert [berlin.offset(second) for second in (1_585_443_599, 1_585_443_600)] == [3600, 7200]
    assert zones.rules["GMT-03:30"].offset(0) == -12_600


def test_rules_that_python_does_not_have_are_disputed() -> None:
    zones = Zones({"Europe/Berlin": DISPUTED, "UTC": ZoneRules([-3_000_000_000], [0])})
    assert zones.differing == ["Europe/Berlin"]
    assert -670_000_000 in zones.disputed("Europe/Berlin")


def test_rows_are_close_to_changes_of_the_clocks() -> None:
    zones, rng = Zones({"Europe/Berlin": DISPUTED}), random.Random(1)
    moments = zones.moments("Europe/Berlin", rng, 40)
    rows = values.rows(200, 1, moments)
    near = [
        second
        for second in rows["ts"].cast(pa.int64()).drop_null().to_pylist()
        if any(abs(second // 10**6 - one) <= 1 for one in moments)
    ]
    assert len(near) > 50


def test_four_of_ten_zones_have_rules_that_differ(zones: Zones) -> None:
    rng = random.Random(2)
    drawn = [zones.draw(rng, FIXED_OFFSETS) for _ in range(1000)]
    assert sum(zone in zones.differing for zone in drawn) >= 350
    assert sum(zone in NAMED for zone in drawn) >= 100


def test_sessions_of_hive_have_two_zones_and_tasks_in_other_jvms(zones: Zones) -> None:
    rng = random.Random(3)
    sessions = [hive_session_options(rng, zones) for _ in range(300)]
    places = Counter(one.place for one in sessions)
    assert {*places} == {*Place}
    assert any(one.zone == LOCAL for one in sessions)
    for one in sessions:
        if one.place is Place.CONTAINER:
            assert any(f"-Duser.timezone={one.task_zone}" in v for v in one.settings.values())
        else:
            assert one.task_zone == one.server_zone


def test_sessions_of_spark_run_what_others_have_analysed(zones: Zones) -> None:
    rng = random.Random(4)
    sessions = [spark_session_options(rng, zones) for _ in range(300)]
    analyses = [one.analysis for one in sessions if one.analysis is not None]
    assert len(analyses) > 60
    assert {one.as_view for one in analyses} == {True, False}
    assert any(one.analysis and one.analysis.zone != one.zone for one in sessions)
