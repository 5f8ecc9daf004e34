"""Counts beside minimum and maximum values are answered where all rows of whole files match."""

from __future__ import annotations

from random import Random

import pytest

from tests.hive.limits.limited_tables import FILES
from tests.hive.query_results import MR, TEZ, Hive
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

ROW_BY_ROW = {"hive.vectorized.execution.enabled": "false"}


@pytest.mark.parametrize("engine", [TEZ, long(MR)])
@pytest.mark.parametrize("settings", [{}, ROW_BY_ROW], ids=["vectorised", "row by row"])
def test_rows_of_partitions_are_counted_by_the_index(
    hive: Hive, parted: str, engine: str, settings: dict[str, str]
) -> None:
    aggregates = "count(*), count(n), min(ts), max(ts), max(n)"
    query = f"SELECT {aggregates} FROM {parted} WHERE day >= '2024-01-03' AND day < '2024-01-05'"
    answer = hive.query_both_ways(query, engine, settings)
    assert answer.rows == [(800, 640, 8000, 15990, 1599)]
    assert answer.scan.outcomes == ("ANSWERED",)
    assert answer.scan.files_kept == 0 < answer.scan.files_considered


@pytest.mark.smoke("SELECT count(*) ")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM {t} WHERE day = '2024-01-02'",
        "SELECT count(*), max(day) FROM {t} WHERE day IN ('2024-01-02', '2024-01-06')",
        long("SELECT count(1) + 1 FROM {t} WHERE NOT day = '2024-01-02' HAVING count(1) > 5"),
        long("SELECT count(*), min(id) FROM {t} WHERE id >= 0"),
        long("SELECT count(*), max(dt) FROM {t} WHERE id >= 0 AND id <> 5000"),
        long("SELECT count(ts), min(day) FROM {t} WHERE day > '2024-01-01' OR day IS NULL"),
    ],
)
def test_what_whole_files_match_is_counted(hive: Hive, parted: str, query: str) -> None:
    answer = hive.query_both_ways(query.format(t=parted), TEZ)
    assert answer.scan.outcomes == ("ANSWERED",)
    assert answer.scan.files_kept == 0


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM {t} WHERE id > 5",  # a file matches in part
        "SELECT count(*) FROM {t} WHERE day = '2024-01-02' AND id >= 0",  # two columns
        "SELECT count(*) FROM {t} WHERE n IS NULL OR n >= 0",  # NULL and values match
        "SELECT count(n) FROM {t} WHERE day > '2024-01-02' AND rand(7) < 0.5",
        long("SELECT count(n) FROM {t} WHERE substr(day, 1, 4) = '2024'"),
        long("SELECT count(*), sum(id) FROM {t} WHERE day > '2024-01-02'"),
        long("SELECT count(*) FROM {t} a JOIN {t} b ON a.id = b.n WHERE a.day = '2024-01-02'"),
        long("SELECT count(*), max(d) FROM {t} WHERE day = '2024-01-02'"),
        long("SELECT count(*) FROM {t} WHERE day = 'never'"),
    ],
)
def test_other_counts_read_files(hive: Hive, parted: str, query: str) -> None:
    answer = hive.query_both_ways(query.format(t=parted), TEZ)
    assert "ANSWERED" not in answer.scan.outcomes


def test_rows_of_log_files_are_counted_by_hive(hive: Hive, logged: str) -> None:
    for condition in ("id >= 0", "id < 100", "id >= 600 AND id < 700"):
        query = f"SELECT count(*), max(ts) FROM {logged} WHERE {condition}"
        assert "ANSWERED" not in hive.query_both_ways(query, TEZ).scan.outcomes


def test_settings_have_the_files_read(hive: Hive, parted: str) -> None:
    query = f"SELECT count(*) FROM {parted} WHERE day = '2024-01-03'"
    for settings in (
        {"hive.compute.query.using.stats": "false"},
        {"hudi.pruning.listing": "false"},
    ):
        answer = hive.query_both_ways(query, TEZ, settings)
        assert "ANSWERED" not in answer.scan.outcomes
        assert answer.files[1] < FILES


def test_random_counts(hive: Hive, parted: str, table: str) -> None:
    random, answered = Random(37), 0
    for _ in range(8):
        column, value = random.choice(
            [("day", "'2024-01-03'"), ("tied", "2"), ("dt", "'2024-02-01'")]
        )
        operator = random.choice(["=", "<>", "<", ">=", ">"])
        aggregates = random.sample(["count(*)", "count(n)", "min(dt)", "max(n)", "min(day)"], 2)
        name = random.choice([parted, table])
        query = f"SELECT {', '.join(aggregates)} FROM {name} WHERE {column} {operator} {value}"
        answered += "ANSWERED" in hive.query_both_ways(query, TEZ).scan.outcomes
    assert answered
