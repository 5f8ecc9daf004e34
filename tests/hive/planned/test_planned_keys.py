"""The keys of a small table restrict a scan while Hive plans the query (Tez).

Rows are compared with those of the plan without the keys, and of a query that reads every file.
"""

from __future__ import annotations

import re

import pytest

from tests.hive.planned.conftest import FILES
from tests.hive.planned.planned_answers import (
    SHUFFLE,
    WAITING,
    cases,
    explained,
    reads,
    same_rows,
)
from tests.hive.query_results import TEZ, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive]

_NONE: dict[str, str] = {}

KEYS = {
    "int": "f.stop = s.k",
    "string": "f.code = s.k_code",
    "date": "f.day = s.k_day",
    "timestamp": "f.at = s.k_at",
    "int and string": "f.stop = s.k AND f.code = s.k_code",
}


@pytest.mark.smoke("string")
@pytest.mark.parametrize("condition", cases(KEYS, soon={"int", "string"}))
def test_explain_shows_the_files_that_may_hold_a_key(
    hive: Hive, fact: str, stops: str, condition: str
) -> None:
    query = f"SELECT f.id, s.name FROM {fact} f JOIN {stops} s ON {condition} WHERE s.line = 2"
    assert reads(explained(hive, query)) == [4]
    assert reads(explained(hive, query, WAITING)) == [FILES]
    answer = same_rows(hive, query)
    assert len(answer.rows) == 10
    assert answer.scan.files_kept <= 4 + 2
    assert 0 < answer.scan.files_for_plans <= 2


SHAPES = {
    "semi join": (
        "SELECT id FROM {fact} WHERE stop IN (SELECT k FROM {stops} WHERE line = 1)",
        [4],
    ),
    "optional side": (
        "SELECT s.k, f.id FROM {stops} s LEFT JOIN {fact} f ON f.stop = s.k WHERE s.line >= 5",
        [4],
    ),
    "renamed": (
        "SELECT f.id FROM {fact} f JOIN (SELECT k AS a, line AS b FROM {stops}) s ON f.stop = s.a"
        " WHERE s.b = 3",
        [4],
    ),
    "range": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " WHERE s.price BETWEEN 10 AND 12.5 OR s.name = 'line 4' AND NOT s.k < 1700",
        [4],
    ),
    # What is not surely the same in other code is no condition of the keys.
    "a function beside": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " WHERE s.line = 2 AND length(s.name) = 6 AND s.k % 80 = 0",
        [4],
    ),
    "two small tables": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " JOIN {logged} t ON f.day = t.k_day WHERE s.line = 1 AND t.line = 1",
        [4],
    ),
    "log files": (
        "SELECT f.id, t.line FROM {fact} f JOIN {logged} t ON f.stop = t.k WHERE t.line = 7",
        [4],
    ),
    "twice, by other keys": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k WHERE s.line = 0"
        " UNION ALL SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k WHERE s.line = 3",
        [4, 4],
    ),
    "a computed rest": (
        "WITH s AS (SELECT k FROM {stops} WHERE line = 1)"
        " SELECT count(*), sum(amount) FROM {fact} f JOIN s ON f.stop = s.k"
        " UNION ALL SELECT count(*), max(id) FROM {fact} g JOIN s ON g.stop = s.k",
        [4],
    ),
}


@pytest.mark.parametrize("plan", cases({"map join": _NONE, "merge join": SHUFFLE}, {"map join"}))
@pytest.mark.parametrize("shape", cases(SHAPES, soon={"optional side", "twice, by other keys"}))
def test_joins_of_every_shape_have_the_same_rows(
    hive: Hive,
    fact: str,
    stops: str,
    logged_stops: str,
    shape: tuple[str, list[int]],
    plan: dict[str, str],
) -> None:
    query, files = shape
    written = query.format(fact=fact, stops=stops, logged=logged_stops)
    assert same_rows(hive, written, plan).rows
    found = reads(explained(hive, written, plan))
    assert set(found) == set(files), explained(hive, written, plan)


NOT_PLANNED = {
    "no condition": "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k",
    "only functions": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k WHERE length(s.name) = 6"
    ),
    "no key": "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k WHERE s.line = 99",
    "NULL equals NULL": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.code <=> s.k_code WHERE s.line = 5"
    ),
    "computed key": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k + 1 WHERE s.line = 2"
    ),
    "an earlier state": (
        "SELECT f.id FROM {fact} f JOIN {stops} FOR SYSTEM_TIME AS OF '2099-01-01' s"
        " ON f.stop = s.k WHERE s.line = 2"
    ),
}


@pytest.mark.parametrize("query", cases(NOT_PLANNED, soon={"NULL equals NULL"}))
def test_other_keys_are_not_read_while_planning(
    hive: Hive, fact: str, stops: str, query: str
) -> None:
    written = query.format(fact=fact, stops=stops)
    same_rows(hive, written)
    assert reads(explained(hive, written)) == [FILES]


@pytest.mark.long
def test_keys_are_read_once_for_all_scans(hive: Hive, fact: str, stops: str) -> None:
    joined = "SELECT f.id FROM {} f JOIN {} s ON f.stop = s.k WHERE s.line = 2"
    one = joined.format(fact, stops)
    query = f"{one} UNION ALL {one.replace('f.id', 'f.amount')}"
    answer = same_rows(hive, query)
    assert len(answer.rows) == 20
    assert answer.scan.files_for_plans == hive.query(one, TEZ).scan.files_for_plans > 0


def test_keys_that_are_null_equal_no_row(hive: Hive, fact: str, stops: str) -> None:
    query = (
        f"SELECT s.id, f.id FROM {stops} s LEFT JOIN {fact} f ON f.code = s.k_code"
        " WHERE s.line BETWEEN 4 AND 5"
    )
    answer = same_rows(hive, query)
    assert sum(row[1] is None for row in answer.rows) == 10
    assert reads(explained(hive, query)) == [4]


def test_hive_estimates_a_join_by_the_keys(hive: Hive, fact: str, stops: str) -> None:
    """How many rows the filter of the fact leaves, as the plan says."""
    query = f"SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k WHERE s.line = 2"

    by_index = {"hive.stats.fetch.column.stats": "true"}

    def greatest_filter(settings: dict[str, str]) -> int:
        plan = explained(hive, query, {**by_index, **settings})
        return max(map(int, re.findall(r"Filter Operator \[FIL_\d+\] \(rows=(\d+)", plan)))

    assert greatest_filter(_NONE) < 100 < greatest_filter(WAITING)
