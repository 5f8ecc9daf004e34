"""Rows of a slice merged by virtual keys: brute force by Hudi's rules."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.rows.key_merging import KeyMerger
from pyhudi_expr.rows.log_rows import LogDeletes, LogRows, Written
from pyhudi_expr.tables.hudi_names import IS_DELETED, OPERATION
from pyhudi_expr.tables.keys.generators import HudiKeys

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
    """Log by log and row by row. A base row with a repeated key is not changed."""
    first: dict[int, Row | None] = {}
    repeated = []
    for row in base:
        if row[0] not in first:
            first[row[0]] = row
        elif row[2] not in DELETE_OPERATIONS:
            repeated.append(row)
    for log in logs:
        for row in log:
            key, order = row[0], row[1]
            if len(row) == 2:
                row, order = (key, order, REMOVED), order or None
            old = first.get(key)
            before = old[1] if old is not None else None
            wins = not ordered or order is None or before is None or order >= before
            if wins:
                first[key] = (row[0], order, row[2])
    remaining = [row for row in first.values() if row and row[2] not in DELETE_OPERATIONS]
    return sorted(remaining + repeated, key=str)


@pytest.mark.parametrize("ordered", [False, True])
@given(base=rows, logs=st.lists(rows | deletes, max_size=4))
def test_merging_equals_row_by_row_merging(ordered: bool, base: list[Row], logs: list[Any]) -> None:
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
    assert sorted(kept, key=str) == expected(base, logs, ordered)
