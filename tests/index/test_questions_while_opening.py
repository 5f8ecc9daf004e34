"""Questions about a table that is being opened: what they get is not older than they are."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyhudi_expr.index.known_tables import TableState
from pyhudi_expr.index.opening import SnapshotOptions
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.snapshot_cache import SnapshotCache
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage

_PATIENCE = 20.0
_CHANGE = ".hoodie/timeline/20990101000000000.commit.requested"
_NEW_INSTANT = "20990101000000000"


class SlowOpenings:
    """Openings of tables that wait until the test lets them go on, and counted readings of states.

    Attributes:
        before: Set by the test: openings may begin to read.
        after: Set by the test: openings may end.
        read: How many states were read apart from openings.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.before, self.after = threading.Event(), threading.Event()
        self.started, self.ended = threading.Event(), threading.Event()
        self.read = 0
        self._open, self._read = TableSnapshot.open, TableState.read
        monkeypatch.setattr(TableSnapshot, "open", self._opened)
        monkeypatch.setattr(TableState, "read", self._counted)

    def _opened(
        self, table: HudiTable, options: SnapshotOptions, earlier: TableSnapshot | None = None
    ) -> TableSnapshot:
        self.started.set()
        assert self.before.wait(_PATIENCE)
        opened = self._open(HudiTable.at(table.storage), options, earlier)
        self.ended.set()
        assert self.after.wait(_PATIENCE)
        return opened

    def _counted(self, storage: Storage) -> TableState:
        found = self._read(storage)
        self.read += 1
        return found

    def wait_for_readings(self, number: int) -> None:
        """Wait until so many states were read."""
        end = time.monotonic() + _PATIENCE
        while self.read < number:
            assert time.monotonic() < end
            time.sleep(0.005)


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> SlowOpenings:
    return SlowOpenings(monkeypatch)


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> str:
    copy = tmp_path / "table"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], copy)
    return str(copy)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def current(snapshots: SnapshotCache, table: str, options: SnapshotOptions) -> TableSnapshot:
    return snapshots.current(table, options, time.monotonic())


def test_changes_are_looked_for_while_the_table_is_opened(
    openings: SlowOpenings, table: str, pool: ThreadPoolExecutor
) -> None:
    snapshots, options = SnapshotCache(1 << 30, None), SnapshotOptions()
    openings.before.set()
    first = pool.submit(current, snapshots, table, options)
    assert openings.ended.wait(_PATIENCE)
    others = [pool.submit(current, snapshots, table, options) for _ in range(3)]
    openings.wait_for_readings(1)
    openings.after.set()
    opened = first.result(_PATIENCE)
    assert all(other.result(_PATIENCE) is opened for other in others)
    assert openings.read <= 3  # none for the second time
    assert current(snapshots, table, options) is opened


def test_a_change_after_the_opening_began_is_seen(
    openings: SlowOpenings, table: str, pool: ThreadPoolExecutor
) -> None:
    snapshots, options = SnapshotCache(1 << 30, None), SnapshotOptions()
    openings.before.set()
    first = pool.submit(current, snapshots, table, options)
    assert openings.ended.wait(_PATIENCE)
    (Path(table) / _CHANGE).touch()
    second = pool.submit(current, snapshots, table, options)
    openings.wait_for_readings(1)
    openings.after.set()
    assert _NEW_INSTANT not in first.result(_PATIENCE).table.timeline.pending
    assert _NEW_INSTANT in second.result(_PATIENCE).table.timeline.pending


def test_an_opening_that_saw_a_later_change_serves(
    openings: SlowOpenings, table: str, pool: ThreadPoolExecutor
) -> None:
    snapshots, options = SnapshotCache(1 << 30, None), SnapshotOptions()
    first = pool.submit(current, snapshots, table, options)
    assert openings.started.wait(_PATIENCE)
    second = pool.submit(current, snapshots, table, options)
    openings.wait_for_readings(1)
    (Path(table) / _CHANGE).touch()
    openings.before.set()
    openings.after.set()
    opened = first.result(_PATIENCE)
    assert second.result(_PATIENCE) is opened
    assert _NEW_INSTANT in opened.table.timeline.pending


def test_who_needs_no_newest_state_reads_none(
    openings: SlowOpenings, table: str, pool: ThreadPoolExecutor
) -> None:
    snapshots, options = SnapshotCache(1 << 30, None), SnapshotOptions()
    openings.before.set()
    first = pool.submit(snapshots.recent, table, options)
    assert openings.ended.wait(_PATIENCE)
    second = pool.submit(snapshots.recent, table, options)
    openings.after.set()
    assert first.result(_PATIENCE) is second.result(_PATIENCE)
    assert snapshots.recent(table, options) is first.result()
    assert openings.read == 0
