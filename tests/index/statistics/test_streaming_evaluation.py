"""Bounds beyond the memory limit are not held in memory, and the results are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench.tables.synthetic import ROWS_PER_FILE, write_table
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.column_stats import BoundsLimits, WholeColumnStats
from pyhudi_expr.index.statistics.joined_column_stats import StreamingEvidence
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.hfile import reader as hfile
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from tests.index.statistics_entries import column

FILES, PARTITIONS = 4_000, 8
ROWS = FILES * ROWS_PER_FILE
ONE_COLUMN = ColumnBounds.least_bytes(FILES)
ID, SPREAD, AMOUNT = (
    column(pa.int64(), "id"),
    column(pa.int64(), "spread"),
    column(pa.float64(), "amount"),
)
ALL = np.ones(PARTITIONS, np.bool_)

PREDICATES = [
    f"spread < {ROWS // 4}",
    f"NOT (spread < {ROWS // 4})",
    f"spread < {ROWS // 2} AND (amount > {ROWS / 8} OR code >= 'item-{ROWS // 20:010d}')",
    f"NOT (spread >= {ROWS // 2} OR amount <= {ROWS / 8})",
    f"spread IN (5, {ROWS // 3}, {ROWS - 1})",
    "code LIKE 'item-00001%'",
    "amount IS NULL OR code IS NOT NULL AND spread = 77",
    "day = '2020-01-03' AND spread > 1000000",
    "spread < 1 AND spread > 2",
    "id = 12345 OR missing = 3",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("synthetic") / "table"
    write_table(target, files=FILES, partitions=PARTITIONS)
    return str(target)


def pruned(table: str, sql: str, options: PruneOptions) -> PruneResult:
    return Pruner(options).prune(table, PruneRequest(parse_predicate(sql)))


def is_streamed(result: PruneResult) -> bool:
    return any(isinstance(source.evidence, StreamingEvidence) for source in result.evidence)


@pytest.mark.parametrize("sql", PREDICATES)
@pytest.mark.parametrize("with_snapshot", [False, True])
def test_streamed_results_equal_those_of_bounds_in_memory(
    table: str, sql: str, with_snapshot: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hfile, "_CHUNK_BYTES", 1 << 16)  # many batches
    expected = pruned(table, sql, PruneOptions())
    directory = tmp_path if with_snapshot else None
    found = pruned(table, sql, PruneOptions(cache_bytes=ONE_COLUMN, snapshot_dir=directory))
    assert not is_streamed(expected)
    assert is_streamed(found)
    assert np.array_equal(found.keep, expected.keep)
    assert found.notes == expected.notes


def test_a_leaf_over_two_columns_is_not_evaluated(table: str) -> None:
    sql = "id > spread"
    assert 0 < pruned(table, sql, PruneOptions()).files_kept < FILES
    assert pruned(table, sql, PruneOptions(cache_bytes=ONE_COLUMN)).files_kept == FILES


def test_no_more_leaves_are_evaluated_than_fit_into_memory(table: str) -> None:
    sql = "spread < 5000 AND spread >= 1000 AND amount < 5000"
    exact = pruned(table, sql, PruneOptions())
    one_leaf = pruned(table, sql, PruneOptions(cache_bytes=2 * FILES))
    assert is_streamed(one_leaf)
    assert exact.files_kept < one_leaf.files_kept < FILES
    assert one_leaf.keep[exact.keep].all()


def statistics(table: str, limit: int) -> WholeColumnStats:
    mdt = MetadataTable.open(HudiTable.open(table))
    assert mdt is not None
    listing = current_listing(mdt.table, mdt, TableView.SNAPSHOT)
    return WholeColumnStats(mdt, listing, mdt.table.storage, BoundsLimits(limit))


def held(stats: WholeColumnStats, columns: Sequence[object]) -> list[object]:
    loaded = stats.load(columns, ALL, 0)
    assert stats.nbytes <= stats.limits.nbytes
    assert {*loaded.columns, *loaded.too_large} == {*columns}
    return list(loaded.columns)


def test_unused_columns_are_evicted(table: str) -> None:
    # Filling a column takes three times its size.
    stats = statistics(table, 5 * ONE_COLUMN)
    assert held(stats, [ID]) == [ID]
    assert held(stats, [SPREAD]) == [SPREAD]
    assert stats.nbytes == 2 * ONE_COLUMN
    assert held(stats, [ID]) == [ID]
    assert held(stats, [AMOUNT]) == [AMOUNT]
    assert held(stats, [ID]) == [ID]
    assert stats.nbytes == 2 * ONE_COLUMN


def test_columns_of_one_predicate_do_not_evict_each_other(table: str) -> None:
    stats = statistics(table, 4 * ONE_COLUMN)
    assert held(stats, [ID, SPREAD, AMOUNT]) == [ID]
    assert held(stats, [SPREAD]) == [SPREAD]


def test_text_bounds_are_evicted_as_soon_as_they_do_not_fit(table: str) -> None:
    code = column(pa.string(), "code")
    stats = statistics(table, 4 * ONE_COLUMN)
    assert held(stats, [code]) == []
    assert stats.nbytes == 0


def test_cached_columns_are_not_read_again(table: str) -> None:
    mdt = MetadataTable.open(HudiTable.open(table))
    assert mdt is not None
    listing = current_listing(mdt.table, mdt, TableView.SNAPSHOT)
    stats = WholeColumnStats(mdt, listing, mdt.table.storage, BoundsLimits(4 * ONE_COLUMN))
    stats.load([ID, SPREAD], ALL, 0)
    before = mdt.bytes_read
    assert stats.load([ID, SPREAD], ALL, 0).too_large == (SPREAD,)
    assert mdt.bytes_read == before
    assert COLUMN_STATS in mdt.partitions
