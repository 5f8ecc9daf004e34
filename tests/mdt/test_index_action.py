"""Partitions are added to and removed from metadata tables that Hudi wrote, whatever happens."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import fastavro
import pytest

from pyhudi_expr.mdt import (
    group_names,
    hfile_writer,
    index_action,
    index_recovery,
    log_writer,
    partitions,
)
from pyhudi_expr.mdt.index_action import Finish
from pyhudi_expr.mdt.index_definitions import index_definitions
from pyhudi_expr.mdt.keys import shard
from pyhudi_expr.mdt.partitions import IndexConflict, NewPartition
from pyhudi_expr.mdt.reader import (
    COLUMN_STATS,
    METADATA_DIR,
    PARTITION_STATS,
    MetadataTable,
    Records,
)
from pyhudi_expr.mdt.record_schema import RECORD_SCHEMA
from pyhudi_expr.mdt.undoing import undone_on_failure
from pyhudi_expr.table.action_records import WrittenFile
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import LockNotAcquired, TableLock, UnknownLock
from pyhudi_expr.table.owners import PROCESS, this_process
from pyhudi_expr.table.storage import Storage
from tests.misfortunes import AS_NOBODY, Disk, kept_from_nobody
from tests.table.contents import contents, linked

_SHARDS = 3
_LATER = "29990101000000000"
_NOTE = "what it is for"
_PAGE = 4096
_IMPORTS = """
import sys
from pyhudi_expr.mdt.index_action import announce
from pyhudi_expr.mdt.partitions import NewPartition
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock

table = HudiTable.open(sys.argv[1])
"""
_TRIES = """
try:
    announce(table, [NewPartition("column_stats", 1)], TableLock(table.storage))
except HudiError as error:
    print("HudiError:", error)
"""
STATISTICS = NewPartition(COLUMN_STATS, _SHARDS)
_PARSED_SCHEMA = fastavro.parse_schema(json.loads(RECORD_SCHEMA))
TABLES = [
    "cow_v9_txns_simple_meta",
    "mor_v6_metadata_pending_compaction",
    "mor_v8_metadata_pending_compaction",
]


@pytest.fixture(params=TABLES)
def path(request: pytest.FixtureRequest, golden: Mapping[str, Path], tmp_path: Path) -> str:
    shutil.copytree(golden[request.param], tmp_path / "table")
    return str(tmp_path / "table")


def test_a_dropped_partition_is_built_again(path: str) -> None:
    before = entries(path)
    definition = index_definitions(HudiTable.open(path))[COLUMN_STATS]
    drop(path)
    assert COLUMN_STATS not in complete(path)
    assert COLUMN_STATS not in index_definitions(HudiTable.open(path))
    assert not (Path(path) / METADATA_DIR / COLUMN_STATS).exists()

    build(path, before, NewPartition(COLUMN_STATS, _SHARDS, definition))
    assert entries(path) == before
    assert index_definitions(HudiTable.open(path))[COLUMN_STATS] == definition
    assert not HudiTable.open(path).properties.metadata_partitions_inflight
    assert not lock_files(path)


def test_nothing_of_it_is_visible_before_it_is_published(path: str) -> None:
    drop(path)
    before, table = contents(Path(path)), HudiTable.open(path)
    announced = index_action.announce(table, [NewPartition(COLUMN_STATS, 1)], lock(path))
    now = HudiTable.open(path)
    assert now.properties.metadata_partitions_inflight == {COLUMN_STATS}
    assert COLUMN_STATS not in now.properties.metadata_partitions
    with pytest.raises(HudiError):
        entries(path)
    with pytest.raises(IndexConflict, match="exists already"):
        index_action.announce(now, [NewPartition(COLUMN_STATS, 1)], lock(path))

    index_action.abort(announced, lock(path))
    assert contents(Path(path)) == before
    assert HudiTable.open(path).timeline == table.timeline
    assert not (Path(path) / METADATA_DIR / COLUMN_STATS).exists()


def test_a_partition_that_is_there_is_not_built(path: str) -> None:
    before = contents(Path(path))
    with pytest.raises(IndexConflict, match="exists already"):
        index_action.announce(HudiTable.open(path), [NewPartition(COLUMN_STATS, 1)], lock(path))
    assert contents(Path(path)) == before


def test_another_writers_lock_is_respected(path: str) -> None:
    drop(path)
    before = contents(Path(path))
    with TableLock(Storage.open(path)).held("writes"), pytest.raises(LockNotAcquired):
        index_action.announce(HudiTable.open(path), [NewPartition(COLUMN_STATS, 1)], lock(path))
    assert contents(Path(path)) == before


def test_a_lock_whose_owner_died_is_taken_over(path: str) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    owner = {**this_process(), PROCESS: str(ended.pid)}
    (Path(path) / ".hoodie/lock").write_text(json.dumps(owner))
    drop(path)
    assert not lock_files(path)


def test_writers_that_had_begun_are_waited_for(path: str) -> None:
    drop(path)
    table = HudiTable.open(path)
    properties = table.properties
    inflight = "29990101000000000.deltacommit.inflight"
    (Path(path) / properties.timeline_dir / inflight).touch()
    announced = index_action.announce(table, [NewPartition(COLUMN_STATS, 1)], lock(path))
    assert "29990101000000000" in announced.earlier
    with pytest.raises(IndexConflict, match="29990101000000000"):
        index_action.settled(announced, wait=0.2)


@pytest.mark.parametrize(
    ("name", "wait_for"),
    [
        ("cow_append", {"commit"}),  # and there is a clustering that is only planned
        ("cow_overwrite", {"replacecommit"}),
    ],
)
def test_planned_clusterings_are_not_waited_for(
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
    announced = index_action.announce(table, [NewPartition(COLUMN_STATS, 1)], lock(str(path)))
    assert {i.action for i in pending if i.requested in announced.earlier} == wait_for


def test_who_writes_to_the_metadata_table_already_is_waited_for(path: str) -> None:
    records = entries(path)
    drop(path)
    writer = "29990101000000000.deltacommit"
    places = [Path(path) / at / _timeline(path) for at in (".", METADATA_DIR)]
    announced = index_action.announce(HudiTable.open(path), [STATISTICS], lock(path))
    files = write_shards(Storage.open(path).child(METADATA_DIR), records, announced.instant)
    for place in places:
        for state in ("requested", "inflight"):
            (place / f"{writer}.{state}").touch()
    with pytest.raises(IndexConflict, match="the writes of 29990101000000000 did not complete"):
        index_action.publish(announced, files, lock(path), 0.2, nothing_landed)
    for state in ("requested", "inflight"):  # it is pending in the table only
        (places[1] / f"{writer}.{state}").unlink()
    index_action.publish(announced, files, lock(path), 0.2, nothing_landed)
    assert entries(path) == records


def test_what_writers_log_meanwhile_does_not_hide_the_base_files(path: str) -> None:
    """Where they name the base file, they name a later one than that which is being written."""
    records = entries(path)
    drop(path)
    announced = index_action.announce(HudiTable.open(path), [STATISTICS], lock(path))
    metadata = Storage.open(path).child(METADATA_DIR)
    group = group_names.file_id(COLUMN_STATS, 0)
    name = f"{COLUMN_STATS}/{group_names.log_file(group, '0-411-2456', _LATER)}"
    metadata.write(name, log_writer.deletes(_LATER, [b"key"]))
    layout = HudiTable.open(path).properties.timeline_layout
    completed = _LATER if layout == 1 else f"{_LATER}_{_LATER}"
    metadata.write(f"{_timeline(f'{path}/{METADATA_DIR}')}/{completed}.deltacommit", b"{}")
    files = write_shards(metadata, records, announced.instant)
    index_action.publish(announced, files, lock(path), 0.2, nothing_landed)
    assert entries(path) == records


def test_what_a_writer_has_built_itself_is_left_to_it(path: str, tmp_path: Path) -> None:
    records, place = entries(path), Path(path) / METADATA_DIR / COLUMN_STATS
    shutil.copytree(place, tmp_path / "theirs")
    drop(path)
    announced = index_action.announce(HudiTable.open(path), [STATISTICS], lock(path))
    files = write_shards(Storage.open(path).child(METADATA_DIR), records, announced.instant)
    shutil.rmtree(place)
    shutil.move(tmp_path / "theirs", place)
    partitions.move_partitions(HudiTable.open(path), added=[COLUMN_STATS])
    with pytest.raises(IndexConflict, match="another writer has built column_stats itself"):
        index_action.publish(announced, files, lock(path), 0.2, nothing_landed)
    index_action.abort(announced, lock(path))
    assert entries(path) == records
    assert announced.instant not in pending(path, "indexing")


def test_writers_are_not_told_of_partition_stats(path: str) -> None:
    table = HudiTable.open(path)
    partitions.drop(table, [COLUMN_STATS, PARTITION_STATS], lock(path))
    dropped = contents(Path(path))
    new = [NewPartition(name, 1) for name in (COLUMN_STATS, PARTITION_STATS)]
    announced = index_action.announce(table, new, lock(path))
    assert HudiTable.open(path).properties.metadata_partitions_inflight == {COLUMN_STATS}
    index_action.abort(announced, lock(path))
    assert contents(Path(path)) == dropped

    announced = index_action.announce(table, new, lock(path))
    index_action.publish(announced, [], lock(path), 0.2, nothing_landed)
    assert complete(path) >= {COLUMN_STATS, PARTITION_STATS}


def _timeline(path: str) -> str:
    return HudiTable.open(path).properties.timeline_dir


def test_a_builder_that_is_alive_is_left_alone(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(path)
    monkeypatch.setattr(index_action, "this_process", lambda: {**this_process(), PROCESS: "1"})
    index_action.announce(HudiTable.open(path), [NewPartition(COLUMN_STATS, 1)], lock(path))
    monkeypatch.undo()
    with pytest.raises(IndexConflict, match="process 1 on"):
        index_recovery.recover(HudiTable.open(path), lock(path))


def test_partitions_that_no_action_is_left_of_are_taken_back(path: str) -> None:
    """As of a build whose action a writer deleted together with other partitions."""
    drop(path)
    dropped = contents(Path(path))
    announced = index_action.announce(HudiTable.open(path), [STATISTICS], lock(path))
    for file in (Path(path) / _timeline(path)).glob(f"{announced.instant}.indexing.*"):
        file.unlink()
    assert HudiTable.open(path).properties.metadata_partitions_inflight == {COLUMN_STATS}
    done = index_recovery.recover(HudiTable.open(path), lock(path))
    assert done == ["took back column_stats, which nobody builds any more"]
    assert contents(Path(path)) == dropped


def test_partitions_that_hudi_builds_are_left_alone(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(path)
    monkeypatch.setattr(index_action, "BUILDER_NAME", "hudi")
    index_action.announce(HudiTable.open(path), [STATISTICS], lock(path))
    monkeypatch.undo()
    begun = contents(Path(path))
    assert index_recovery.recover(HudiTable.open(path), lock(path)) == []
    assert contents(Path(path)) == begun


@pytest.mark.slow
def test_a_builder_that_dies_at_any_step_loses_nothing(
    path: str, tmp_path: Path, mortal: Callable[[Callable[[], None], int], bool]
) -> None:
    before = entries(path)
    drop(path)
    shutil.move(path, tmp_path / "dropped")
    dropped, ended = contents(tmp_path / "dropped"), False
    finished: list[str] = []

    def finish(_table: HudiTable, note: str) -> None:
        finished.append(note)

    for changes in range(200):
        linked(tmp_path / "dropped", path)
        finished.clear()
        ended = mortal(lambda: build(path, before, STATISTICS, finish), changes)
        unlock(path)
        if COLUMN_STATS in complete(path):
            assert entries(path) == before
        recover(path, finish)
        assert not pending(path, "indexing")
        assert not HudiTable.open(path).properties.metadata_partitions_inflight
        if COLUMN_STATS in complete(path):
            assert set(finished) == {_NOTE}
        else:
            assert contents(Path(path)) == dropped
            assert finished == []
            build(path, before, STATISTICS)
        assert entries(path) == before
        shutil.rmtree(path)
        if ended:
            break
    assert ended
    assert changes > 15  # it did die in between, often


@pytest.mark.slow
@pytest.mark.parametrize("path", TABLES[:1], indirect=True)
def test_who_recovers_may_die_as_well(
    path: str, tmp_path: Path, mortal: Callable[[Callable[[], None], int], bool]
) -> None:
    before = entries(path)
    drop(path)
    dropped = contents(Path(path))
    mortal(lambda: build(path, before, STATISTICS), 22)
    unlock(path)
    assert pending(path, "indexing")
    shutil.move(path, tmp_path / "begun")
    ended, changes = False, 0
    while not ended:
        linked(tmp_path / "begun", path)
        ended = mortal(lambda: recover(path), changes)
        unlock(path)
        recover(path)
        assert contents(Path(path)) == dropped
        shutil.rmtree(path)
        changes += 1
    assert changes > 5


@pytest.mark.slow
@pytest.mark.parametrize("path", TABLES[:1], indirect=True)
def test_who_dies_while_dropping_may_drop_again(
    path: str, tmp_path: Path, mortal: Callable[[Callable[[], None], int], bool]
) -> None:
    before = entries(path)
    shutil.move(path, tmp_path / "complete")
    ended, changes = False, 0
    while not ended:
        linked(tmp_path / "complete", path)
        ended = mortal(lambda: drop(path), changes)
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
def test_a_disk_that_is_full_changes_nothing(path: str, disk: Disk) -> None:
    before = entries(path)
    drop(path)
    on_disk = disk.path / "table"
    shutil.copytree(path, on_disk)
    dropped, said = contents(on_disk), set()
    for pages in range(60):
        disk.fill(pages * _PAGE)
        try:
            build(str(on_disk), before, STATISTICS)
        except HudiError as error:
            said.add(str(error))
        disk.empty()
        if COLUMN_STATS in complete(str(on_disk)):
            break
        recover(str(on_disk))
        assert contents(on_disk) == dropped
    assert all("No space left" in text and str(on_disk) in text for text in said)
    assert len(said) > 5  # it failed at several steps
    recover(str(on_disk))
    assert entries(str(on_disk)) == before


@pytest.mark.slow
@pytest.mark.parametrize("path", TABLES[:1], indirect=True)
def test_a_table_that_may_not_be_written_stays(path: str, tmp_path: Path) -> None:
    drop(path)
    dropped = contents(Path(path))
    for writable in ([], [".hoodie"], [".hoodie", ".hoodie/timeline", ".hoodie/.aux"]):
        found = announced_by_nobody(path, writable)
        assert found.startswith("HudiError"), found
        assert path in found
        assert "ermission denied" in found
        assert contents(Path(path)) == dropped


@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_a_restore_that_is_pending_is_waited_for(path: str, state: str) -> None:
    drop(path)
    timeline = Path(path) / HudiTable.open(path).properties.timeline_dir
    (timeline / f"29990101000000000.restore.{state}").touch()
    dropped = contents(Path(path))
    with pytest.raises(IndexConflict, match=r"a restore \(29990101000000000\) is pending"):
        index_action.announce(HudiTable.open(path), [STATISTICS], lock(path))
    assert contents(Path(path)) == dropped


def test_a_lock_that_cannot_be_taken_is_told(path: str) -> None:
    locks = Path(path) / ".hoodie/.locks"
    locks.mkdir()
    (locks / "table_lock.json").write_text('{"expired": true, "validUntil": 0, "owner": "x"}')
    before = contents(Path(path))
    with pytest.raises(UnknownLock, match="StorageBasedLockProvider"):
        drop(path)
    with pytest.raises(UnknownLock, match="StorageBasedLockProvider"):
        index_action.announce(HudiTable.open(path), [STATISTICS], lock(path))
    assert contents(Path(path)) == before


def announced_by_nobody(path: str, writable: Sequence[str]) -> str:
    """What a process of another user is told when it announces a build. writable: the directories
    that it may write to."""
    command = [sys.executable, "-c", _IMPORTS + AS_NOBODY + _TRIES, path]
    with kept_from_nobody(Path(path), writable):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _nothing(_table: HudiTable, _note: str) -> None:
    pass


def build(path: str, records: Records, partition: NewPartition, finish: Finish = _nothing) -> None:
    """Publishes the records as the partition's base files."""
    table = HudiTable.open(path)
    announced = index_action.announce(table, [partition], lock(path), _NOTE)
    with undone_on_failure(lambda: index_action.abort(announced, lock(path))):
        index_action.settled(announced, wait=1)
        files = write_shards(Storage.open(path).child(METADATA_DIR), records, announced.instant)
        index_action.publish(announced, files, lock(path), 0.2, nothing_landed, finish)


def nothing_landed(_table: HudiTable, _instant: str) -> list[WrittenFile]:
    return []


def recover(path: str, finish: Finish = _nothing) -> None:
    index_recovery.recover(HudiTable.open(path), lock(path), finish)


def write_shards(metadata: Storage, records: Records, instant: str) -> list[WrittenFile]:
    files = []
    for number in range(_SHARDS):
        cells = [
            (key.encode(), encoded(payload))
            for key, payload in zip(records.keys, records.payloads, strict=True)
            if shard(key, _SHARDS) == number
        ]
        content = io.BytesIO()
        hfile_writer.write(content, cells, RECORD_SCHEMA)
        group = group_names.file_id(COLUMN_STATS, number)
        name = f"{COLUMN_STATS}/{group_names.base_file(group, f'{number}-1-{number}', instant)}"
        metadata.write(name, content.getvalue())
        files.append(WrittenFile(group, name, len(content.getvalue()), len(cells)))
    return files


def encoded(payload: object) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, _PARSED_SCHEMA, payload)
    return target.getvalue()


def entries(path: str) -> Records:
    metadata = MetadataTable.open(HudiTable.open(path))
    assert metadata is not None
    return metadata.scan(COLUMN_STATS)


def complete(path: str) -> frozenset[str]:
    return HudiTable.open(path).properties.metadata_partitions


def pending(path: str, action: str) -> list[str]:
    instants = HudiTable.open(path).timeline.instants
    return [i.requested for i in instants if i.action == action and not i.is_completed]


def drop(path: str) -> None:
    partitions.drop(HudiTable.open(path), [COLUMN_STATS], lock(path))


def lock(path: str) -> TableLock:
    return TableLock(Storage.open(path), wait=0.2)


def unlock(path: str) -> None:
    """What time does in Hudi: the lock of who died expires."""
    for leftover in lock_files(path):
        leftover.unlink()


def lock_files(path: str) -> list[Path]:
    return list(Path(path).glob(".hoodie/**/lock"))
