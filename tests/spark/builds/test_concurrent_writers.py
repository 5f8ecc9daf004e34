"""Hudi's writers run while an index is built: their commits are in it.

Depending on their settings, they log to the new index, or do not. If they build it themselves, our
build gives up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableSpec, create, delete, upsert
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.status import State
from pyhudi_expr.manage.operations import OperationFailed
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.virtual_keys.rewriting import statistics
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable
from pyhudi_expr.tables.mdt.changes import async_indexing
from tests.spark.builds.test_hudi_reads_indexes import (
    LAYOUTS,
    STATEMENTS,
    Layout,
    assert_same_rows,
    rows,
    statuses_of,
    with_options,
)

pytestmark = [pytest.mark.spark, pytest.mark.long]

_ROWS, _FILES = 800, 4
_PREDICATES = ("id = '123'", "city IN ('c3', 'new')", "city = 'landed'", "ts > 100000", "p = 'p1'")
_RECORDS = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}
_ENABLED = {
    "keys": _RECORDS,
    "city": _RECORDS,
    "blooms": {"hoodie.metadata.index.bloom.filter.enable": "true"},
}
_LEFT_TO_OTHERS = {"hoodie.metadata.index.async": "true"}
"""With this setting a writer leaves enabled indexes to another process to build. (Hudi 1.2 does not
support it for statistics of a partitioned table: commits fail until they exist.)"""
_STATISTICS = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
}


@pytest.mark.parametrize(
    ("layout", "configured"), [*((layout, True) for layout in LAYOUTS), (LAYOUTS[0], False)]
)
def test_concurrent_commits_are_in_the_index(
    spark: SparkSession,
    table_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    layout: Layout,
    configured: bool,
) -> None:
    table = written(spark, layout, table_root / f"meanwhile-{configured}")
    path = str(table.path)
    for number, name in enumerate(layout.indexes):
        writer_settings = {**_ENABLED.get(name, {}), **_LEFT_TO_OTHERS} if configured else {}
        writer = with_options(table, {**writer_options(path), **writer_settings})
        with monkeypatch.context() as patch:
            run_before(patch, async_indexing, "publish", partial(write, spark, writer, 10 * number))
            execute(spark, STATEMENTS[name].format(path=path))
        assert_index_is_right(spark, table, name)
    upsert(with_options(table, writer_options(path)), rows(spark, 0, 40, 5, 1, city="new"))
    assert_same_rows(spark, table, _PREDICATES)


def test_a_build_gives_up_if_a_writer_builds_the_same_index(
    spark: SparkSession, table_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written(spark, LAYOUTS[0], table_root / "gives-way")
    writer = with_options(table, _STATISTICS)
    path = str(table.path)
    with monkeypatch.context() as patch:
        run_before(patch, async_indexing, "publish", partial(write, spark, writer, 0))
        with pytest.raises(OperationFailed, match="has built column_stats, partition_stats itself"):
            execute(spark, STATEMENTS["ranges"].format(path=path))
    assert_same_rows(spark, table, _PREDICATES)
    (status,) = statuses_of(path)
    assert (status.kind, status.state) == ("column_stats", State.ACTIVE)
    instants = OpenedTable.open(path).timeline.instants
    assert not [i for i in instants if i.action == "indexing" and not i.is_completed]
    write(spark, writer, 10)
    assert_same_rows(spark, table, _PREDICATES)


def write(spark: SparkSession, writer: HudiTable, first: int) -> None:
    """Two commits: rows from the first id on are changed, or deleted."""
    changed = rows(spark, first, first + 4, 1, 1, city="landed").selectExpr(
        "id", "ts + 100000 AS ts", "p", "city", "d", "day"
    )
    upsert(writer, changed)
    delete(writer, rows(spark, first + 4, first + 6, 1, 1))


def written(spark: SparkSession, layout: Layout, root: Path) -> HudiTable:
    spec = TableSpec(
        f"meanwhile-{layout.name}",
        layout.type,
        layout.version,
        ordering="ts",
        partitions=("p",),
        stats_columns=None,
    )
    return create(rows(spark, 0, _ROWS, 1, _FILES), spec, root)


def assert_index_is_right(spark: SparkSession, table: HudiTable, name: str) -> None:
    (status,) = [one for one in statuses_of(str(table.path)) if one.name == name]
    assert status.state is State.ACTIVE
    assert_same_rows(spark, table, _PREDICATES)
    for one in verify(spark, OpenedTable.open(str(table.path)), status):
        assert one.is_right, one


def run_before(
    patch: pytest.MonkeyPatch, module: object, name: str, something: Callable[[], None]
) -> None:
    """Runs something right before the function is called."""
    function = getattr(module, name)

    def run_both(*given: Any, **named: Any) -> Any:
        something()
        return function(*given, **named)

    patch.setattr(module, name, run_both)


def test_an_index_stays_that_cannot_be_built_anew_yet(spark: SparkSession, tmp_path: Path) -> None:
    """It was dropped before the build waited for another writer, in vain."""
    table = written(spark, LAYOUTS[0], tmp_path)
    path = str(table.path)
    execute(spark, STATEMENTS["ranges"].format(path=path))
    before = statuses_of(path)
    opened = OpenedTable.open(path)
    pending = f"{opened.properties.timeline_dir}/29990101000000000.commit.requested"
    opened.storage.write(pending, b"")
    with pytest.raises(HudiError, match=r"29990101000000000 did not complete within"):
        statistics(spark, path, 1)
    opened.storage.delete(pending)
    assert statuses_of(path) == before
