"""Partitions are added to and removed from metadata tables that Hudi wrote, whatever happens."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import fastavro
import pytest

from pyhudi_expr.mdt import group_names, hfile_writer, index_action
from pyhudi_expr.mdt.index_action import IndexConflict, NewPartition
from pyhudi_expr.mdt.index_definitions import index_definitions
from pyhudi_expr.mdt.keys import shard
from pyhudi_expr.mdt.reader import COLUMN_STATS, METADATA_DIR, MetadataTable, Records
from pyhudi_expr.mdt.record_schema import RECORD_SCHEMA
from pyhudi_expr.table.action_records import WrittenFile
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import LockNotAcquired, TableLock
from pyhudi_expr.table.owners import PROCESS, this_process
from pyhudi_expr.table.storage import Storage

_SHARDS = 3
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
    table = HudiTable.open(path)
    announced = index_action.announce(table, [NewPartition(COLUMN_STATS, 1)], lock(path))
    now = HudiTable.open(path)
    assert now.properties.metadata_partitions_inflight == {COLUMN_STATS}
    assert COLUMN_STATS not in now.properties.metadata_partitions
    with pytest.raises(HudiError):
        entries(path)
    with pytest.raises(IndexConflict, match="exists already"):
        index_action.announce(now, [NewPartition(COLUMN_STATS, 1)], lock(path))

    index_action.abort(announced, lock(path))
    assert files_of(path) == files_of(path)
    assert HudiTable.open(path).timeline == table.timeline
    assert not (Path(path) / METADATA_DIR / COLUMN_STATS).exists()


def test_a_partition_that_is_there_is_not_built(path: str) -> None:
    files = files_of(path)
    with pytest.raises(IndexConflict, match="exists already"):
        index_action.announce(HudiTable.open(path), [NewPartition(COLUMN_STATS, 1)], lock(path))
    assert files_of(path) == files


def test_another_writers_lock_is_respected(path: str) -> None:
    drop(path)
    files = files_of(path)
    with TableLock(Storage.open(path)).held("writes"), pytest.raises(LockNotAcquired):
        index_action.announce(HudiTable.open(path), [NewPartition(COLUMN_STATS, 1)], lock(path))
    assert files_of(path) == files


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


def test_a_builder_that_is_alive_is_left_alone(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(path)
    monkeypatch.setattr(index_action, "this_process", lambda: {**this_process(), PROCESS: "1"})
    index_action.announce(HudiTable.open(path), [NewPartition(COLUMN_STATS, 1)], lock(path))
    monkeypatch.undo()
    with pytest.raises(IndexConflict, match="process 1 on"):
        index_action.recover(HudiTable.open(path), lock(path))


class Died(BaseException):
    """What a process does not survive."""


@pytest.fixture
def mortal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Lets this many more changes of files happen, and no more; None: all."""
    left: list[int | None] = [None]

    def counted(name: str) -> None:
        change = getattr(Storage, name)

        def counting(self: Storage, *args: object) -> object:
            if left[0] is not None:
                if left[0] == 0:
                    raise Died
                left[0] -= 1
            return change(self, *args)

        monkeypatch.setattr(Storage, name, counting)

    for name in ("write", "create", "delete", "delete_dir", "move"):
        counted(name)
    return lambda changes: left.__setitem__(0, changes)


def test_a_builder_that_dies_at_any_step_loses_nothing(
    path: str, tmp_path: Path, mortal: Callable[[int | None], None]
) -> None:
    before = entries(path)
    drop(path)
    shutil.move(path, tmp_path / "dropped")
    outcomes = set()
    for changes in range(200):
        shutil.copytree(tmp_path / "dropped", path)
        mortal(changes)
        try:
            build(path, before, NewPartition(COLUMN_STATS, _SHARDS))
            died = False
        except Died:
            died = True
        mortal(None)
        for leftover in lock_files(path):  # what its owner's lock would expire with, in Hudi
            leftover.unlink()
        if COLUMN_STATS in complete(path):
            assert entries(path) == before
        index_action.recover(HudiTable.open(path), lock(path))
        if COLUMN_STATS in complete(path):
            assert entries(path) == before
        else:
            build(path, before, NewPartition(COLUMN_STATS, _SHARDS))
            assert entries(path) == before
        outcomes.add(died)
        assert HudiTable.open(path).properties.metadata_partitions_inflight == frozenset()
        assert not [i for i in pending(path) if i.endswith("indexing")]
        shutil.rmtree(path)
        if not died:
            break
    assert outcomes == {True, False}
    assert changes > 15  # it did die in between, often


def build(path: str, records: Records, partition: NewPartition) -> None:
    """Publishes the records as the partition's base files."""
    table = HudiTable.open(path)
    announced = index_action.announce(table, [partition], lock(path))
    settled = index_action.settled(announced, wait=1)
    files = write_shards(Storage.open(path).child(METADATA_DIR), records, announced.instant)
    index_action.publish(announced, settled.instant or "", files, lock(path))


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


def pending(path: str) -> list[str]:
    timeline = HudiTable.open(path).timeline
    return [f"{i.requested}.{i.action}" for i in timeline.instants if not i.is_completed]


def drop(path: str) -> None:
    index_action.drop(HudiTable.open(path), [COLUMN_STATS], lock(path))


def lock(path: str) -> TableLock:
    return TableLock(Storage.open(path), wait=0.2)


def lock_files(path: str) -> list[Path]:
    return list(Path(path).glob(".hoodie/**/lock"))


def files_of(path: str) -> dict[str, bytes]:
    return {str(f): f.read_bytes() for f in sorted(Path(path).rglob("*")) if f.is_file()}
