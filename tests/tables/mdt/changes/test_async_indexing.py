"""Partitions are added to and removed from Hudi's metadata tables, whatever happens meanwhile."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, METADATA_DIR, PARTITION_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import LockNotAcquired, TableLock, UnknownLock
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.changes import async_indexing, partitions
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict, NewPartition
from pyhudi_expr.tables.mdt.index_definitions import index_definitions
from pyhudi_expr.tables.mdt.store import group_files
from pyhudi_expr.tables.process_owner import PROCESS, this_process
from pyhudi_expr.tables.storage import Storage
from tests.tables.directory_contents import contents
from tests.tables.mdt.changes.index_builds import (
    SHARDS,
    STATISTICS,
    build,
    complete,
    drop,
    entries,
    lock,
    lock_files,
    no_later_files,
    pending,
    timeline_of,
    write_shards,
)

_LATER = "29990101000000000"


def test_a_dropped_partition_is_built_again(path: str) -> None:
    before = entries(path)
    definition = index_definitions(HudiTable.open(path))[COLUMN_STATS]
    drop(path)
    assert COLUMN_STATS not in complete(path)
    assert COLUMN_STATS not in index_definitions(HudiTable.open(path))
    assert not (Path(path) / METADATA_DIR / COLUMN_STATS).exists()

    build(path, before, NewPartition(COLUMN_STATS, SHARDS, definition))
    assert entries(path) == before
    assert index_definitions(HudiTable.open(path))[COLUMN_STATS] == definition
    assert not HudiTable.open(path).properties.metadata_partitions_inflight
    assert not lock_files(path)


def test_a_partition_is_invisible_until_it_is_published(path: str) -> None:
    drop(path)
    before, table = contents(Path(path)), HudiTable.open(path)
    announced = async_indexing.announce(table, [NewPartition(COLUMN_STATS, 1)], lock(path))
    now = HudiTable.open(path)
    assert now.properties.metadata_partitions_inflight == {COLUMN_STATS}
    assert COLUMN_STATS not in now.properties.metadata_partitions
    with pytest.raises(HudiError):
        entries(path)
    with pytest.raises(IndexConflict, match="exists already"):
        async_indexing.announce(now, [NewPartition(COLUMN_STATS, 1)], lock(path))

    async_indexing.abort(announced, lock(path))
    assert contents(Path(path)) == before
    assert HudiTable.open(path).timeline == table.timeline
    assert not (Path(path) / METADATA_DIR / COLUMN_STATS).exists()


def test_an_action_is_never_the_newest_one(path: str) -> None:
    """A writer of Hudi that initialises a partition would roll the delta commit of it back."""
    found, known = entries(path), HudiTable.open(path).timeline.instants
    drop(path)
    build(path, found, NewPartition(COLUMN_STATS, SHARDS))
    (own,) = [one for one in HudiTable.open(path).timeline.instants if one not in known]
    assert own.action == async_indexing.ACTION
    assert own.requested < max(one.requested for one in known if one.is_completed)


def test_an_existing_partition_is_not_built(path: str) -> None:
    before = contents(Path(path))
    with pytest.raises(IndexConflict, match="exists already"):
        async_indexing.announce(HudiTable.open(path), [NewPartition(COLUMN_STATS, 1)], lock(path))
    assert contents(Path(path)) == before


def test_another_writers_lock_is_respected(path: str) -> None:
    drop(path)
    before = contents(Path(path))
    with TableLock(Storage.open(path)).held("writes"), pytest.raises(LockNotAcquired):
        async_indexing.announce(HudiTable.open(path), [NewPartition(COLUMN_STATS, 1)], lock(path))
    assert contents(Path(path)) == before


def test_a_lock_whose_owner_died_is_taken_over(path: str) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    owner = {**this_process(), PROCESS: str(ended.pid)}
    (Path(path) / ".hoodie/lock").write_text(json.dumps(owner))
    drop(path)
    assert not lock_files(path)


def test_a_build_waits_for_running_writers(path: str) -> None:
    drop(path)
    table = HudiTable.open(path)
    properties = table.properties
    inflight = "29990101000000000.deltacommit.inflight"
    (Path(path) / properties.timeline_dir / inflight).touch()
    announced = async_indexing.announce(table, [NewPartition(COLUMN_STATS, 1)], lock(path))
    assert "29990101000000000" in announced.earlier
    with pytest.raises(IndexConflict, match="29990101000000000"):
        async_indexing.wait_for_writers(announced, wait=0.2)


@pytest.mark.parametrize(
    ("name", "wait_for"),
    [
        ("cow_append", {"commit"}),  # and there is a clustering that is only planned
        ("cow_overwrite", {"replacecommit"}),
    ],
)
def test_a_build_does_not_wait_for_planned_clusterings(
    flink: Mapping[str, Path], tmp_path: Path, name: str, wait_for: set[str]
) -> None:
    """In timeline layout 1 they are named like writes that replace files."""
    path = shutil.copytree(flink[name], tmp_path / name)
    for file in (path / ".hoodie").glob("*.replacecommit*"):
        if not file.name.endswith(".requested"):
            file.unlink()
    table = HudiTable.open(str(path))
    pending = [one for one in table.timeline.instants if not one.is_completed]
    assert "replacecommit" in {one.action for one in pending}
    announced = async_indexing.announce(table, [NewPartition(COLUMN_STATS, 1)], lock(str(path)))
    assert {i.action for i in pending if i.requested in announced.earlier} == wait_for


def test_a_build_waits_for_writers_to_the_metadata_table(path: str) -> None:
    records = entries(path)
    drop(path)
    writer = "29990101000000000.deltacommit"
    places = [Path(path) / at / timeline_of(path) for at in (".", METADATA_DIR)]
    announced = async_indexing.announce(HudiTable.open(path), [STATISTICS], lock(path))
    files = write_shards(Storage.open(path).child(METADATA_DIR), records, announced.instant)
    for place in places:
        for state in ("requested", "inflight"):
            (place / f"{writer}.{state}").touch()
    with pytest.raises(IndexConflict, match="the writes of 29990101000000000 did not complete"):
        async_indexing.publish(announced, files, lock(path), 0.2, no_later_files)
    for state in ("requested", "inflight"):  # it is pending only in the table
        (places[1] / f"{writer}.{state}").unlink()
    async_indexing.publish(announced, files, lock(path), 0.2, no_later_files)
    assert entries(path) == records


def test_concurrent_log_files_do_not_hide_the_base_files(path: str) -> None:
    """If log files name their base file, they name a later one than the one being written."""
    records = entries(path)
    drop(path)
    announced = async_indexing.announce(HudiTable.open(path), [STATISTICS], lock(path))
    metadata = Storage.open(path).child(METADATA_DIR)
    group = group_files.file_id(COLUMN_STATS, 0)
    name = f"{COLUMN_STATS}/{group_files.log_file(group, '0-411-2456', _LATER)}"
    metadata.write(name, log_writer.deletes(_LATER, [b"key"]))
    layout = HudiTable.open(path).properties.timeline_layout
    completed = _LATER if layout == 1 else f"{_LATER}_{_LATER}"
    metadata.write(f"{timeline_of(f'{path}/{METADATA_DIR}')}/{completed}.deltacommit", b"{}")
    files = write_shards(metadata, records, announced.instant)
    async_indexing.publish(announced, files, lock(path), 0.2, no_later_files)
    assert entries(path) == records


def test_a_partition_built_by_a_writer_is_left_alone(path: str, tmp_path: Path) -> None:
    records, place = entries(path), Path(path) / METADATA_DIR / COLUMN_STATS
    shutil.copytree(place, tmp_path / "theirs")
    drop(path)
    announced = async_indexing.announce(HudiTable.open(path), [STATISTICS], lock(path))
    files = write_shards(Storage.open(path).child(METADATA_DIR), records, announced.instant)
    shutil.rmtree(place)
    shutil.move(tmp_path / "theirs", place)
    partitions.move_partitions(HudiTable.open(path), added=[COLUMN_STATS])
    with pytest.raises(IndexConflict, match="another writer has built column_stats itself"):
        async_indexing.publish(announced, files, lock(path), 0.2, no_later_files)
    async_indexing.abort(announced, lock(path))
    assert entries(path) == records
    assert announced.instant not in pending(path, "indexing")


def test_partition_stats_are_not_registered_for_writers(path: str) -> None:
    table = HudiTable.open(path)
    partitions.drop(table, [COLUMN_STATS, PARTITION_STATS], lock(path))
    dropped = contents(Path(path))
    new = [NewPartition(name, 1) for name in (COLUMN_STATS, PARTITION_STATS)]
    announced = async_indexing.announce(table, new, lock(path))
    assert HudiTable.open(path).properties.metadata_partitions_inflight == {COLUMN_STATS}
    async_indexing.abort(announced, lock(path))
    assert contents(Path(path)) == dropped

    announced = async_indexing.announce(table, new, lock(path))
    async_indexing.publish(announced, [], lock(path), 0.2, no_later_files)
    assert complete(path) >= {COLUMN_STATS, PARTITION_STATS}


@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_a_build_waits_for_a_pending_restore(path: str, state: str) -> None:
    drop(path)
    timeline = Path(path) / HudiTable.open(path).properties.timeline_dir
    (timeline / f"29990101000000000.restore.{state}").touch()
    dropped = contents(Path(path))
    with pytest.raises(IndexConflict, match=r"a restore \(29990101000000000\) is pending"):
        async_indexing.announce(HudiTable.open(path), [STATISTICS], lock(path))
    assert contents(Path(path)) == dropped


def test_an_unavailable_lock_is_reported(path: str) -> None:
    locks = Path(path) / ".hoodie/.locks"
    locks.mkdir()
    (locks / "table_lock.json").write_text('{"expired": true, "validUntil": 0, "owner": "x"}')
    before = contents(Path(path))
    with pytest.raises(UnknownLock, match="StorageBasedLockProvider"):
        drop(path)
    with pytest.raises(UnknownLock, match="StorageBasedLockProvider"):
        async_indexing.announce(HudiTable.open(path), [STATISTICS], lock(path))
    assert contents(Path(path)) == before
