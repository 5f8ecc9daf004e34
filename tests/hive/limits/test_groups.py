"""The index answers queries that need only partition columns, whatever they do with them."""

from __future__ import annotations

from random import Random

import pytest

from tests.hive.limits.limited_tables import FILES
from tests.hive.query_results import MR, TEZ, Hive
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

ROW_BY_ROW = {"hive.vectorized.execution.enabled": "false"}
UNROLLED = {"hive.map.aggr": "false"}


@pytest.mark.parametrize("engine", [TEZ, long(MR)])
@pytest.mark.parametrize("settings", [{}, ROW_BY_ROW], ids=["vectorised", "row by row"])
def test_rows_of_each_partition_are_counted_by_the_index(
    hive: Hive, parted: str, engine: str, settings: dict[str, str]
) -> None:
    query = f"SELECT day, count(*) FROM {parted} WHERE day > '2024-01-02' GROUP BY day"
    answer = hive.query_both_ways(query, engine, settings)
    assert answer.rows == [(f"2024-01-0{day}", 400) for day in (3, 4, 5, 6)]
    assert answer.scan.outcomes == ("ANSWERED",)
    assert answer.files == (FILES, 0)


@pytest.mark.smoke("SELECT DISTINCT")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT day, count(*) FROM {t} GROUP BY day",
        "SELECT count(DISTINCT day) FROM {t}",
        "SELECT count(DISTINCT day), count(*) FROM {t} WHERE day <> '2024-01-02'",
        "SELECT DISTINCT day FROM {t} WHERE substr(day, 10) % 2 = 0",
        long("SELECT DISTINCT day FROM {t}"),
        long(
            "SELECT day, count(*) c FROM {t} GROUP BY day HAVING count(*) > 5 ORDER BY day LIMIT 2"
        ),
        long("SELECT day, count(*), max(day) FROM {t} GROUP BY day WITH ROLLUP"),
        long("SELECT concat(day, '!'), count(day) FROM {t} WHERE day LIKE '%3' GROUP BY day"),
        long("SELECT max(day), count(*) FROM {t} WHERE day IN ('2024-01-01', '2024-01-04')"),
        long("SELECT day, row_number() OVER (ORDER BY day) FROM {t} WHERE day < '2024-01-02'"),
        long("SELECT count(*) FROM (SELECT day FROM {t} WHERE day = '2024-01-05' LIMIT 450) q"),
        long(
            "SELECT day, x, count(*) FROM {t} LATERAL VIEW explode(array(1, 2)) e AS x"
            " GROUP BY day, x"
        ),
    ],
)
def test_partition_columns_need_no_file(hive: Hive, parted: str, query: str) -> None:
    answer = hive.query_both_ways(query.format(t=parted), TEZ)
    assert answer.rows
    assert answer.scan.outcomes == ("ANSWERED",)
    assert answer.scan.files_kept == 0 < answer.scan.files_considered


def test_groups_without_their_first_step_are_answered_too(hive: Hive, parted: str) -> None:
    query = f"SELECT day, count(*) FROM {parted} GROUP BY day"
    assert hive.query_both_ways(query, TEZ, UNROLLED).scan.outcomes == ("ANSWERED",)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT day, count(n) FROM {t} GROUP BY day",
        "SELECT day, count(*) FROM {t} WHERE id > 5 GROUP BY day",
        long("SELECT day, max(id) FROM {t} GROUP BY day"),
        long("SELECT tied, count(*) FROM {t} GROUP BY tied"),
    ],
)
def test_other_columns_are_read(hive: Hive, parted: str, query: str) -> None:
    answer = hive.query_both_ways(query.format(t=parted), TEZ)
    assert answer.rows
    assert "ANSWERED" not in answer.scan.outcomes


def test_joined_partition_columns_have_the_same_rows(hive: Hive, parted: str) -> None:
    """Hive may count each side's rows by itself, or read them: its planner decides."""
    query = "SELECT a.day, count(*) FROM {t} a JOIN {t} b ON a.day = b.day GROUP BY a.day"
    assert hive.query_both_ways(query.format(t=parted), TEZ).rows


def test_columns_that_are_no_partitions_are_read(hive: Hive, table: str, logged: str) -> None:
    for name in (table, logged):
        query = f"SELECT day, count(*) FROM {name} GROUP BY day"
        assert "ANSWERED" not in hive.query_both_ways(query, TEZ).scan.outcomes


def test_settings_have_the_files_read(hive: Hive, parted: str) -> None:
    query = f"SELECT day, count(*) FROM {parted} GROUP BY day"
    for settings in (
        {"hive.compute.query.using.stats": "false"},
        {"hudi.pruning.listing": "false"},
    ):
        answer = hive.query_both_ways(query, TEZ, settings)
        assert "ANSWERED" not in answer.scan.outcomes
        assert answer.files == (FILES, FILES)


def test_random_groups(hive: Hive, parted: str) -> None:
    random = Random(41)
    for _ in range(5):
        day = f"'2024-01-0{random.randint(1, 6)}'"
        condition = f"day {random.choice(['=', '<>', '<', '>=', '>'])} {day}"
        what = random.choice(["day, count(*)", "day", "count(DISTINCT day)", "count(*), min(day)"])
        groups = " GROUP BY day" if what.startswith("day") else ""
        query = f"SELECT {what} FROM {parted} WHERE {condition}{groups}"
        hive.query_both_ways(query, TEZ)
