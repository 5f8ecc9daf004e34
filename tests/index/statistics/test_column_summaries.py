"""Summaries of columns equal those of the rows; the tables are Hudi's, of tests/data/golden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyhudi_expr import scan
from pyhudi_expr.expr.domains import Kind
from pyhudi_expr.expr.nodes import Column, Comparison, Literal, Op
from pyhudi_expr.index.opening import SnapshotOptions
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.index.row_counts import UNKNOWN, Counts
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.column_summaries import ColumnSummary, column_summaries
from pyhudi_expr.service.answers.encoding import to_thrift
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView

TABLE = "cow_v9_txns_simple_meta"


@pytest.fixture(scope="module")
def described(golden: Mapping[str, Path]) -> dict[str, ColumnSummary]:
    snapshot = TableSnapshot.open(HudiTable.open(str(golden[TABLE])), SnapshotOptions())
    return {summary.column.name: summary for summary in snapshot.column_summaries()}


@pytest.fixture(scope="module")
def rows(golden: Mapping[str, Path]) -> pa.Table:
    return scan(str(golden[TABLE]), meta=True).to_table()


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as in summaries: dates as days, timestamps as integers, texts as bytes."""
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.binary()) if pa.types.is_string(values.type) else values


def test_every_value_is_counted_and_lies_between_the_bounds(
    described: Mapping[str, ColumnSummary], rows: pa.Table
) -> None:
    known = 0
    for name, summary in described.items():
        if name not in rows.schema.names or summary.nulls is None:
            continue
        values = plain(rows.column(name)).to_pylist()
        present = [value for value in values if value is not None]
        assert summary.nulls == len(values) - len(present), name
        assert (summary.least, summary.greatest) == (min(present), max(present)), name
        assert summary.distinct is None or summary.distinct >= len(set(present)), name
        known += 1
    assert known >= 13


def test_the_partitions_values_are_counted_exactly(
    described: Mapping[str, ColumnSummary], rows: pa.Table
) -> None:
    region = described["region"]
    assert region.distinct == len(pc.unique(rows.column("region"))) == 3
    # Two partitions of two files, and one of one.
    assert region.kept_by_equality == pytest.approx((4 + 4 + 1) / 25)


def test_a_key_has_as_many_values_as_rows(
    described: Mapping[str, ColumnSummary], rows: pa.Table
) -> None:
    assert described["txn_id"].distinct == rows.num_rows


def test_an_equality_keeps_the_files_that_its_value_may_be_in(
    described: Mapping[str, ColumnSummary], golden: Mapping[str, Path]
) -> None:
    pruner, path = Pruner(), str(golden[TABLE])
    for name in ("txn_ts", "amount", "currency"):
        kept = [
            share_kept(pruner, path, name, value)
            for value in pc.unique(scan(path).to_table().column(name)).to_pylist()
        ]
        assert described[name].kept_by_equality == pytest.approx(sum(kept) / len(kept), abs=0.3)
    # Another index locates the value.
    assert described["txn_id"].kept_by_equality is None
    assert described["txn_date"].kept_by_equality is None


def share_kept(pruner: Pruner, path: str, column: str, value: Any) -> float:
    predicate = Comparison(Op.EQ, Column((column,)), Literal(value, pa.scalar(value).type))
    result = pruner.prune(path, PruneRequest(predicate))
    return result.files_kept / result.files_total


@pytest.mark.parametrize("view", list(TableView))
def test_exact_bounds_answer_min_and_max(golden: Mapping[str, Path], view: TableView) -> None:
    found = set()
    for table, path in golden.items():
        rows = scan(str(path), view=view, meta=True).to_table()
        snapshot = TableSnapshot.open(HudiTable.open(str(path)), SnapshotOptions(view))
        for summary in snapshot.column_summaries():
            name = summary.column.name
            if summary.attained and name in rows.schema.names:
                assert not snapshot.listing.file_is_log.any()
                values = [v for v in plain(rows.column(name)).to_pylist() if v is not None]
                assert (summary.least, summary.greatest) == (min(values), max(values)), name
                found.add((table, summary.column.domain.kind))
    kinds = {kind for _, kind in found}
    assert kinds >= {Kind.INTEGER, Kind.DATE, Kind.DECIMAL, Kind.BOOLEAN, Kind.TEXT}
    assert not kinds & {Kind.FLOAT, Kind.BINARY}
    assert {table for table, _ in found} >= {TABLE, "cow_v9_timebasedkeygen_nonhivestyle"}


def test_a_partition_without_rows_does_not_affect_minimum_and_maximum(
    golden: Mapping[str, Path],
) -> None:
    snapshot = TableSnapshot.open(HudiTable.open(str(golden[TABLE])), SnapshotOptions())
    rows = snapshot.row_counts()
    assert rows is not None
    assert region(snapshot, rows) == replace(region(snapshot, None), attained=True)
    first = snapshot.listing.slice_partition == 0
    assert not region(snapshot, np.where(first, UNKNOWN, rows)).attained
    without = region(snapshot, np.where(first, 0, rows))
    assert (without.least, without.attained) == (b"eu", True)
    assert region(snapshot, np.zeros_like(rows)).least is None


def region(snapshot: TableSnapshot, rows: Counts | None) -> ColumnSummary:
    found = column_summaries(
        snapshot.column_stats, snapshot.values, snapshot.listing, rows, snapshot.schema, 20
    )
    return next(summary for summary in found if summary.column.name == "region")


def test_summaries_read_a_limited_number_of_entries(golden: Mapping[str, Path]) -> None:
    table = HudiTable.open(str(golden[TABLE]))
    snapshot = TableSnapshot.open(table, SnapshotOptions())
    found = column_summaries(
        snapshot.column_stats,
        snapshot.values,
        snapshot.listing,
        None,
        snapshot.schema,
        most_entries=20,
    )
    assert [summary.column.name for summary in found] == ["region"]


@pytest.mark.parametrize(
    ("column", "fields"),
    [
        ("txn_ts", {"type": "bigint", "integerValue": 1700000000003}),
        ("txn_date", {"type": "date", "epochDays": 19737}),
        (
            "amount",
            {"type": "decimal(15,2)", "unscaledValue": (5500).to_bytes(2, "big"), "scale": 2},
        ),
        ("is_international", {"type": "boolean", "booleanValue": False}),
        # Partition values are complete; texts in a file's statistics may be truncated.
        ("region", {"type": "string", "stringValue": "apac"}),
        ("txn_id", None),
    ],
)
def test_bounds_are_sent_as_typed_constants(
    described: Mapping[str, ColumnSummary], column: str, fields: dict[str, Any] | None
) -> None:
    sent = to_thrift(described[column])
    assert (sent.name, sent.nulls) == (column, 0)
    found = sent.least and {
        name: value for name, value in vars(sent.least).items() if value is not None
    }
    assert found == fields
