"""A build includes what was committed meanwhile: on tables that Hudi wrote, later commits appear
when the base files are written.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pyhudi_expr.index.catalog.status import State, index_status, index_statuses
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.changes import async_indexing, partitions

pytestmark = pytest.mark.spark

_COW, _V8, _V6 = (
    "cow_v9_txns_simple_meta",
    "mor_v8_metadata_pending_compaction",
    "mor_v6_metadata_pending_compaction",
)
_WRITES = ("commit", "deltacommit", "replacecommit")


def later(table: Path, kept: int) -> list[Path]:
    """The completed writes of the table except the first, and their files in its metadata table."""
    opened = HudiTable.open(str(table))
    first = opened.timeline.writes[kept - 1].requested
    found = []
    for base in (table, table / ".hoodie/metadata"):
        timeline = base / HudiTable.open(str(base)).properties.timeline_dir
        files = [file for file in timeline.iterdir() if file.suffix.removeprefix(".") in _WRITES]
        found += [
            file for file in files if not file.name.startswith("0000") and file.name[:17] > first
        ]
    return found


@pytest.mark.parametrize(
    ("name", "using", "kept"),
    [
        (_COW, "secondary_index(merchant_name)", 2),
        (_COW, "column_stats(amount, merchant_name)", 2),
        (_COW, "column_stats(merchant_name) OPTIONS (expr = 'upper')", 2),
        (_COW, "bloom_filters", 2),
        (_V8, "secondary_index(s)", 1),
        (_V8, "column_stats(s)", 1),
        (_V6, "column_stats(s)", 1),
    ],
)
def test_a_build_equals_one_after_the_later_commits(
    spark: SparkSession,
    golden: Mapping[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    using: str,
    kept: int,
) -> None:
    table = tmp_path / "table"
    shutil.copytree(golden[name], table)
    opened = HudiTable.open(str(table))
    lock = TableLock(opened.storage)
    partitions.drop(opened, sorted(opened.properties.metadata_partitions - {"files"}), lock)
    hidden = {file: tmp_path / f"{n}" for n, file in enumerate(later(table, kept))}
    for file, place in hidden.items():
        file.rename(place)
    publish = async_indexing.publish

    def publish_after_commits(*given: Any, **named: Any) -> HudiTable:
        for file, place in hidden.items():
            place.rename(file)
        return publish(*given, **named)

    monkeypatch.setattr(async_indexing, "publish", publish_after_commits)
    monkeypatch.setattr(async_indexing, "_writing", lambda _: frozenset())
    execute(spark, f"CREATE INDEX i ON '{table}' USING {using}")

    opened = HudiTable.open(str(table))
    assert {status.state for status in index_statuses(opened)} == {State.ACTIVE}
    for status in index_statuses(opened):
        for one in verify(spark, opened, status):
            assert one.checked
            assert one.is_right, one
    status_of_i = index_status(opened, "i")
    assert status_of_i is not None
    assert status_of_i.covers == opened.instant
