"""Who does what SHOW INDEXES advises has an index that answers for all file slices.

What it says of other states is followed in `test_certified_builds` (values that Hudi does not
write) and `test_hudi_reads_indexes` (an index that a writer or a restore deleted).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from pyhudi_expr.index.catalog.status import State
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.indexes import execute
from tests.index.prune.changes.test_long_lived_pruner import call_procedure
from tests.index.prune.changes.test_table_services import MANUAL
from tests.index.prune.matching_slices import assert_no_row_lost, read, request
from tests.spark.builds.test_certified_builds import statuses
from tests.spark.builds.test_hudi_reads_indexes import with_options
from tests.spark.builds.test_slice_proofs import always_worth_it, compaction, rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures(always_worth_it.__name__)]

_ALONE = PruneOptions(footer_seconds=0, footer_wait=30)
_PREDICATES = ("s = 'row 7'", "s = 'new'", "id = 3", "id = 7")


def indexed(
    spark: SparkSession, parent: Path, name: str, extra: Mapping[str, str] = MANUAL
) -> HudiTable:
    options = {**MANUAL, **extra}
    spec = TableSpec(
        name, TableType.MOR, 9, ordering="o", partitions=("p",), stats_columns=None, extra=options
    )
    table = create(rows(spark, ", ".join(map(str, range(80)))), spec, parent)
    execute(spark, f"CREATE INDEX texts ON '{table.uri}' USING secondary_index(s)")
    return with_options(table, writer_options(table.uri))


def kept(table: HudiTable, condition: str) -> int:
    """The number of slices that a query reads."""
    return int(Pruner(_ALONE).prune(table.uri, request(condition)).keep.sum())


def test_entries_that_hudi_removed_come_back_by_a_refresh(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A delete with an older ordering value loses, but Hudi deletes the entries."""
    table = indexed(spark, tmp_path, "refreshed")
    upsert(table, rows(spark, "3", "'new'", "50"))
    deleted = rows(spark, "3", "'new'", "-1")
    upsert(table, deleted.withColumn("_hoodie_is_deleted", deleted.id.isNotNull()))
    frame = read(spark, table.uri).cache()
    assert frame.where("id = 3").count() == 1
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)
    assert (kept(table, "s = 'nobody'"), kept(table, "id = 12345")) == (1, 1)
    found = statuses(spark, table)
    assert found["record_index"].state is State.DOUBTED
    assert found["texts"].state is State.PARTIAL
    for name in ("record_index", "texts"):
        assert "refresh it" in found[name].note
        execute(spark, f"REFRESH INDEX {name} ON '{table.uri}'")
    after = statuses(spark, table).values()
    assert [(one.state, one.note) for one in after] == [(State.ACTIVE, "")] * len(after)
    assert (kept(table, "s = 'nobody'"), kept(table, "id = 12345")) == (0, 0)
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)


def test_slices_that_are_not_merged_here_are_read_after_a_compaction(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A column of one's own marks rows as deleted."""
    marker = {"hoodie.payload.delete.field": "s", "hoodie.payload.delete.marker": "gone"}
    table = indexed(spark, tmp_path, "compacted", marker)
    spark.sql("DROP TABLE IF EXISTS compacted")
    spark.sql(f"CREATE TABLE compacted USING hudi LOCATION '{table.uri}'")
    upsert(table, rows(spark, "3", "'gone'", "1"))
    upsert(table, rows(spark, "7", "'new'", "1"))
    frame = read(spark, table.uri).cache()
    assert frame.count() == 79
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)
    assert kept(table, "s = 'nobody'") == 1
    found = statuses(spark, table)["texts"]
    assert (found.state, "compact the table" in found.note) == (State.PARTIAL, True)
    for operation in ("schedule", "run"):
        call_procedure(spark, compaction(table, operation), table)
    assert statuses(spark, table)["texts"].state is State.ACTIVE
    assert (kept(table, "s = 'nobody'"), kept(table, "id = 12345")) == (0, 0)
    assert_no_row_lost(Pruner(_ALONE), table.uri, frame, _PREDICATES)
