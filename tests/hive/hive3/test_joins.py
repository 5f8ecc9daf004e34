"""Joins in Hive 3.1: the right rows, and both sides are pruned."""

from __future__ import annotations

import pytest

from devtools.matrix import FILES, Matrices
from tests.hive.duckdb_rows import KnownRows
from tests.hive.expected_rows import ZONE
from tests.hive.hive3.matrix_tables import COW, MOR, Table, Tables
from tests.hive.query_results import MR, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

JOINS = {
    "map": {"hive.auto.convert.join": "true"},
    "shuffle": {"hive.auto.convert.join": "false"},
}


@pytest.fixture(scope="module")
def both(hive: Hive, matrices: Matrices, tables: Tables) -> tuple[str, str, KnownRows]:
    """The names of both tables, and their rows as `cow` and `mor`."""
    known = KnownRows(ZONE, cow=matrices.get(COW).rows, mor=matrices.get(MOR).rows)
    return tables(COW).name, tables(MOR).name, known


JOINED = [
    "SELECT x.id, y.s FROM {cow} x JOIN {mor} y ON x.i = y.i WHERE x.i > 24000 AND y.ti > 12",
    "SELECT x.id, y.id FROM {cow} x JOIN {mor} y ON x.dec9 = y.dec9 AND x.dt = y.dt"
    " WHERE x.ti = 3 AND y.ti BETWEEN 3 AND 4",
    "SELECT x.id, y.n FROM {cow} x LEFT JOIN {mor} y ON x.u = y.u AND y.q = 1 WHERE x.ti < -13",
    "SELECT x.q, count(*), sum(y.l) FROM {cow} x JOIN {mor} y ON x.id = y.id"
    " WHERE x.s LIKE 'name_01%' AND y.ti > -6 GROUP BY x.q",
    "SELECT x.id FROM {cow} x LEFT SEMI JOIN {mor} y ON x.ts = y.ts AND y.ti = 5 WHERE x.i > 0",
]


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("query", JOINED, ids=range(len(JOINED)))
def test_joins_have_the_right_rows_and_prune_both_sides(
    hive: Hive, both: tuple[str, str, KnownRows], query: str, join: str
) -> None:
    cow, mor, known = both
    statement = query.format(cow=cow, mor=mor)
    plan = str(hive.query(f"EXPLAIN {statement}", MR, settings=JOINS[join]).rows)
    assert ("Map Join Operator" in plan) == (join == "map")
    answer = hive.query_both_ways(statement, MR, JOINS[join])
    expected = known.query(query.format(cow="cow", mor="mor").replace("LEFT SEMI", "SEMI"))
    assert answer.rows == sorted(expected, key=repr)
    kept, considered = answer.scan.files_kept, answer.scan.files_considered
    assert kept < considered - FILES
    assert answer.scan.outcomes == ("PRUNED",)


@pytest.mark.parametrize("join", JOINS)
def test_keys_that_are_null_meet_by_null_safe_equality_only(
    hive: Hive, both: tuple[str, str, KnownRows], join: str
) -> None:
    cow, mor, known = both
    query = "SELECT x.id, y.id FROM {} x JOIN {} y ON x.n {} y.n WHERE x.ti = -15 AND y.ti = -14"
    for hives, truth, rows in (("=", "=", 4), ("<=>", "IS NOT DISTINCT FROM", 60)):
        answer = hive.query_both_ways(query.format(cow, mor, hives), MR, JOINS[join])
        expected = known.query(query.format("cow", "mor", truth))
        assert answer.rows == sorted(expected, key=repr)
        assert len(answer.rows) == rows


def test_a_table_that_is_joined_with_itself_loses_no_row(hive: Hive, table: Table) -> None:
    """MapReduce reads each file once for both scans, with the filter of one of them."""
    query = "SELECT x.id, y.id FROM {} x JOIN {} y ON x.id = y.id + 1000 WHERE x.i > 20000"
    for settings in JOINS.values():
        answer = hive.query_both_ways(query.format(table.name, table.name), MR, settings)
        expected = table.known.query(query.format("t", "t"))
        assert answer.rows == sorted(expected, key=repr)
