"""Data that grows with the table stays in Spark's tasks, which hold a part of it in memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, create, upsert
from pyhudi_expr.manage.indexing.build_options import BuildResult
from pyhudi_expr.spark.entries import entries, slice_entries
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.jobs import batch_runner
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.slices import slice_rows
from pyhudi_expr.tables.slices.slice_files import slice_of, slice_table

_ROWS = 100_000
_RESULTS = 1 << 20
"""Limit in bytes for the results of a stage's tasks: less than the entries, and more than the
metrics of Spark's tasks."""
_LIMIT = "spark.driver.maxResultSize"
_SECONDARY = IndexDefinition("secondary_index_i", "secondary_index", "", ("shop",), {}, "V2")
_RECORDS = IndexDefinition("record_index", "record_index", "", (), {}, "V1")


@contextmanager
def small_task_results(spark: SparkSession) -> Iterator[None]:
    """Limits the size of tasks' results, so that larger ones fail the job."""
    settings = spark.sparkContext._jsc.sc().conf()
    settings.set(_LIMIT, str(_RESULTS))
    try:
        yield
    finally:
        settings.remove(_LIMIT)


@pytest.mark.spark
@pytest.mark.long
def test_entries_never_reach_the_driver(
    spark: SparkSession, table_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.range(0, _ROWS, 1, 4).selectExpr(
        "concat('key-of-row-', id) AS id", "concat('shop-', id) AS shop", "id AS o"
    )
    spec = TableSpec("large", ordering="o", stats_columns=None)
    table = create(frame, spec, table_root)
    opened = HudiTable.open(str(table.path))
    every = entries(spark, opened, opened.listing(), _SECONDARY, 2)
    monkeypatch.setattr(batch_runner, "LOCAL_BYTES", -1)  # as of a large commit
    with small_task_results(spark):
        with pytest.raises(Py4JError, match=_LIMIT):
            every.collect()
        for store in ("hudi", "extension"):
            of_store = f"OPTIONS (store = '{store}', shards = 2)"
            built = execute(spark, f"CREATE INDEX i_{store} ON '{table.path}' (shop) {of_store}")
            assert isinstance(built, BuildResult)
            assert built.records[f"secondary_index_i_{store}"] == _ROWS
    upsert(table, frame.selectExpr("id", "concat('new-', shop) AS shop", "o"))
    with small_task_results(spark):
        built = execute(spark, f"REFRESH INDEX i_extension ON '{table.path}'")
        assert isinstance(built, BuildResult)
        assert built.records["secondary_index_i_extension"] == 2 * _ROWS  # including tombstones


@pytest.mark.parametrize("definition", [_RECORDS, _SECONDARY], ids=lambda one: one.type)
def test_a_task_holds_a_part_of_a_file_in_memory(
    golden: Mapping[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    definition: IndexDefinition,
) -> None:
    monkeypatch.setattr(slice_rows, "_BATCH_ROWS", 1_000)
    shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    table = HudiTable.open(str(tmp_path / "table"))
    listing = table.listing()
    one = slice_of(slice_table(listing).to_pylist()[0])
    assert one.base is not None
    path = tmp_path / "table" / one.path(one.base)
    definition = IndexDefinition(**{**vars(definition), "fields": ("merchant_name",)})

    def most_memory(rows: int) -> int:
        keys = [f"key-of-row-{number}" for number in range(rows)]
        content = pa.table({"_hoodie_record_key": keys, "merchant_name": keys})
        pq.write_table(content, path, row_group_size=10_000)
        del content
        extract = slice_entries(table, listing.instant, definition, 2)
        assert extract is not None
        before, most, found = pa.total_allocated_bytes(), 0, 0
        for batch in extract([one]):
            found += len(batch)
            most = max(most, pa.total_allocated_bytes() - before)
        assert found == rows
        return most

    assert most_memory(160_000) < 1.5 * most_memory(40_000)
