"""Conditions whose values only the running query knows: subqueries and the keys of joins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.matrix import FILES, Matrices, Partitioning
from devtools.spark import session_settings
from devtools.tables import TableType
from tests.spark.extension.conftest import UNPRUNED
from tests.spark.extension.scans import executed_scans, files_of, load, number_of_files, whole

pytestmark = pytest.mark.spark

COW, MOR = TableType.COW, TableType.MOR
PARTITIONS = 4
ADAPTIVE = "spark.sql.adaptive.enabled"
#: One side is small enough, also if Spark does not know how few of its rows are left.
SMALL = {"spark.sql.autoBroadcastJoinThreshold": "10485760"}


@pytest.fixture(params=[COW, MOR], ids=["cow", "mor"])
def matrix(
    request: pytest.FixtureRequest, extended: SparkSession, matrices: Matrices
) -> Iterator[SparkSession]:
    """The session with the views matrix, of Hudi, and few, of rows that are no files."""
    path = str(matrices.get(request.param).table.path)
    load(extended, path).createOrReplaceTempView("matrix")
    with session_settings(extended, UNPRUNED):
        whole(extended, path).createOrReplaceTempView("unpruned")
    extended.sql(FEW)
    with session_settings(extended, SMALL):
        yield extended


def run(spark: SparkSession, query: str) -> tuple[DataFrame, list[int]]:
    """Compare the rows with those without pruning; return how many files each scan has read."""
    frame = spark.sql(query)
    found = sorted(map(repr, frame.collect()))
    with session_settings(spark, UNPRUNED):
        other = spark.sql(query.replace("matrix", "unpruned"))
        assert found == sorted(map(repr, other.collect())), query
    return frame, [
        len(files_of(scan)) for scan in executed_scans(frame) if "hudi" in location(scan).lower()
    ]


def location(scan: object) -> str:
    """How the scan's relation shows itself."""
    return str(scan.relation().location().getClass().getName())  # type: ignore[attr-defined]


FEW = """
CREATE OR REPLACE TEMPORARY VIEW few AS SELECT * FROM VALUES
(-4995, 'name_000_05'), (-4994, NULL), (NULL, 'name_003_07') AS t(i, s)
"""

SUBQUERIES = {
    "SELECT s FROM matrix WHERE i = (SELECT max(i) FROM few)": 2,
    "SELECT s FROM matrix WHERE i BETWEEN (SELECT min(i) FROM few) AND (SELECT max(i) FROM few)": 2,
    "SELECT s FROM matrix WHERE i < (SELECT min(i) FROM few) + 1 AND s > ''": 2,
    "SELECT s FROM matrix WHERE s = (SELECT max(s) FROM few)": 8,
    "SELECT count(*) FROM (SELECT i AS j FROM matrix) WHERE j = (SELECT max(i) FROM few)": 2,
    "SELECT s FROM matrix WHERE i = (SELECT max(i) FROM few WHERE i > 0)": FILES,
    "SELECT s FROM matrix WHERE NOT i > (SELECT min(i) FROM few)": 2,
    "SELECT s FROM matrix WHERE i = (SELECT max(i) FROM few) OR s = 'name_003_07'": 10,
    "SELECT s FROM matrix WHERE length(s) > (SELECT max(i) FROM few)": FILES,
    "SELECT s FROM matrix WHERE i = (SELECT max(i) FROM matrix WHERE i < -4993)": 2,
}
"""With the files that are read at most."""


@pytest.mark.parametrize("query", SUBQUERIES)
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_subqueries(matrix: SparkSession, query: str, adaptive: str) -> None:
    with session_settings(matrix, {ADAPTIVE: adaptive}):
        _, read = run(matrix, query)
    assert read[0] <= SUBQUERIES[query]


JOINS = {
    "SELECT m.s FROM matrix m JOIN few f ON m.i = f.i": 1,
    "SELECT m.s FROM matrix m JOIN few f ON m.i = f.i WHERE m.s > 'a' AND f.s IS NOT NULL": 1,
    "SELECT m.s FROM matrix m WHERE m.i IN (SELECT i FROM few)": 1,
    "SELECT m.s FROM matrix m JOIN few f ON m.s = f.s": 3,
    "SELECT count(*) FROM matrix m JOIN few f ON m.i = f.i GROUP BY m.s": 1,
    "SELECT m.s FROM matrix m LEFT JOIN few g ON m.s = g.s JOIN few f ON m.i = f.i": 1,
    "SELECT m.s FROM matrix m JOIN few f ON CAST(m.i AS bigint) = CAST(f.i AS bigint)": 1,
}
"""With the files that are read at most."""
WHOLE = (
    "SELECT f.s FROM few f LEFT JOIN matrix m ON m.i = f.i",
    "SELECT m.s FROM matrix m LEFT JOIN few f ON m.i = f.i",
    "SELECT m.s FROM matrix m LEFT ANTI JOIN few f ON m.i = f.i",
    "SELECT m.s FROM matrix m WHERE m.i NOT IN (SELECT i FROM few WHERE i IS NOT NULL)",
    "SELECT m.s FROM matrix m WHERE m.i IN (SELECT i FROM few) OR m.i > 0",
    "SELECT m.s FROM matrix m JOIN few f ON m.i = f.i AND m.s = f.s",
    "SELECT m.s FROM matrix m JOIN few f ON m.i + 1 = f.i",
)
"""Rows with other keys are needed, or the keys are not of one column."""


@pytest.mark.parametrize("query", [*JOINS, *WHOLE])
def test_keys_of_joins(matrix: SparkSession, query: str) -> None:
    _, read = run(matrix, query)
    if query in WHOLE:
        assert read == [FILES]
    else:
        assert read[0] <= JOINS[query]


def test_types_of_keys(matrix: SparkSession) -> None:
    for column in ("i", "s", "d", "dt", "ts", "b", "u", "bin"):
        chosen = f"(SELECT DISTINCT {column} AS k FROM unpruned WHERE i IN (-4995, 3005))"
        query = f"SELECT m.id FROM matrix m JOIN {chosen} f ON m.{column} = f.k"
        run(matrix, query)


def test_without_adaptive_execution_joins_read_as_planned(matrix: SparkSession) -> None:
    with session_settings(matrix, {ADAPTIVE: "false"}):
        _, read = run(matrix, "SELECT m.s FROM matrix m JOIN few f ON m.i = f.i")
    assert read == [FILES]


def test_runtime_filters_of_spark(matrix: SparkSession) -> None:
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
    }
    # Spark makes filters of what a condition leaves of more than a list of values.
    few = "(SELECT CAST(id AS INT) AS i FROM range(-9000, 9000) WHERE id < -4900)"
    query = f"SELECT m.s FROM matrix m JOIN {few} f ON m.i = f.i"
    with session_settings(matrix, settings):
        frame, _ = run(matrix, query)
    assert "might_contain" in str(frame._jdf.queryExecution().toString())
    semi = {
        **settings,
        "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
        "spark.sql.optimizer.runtimeFilter.semiJoinReduction.enabled": "true",
    }
    with session_settings(matrix, semi):
        run(matrix, query)


@pytest.mark.smoke("COPY_ON_WRITE")
@pytest.mark.parametrize("type_", [COW, MOR])
def test_partitions_are_pruned_at_run_time(
    extended: SparkSession, matrices: Matrices, type_: TableType
) -> None:
    path = str(matrices.get(type_, partitioning=Partitioning.HIVE).table.path)
    load(extended, path).createOrReplaceTempView("matrix")
    with session_settings(extended, UNPRUNED):
        whole(extended, path).createOrReplaceTempView("unpruned")
    values = "SELECT * FROM VALUES (1, 1), (9, 2) AS t(q, n)"
    extended.sql(f"CREATE OR REPLACE TEMPORARY VIEW few AS {values}")
    for query in (
        "SELECT m.s FROM matrix m JOIN few f ON m.q = f.q WHERE f.n = 1",
        "SELECT m.s FROM matrix m JOIN few f ON m.q = f.q WHERE f.n = 1 AND m.i > 0",
        "SELECT m.s FROM matrix m WHERE m.q = (SELECT max(q) FROM few WHERE n = 1)",
    ):
        frame, _ = run(extended, query)
        (scan,) = (scan for scan in executed_scans(frame) if "hudi" in location(scan).lower())
        assert number_of_files(scan) == FILES // PARTITIONS, query
