"""Adding partitions to a metadata table while others write to the table: Hudi's asynchronous
indexing.

1. `announce`, under the table's lock: an `indexing` action is requested, the partitions are named
   in-flight in hoodie.properties, and their file groups get their first, empty log files. From now
   on whoever begins to write to the table writes to these partitions, too.
2. `settled`: writers that had begun before are waited for; the table as it is then is what the base
   files have to hold. What later writers log comes on top of them, and entries are the same
   whoever writes them, so nothing has to be caught up with.
3. `publish`, under the lock: the base files count from one delta commit on, the indexes are
   defined, the partitions are complete, and, after what else has to follow, so is the action.
4. `abort` takes all back, as long as the partitions are not complete.

A process that dies leaves the table as readable as it was, with an action that is pending;
`recover` ends it: forward when the partitions were complete, else back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from pyhudi_expr.mdt import group_names, log_writer
from pyhudi_expr.mdt.index_definitions import IndexDefinition, add_definitions, remove_definitions
from pyhudi_expr.mdt.reader import METADATA_DIR
from pyhudi_expr.mdt.undoing import undone_on_failure
from pyhudi_expr.table import properties_writer
from pyhudi_expr.table.action_records import (
    IndexedPartition,
    WrittenFile,
    commit_record,
    index_commit,
    index_plan,
)
from pyhudi_expr.table.commit_metadata import read_record
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.file_names import base_files
from pyhudi_expr.table.hudi_table import PARTITION_MARKER, HudiTable
from pyhudi_expr.table.locks import TableLock, refuse_unknown_locks
from pyhudi_expr.table.owners import HOST, PROCESS, is_gone, this_process
from pyhudi_expr.table.timeline import Instant, State
from pyhudi_expr.table.timeline_writer import Action, next_time
from pyhudi_expr.table.waiting import refreshed_after

_COMPLETE = "hoodie.table.metadata.partitions"
_INFLIGHT = "hoodie.table.metadata.partitions.inflight"
_ACTION = "indexing"
_DELTA_COMMIT = "deltacommit"
_OPERATION = "BULK_INSERT"
_BUILDER, _BUILDER_NAME, _NOTE = "builder", "pyhudi", "note"

# Plans that may wait for long: whoever carries them out begins then.
_PLANS = frozenset({"compaction", "logcompaction", "clustering", "clean", _ACTION, "rollback"})


Finish: TypeAlias = Callable[[HudiTable, str], None]
"""What follows as soon as partitions are complete, under the lock: done with the table and the note
that came with the action, and done again where it is not known whether it was."""


class IndexConflict(HudiError):  # noqa: N818 - names the finding
    """The table's state does not allow the change; nothing was changed."""


@dataclass(frozen=True)
class NewPartition:
    """A metadata partition to be built. name: `column_stats`, `secondary_index_x` ..."""

    name: str
    shards: int
    definition: IndexDefinition | None = None


@dataclass(frozen=True)
class Announced:
    """An index action that is being done. instant: its own, and that of its base files."""

    table: HudiTable
    instant: str
    partitions: tuple[NewPartition, ...]
    earlier: frozenset[str]
    """Writes that had begun before; they do not know of the partitions."""
    note: str
    """For `Finish`."""

    @property
    def is_complete(self) -> bool:
        """Whether the partitions count already."""
        names = {partition.name for partition in self.partitions}
        return names <= HudiTable.at(self.table.storage).properties.metadata_partitions


def announce(
    table: HudiTable, partitions: Sequence[NewPartition], lock: TableLock, note: str = ""
) -> Announced:
    """Step 1. note: for `Finish`, of whoever ends the action. Raises IndexConflict, UnknownLock,
    LockNotAcquired or another HudiError; then nothing is changed.

    The table must have a metadata table.
    """
    with lock.held(f"announces {', '.join(p.name for p in partitions)}"):
        table = table.refreshed()
        _check(table, partitions)
        metadata = HudiTable.at(table.storage.child(METADATA_DIR))
        instant = next_time(table.properties, known_times(table, metadata))
        extra = {_BUILDER: _BUILDER_NAME, _NOTE: note, **this_process()}
        plan = [IndexedPartition(p.name, table.instant or "", extra) for p in partitions]
        earlier = frozenset(i.requested for i in table.timeline.instants if _is_writing(i))
        announced = Announced(table, instant, tuple(partitions), earlier, note)
        action = _action(table, instant)
        action.request(index_plan(plan))
        with undone_on_failure(lambda: _take_back(announced)):
            for partition in partitions:
                begin_groups(metadata, partition, instant)
            _move_partitions(table, added_inflight=[p.name for p in partitions])
            action.start()
    return announced


def settled(announced: Announced, wait: float) -> HudiTable:
    """Step 2: the table once the writers that had begun before the announcement are done.

    wait: seconds. Raises IndexConflict when one of them is not done by then.
    """
    return refreshed_after(announced.table, announced.earlier, wait, IndexConflict)


def _nothing(_table: HudiTable, _note: str) -> None:
    """Follows where nothing does."""


def publish(
    announced: Announced,
    upto: str,
    files: Sequence[WrittenFile],
    lock: TableLock,
    finish: Finish = _nothing,
) -> HudiTable:
    """Step 3. files: the base files, which are in their places already, paths from the metadata
    table's base path; upto: the instant of the table that they hold. Raises IndexConflict when
    another writer has come between, or another HudiError; then `abort`.
    """
    with lock.held(f"publishes {', '.join(p.name for p in announced.partitions)}"):
        table = announced.table.refreshed()
        metadata = HudiTable.at(table.storage.child(METADATA_DIR))
        _check_unchanged(announced, table, metadata)
        completed = next_time(table.properties, known_times(table, metadata))
        delta = Action(metadata.storage, metadata.properties, announced.instant, _DELTA_COMMIT)
        delta.request()
        delta.start()
        layout = metadata.properties.timeline_layout
        delta.complete(commit_record(layout, files, _OPERATION, {}), completed)
        add_definitions(table, [p.definition for p in announced.partitions if p.definition])
        _move_partitions(table, added=[p.name for p in announced.partitions])
        finish(table.refreshed(), announced.note)
        _complete(announced, upto)
    return table.refreshed()


def abort(announced: Announced, lock: TableLock) -> None:
    """Step 4: nothing of the action is left; but complete partitions, which queries and writers
    know of, are left to `recover`."""
    with lock.held(f"takes back {', '.join(p.name for p in announced.partitions)}"):
        if not announced.is_complete:
            _take_back(announced)


def recover(table: HudiTable, lock: TableLock, finish: Finish = _nothing) -> list[str]:
    """Ends the actions of builders that died: what was done to each, as sentences.

    Raises IndexConflict where a builder is alive, or may be, on another machine.
    """
    done = []
    for instant in table.timeline.instants:
        infos = _own_plan(table, instant)
        if not infos:
            continue
        names = [str(info["metadataPartitionPath"]) for info in infos]
        extra = infos[0].get("extraMetadata") or {}
        owner = {key: extra.get(key, "") for key in (HOST, PROCESS)}
        if not is_gone(owner) and owner != this_process():
            raise IndexConflict(
                f"{table.base_path}: process {owner.get(PROCESS)} on {owner.get(HOST)} builds "
                f"{', '.join(names)} at present; if it is gone, delete "
                f"{table.properties.timeline_dir}/{instant.requested}.indexing.* and drop the index"
            )
        partitions = tuple(NewPartition(name, 0) for name in names)
        note = str(extra.get(_NOTE, ""))
        found = Announced(table, instant.requested, partitions, frozenset(), note)
        with lock.held(f"recovers {', '.join(names)}"):
            table = table.refreshed()
            if found.is_complete:
                finish(table, note)
                _complete(found, str(infos[0].get("indexUptoInstant") or ""))
                done.append(f"completed {', '.join(names)}, which an earlier run had built")
            else:
                _take_back(found)
                done.append(f"took back {', '.join(names)}, which an earlier run had begun")
    return done


def drop(table: HudiTable, names: Sequence[str], lock: TableLock) -> None:
    """Removes partitions, complete or not, with their definitions. Raises UnknownLock,
    LockNotAcquired or another HudiError."""
    with lock.held(f"drops {', '.join(names)}"):
        refuse_unknown_locks(table.storage)
        _move_partitions(table, removed=names)
        remove_definitions(table, names)
        for name in names:
            table.storage.delete_dir(f"{METADATA_DIR}/{name}")


def check_restores(table: HudiTable) -> None:
    """Raises IndexConflict while the table is being restored: its files are about to go."""
    restoring = [i for i in table.timeline.instants if i.action == "restore" and not i.is_completed]
    if restoring:
        raise IndexConflict(
            f"{table.base_path}: a restore ({restoring[0].requested}) is pending; let it complete, "
            "then try again"
        )


def _check(table: HudiTable, partitions: Sequence[NewPartition]) -> None:
    refuse_unknown_locks(table.storage)
    properties = table.properties
    known = properties.metadata_partitions | properties.metadata_partitions_inflight
    there = sorted(known & {p.name for p in partitions})
    if there:
        raise IndexConflict(
            f"{table.base_path}: {', '.join(there)} exists already, or is being built"
        )
    check_restores(table)


def _check_unchanged(announced: Announced, table: HudiTable, metadata: HudiTable) -> None:
    names = {p.name for p in announced.partitions}
    lost = sorted(names - table.properties.metadata_partitions_inflight)
    if lost:
        raise IndexConflict(
            f"{table.base_path}: another writer removed {', '.join(lost)} while it was built; see "
            "the writer's options that keep an index (pyhudi_expr.spark.writer_options)"
        )
    compacting = [
        i.requested
        for i in metadata.timeline.instants
        if i.action in ("compaction", "logcompaction") and not i.is_completed
    ]
    if compacting:
        raise IndexConflict(
            f"{metadata.base_path}: a compaction ({compacting[0]}) is under way; try again after it"
        )
    for name in sorted(names):
        names_there = pa.array([e.name for e in metadata.storage.list(name)], pa.string())
        instants = base_files(names_there, "hfile").instant.to_pylist()
        if set(instants) - {announced.instant}:
            raise IndexConflict(
                f"{metadata.base_path}/{name} was compacted while it was built; try again"
            )


def known_times(*tables: HudiTable) -> Iterable[str | None]:
    """All times of the timelines; see `next_time`."""
    for table in tables:
        for instant in table.timeline.instants:
            yield instant.requested
            yield instant.completed


def _is_writing(instant: Instant) -> bool:
    """Whether somebody may be at work on it who read the table's properties some time ago."""
    if instant.is_completed:
        return False
    return instant.state is State.INFLIGHT or instant.action not in _PLANS


def _action(table: HudiTable, instant: str) -> Action:
    return Action(table.storage, table.properties, instant, _ACTION)


def begin_groups(metadata: HudiTable, partition: NewPartition, instant: str) -> None:
    """Makes the partition's directory anew, with a first, empty log file for each file group."""
    storage = metadata.storage
    storage.delete_dir(partition.name)  # of a build that was never announced, or was dropped
    marker = f"#partition metadata\ncommitTime={instant}\npartitionDepth=1\n"
    storage.write(f"{partition.name}/{PARTITION_MARKER}", marker.encode())
    content = log_writer.stub(instant)
    for shard in range(partition.shards):
        group = group_names.file_id(partition.name, shard)
        name = group_names.log_file(group, group_names.STUB_TOKEN, instant)
        storage.write(f"{partition.name}/{name}", content)


def _move_partitions(
    table: HudiTable,
    *,
    added: Iterable[str] = (),
    added_inflight: Iterable[str] = (),
    removed: Iterable[str] = (),
) -> None:
    """Changes which partitions are complete and which in-flight; one that is added leaves the
    other state."""
    properties = HudiTable.at(table.storage).properties
    gone, complete, begun = set(removed), set(added), set(added_inflight)
    properties_writer.update(
        table.storage,
        {
            _COMPLETE: _joined((properties.metadata_partitions - gone) | complete),
            _INFLIGHT: _joined((properties.metadata_partitions_inflight - gone - complete) | begun),
        },
    )


def _joined(names: Iterable[str]) -> str:
    return ",".join(sorted(names))


def _complete(announced: Announced, upto: str) -> None:
    table = HudiTable.at(announced.table.storage)
    metadata = HudiTable.at(table.storage.child(METADATA_DIR))
    partitions = [IndexedPartition(p.name, upto) for p in announced.partitions]
    completed = next_time(table.properties, known_times(table, metadata))
    _action(table, announced.instant).complete(index_commit(partitions), completed)


def _take_back(announced: Announced) -> None:
    """Of partitions that nobody reads. The files go first: what is to be written may need their
    room."""
    table = announced.table
    names = [p.name for p in announced.partitions]
    metadata = HudiTable.at(table.storage.child(METADATA_DIR))
    for name in names:
        metadata.storage.delete_dir(name)
    _move_partitions(table, removed=names)
    remove_definitions(table, names)
    Action(metadata.storage, metadata.properties, announced.instant, _DELTA_COMMIT).remove()
    _action(table, announced.instant).remove()


def _own_plan(table: HudiTable, instant: Instant) -> list[dict[str, Any]]:
    """What a pending index action of ours is to build; empty: the instant is none."""
    if instant.action != _ACTION or instant.is_completed:
        return []
    path = f"{table.properties.timeline_dir}/{instant.requested}.{_ACTION}.requested"
    plan = read_record(table.storage.read(path), f"{table.base_path}/{path}")
    infos: list[dict[str, Any]] = plan.get("indexPartitionInfos") or []
    return [i for i in infos if (i.get("extraMetadata") or {}).get(_BUILDER) == _BUILDER_NAME]
