"""Statistics of log files: from them Hudi's next write computes the ranges of partitions."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, TableType, create, upsert
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.spark.builds.test_hudi_reads_indexes import assert_same_rows, rows, with_options

pytestmark = pytest.mark.spark

FAR = 100_000
"""Of rows in log files; those in base files have less."""


@pytest.mark.parametrize("version", [8, 9])
def test_hudis_next_write_keeps_rows_of_log_files_in_the_ranges_of_partitions(
    spark: SparkSession, table_root: Path, version: int
) -> None:
    spec = TableSpec(
        f"log-statistics-{version}",
        TableType.MOR,
        version,
        ordering="ts",
        partitions=("p",),
        stats_columns=None,
    )
    table = create(rows(spark, 0, 40, 1, 2), spec, table_root)
    later = "id", f"ts + {FAR} AS ts", "p", "city", f"d + {FAR} AS d", "day"
    upsert(table, rows(spark, 0, 4, 1, 1).selectExpr(*later))
    path = str(table.path)
    execute(spark, f"CREATE INDEX ranges ON '{path}' USING column_stats(d, ts)")
    upsert(with_options(table, writer_options(path)), rows(spark, 40, 44, 1, 1))
    assert_same_rows(spark, table, (f"d >= {FAR}", f"ts >= {FAR}", "d < 5"))
    assert not audit(HudiTable.open(path), AuditOptions()).findings


@pytest.mark.smoke
def test_hudis_next_write_keeps_results_of_functions_in_the_ranges_of_partitions(
    spark: SparkSession, table_root: Path
) -> None:
    spec = TableSpec(
        "log-results",
        TableType.MOR,
        9,
        ordering="ts",
        partitions=("p",),
        stats_columns=None,
    )
    table = create(rows(spark, 0, 40, 1, 2), spec, table_root)
    upsert(table, rows(spark, 0, 4, 1, 1, city="zz"))
    path = str(table.path)
    execute(spark, f"CREATE INDEX up ON '{path}' USING column_stats(city) OPTIONS (expr = 'upper')")
    conditions = ("upper(city) = 'ZZ'", "upper(city) >= 'Z'", "upper(city) = 'AA'")
    assert_same_rows(spark, table, conditions)
    for first, city in ((40, "aa"), (10, "yy")):
        upsert(
            with_options(table, writer_options(path)),
            rows(spark, first, first + 2, 1, 1, city=city),
        )
        assert_same_rows(spark, table, (*conditions, "upper(city) = 'YY'"))
    assert not audit(HudiTable.open(path), AuditOptions()).findings
