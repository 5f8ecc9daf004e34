"""The keys of a small table that the keys of another one restrict (Tez).

Rows are compared with those of the plan without the keys, and of a query that reads every file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from tests.hive.planned.conftest import FILES
from tests.hive.planned.planned_answers import SHUFFLE, cases, explained, reads, same_rows
from tests.hive.planned.random_joins import random_query
from tests.hive.query_results import Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive]

SEEDS = 80


@pytest.fixture(scope="session")
def names(fact: str, stops: str, logged_stops: str, lines: str) -> Mapping[str, str]:
    """The names in Hive of all tables."""
    named = {"fact": fact, "stops": stops, "logged": logged_stops, "lines": lines}
    return MappingProxyType(named)


CHAINS = {
    "a join": (
        "SELECT f.id, l.colour FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " JOIN {lines} l ON s.line = l.line WHERE l.name = 'line 2'",
        [4],
    ),
    "three tables": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " JOIN {lines} l ON s.line = l.line JOIN {lines} m ON l.twin = m.line"
        " WHERE m.name = 'line 5'",
        [4],
    ),
    "keys of a join": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k WHERE s.k_day IN"
        " (SELECT t.k_day FROM {stops} t WHERE t.line ="
        " (SELECT l.line FROM {lines} l WHERE l.name = 'line 3'))",
        [4],
    ),
    "keys of groups": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k JOIN"
        " (SELECT line, count(*) AS n FROM {lines} WHERE name = 'line 1' GROUP BY line) g"
        " ON s.line = g.line",
        [4],
    ),
    "beside a condition": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " JOIN {lines} l ON s.line = l.line WHERE l.colour = 'red' AND s.line < 2",
        [4],
    ),
    "in a circle": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " JOIN {lines} l ON s.line = l.line AND f.code = l.first_code WHERE s.line = 2",
        [1],
    ),
}


@pytest.mark.smoke("a join-map join")
@pytest.mark.parametrize("plan", cases({"map join": {}, "merge join": SHUFFLE}, {"map join"}))
@pytest.mark.parametrize("chain", cases(CHAINS, soon={"a join", "keys of a join"}))
def test_keys_restrict_the_table_whose_keys_restrict_the_fact(
    hive: Hive, names: Mapping[str, str], chain: tuple[str, list[int]], plan: dict[str, str]
) -> None:
    query, files = chain
    written = query.format(**names)
    assert same_rows(hive, written, plan).rows
    assert reads(explained(hive, written, plan)) == files, explained(hive, written, plan)


#: Of the lines 2 and 4 one has a first code, and the other has NULL.
KEPT_ROWS = {
    "optional": (
        "SELECT f.id, l.colour FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " LEFT JOIN {lines} l ON s.line = l.line AND l.name = 'line 2'"
    ),
    "all of both": (
        "SELECT f.id, l.colour FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " FULL JOIN (SELECT * FROM {lines} WHERE name = 'line 2') l ON s.line = l.line"
    ),
    "not among": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " WHERE s.line NOT IN (SELECT line FROM {lines} WHERE name = 'line 2')"
    ),
    "NULL equals NULL": (
        "SELECT f.id FROM {fact} f JOIN {stops} s ON f.stop = s.k"
        " JOIN {lines} l ON s.k_code <=> l.first_code WHERE l.line IN (2, 4)"
    ),
}


@pytest.mark.parametrize("query", cases(KEPT_ROWS, soon={"optional"}))
def test_joins_that_keep_rows_without_a_partner_restrict_nothing(
    hive: Hive, names: Mapping[str, str], query: str
) -> None:
    written = query.format(**names)
    assert same_rows(hive, written).rows
    assert reads(explained(hive, written)) == [FILES]


@pytest.mark.parametrize(
    "seed", cases({str(seed): seed for seed in range(SEEDS)}, soon={"0", "1", "2"})
)
def test_random_joins_have_the_same_rows(hive: Hive, names: Mapping[str, str], seed: int) -> None:
    same_rows(hive, random_query(names, seed))


@pytest.mark.long
def test_many_random_joins_are_restricted(hive: Hive, names: Mapping[str, str]) -> None:
    plans = [explained(hive, random_query(names, seed)) for seed in range(SEEDS)]
    restricted = sum(min(reads(plan), default=FILES) < FILES for plan in plans)
    assert restricted > SEEDS / 4
