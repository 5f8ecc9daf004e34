"""Bounds are unknown until they are set, and copies that were handed out do not change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds, no_rows
from tests.index.statistics_entries import UNKNOWN, column, plain

INTEGERS = column(pa.int32()).domain
TEXTS = column(pa.string()).domain
FLAGS = np.array([True, False])


def test_everything_is_unknown_at_first() -> None:
    assert plain(ColumnBounds(2, INTEGERS).bounds()) == [UNKNOWN, UNKNOWN]
    assert plain(ColumnBounds(2, TEXTS).bounds()) == [UNKNOWN, UNKNOWN]


def test_bounds_are_set_by_position() -> None:
    store = ColumnBounds(3, INTEGERS)
    new = Bounds(np.array([1, 5]), np.array([2, 6]), FLAGS, ~FLAGS)
    store.put(np.array([2, 0]), new)
    assert plain(store.bounds()) == [(5, 6, False, True), UNKNOWN, (1, 2, True, False)]


def test_text_bounds_are_set_by_position() -> None:
    store = ColumnBounds(3, TEXTS)
    low, high = pa.array([b"a", None], pa.large_binary()), pa.array([b"b", b"c"], pa.large_binary())
    store.put(np.array([2, 0]), Bounds(low, high, FLAGS, ~FLAGS))
    assert plain(store.bounds()) == [(None, b"c", False, True), UNKNOWN, (b"a", b"b", True, False)]


def test_handed_out_bounds_do_not_change() -> None:
    for domain, ends in ((INTEGERS, np.array([1])), (TEXTS, pa.array([b"a"], pa.large_binary()))):
        store = ColumnBounds(1, domain)
        before = store.bounds()
        store.put(np.array([0]), Bounds(ends, ends, np.array([True]), np.array([False])))
        assert plain(before) == [UNKNOWN]
        assert plain(store.bounds()) != [UNKNOWN]
        assert store.nbytes > 0


def test_containers_without_rows_hold_neither_values_nor_nulls() -> None:
    for domain in (INTEGERS, TEXTS):
        assert plain(no_rows(1, domain)) == [(None, None, False, False)]
