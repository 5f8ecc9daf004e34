"""Timelines after Hudi's table services: cleaned, archived, rolled back and restored."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable as WrittenTable
from devtools.tables import TableSpec, TableType, create, delete, upsert
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.changes.test_long_lived_pruner import PREDICATES, call_procedure, rows
from tests.index.prune.matching_slices import assert_no_row_lost, groups, read, request
from tests.marks import long

pytestmark = pytest.mark.spark

MANUAL = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


def written(
    spark: SparkSession, parent: Path, type_: TableType, version: int, **extra: str
) -> WrittenTable:
    """A table with several commits, which is also in Spark's catalogue."""
    spec = TableSpec("serviced", type_, version, partitions=("p",), extra={**MANUAL, **extra})
    table = create(rows(spark, "true"), spec, parent)
    for n in range(3):
        upsert(table, rows(spark, f"id % 20 = {n}", x=f"id + {1000 * n}", s="'new ' || id"))
    delete(table, rows(spark, "id in (5, 45, 77)"))
    spark.sql("DROP TABLE IF EXISTS serviced")
    spark.sql(f"CREATE TABLE serviced USING hudi LOCATION '{table.path}'")
    return table


def newest(table: WrittenTable) -> str:
    instant = HudiTable.open(table.uri).instant
    assert instant is not None
    return instant


@pytest.mark.parametrize("version", [9, long(6)])
def test_clean_and_archive(spark: SparkSession, tmp_path: Path, version: int) -> None:
    compacted = {"hoodie.metadata.compact.max.delta.commits": "2"}
    table = written(spark, tmp_path, TableType.COW, version, **compacted)
    pruner = Pruner(PruneOptions(footer_wait=20))
    assert_no_row_lost(pruner, table.path, read(spark, table.path), PREDICATES)
    before = len(list(table.path.rglob("*.parquet")))
    call_procedure(spark, "run_clean(table => 'serviced', retain_commits => 1)", table)
    assert len(list(table.path.rglob("*.parquet"))) < before
    assert_no_row_lost(pruner, table.path, read(spark, table.path), PREDICATES)

    initial = HudiTable.open(str(table.path)).timeline
    call_procedure(
        spark,
        "archive_commits(table => 'serviced', min_commits => 2, max_commits => 3,"
        " retain_commits => 1, enable_metadata => true)",
        table,
    )
    archived = HudiTable.open(str(table.path)).timeline
    assert len(archived.writes) < len(initial.writes)
    for known in (pruner, Pruner()):
        assert_no_row_lost(known, table.path, read(spark, table.path), PREDICATES)
    upsert(table, rows(spark, "id in (3, 45)", x="-id"))
    assert_no_row_lost(pruner, table.path, read(spark, table.path), PREDICATES)


@pytest.mark.long
@pytest.mark.parametrize("type_", TableType)
def test_rollback_and_restore(spark: SparkSession, tmp_path: Path, type_: TableType) -> None:
    table = written(spark, tmp_path, type_, 9)
    pruner = Pruner(PruneOptions(footer_wait=20))
    savepoint = newest(table)
    call_procedure(
        spark, f"create_savepoint(table => 'serviced', commit_time => '{savepoint}')", table
    )
    kept = assert_no_row_lost(pruner, table.path, read(spark, table.path), PREDICATES)

    upsert(table, rows(spark, "id < 40", x="7000 + id"))
    assert groups(pruner.prune(str(table.path), request("x >= 7000")))
    call_procedure(
        spark,
        f"rollback_to_instant(table => 'serviced', instant_time => '{newest(table)}')",
        table,
    )
    assert newest(table) == savepoint
    for known in (pruner, Pruner(PruneOptions(footer_wait=20))):
        assert assert_no_row_lost(known, table.path, read(spark, table.path), PREDICATES) == kept
        assert not groups(known.prune(str(table.path), request("x >= 7000")))

    upsert(table, rows(spark, "id < 40", x="8000 + id"))
    upsert(table, rows(spark, "id > 70", x="9000 + id"))
    assert groups(pruner.prune(str(table.path), request("x >= 8000")))
    call_procedure(
        spark, f"rollback_to_savepoint(table => 'serviced', instant_time => '{savepoint}')", table
    )
    for known in (pruner, Pruner(PruneOptions(footer_wait=20))):
        assert_no_row_lost(known, table.path, read(spark, table.path), PREDICATES)
        assert not groups(known.prune(str(table.path), request("x >= 8000")))
    upsert(table, rows(spark, "id = 3", x="8500"))
    assert_no_row_lost(pruner, table.path, read(spark, table.path), PREDICATES)
    assert groups(pruner.prune(str(table.path), request("x = 8500")))
