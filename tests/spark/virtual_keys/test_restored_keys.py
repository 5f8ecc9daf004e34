"""What `disable` gives to rows that were written without meta fields: keys and commit times."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi_expr as ph
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.audit.findings import Fault
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.manage.invariants import Extent, extent, stored_keys
from pyhudi_expr.manage.operations import OperationFailed, run
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import DisableVirtualKeys, RewriteWithoutKeys, enable
from pyhudi_expr.spark.virtual_keys.rewriting import (
    COMMIT_BYTES,
    ClusteringRewriter,
    restore,
    rewrite,
)
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, write
from pyhudi_expr.tables import hudi_names, properties
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import PREFIX, is_virtual
from pyhudi_expr.tables.locks import TableLock
from tests.spark.virtual_keys.virtual_tables import (
    QUICK,
    Rows,
    frame,
    keys_that_hudi_reads,
    some,
    stored,
)

pytestmark = pytest.mark.spark

_STATISTICS = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.column.stats.column.list": "k,v",
}
OLD, CHANGED, NEW = some(0, 6, 1), some(2, 4, 2), some(6, 8, 2)


def hudi_write(spark: SparkSession, path: str, rows: Rows, operation: str, index: str) -> None:
    """By a writer that stores keys, and looks for rows by this index."""
    options = {
        **VirtualTable("t", ("k",), "v", ("p",)).writer_options(),
        **QUICK,
        hudi_names.POPULATE_META_FIELDS: "true",
        hudi_names.INDEX_TYPE: index,
        "hoodie.datasource.write.operation": operation,
    }
    frame(spark, rows).write.format("hudi").options(**options).mode("append").save(path)


def changed_after(spark: SparkSession, path: str, time: str) -> set[str]:
    """The keys of an incremental query from a time of completion, exclusive."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": time,
    }
    found = spark.read.format("hudi").options(**options).load(path)
    return {row.k for row in found.select("k").collect()}


def completed(path: str) -> str:
    """The time at which the newest write was completed."""
    last = HudiTable.open(path).timeline.last_write
    assert last is not None
    return last.completed or last.requested


def findings(path: str) -> list[Fault]:
    return [one.fault for one in audit(HudiTable.open(path), AuditOptions()).findings]


def mixed(spark: SparkSession, path: str) -> str:
    """A table whose files have rows with keys and without; when the older ones were written."""
    hudi_write(spark, path, OLD, "bulk_insert", "BLOOM")
    before = completed(path)
    table = HudiTable.open(path)
    enable(table, VirtualKeySettings(), TableLock(table.storage))
    write(frame(spark, {**CHANGED, **NEW}), path, "upsert", QUICK)
    table = HudiTable.open(path)
    assert extent(stored_keys(table, table.listing())) is Extent.SOME
    return before


def test_incremental_queries_see_what_was_written_without_commit_times(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    before = mixed(spark, path)
    between = completed(path)
    restore(spark, path)
    assert stored(spark, path) == {**OLD, **CHANGED, **NEW}
    assert changed_after(spark, path, before) == {*CHANGED, *NEW}
    assert changed_after(spark, path, between) == set()
    hudi_write(spark, path, some(1, 2, 9), "upsert", "BLOOM")
    assert stored(spark, path) == {**OLD, **CHANGED, **NEW, **some(1, 2, 9)}
    assert changed_after(spark, path, between) == {*some(1, 2, 9)}


@pytest.mark.smoke
def test_a_table_that_lacks_keys_which_it_says_it_has_is_found_and_mended(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As an interrupted or foreign change of its properties leaves it."""
    path = str(tmp_path / "t")
    mixed(spark, path)
    assert Fault.STORED_KEY_MISSING not in findings(path)
    table = HudiTable.open(path)
    own = dict.fromkeys(key for key in table.properties.raw if key.startswith(PREFIX))
    changes = {**own, hudi_names.POPULATE_META_FIELDS: "true"}
    properties.update(table.storage, changes)
    assert Fault.STORED_KEY_MISSING in findings(path)
    restore(spark, path)
    assert Fault.STORED_KEY_MISSING not in findings(path)
    assert keys_that_hudi_reads(spark, path) == {*OLD, *NEW}
    hudi_write(spark, path, some(1, 2, 9), "upsert", "SIMPLE")
    assert stored(spark, path) == {**OLD, **CHANGED, **NEW, **some(1, 2, 9)}


@pytest.fixture
def with_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers keep `column_stats` and `partition_stats`."""
    for name, value in _STATISTICS.items():
        monkeypatch.setitem(QUICK, name, value)


@pytest.mark.usefixtures("with_statistics")
def test_statistics_know_the_keys_again(spark: SparkSession, tmp_path: Path) -> None:
    """Hudi's writers left keys out of them, and partitions had the bounds of older keys."""
    path = str(tmp_path / "t")
    mixed(spark, path)
    assert findings(path) == []
    restore(spark, path)
    assert findings(path) == []
    for key in (*OLD, *NEW):
        assert ph.table(path).scan(f"_hoodie_record_key = '{key}'").to_arrow().num_rows == 1
    hudi_write(spark, path, some(1, 2, 9), "upsert", "BLOOM")
    assert findings(path) == []


@pytest.mark.usefixtures("with_statistics")
def test_statistics_know_that_rewritten_files_have_no_keys(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hudi's clustering leaves the bounds of partitions as they were with keys."""
    monkeypatch.delitem(QUICK, "hoodie.metadata.index.column.stats.column.list")  # also of keys
    path = str(tmp_path / "t")
    hudi_write(spark, path, OLD, "bulk_insert", "BLOOM")
    table = HudiTable.open(path)
    enable(table, VirtualKeySettings(), TableLock(table.storage))
    rewriter = ClusteringRewriter.without_keys(spark, path, COMMIT_BYTES, lambda *_: None)
    run(RewriteWithoutKeys(table.storage, None, rewriter, tuple))
    assert Fault.NULLS_DENIED in findings(path)
    rewrite(spark, path, None, COMMIT_BYTES, lambda *_: None)
    assert Fault.NULLS_DENIED not in findings(path)


@pytest.mark.usefixtures("with_statistics")
def test_without_such_statistics_keys_stay_virtual(spark: SparkSession, tmp_path: Path) -> None:
    """The next run builds them, although it finds no slice to rewrite."""
    path = str(tmp_path / "t")
    mixed(spark, path)
    storage = HudiTable.open(path).storage
    rewriter = ClusteringRewriter.with_keys(spark, path, COMMIT_BYTES, lambda *_: None)
    with pytest.raises(OperationFailed, match=r"no room left.*rows and properties are as before"):
        run(DisableVirtualKeys(storage, TableLock(storage), rewriter, _failing))
    assert is_virtual(HudiTable.open(path).properties)
    assert findings(path) == []
    report = restore(spark, path)
    assert report.rewritten.file_groups == 0
    assert findings(path) == []


def _failing() -> tuple[str, ...]:
    raise HudiError("no room left")
