"""The first rows of an order, and a limit alone, as DataFrames that read few files."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f

from devtools.tables import TableSpec, TableType, create, upsert
from pyhudi_expr.spark.query.dataframes import prune_table
from tests.marks import long

pytestmark = pytest.mark.spark

FILES, ROWS = 8, 400


@pytest.fixture(scope="module", params=[TableType.MOR, long(TableType.COW)])
def path(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory) -> str:
    """Files of ascending `id` and `ts`; some rows are replaced, and `n` has NULL in places."""
    rows = spark.range(0, ROWS, 1, FILES).selectExpr(
        "id", "timestamp_seconds(id) AS ts", "if(id % 3 = 0, NULL, cast(id AS int)) AS n"
    )
    directory: Path = tmp_path_factory.mktemp("limits")
    table = create(rows, TableSpec("limited", request.param), directory)
    upsert(
        table, rows.where("id BETWEEN 20 AND 30").withColumn("ts", f.expr("ts + INTERVAL 1 DAY"))
    )
    return table.uri.removeprefix("file:")


def ordering(text: str) -> Column:
    """An element of ORDER BY."""
    name, _, rest = text.partition(" ")
    return getattr(f.col(name), f"{rest.lower().replace(' ', '_') or 'asc'}")()


@pytest.mark.smoke("MERGE_ON_READ-ts ")
@pytest.mark.parametrize(
    ("order", "columns"),
    [
        ("ts DESC NULLS LAST", ["ts DESC NULLS LAST"]),
        ("ts, id", ["ts ASC NULLS LAST", "id"]),
        ("n NULLS FIRST, id", ["n ASC NULLS FIRST", "id"]),
        ("n DESC NULLS LAST", ["n DESC NULLS LAST"]),
    ],
)
def test_the_first_rows_of_an_order(spark: SparkSession, path: str, order, columns) -> None:
    found = prune_table(spark, path, "id < 380", limit=15, order_by=order)
    every = prune_table(spark, path, "id < 380").frame
    assert found.frame.collect() == every.orderBy(*map(ordering, columns)).limit(15).collect()
    if "FIRST" not in order:
        assert found.result.dropped_by["top-k"] >= 4


def test_a_limit_alone(spark: SparkSession, path: str) -> None:
    found = prune_table(spark, path, "id < 380", limit=15)
    assert found.frame.count() == 15
    assert found.frame.where("id < 380").count() == 15
    assert found.result.files_kept == 1
