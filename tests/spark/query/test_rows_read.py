"""Of a kept file, Spark reads the pages that its own filter and the file's page index name."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.spark.query.dataframes import prune_table
from tests.hive.rows.paged_tables import GROUP_ROWS, write_table

pytestmark = pytest.mark.spark

MOST = GROUP_ROWS * 6 // 10
"""Fewer rows than a row group has, and more than a page of values of eight bytes."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp("pages") / "paged"
    write_table(found, "1.0", dictionaries=False)
    return found


def rows_read(frame: DataFrame) -> int:
    """Return the number of rows that the scan gave to the filter, after the frame's rows."""
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    rows: int = scan.metrics().apply("numOutputRows").value()
    return rows


@pytest.mark.smoke("at > TIMESTAMP")
@pytest.mark.parametrize(
    "condition",
    [
        "id = 10250",
        "s LIKE 's0001025%'",
        "s IN ('s00010250', 's00010260')",
        "w = 10250000000000000.5",
        "at > TIMESTAMP '2020-01-13 11:30:00 UTC'",
    ],
)
def test_the_pages_that_cannot_match_are_not_read(
    spark: SparkSession, path: Path, condition: str
) -> None:
    found = prune_table(
        spark, str(path), condition, pruner=Pruner(PruneOptions(footers=True, footer_wait=60))
    )
    rows = found.frame.collect()
    every = spark.read.parquet(*map(str, path.glob("*.parquet")))
    assert sorted(row.id for row in rows) == sorted(
        row.id for row in every.where(condition).select("id").collect()
    )
    assert found.result.files_kept == 1
    assert rows_read(found.frame) < MOST
