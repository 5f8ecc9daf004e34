"""Chunks of the last look-ups are held, within a limit."""

import numpy as np

from pyhudi_expr.tables.mdt.hfile.cells import Cells
from pyhudi_expr.tables.mdt.hfile.reader import Chunk, RecentCells


def chunks(value: bytes) -> tuple[Chunk, ...]:
    return ((np.zeros(1, np.int64), Cells.of([b"k"], [value])),)


SIZE = chunks(bytes(100))[0][1].num_bytes


def test_the_chunks_that_were_used_longest_ago_are_dropped() -> None:
    recent = RecentCells(2 * SIZE)
    recent.put("a", chunks(b"a" * 100))
    recent.put("b", chunks(b"b" * 100))
    recent.get("a")
    recent.put("c", chunks(b"c" * 100))
    assert [recent.get(name) is not None for name in "abc"] == [True, False, True]
    assert recent.num_bytes == 2 * SIZE


def test_chunks_that_are_put_again_count_once() -> None:
    recent = RecentCells(2 * SIZE)
    recent.put("a", chunks(bytes(100)))
    recent.put("a", chunks(bytes(100)))
    assert recent.num_bytes == SIZE


def test_what_is_larger_than_the_limit_is_not_held() -> None:
    recent = RecentCells(SIZE)
    recent.put("a", chunks(bytes(101)))
    assert (recent.get("a"), recent.num_bytes) == (None, 0)
