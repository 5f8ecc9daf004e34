"""Zones by their rules: those of this process, of another one, and none."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.expr.frontend.sql.dialects import SqlDialect
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, HIVE, SPARK, parse_predicate
from pyhudi_expr.expr.functions.time_zones import FromWallClock, ToWallClock
from pyhudi_expr.expr.semantics import (
    Engine,
    Semantics,
    UnknownZoneError,
    Zone,
    are_rules,
    here,
    local_zone,
    unknown_rules,
    zone_of,
)
from tests.expr import kept_files

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
NAMES = ["UTC", "Europe/Stockholm", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "+09:00"]
SECONDS = st.integers(-2_208_000_000, 7_200_000_000)
#: Stockholm had no summer time in 1948 by Python's rules; by those of a JVM it had.
SUMMER_OF_1948 = zone_of(
    "Europe/Stockholm", np.array([-684_000_000, -670_000_000]), np.array([3600, 7200, 3600])
)


def shown_by_python(name: str, second: int) -> int:
    if name.startswith("+"):
        return second + 9 * 3600
    offset = (EPOCH + timedelta(seconds=second)).astimezone(ZoneInfo(name)).utcoffset()
    assert offset is not None
    return second + offset // timedelta(seconds=1)


@given(st.sampled_from(NAMES), SECONDS)
def test_a_zone_shows_what_its_clocks_show(name: str, second: int) -> None:
    zone = local_zone(name)
    wall = zone.shows(second)
    assert wall == shown_by_python(name, second)
    first, last = zone.instants(wall)
    assert first <= second <= last
    assert last - first <= 2 * 86_400


def as_instant(name: str, wall: int) -> int:
    """The instant that an engine makes of a time: of one that clocks skip, a later one."""
    zone = timezone(timedelta(hours=9)) if name.startswith("+") else ZoneInfo(name)
    shown = datetime(1970, 1, 1) + timedelta(seconds=wall)
    return round((shown.replace(tzinfo=zone, fold=0) - EPOCH).total_seconds())


@given(st.sampled_from(NAMES), st.data())
def test_times_are_equal_where_an_engine_makes_one_instant_of_both(
    name: str, data: st.DataObject
) -> None:
    """Of a time that is at least another, none is before the first that may be equal to it."""
    zone = local_zone(name)
    starts = zone.offsets.starts if zone.offsets is not None and len(zone.offsets.starts) else [0]
    change = int(data.draw(st.sampled_from([int(one) for one in starts])))
    near = st.integers(-90_000, 180_000).map(lambda seconds: change + seconds)
    one, other = data.draw(near), data.draw(near)
    first, last = zone.equal_times(one)
    assert first <= one <= last
    if as_instant(name, other) >= as_instant(name, one):
        assert other >= first
    if as_instant(name, other) <= as_instant(name, one):
        assert other <= last


@given(st.sampled_from(NAMES), SECONDS, st.integers(0, 90_000))
def test_bounds_hold_what_clocks_show_between_two_instants(
    name: str, second: int, length: int
) -> None:
    zone = local_zone(name)
    between = Bounds(np.array([second]), np.array([second + length]), True, False)
    for known in (zone, Zone(name, None)):
        shown = ToWallClock(known, 1)(between)
        back = FromWallClock(known, 1)(shown)
        for each in range(second, second + length + 1, max(1, length // 7)):
            wall = zone.shows(each)
            assert wall is not None
            assert shown.lower[0] <= wall <= shown.upper[0]
            assert back.lower[0] <= each <= back.upper[0]


@pytest.mark.parametrize(
    ("name", "hours"),
    [("+09:00", 9), ("GMT+9", 9), ("UTC-09:30", -9.5), ("-0100", -1), ("EST", -5), ("Z", 0)],
)
def test_a_name_that_says_its_offset_has_it(name: str, hours: float) -> None:
    for zone in (local_zone(name), unknown_rules(name)):
        assert zone.fixed_offset == hours * 3600


def test_short_names_of_java_are_zones() -> None:
    assert local_zone("PST").shows_what(local_zone("America/Los_Angeles"))
    assert local_zone("JST").shows(0) == 9 * 3600


@pytest.mark.parametrize("name", ["UTC+09:00", "UT-3", "+09:00:01"])
def test_offsets_that_java_util_takes_for_gmt_have_any_rules_in_texts(name: str) -> None:
    """With SimpleDateFormat `from_unixtime(0)` is 1970-01-01 00:00:00 there, else of 09:00:00."""
    zone = local_zone(name)
    assert zone.fixed_offset is not None
    assert zone.of_old_formatters().rules is None
    assert local_zone("GMT+09:00").of_old_formatters() == local_zone("GMT+09:00")


def test_what_java_util_knows_of_regions_ends_in_2037() -> None:
    """`TimeZone` ends Morocco's changes of clocks there, and `ZoneId` goes on until 2087."""
    zone = local_zone("Africa/Casablanca").of_old_formatters()
    second = int(datetime(2050, 6, 1, tzinfo=timezone.utc).timestamp())
    shown = ToWallClock(zone, 1)(Bounds(np.array([second]), np.array([second]), True, False))
    assert shown.upper[0] - shown.lower[0] > 7200
    assert zone.shows(second) is None
    assert zone.shows(0) == 0


@pytest.mark.parametrize("name", ["Mars/Olympus", "+25:00", "GMT+9:99", ""])
def test_other_names_are_no_zones(name: str) -> None:
    with pytest.raises(UnknownZoneError):
        local_zone(name)


@pytest.mark.parametrize(
    "rules",
    [b"", b"\0" * 5, b"\0" * 12, b"\0" * 28, b"\xff\xff\xff\x7f", b"\0" * 4 + b"\0" * 12_012],
)
def test_rules_that_are_none_are_refused(rules: bytes) -> None:
    assert not are_rules(rules)


def test_clocks_of_zones_with_the_same_rules_show_the_same() -> None:
    assert local_zone("Etc/GMT-9").shows_what(local_zone("+09:00"))
    assert not local_zone("Europe/Stockholm").shows_what(SUMMER_OF_1948)
    assert Zone("Mars/Olympus", None).shows_what(Zone("Mars/Olympus", None))
    assert not Zone("Mars/Olympus", None).shows_what(Zone("Mars/Utopia", None))


UTC_HOURS = [
    (datetime(1948, 9, 1, hour, tzinfo=timezone.utc) - EPOCH) // timedelta(microseconds=1)
    for hour in range(24)
]
INSTANTS = pa.timestamp("us", "UTC")


def kept(text: str, semantics: Semantics) -> list[int]:
    """The hours whose files are kept."""
    files = [[hour] for hour in UTC_HOURS]
    predicate = parse_predicate(text, DIALECTS[semantics.engine.value])
    return kept_files.kept(predicate, INSTANTS, *files, semantics=semantics)


SEVEN = "x = timestamp '1948-09-01 07:00:00'"


@pytest.mark.parametrize("engine", [Engine.HIVE, Engine.SPARK])
def test_the_rules_are_those_of_the_engines_process(
    engine: Engine,
) -> None:
    theirs = Semantics(engine, zone=SUMMER_OF_1948, reading_zone=SUMMER_OF_1948)
    assert kept(SEVEN, theirs) == [5]
    assert kept("hour(x) = 7", theirs) == [5]


def test_rules_that_are_not_known_may_be_any() -> None:
    zone = unknown_rules("Europe/Stockholm")
    unknown = Semantics(Engine.HIVE, zone=zone, reading_zone=zone)
    assert kept(SEVEN, unknown) == list(range(24))
    assert kept("x = timestamp '1948-09-09 07:00:00'", unknown) == []


def test_hive_reads_in_one_zone_and_evaluates_in_another() -> None:
    utc, tokyo = local_zone("UTC"), local_zone("Asia/Tokyo")
    semantics = Semantics(Engine.HIVE, zone=tokyo, reading_zone=utc)
    assert kept(SEVEN, semantics) == [7]
    assert kept("hour(x) = 7", semantics) == [7]
    # 07:00 of UTC's clock is this instant on Tokyo's, which had summer time.
    seven = UTC_HOURS[7] // 10**6
    assert 7 in kept(f"unix_timestamp(x) = {seven - 10 * 3600}", semantics)
    assert kept(
        "x = cast('1948-09-01 07:00:00' as timestamp with local time zone)", semantics
    ) == list(range(24))


def test_a_wall_clock_that_zones_skip_is_a_later_one_in_hive() -> None:
    half_past_two = (datetime(2024, 3, 31, 2, 30) - datetime(1970, 1, 1)) // timedelta(
        microseconds=1
    )
    predicate = parse_predicate("date_format(x, 'HH') = '03'", HIVE)
    semantics = here("Europe/Berlin", Engine.HIVE)
    assert kept_files.kept(predicate, pa.timestamp("us"), [half_past_two], semantics=semantics) == [
        0
    ]


def test_python_answers_for_every_engine_where_none_is_named() -> None:
    predicate = parse_predicate("hour(x) = 7", SPARK)
    files = [[hour] for hour in UTC_HOURS]
    assert kept_files.kept(predicate, INSTANTS, *files, zone="UTC") == [7]


@pytest.mark.parametrize(
    ("condition", "dialect", "expected"),
    [
        ("t >= TIMESTAMP '2024-03-31 03:00:00'", SPARK, [0, 1]),
        ("t = TIMESTAMP '2024-03-31 03:30:00'", SPARK, [0]),
        ("t IN (TIMESTAMP '2024-03-31 02:30:00')", SPARK, [0]),
        ("t >= TIMESTAMP '2024-03-31 04:00:00'", SPARK, []),
        ("t >= '2024-03-31 03:00:00'", SPARK, [1]),
        ("t >= TIMESTAMP '2024-03-31 03:00:00'", HIVE, [1]),
    ],
)
def test_a_time_without_zone_that_clocks_skip_is_a_later_one_in_spark(
    condition: str, dialect: SqlDialect, expected: list[int]
) -> None:
    """Spark makes instants of TIMESTAMP_NTZ to compare them with ``TIMESTAMP '...'``."""
    half_past_two = 1_711_852_200 * 10**6  # which Berlin's clocks skip
    kept = kept_files.kept(
        parse_predicate(condition.replace("t ", "x ", 1), dialect),
        pa.timestamp("us"),
        [half_past_two],
        [half_past_two + 5_399 * 10**6],
        semantics=here("Europe/Berlin", Engine.SPARK if dialect is SPARK else Engine.HIVE),
    )
    assert kept == expected
