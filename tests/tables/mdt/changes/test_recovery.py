"""A build that is killed at any step loses nothing; the next one completes or undoes it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes import async_indexing
from pyhudi_expr.tables.mdt.changes import recovery as index_recovery
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict, NewPartition
from pyhudi_expr.tables.mdt.index_definitions import index_definitions
from pyhudi_expr.tables.process_owner import PROCESS, this_process
from tests.failure_fixtures import AS_NOBODY, Disk, readable_by_others
from tests.tables.directory_contents import contents, linked
from tests.tables.mdt.changes.index_builds import (
    NOTE,
    STATISTICS,
    TABLES,
    build,
    complete,
    drop,
    entries,
    lock,
    pending,
    recover,
    timeline_of,
    unlock,
)

_PAGE = 4096
_IMPORTS = """
import sys
from pyhudi_expr.tables.mdt.changes.async_indexing import announce
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock

table = HudiTable.open(sys.argv[1])
"""
_TRIES = """
try:
    announce(table, [NewPartition("column_stats", 1)], TableLock(table.storage))
except HudiError as error:
    print("HudiError:", error)
"""


def test_a_running_build_is_left_alone(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(path)
    monkeypatch.setattr(async_indexing, "this_process", lambda: {**this_process(), PROCESS: "1"})
    async_indexing.announce(HudiTable.open(path), [NewPartition(COLUMN_STATS, 1)], lock(path))
    monkeypatch.undo()
    with pytest.raises(IndexConflict, match="process 1 on"):
        index_recovery.recover(HudiTable.open(path), lock(path))


def test_partitions_without_an_action_are_rolled_back(path: str) -> None:
    """The state after another writer deleted the action of a build."""
    drop(path)
    dropped = contents(Path(path))
    announced = async_indexing.announce(HudiTable.open(path), [STATISTICS], lock(path))
    for file in (Path(path) / timeline_of(path)).glob(f"{announced.instant}.indexing.*"):
        file.unlink()
    assert HudiTable.open(path).properties.metadata_partitions_inflight == {COLUMN_STATS}
    done = index_recovery.recover(HudiTable.open(path), lock(path))
    assert done == ["rolled back column_stats, which no process builds any more"]
    assert contents(Path(path)) == dropped


def test_partitions_that_hudi_builds_are_left_alone(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(path)
    monkeypatch.setattr(async_indexing, "BUILDER_NAME", "hudi")
    async_indexing.announce(HudiTable.open(path), [STATISTICS], lock(path))
    monkeypatch.undo()
    killed_state = contents(Path(path))
    assert index_recovery.recover(HudiTable.open(path), lock(path)) == []
    assert contents(Path(path)) == killed_state


@pytest.mark.slow
def test_a_build_killed_at_any_step_loses_nothing(
    path: str, tmp_path: Path, kill_after_changes: Callable[[Callable[[], None], int], bool]
) -> None:
    before = entries(path)
    drop(path)
    shutil.move(path, tmp_path / "dropped")
    dropped, completed = contents(tmp_path / "dropped"), False
    finished: list[str] = []

    def finish(_table: HudiTable, note: str) -> None:
        finished.append(note)

    for changes in range(200):
        linked(tmp_path / "dropped", path)
        finished.clear()
        completed = kill_after_changes(lambda: build(path, before, STATISTICS, finish), changes)
        unlock(path)
        if COLUMN_STATS in complete(path):
            assert entries(path) == before
        recover(path, finish)
        assert not pending(path, "indexing")
        assert not HudiTable.open(path).properties.metadata_partitions_inflight
        if COLUMN_STATS in complete(path):
            assert set(finished) == {NOTE}
        else:
            assert contents(Path(path)) == dropped
            assert finished == []
            build(path, before, STATISTICS)
        assert entries(path) == before
        shutil.rmtree(path)
        if completed:
            break
    assert completed
    assert changes > 15  # it was killed in between, often


@pytest.mark.slow
@pytest.mark.parametrize("path", TABLES[:1], indirect=True)
def test_a_recovery_killed_at_any_step_loses_nothing(
    path: str, tmp_path: Path, kill_after_changes: Callable[[Callable[[], None], int], bool]
) -> None:
    before = entries(path)
    drop(path)
    dropped = contents(Path(path))
    kill_after_changes(lambda: build(path, before, STATISTICS), 22)
    unlock(path)
    assert pending(path, "indexing")
    shutil.move(path, tmp_path / "started")
    completed, changes = False, 0
    while not completed:
        linked(tmp_path / "started", path)
        completed = kill_after_changes(lambda: recover(path), changes)
        unlock(path)
        recover(path)
        assert contents(Path(path)) == dropped
        shutil.rmtree(path)
        changes += 1
    assert changes > 5


@pytest.mark.slow
@pytest.mark.parametrize("path", TABLES[:1], indirect=True)
def test_a_killed_drop_can_be_repeated(
    path: str, tmp_path: Path, kill_after_changes: Callable[[Callable[[], None], int], bool]
) -> None:
    before = entries(path)
    shutil.move(path, tmp_path / "complete")
    completed, changes = False, 0
    while not completed:
        linked(tmp_path / "complete", path)
        completed = kill_after_changes(lambda: drop(path), changes)
        unlock(path)
        if COLUMN_STATS in complete(path):
            assert entries(path) == before
        drop(path)
        assert COLUMN_STATS not in index_definitions(HudiTable.open(path))
        build(path, before, STATISTICS)
        assert entries(path) == before
        shutil.rmtree(path)
        changes += 1
    assert changes > 5


@pytest.mark.slow
def test_a_full_disk_changes_nothing(path: str, disk: Disk) -> None:
    before = entries(path)
    drop(path)
    on_disk = disk.path / "table"
    shutil.copytree(path, on_disk)
    dropped, messages = contents(on_disk), set()
    for pages in range(60):
        disk.fill(pages * _PAGE)
        try:
            build(str(on_disk), before, STATISTICS)
        except HudiError as error:
            messages.add(str(error))
        disk.empty()
        if COLUMN_STATS in complete(str(on_disk)):
            break
        recover(str(on_disk))
        assert contents(on_disk) == dropped
    assert all("No space left" in text and str(on_disk) in text for text in messages)
    assert len(messages) > 5  # it failed at several steps
    recover(str(on_disk))
    assert entries(str(on_disk)) == before


@pytest.mark.slow
@pytest.mark.parametrize("path", TABLES[:1], indirect=True)
def test_a_read_only_table_is_not_changed(path: str, tmp_path: Path) -> None:
    drop(path)
    dropped = contents(Path(path))
    for writable in ([], [".hoodie"], [".hoodie", ".hoodie/timeline", ".hoodie/.aux"]):
        found = announced_by_nobody(path, writable)
        assert found.startswith("HudiError"), found
        assert path in found
        assert "ermission denied" in found
        assert contents(Path(path)) == dropped


def announced_by_nobody(path: str, writable: Sequence[str]) -> str:
    """The error when another user's process announces a build.

    writable: the directories that this user may write to.
    """
    command = [sys.executable, "-c", _IMPORTS + AS_NOBODY + _TRIES, path]
    with readable_by_others(Path(path), writable):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
