"""Rows of a slice merged by virtual keys: brute force by Hudi's rules."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.tables.hudi_names import IS_DELETED, OPERATION
from pyhudi_expr.tables.keys.generators import HudiKeys
from pyhudi_expr.tables.slices.key_merging import KeyMerger
from pyhudi_expr.tables.slices.log_rows import LogDeletes, LogRows, Written

Row = tuple[int, int | None, str]
"""Key, ordering value, and operation or deletion mark."""

REMOVED = "removed"
DELETE_OPERATIONS = ("D", "-U", REMOVED)

KEYS = HudiKeys(("k",), are_named=False)
operation = st.sampled_from(["", "I", "U", *DELETE_OPERATIONS])
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3) | st.none(), operation))
deletes = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3) | st.none()))


def columns(written: list[Row], ordered: bool) -> list[pa.Array]:
    ordering = [pa.array([row[1] for row in written], pa.int64())] if ordered else []
    operations = pa.array([row[2] or None for row in written], pa.string())
    flags = pa.array([row[2] == REMOVED for row in written], pa.bool_())
    return [pa.array([row[0] for row in written], pa.int64()), *ordering, operations, flags]


def expected(base: list[Row], logs: list[Any], ordered: bool) -> list[Row]:
    """Log by log and row by row, then with the base file, whose repeated keys are not changed."""
    newest: dict[int, Row] = {}
    for row in (row for log in logs for row in log):
        as_row = row if len(row) == 3 else (row[0], row[1] or None, REMOVED)
        if wins(as_row, newest.get(row[0]), ordered):
            newest[row[0]] = as_row
    first: dict[int, Row] = {}
    repeated = []
    for row in base:
        if row[0] not in first:
            first[row[0]] = row
        elif row[2] not in DELETE_OPERATIONS:
            repeated.append(row)
    for key, row in newest.items():
        if wins(row, first.get(key), ordered):
            first[key] = row
    remaining = [row for row in first.values() if row[2] not in DELETE_OPERATIONS]
    return sorted(remaining + repeated, key=str)


def wins(row: Row, before: Row | None, ordered: bool) -> bool:
    if not ordered or before is None or row[1] is None or before[1] is None:
        return True
    return row[1] >= before[1]


def test_a_delete_is_forgotten_if_a_row_follows_it_in_the_logs() -> None:
    """As Spark and hudi-rs have it: the row that follows is older than that of the base file."""
    base: list[Row] = [(11, 51, "I")]
    logs: list[Any] = [[(11, 0)], [(11, 28, "I")]]
    assert merged(base, logs, True) == base
    assert merged(base, logs[:1], True) == []


def merged(base: list[Row], logs: list[Any], ordered: bool) -> list[Row]:
    merger = KeyMerger(("k",), (pa.int64(),), KEYS, ("o",) if ordered else ())
    assert merger.needed[-2:] == (OPERATION, IS_DELETED)
    parts: list[tuple[Written, list[pa.Array]]] = []
    every = list(base)
    for log in logs:
        if log and len(log[0]) == 2:
            keys, ordering = zip(*log, strict=True)
            parts.append((LogDeletes(tuple(map(str, keys)), ordering), []))
            continue
        parts.append((LogRows(pa.record_batch([], []), ""), columns(log, ordered)))
        every += log
    kept = [every[number] for number in merger.remaining_rows(columns(base, ordered), parts)]
    return sorted(kept, key=str)


@pytest.mark.parametrize("ordered", [False, True])
@given(base=rows, logs=st.lists(rows | deletes, max_size=4))
def test_merging_equals_row_by_row_merging(ordered: bool, base: list[Row], logs: list[Any]) -> None:
    assert merged(base, logs, ordered) == expected(base, logs, ordered)
