"""Questions that come while a table is looked at share the next look, which began after them."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.index.known_tables import TableState
from pyhudi_expr.index.opening import SnapshotOptions
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.snapshot_cache import SnapshotCache
from pyhudi_expr.tables.storage import Storage

_PATIENCE = 20.0
_NEW_INSTANT = "20990101000000000"
_CHANGE = f".hoodie/timeline/{_NEW_INSTANT}.commit.requested"
_OPTIONS = SnapshotOptions()


class SlowLooks:
    """Looks at tables below a directory, which end when the test lets them.

    Attributes:
        number: How many have started.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        self.slow: Path | None = None
        self.failing = False
        self._begun, self._go = threading.Semaphore(0), threading.Semaphore(0)
        self._read = TableState.read
        monkeypatch.setattr(TableState, "read", self._look)

    def _look(self, storage: Storage) -> TableState:
        found = self._read(storage)
        if self.slow is None or storage.uri != str(self.slow):
            return found
        self.number += 1
        self._begun.release()
        assert self._go.acquire(timeout=_PATIENCE)
        if self.failing:
            raise UnsupportedTable(f"{storage.uri}: not to be read")
        return found

    def wait_for_one(self) -> None:
        """Wait until a look has read the table."""
        assert self._begun.acquire(timeout=_PATIENCE)

    def end(self, number: int) -> None:
        """Let so many looks end."""
        self._go.release(number)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> SlowLooks:
    return SlowLooks(monkeypatch)


@pytest.fixture
def tables(golden: Mapping[str, Path], tmp_path: Path) -> list[Path]:
    found = [tmp_path / name for name in "ab"]
    for one in found:
        shutil.copytree(golden["cow_v9_txns_simple_meta"], one)
    return found


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(12) as threads:
        yield threads


def ask(cache: SnapshotCache, table: Path) -> TableSnapshot:
    return cache.current(str(table), _OPTIONS, time.monotonic())


def asking(
    pool: ThreadPoolExecutor, cache: SnapshotCache, table: Path, number: int
) -> list[Future[TableSnapshot]]:
    """Questions that have come before this returns."""
    come = threading.Barrier(number + 1)

    def one() -> TableSnapshot:
        asked = time.monotonic()
        come.wait(_PATIENCE)
        return cache.current(str(table), _OPTIONS, asked)

    found = [pool.submit(one) for _ in range(number)]
    come.wait(_PATIENCE)
    return found


def test_a_question_gets_no_look_that_was_under_way_when_it_came(
    looks: SlowLooks, tables: list[Path], pool: ThreadPoolExecutor
) -> None:
    cache = SnapshotCache(1 << 30, None)
    before = ask(cache, tables[0])
    looks.slow = tables[0]
    (first,) = asking(pool, cache, tables[0], 1)
    looks.wait_for_one()
    (tables[0] / _CHANGE).touch()
    (second,) = asking(pool, cache, tables[0], 1)
    looks.end(2)
    assert first.result(_PATIENCE) is before
    assert _NEW_INSTANT in second.result(_PATIENCE).table.timeline.pending
    assert looks.number == 2


def test_questions_that_wait_share_the_next_look(
    looks: SlowLooks, tables: list[Path], pool: ThreadPoolExecutor
) -> None:
    cache = SnapshotCache(1 << 30, None)
    before = ask(cache, tables[0])
    looks.slow = tables[0]
    (first,) = asking(pool, cache, tables[0], 1)
    looks.wait_for_one()
    others = asking(pool, cache, tables[0], 8)
    looks.end(2)
    assert {one.result(_PATIENCE) for one in (first, *others)} == {before}
    assert looks.number == 2


def test_questions_about_other_tables_do_not_wait(
    looks: SlowLooks, tables: list[Path], pool: ThreadPoolExecutor
) -> None:
    cache = SnapshotCache(1 << 30, None)
    for table in tables:
        ask(cache, table)
    looks.slow = tables[0]
    (first,) = asking(pool, cache, tables[0], 1)
    looks.wait_for_one()
    (other,) = asking(pool, cache, tables[1], 1)
    assert other.result(_PATIENCE).table.base_path == str(tables[1])
    assert cache.held()[0] == 2
    looks.end(1)
    assert first.result(_PATIENCE).table.base_path == str(tables[0])


def test_a_failure_reaches_each_question_that_waits_and_no_later_one(
    looks: SlowLooks, tables: list[Path], pool: ThreadPoolExecutor
) -> None:
    cache = SnapshotCache(1 << 30, None)
    before = ask(cache, tables[0])
    looks.slow, looks.failing = tables[0], True
    (first,) = asking(pool, cache, tables[0], 1)
    looks.wait_for_one()
    others = asking(pool, cache, tables[0], 4)
    looks.end(2)
    for one in (first, *others):
        with pytest.raises(HudiError, match="not to be read"):
            one.result(_PATIENCE)
    assert looks.number == 2
    looks.slow = None
    assert ask(cache, tables[0]) is before


def test_a_changed_table_is_looked_at_once_before_it_is_opened_again(
    looks: SlowLooks, tables: list[Path]
) -> None:
    cache = SnapshotCache(1 << 30, None)
    before = ask(cache, tables[0])
    (tables[0] / _CHANGE).touch()
    looks.slow = tables[0]
    looks.end(9)
    assert ask(cache, tables[0]) is not before
    assert looks.number == 1
