"""Bootstrapped tables: `prune` keeps each slice with a matching row, and `scan` says why not.

In METADATA_ONLY a base file has Hudi's own columns only; the others stay in the source file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi_expr as ph
from devtools.tables import HudiTable as Written
from devtools.tables import TableSpec, upsert
from pyhudi_expr.errors import UnsupportedTable

pytestmark = pytest.mark.spark

_SELECTORS = "org.apache.hudi.client.bootstrap.selector"
_COLUMNS = ("id", "id % 5 AS five", "if(id % 7 = 0, null, concat('n', id)) AS name")
_CONDITIONS = (
    "id = 7",
    "id > 30",
    "five = 3 AND id < 20",
    "name IS NULL",
    "name = 'n33'",
    "NOT (id < 35)",
    "id IS NOT NULL",
)


@pytest.fixture(scope="module", params=["MetadataOnly", "FullRecord"])
def bootstrapped(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Four source files, one of which is rewritten by an update since."""
    root = tmp_path_factory.mktemp("bootstrapped")
    spark.range(0, 40, 1, 4).selectExpr(*_COLUMNS).write.parquet(str(root / "source"))
    extra = {
        "hoodie.bootstrap.base.path": str(root / "source"),
        "hoodie.bootstrap.mode.selector": f"{_SELECTORS}.{request.param}BootstrapModeSelector",
        "hoodie.bootstrap.parallelism": "2",
    }
    # Hudi makes no statistics of columns while it bootstraps.
    spec = TableSpec(f"of_{request.param.lower()}", stats_columns=None, extra=extra)
    rows = spark.range(0).selectExpr(*_COLUMNS)
    rows.write.format("hudi").options(**spec.options()).option(
        "hoodie.datasource.write.operation", "bootstrap"
    ).mode("overwrite").save(str(root / spec.name))
    table = Written(spec, str(root / spec.name), rows.schema)
    upsert(table, spark.range(12, 14, 1, 1).selectExpr("id", "id AS five", "'new' AS name"))
    return table.path


@pytest.mark.smoke("MetadataOnly")
def test_each_slice_with_a_matching_row_is_kept(spark: SparkSession, bootstrapped: Path) -> None:
    frame = spark.read.format("hudi").option("hoodie.metadata.enable", "false")
    rows = frame.load(str(bootstrapped)).cache()
    assert rows.count() == 40
    for condition in _CONDITIONS:
        holding = {row[0] for row in rows.where(condition).select("_hoodie_file_name").collect()}
        kept = ph.table(str(bootstrapped)).prune(condition, dialect="spark").kept_paths()
        assert holding, condition
        assert holding <= set(kept), condition


def test_scan_says_why_it_reads_no_row(bootstrapped: Path) -> None:
    with pytest.raises(UnsupportedTable, match="made by bootstrap"):
        ph.table(str(bootstrapped)).scan()
