"""Queries of every shape under Hive's defaults: vectorised, CombineHiveInputFormat, map joins.

Each returns the same rows as without pruning, and reads fewer files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from devtools.matrix import Matrices, Matrix
from devtools.tables import TableType
from tests.hive.query_results import FETCH, MR, TEZ, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive]

SHUFFLE_JOIN = {"hive.auto.convert.join": "false"}
SEMIJOIN = {
    # Otherwise the keys prune the files: see test_joins.py.
    "hudi.pruning.joins": "false",
    **SHUFFLE_JOIN,
    "hive.tez.dynamic.semijoin.reduction": "true",
    "hive.tez.bigtable.minsize.semijoin.reduction": "1",
    "hive.tez.min.bloom.filter.entries": "1",
    # By default Hive does not trust statistics of external tables.
    "hive.disable.unsafe.external.table.operations": "false",
}


@pytest.fixture(scope="module")
def cow(hive: Hive, matrices: Matrices) -> Matrix:
    matrix = matrices.get(TableType.COW)
    hive.register(matrix.table)
    return matrix


@pytest.fixture(scope="module")
def names(hive: Hive, cow: Matrix, matrices: Matrices) -> Iterator[Mapping[str, str]]:
    """Names in queries: {c} and {m} are copy on write and merge on read, {v} a view, {d} small."""
    c, m = cow.table.name, hive.register(matrices.get(TableType.MOR).table)
    hive.run(
        f"CREATE VIEW seen AS SELECT id, ti, s, ts, st.b AS b FROM {m} WHERE ti > 0",
        "CREATE TABLE picked (k bigint, t int) STORED AS TEXTFILE",
        "INSERT INTO picked VALUES (5005, 1), (31020, 2), (-1, 3)",
    )
    yield {"c": c, "m": m, "v": "seen", "d": "picked"}
    hive.run("DROP VIEW seen", "DROP TABLE picked")


QUERIES = {
    "projection": "SELECT id, ti, l, f, d, dec9, dec38, s, u, dt, ts, n, b FROM {m} WHERE ti = 5",
    "everything": "SELECT * FROM {c} WHERE ti IN (1, 2)",
    "counted": "SELECT count(*) FROM {m} WHERE ti < -10",
    "aggregates": "SELECT count(n), sum(i), min(s), max(ts), avg(dec9) FROM {m} WHERE ti >= 12",
    "grouped": "SELECT ti, count(*), sum(n), max(st.b) FROM {c} WHERE ti BETWEEN 3 AND 6"
    " GROUP BY ti",
    "grouped by a text": "SELECT st.b, count(DISTINCT u) FROM {m} WHERE ti BETWEEN 3 AND 6"
    " GROUP BY st.b",
    "having": "SELECT ti, count(*) AS c FROM {m} WHERE ti < -8 GROUP BY ti HAVING c > 22",
    "ordered": "SELECT id, s FROM {c} WHERE ti > 10 ORDER BY s DESC, id LIMIT 7",
    "windowed": "SELECT id, row_number() OVER (PARTITION BY ti ORDER BY id) FROM {m}"
    " WHERE id BETWEEN 3000 AND 5010",
    "join": "SELECT a.id, b.s FROM {c} a JOIN {m} b ON a.id = b.id WHERE a.ti = 3 AND b.ti > 0",
    "outer join": "SELECT a.id, b.s FROM {c} a LEFT JOIN {m} b ON a.id = b.id AND b.ti = 3"
    " WHERE a.ti IN (3, 4)",
    "join with filters in ON": "SELECT a.id, b.id FROM {m} a FULL JOIN"
    " (SELECT id, l FROM {c} WHERE ti = 4) b ON a.id = b.id AND a.ti = 5"
    " WHERE a.ti BETWEEN 4 AND 5",
    "self-join": "SELECT a.id, b.id FROM {c} a JOIN {c} b ON a.ti = b.ti + 1"
    " WHERE a.id = 5005 AND b.id < 4003",
    "self-join of merge on read": "SELECT a.s, b.s FROM {m} a JOIN {m} b ON a.ti = b.ti"
    " WHERE a.id = 5003 AND b.s LIKE 'updated%' AND b.ti < 0",
    "self-join with the same filter": "SELECT a.id, b.id FROM {c} a JOIN {c} b ON a.id = b.id"
    " WHERE a.ti = 4 AND b.ti = 4",
    "three of the same": "SELECT count(*) FROM {c} a, {c} b, {m} e WHERE a.id = 5005"
    " AND b.id = 3005 AND e.ti = 7 AND a.q = b.q",
    "union all": "SELECT id, s FROM {c} WHERE ti = 1 UNION ALL SELECT id, s FROM {m} WHERE ti = 2",
    "union of the same table": "SELECT id FROM {c} WHERE ti = 1 UNION ALL"
    " SELECT id FROM {c} WHERE ti = 9 UNION ALL SELECT id FROM {c} WHERE id = 5005",
    "union": "SELECT s FROM {m} WHERE ti = 1 UNION SELECT s FROM {m} WHERE ti IN (1, 2)",
    "union in a subquery": "SELECT count(*) FROM (SELECT id FROM {c} WHERE ti = 1 UNION"
    " SELECT id FROM {m} WHERE ti = 2) x",
    "except": "SELECT s FROM {m} WHERE ti = 1 EXCEPT SELECT s FROM {c} WHERE ti = 2",
    "view": "SELECT id, b, ts FROM {v} WHERE ti < 4",
    "view joined": "SELECT v.id FROM {v} v JOIN {c} c ON v.id = c.id WHERE c.ti = 2",
    "subquery": "SELECT id FROM (SELECT id, ti + 1 AS higher FROM {c}) x WHERE higher = 5",
    "IN with a subquery": "SELECT id, s FROM {c} WHERE ti = -11 AND id IN (SELECT k FROM {d})",
    "NOT IN": "SELECT id FROM {m} WHERE ti = -11 AND id NOT IN (SELECT k FROM {d})",
    "EXISTS": "SELECT id FROM {c} a WHERE ti < -10 AND EXISTS (SELECT 1 FROM {d} WHERE k = a.id)",
    "scalar subquery": "SELECT id FROM {c} WHERE ti = 4 AND id > "
    "(SELECT max(k) FROM {d} WHERE t = 1)",
    "common table expression": "WITH x AS (SELECT id, ti FROM {m} WHERE ti BETWEEN 0 AND 2)"
    " SELECT a.id FROM x a JOIN x b ON a.id = b.id WHERE b.ti = 1",
    "lateral view": "SELECT id, e FROM {m} LATERAL VIEW explode(arr) x AS e WHERE ti = 6",
    "distinct": "SELECT DISTINCT p, q FROM {m} WHERE ti > 7",
    "grouping sets": "SELECT p, ti, count(*) FROM {c} WHERE ti > 13 GROUP BY p, ti WITH ROLLUP",
}

# In one MapReduce job, which cannot distinguish the filters of several scans of a table.
SHARED_SCANS = {
    *("self-join", "self-join of merge on read", "self-join with the same filter"),
    *("three of the same", "union of the same table", "union", "common table expression"),
}


@pytest.mark.smoke("everything", "union of the")
@pytest.mark.parametrize("shape", QUERIES)
def test_rows_are_the_same_and_fewer_files_are_read(
    hive: Hive, names: Mapping[str, str], shape: str
) -> None:
    query = QUERIES[shape].format(**names)
    in_tez = hive.query_both_ways(query, TEZ)
    assert in_tez.rows
    assert in_tez.scan.files_kept < in_tez.scan.files_considered


@pytest.mark.long
@pytest.mark.parametrize("shape", QUERIES)
def test_mapreduce_gives_the_same_rows_and_reads_fewer_files(
    hive: Hive, names: Mapping[str, str], shape: str
) -> None:
    query = QUERIES[shape].format(**names)
    in_mr = hive.query(query, MR)
    assert in_mr.rows == hive.query(query, TEZ, pruning=False).rows
    if shape not in SHARED_SCANS:
        assert in_mr.scan.files_kept < in_mr.scan.files_considered


@pytest.mark.smoke("join-mr")
@pytest.mark.parametrize("engine", [TEZ, MR])
@pytest.mark.parametrize("shape", ["join", "outer join", "self-join of merge on read"])
def test_shuffle_joins_have_the_right_rows(
    hive: Hive, names: Mapping[str, str], shape: str, engine: str
) -> None:
    query = QUERIES[shape].format(**names)
    answer = hive.query(query, engine, settings=SHUFFLE_JOIN)
    assert answer.rows == hive.query(query, TEZ, pruning=False).rows


def test_engines_give_equal_rows(hive: Hive, names: Mapping[str, str]) -> None:
    for shape in ("projection", "subquery", "aggregates"):
        query = QUERIES[shape].format(**names)
        rows = {repr(hive.query(query, engine).rows) for engine in (FETCH, MR, TEZ)}
        assert len(rows) == 1, shape


def test_each_scan_of_a_self_join_is_pruned_by_its_own_filter(
    hive: Hive, names: Mapping[str, str]
) -> None:
    query = "SELECT a.id, b.id FROM {c} a JOIN {c} b ON a.q = b.q WHERE a.ti = 3 AND b.ti IN (1, 2)"
    for settings in ({}, SHUFFLE_JOIN, {"hive.optimize.shared.work": "false"}):
        answer = hive.query_both_ways(query.format(**names), TEZ, settings)
        assert len(answer.rows) == 24 * 46
        assert answer.scan.files_kept <= 2 * 3


def test_values_known_only_at_run_time_lose_no_row(hive: Hive, names: Mapping[str, str]) -> None:
    """Semijoin reduction puts dynamic values and Bloom filters into a scan's filter."""
    query = (
        "SELECT a.id, a.s, b.t FROM {c} a JOIN {d} b ON a.id = b.k"
        " WHERE b.t < 3 AND a.ti BETWEEN -12 AND 15"
    ).format(**names)
    plan = "\n".join(row[0] for row in hive.query(f"EXPLAIN {query}", TEZ, settings=SEMIJOIN).rows)
    assert "DynamicValue" in plan
    answer = hive.query_both_ways(query, TEZ, SEMIJOIN)
    assert [row[0] for row in answer.rows] == [31020, 5005]
    assert answer.files == (32, 28)


@pytest.mark.parametrize("engine", [TEZ, MR])
def test_a_table_is_created_from_a_query(hive: Hive, names: Mapping[str, str], engine: str) -> None:
    query = "SELECT id, ts, dec38, st, arr, bin, u FROM {m} WHERE ti BETWEEN 3 AND 4".format(
        **names
    )
    created = hive.query(f"CREATE TABLE copied STORED AS PARQUET AS {query}", engine)
    assert created.scan.files_kept < created.scan.files_considered
    try:
        assert hive.query("SELECT * FROM copied").rows == hive.query(query, pruning=False).rows
    finally:
        hive.run("DROP TABLE copied")


VECTORISED = "hive.vectorized.execution.enabled"


@pytest.mark.parametrize("engine", [TEZ, MR])
@pytest.mark.parametrize("type_", ["c", "m"])
def test_vectorised_and_row_execution_agree(
    hive: Hive, names: Mapping[str, str], type_: str, engine: str
) -> None:
    query = f"SELECT * FROM {names[type_]} WHERE ti IN (-13, -10, 5)"
    vectorised = hive.query(query, engine)
    assert len(vectorised.rows) == 24 * 3 - 2
    row_by_row = hive.query(query, engine, settings={VECTORISED: "false"})
    assert repr(row_by_row.rows) == repr(vectorised.rows) == repr(hive.query(query, FETCH).rows)


def test_hives_defaults_are_in_force(hive: Hive) -> None:
    for setting, value in (
        (VECTORISED, "true"),
        ("hive.input.format", "org.apache.hadoop.hive.ql.io.CombineHiveInputFormat"),
        ("hive.tez.input.format", "org.apache.hadoop.hive.ql.io.HiveInputFormat"),
        ("hive.auto.convert.join", "true"),
        ("hive.optimize.ppd.storage", "true"),
    ):
        assert hive.query(f"SET {setting}", MR).rows == [(f"{setting}={value}",)]
