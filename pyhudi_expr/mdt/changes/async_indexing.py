"""Adding partitions to a metadata table while others write to the table: Hudi's asynchronous
indexing.

1. `announce`, under the table's lock: an `indexing` action is requested, the partitions are named
   in-flight in hoodie.properties, and their file groups get their first, empty log files. From now
   on whoever begins to write to the table may write to these partitions, too.
2. `wait_for_writers`: writers that had begun before are waited for; the table as it is then is what
the base
   files hold.
3. `publish`, under the lock: what was committed meanwhile is caught up with, as Hudi's writers do
   not write to all partitions that are in-flight. The base files count from one delta commit on and
   what was caught up with from a second, the indexes are defined, the partitions are complete, and,
   after what else has to follow, so is the action. A writer that has begun to write to the metadata
   table has decided already which partitions it writes to, and is waited for first.
4. `abort` takes back what is not complete.

A process that dies leaves the table as readable as it was, with an action that is pending;
`recovery.recover` ends it: forward when the partitions were complete, else back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.mdt.changes.index_definitions import add_definitions
from pyhudi_expr.mdt.changes.partitions import (
    IndexConflict,
    NewPartition,
    begin_groups,
    check_restores,
    known_times,
    move_partitions,
    remove_unread,
)
from pyhudi_expr.mdt.changes.rollback import rollback_on_failure
from pyhudi_expr.mdt.store.metadata_table import COLUMN_STATS, METADATA_DIR, PARTITION_STATS
from pyhudi_expr.table.file_names import base_files, log_files
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock
from pyhudi_expr.table.pending_writes import is_scheduled_clustering, wait_for_instants
from pyhudi_expr.table.process_owner import this_process
from pyhudi_expr.table.timeline.action_records import (
    IndexedPartition,
    WrittenFile,
    commit_record,
    index_commit,
    index_plan,
)
from pyhudi_expr.table.timeline.timeline import Instant, State
from pyhudi_expr.table.timeline.writer import Action, next_time

ACTION = "indexing"
_DELTA_COMMIT = "deltacommit"
_OPERATION = "BULK_INSERT"
BUILDER, BUILDER_NAME, NOTE = "builder", "pyhudi", "note"

# Plans that may wait for long: whoever carries them out begins then.
_PLANS = frozenset({"compaction", "logcompaction", "clustering", "clean", ACTION, "rollback"})


CatchUp: TypeAlias = Callable[[HudiTable, str], Sequence[WrittenFile]]
"""Logs what was committed since the base files were read: of the table as it is now, for the delta
commit of the instant. Paths as those of the base files."""

Finish: TypeAlias = Callable[[HudiTable, str], None]
"""What follows as soon as partitions are complete, under the lock: done with the table and the note
that came with the action, and done again where it is not known whether it was."""


@dataclass(frozen=True)
class AnnouncedAction:
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
        """Whether the partitions count already, with what was built here."""
        names = {partition.name for partition in self.partitions}
        storage = self.table.storage
        metadata = HudiTable.at(storage.child(METADATA_DIR))
        is_committed = self.instant in metadata.timeline.completed_requests
        return is_committed and names <= HudiTable.at(storage).properties.metadata_partitions


def announce(
    table: HudiTable, partitions: Sequence[NewPartition], lock: TableLock, note: str = ""
) -> AnnouncedAction:
    """Step 1. note: for `Finish`, of whoever ends the action. Raises IndexConflict, UnknownLock,
    LockNotAcquired or another HudiError; then nothing is changed.

    The table must have a metadata table.
    """
    with lock.held(f"announces {', '.join(p.name for p in partitions)}"):
        table = table.refreshed()
        lock.check()
        _check(table, partitions)
        metadata = HudiTable.at(table.storage.child(METADATA_DIR))
        instant = next_time(table.properties, known_times(table, metadata))
        extra = {BUILDER: BUILDER_NAME, NOTE: note, **this_process()}
        plan = [IndexedPartition(p.name, table.instant or "", extra) for p in partitions]
        announced = AnnouncedAction(table, instant, tuple(partitions), _writing(table), note)
        action = _action(table, instant)
        action.request(index_plan(plan))
        with rollback_on_failure(lambda: take_back(announced)):
            for partition in partitions:
                begin_groups(metadata, partition, instant)
            move_partitions(table, added_inflight=_told(p.name for p in partitions))
            action.start()
    return announced


def wait_for_writers(announced: AnnouncedAction, wait: float) -> HudiTable:
    """Step 2: the table once the writers that had begun before the announcement are done.

    wait: seconds. Raises IndexConflict when one of them is not done by then.
    """
    return wait_for_instants(announced.table, announced.earlier, wait, IndexConflict)


def nothing(_table: HudiTable, _note: str) -> None:
    """Follows where nothing does."""


def publish(
    announced: AnnouncedAction,
    files: Sequence[WrittenFile],
    lock: TableLock,
    wait: float,
    catch_up: CatchUp,
    finish: Finish = nothing,
) -> HudiTable:
    """Step 3. files: the base files, which are in their places already, paths from the metadata
    table's base path; wait: seconds, for writers. Raises IndexConflict when another writer has come
    between, or is not done by then, or another HudiError; then `abort`.
    """
    give_up = time.monotonic() + wait
    while True:
        with lock.held(f"publishes {', '.join(p.name for p in announced.partitions)}"):
            table = announced.table.refreshed()
            metadata = HudiTable.at(table.storage.child(METADATA_DIR))
            _check_unchanged(announced, table, metadata)
            decided = _writing(table) & metadata.timeline.pending
            if not decided:
                _count(announced, table, metadata, files, catch_up)
                finish(table.refreshed(), announced.note)
                complete(announced, table.instant or "")
                return table.refreshed()
        wait_for_instants(table, decided, give_up - time.monotonic(), IndexConflict)


def _count(
    announced: AnnouncedAction,
    table: HudiTable,
    metadata: HudiTable,
    files: Sequence[WrittenFile],
    catch_up: CatchUp,
) -> None:
    """Makes the partitions count."""
    if table.properties.timeline_layout == 1:
        _remove_later_slices(announced, metadata)
    later = next_time(table.properties, known_times(table, metadata))
    logs = catch_up(table, later)
    _commit(metadata, announced.instant, files, known_times(table, metadata))
    if logs:
        _commit(metadata, later, logs, [*known_times(table, metadata.refreshed()), later])
    add_definitions(table, [p.definition for p in announced.partitions if p.definition])
    move_partitions(table, added=[p.name for p in announced.partitions])


def _remove_later_slices(announced: AnnouncedAction, metadata: HudiTable) -> None:
    """In timeline layout 1 log files name the base file that they are of, and writers know of none
    yet. Their instants are later, so what they logged would take the place of the base files.
    """
    for partition in announced.partitions:
        names = pa.array([e.name for e in metadata.storage.list(partition.name)], pa.string())
        logs = log_files(names)
        of_others = pc.not_equal(logs.instant, announced.instant)
        for name in names.take(pa.array(logs.row)).filter(of_others).to_pylist():
            metadata.storage.delete(f"{partition.name}/{name}")


def _commit(
    metadata: HudiTable, instant: str, files: Sequence[WrittenFile], known: Iterable[str | None]
) -> None:
    delta = Action(metadata.storage, metadata.properties, instant, _DELTA_COMMIT)
    with rollback_on_failure(delta.remove):
        delta.request()
        delta.start()
        record = commit_record(metadata.properties.timeline_layout, files, _OPERATION, {})
        delta.complete(record, next_time(metadata.properties, known))


def abort(announced: AnnouncedAction, lock: TableLock) -> None:
    """Step 4: nothing of the action is left; but complete partitions, which queries and writers
    know of, are left to `recovery`.
    """
    with lock.held(f"takes back {', '.join(p.name for p in announced.partitions)}"):
        if not announced.is_complete:
            take_back(announced)


def _check(table: HudiTable, partitions: Sequence[NewPartition]) -> None:
    properties = table.properties
    known = properties.metadata_partitions | properties.metadata_partitions_inflight
    there = sorted(known & {p.name for p in partitions})
    if there:
        raise IndexConflict(
            f"{table.base_path}: {', '.join(there)} exists already, or is being built"
        )
    check_restores(table)


def _check_unchanged(announced: AnnouncedAction, table: HudiTable, metadata: HudiTable) -> None:
    names = {p.name for p in announced.partitions}
    properties = table.properties
    others = sorted(names & properties.metadata_partitions)
    if others:
        raise IndexConflict(
            f"{table.base_path}: another writer has built {', '.join(others)} itself meanwhile, as "
            "its options enable that and not hoodie.metadata.index.async; try again"
        )
    lost = sorted(_told(names) - properties.metadata_partitions_inflight)
    if lost:
        raise IndexConflict(
            f"{table.base_path}: another writer removed {', '.join(lost)} while it was built, as "
            "its options do not enable that; see pyhudi_expr.spark.writer_options"
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


def _told(names: Iterable[str]) -> set[str]:
    """The partitions that writers are told of, of those that are built together.

    A writer of Hudi 1.2 whose settings enable `partition_stats` fails until `column_stats` is
    complete; one whose settings do not would delete the partition, and the action with it. Neither
    has to know: what it does not log is caught up with.
    """
    every = set(names)
    return every - {PARTITION_STATS} if COLUMN_STATS in every else every


def _writing(table: HudiTable) -> frozenset[str]:
    """The instants on which somebody may be at work who read the table's properties before."""

    def is_plan(instant: Instant) -> bool:
        is_requested = instant.state is State.REQUESTED
        return is_requested and (
            instant.action in _PLANS or is_scheduled_clustering(table, instant)
        )

    pending = (i for i in table.timeline.instants if not i.is_completed)
    return frozenset(i.requested for i in pending if not is_plan(i))


def _action(table: HudiTable, instant: str) -> Action:
    return Action(table.storage, table.properties, instant, ACTION)


def complete(announced: AnnouncedAction, upto: str) -> None:
    """Ends the action. upto: the instant of the table that the partitions cover."""
    table = HudiTable.at(announced.table.storage)
    metadata = HudiTable.at(table.storage.child(METADATA_DIR))
    partitions = [IndexedPartition(p.name, upto) for p in announced.partitions]
    completed = next_time(table.properties, known_times(table, metadata))
    _action(table, announced.instant).complete(index_commit(partitions), completed)


def take_back(announced: AnnouncedAction) -> None:
    """Of partitions that nobody reads; those that are complete are another writer's by now. The
    files go first: what is to be written may need their room.
    """
    table = announced.table
    read = HudiTable.at(table.storage).properties.metadata_partitions
    remove_unread(table, [p.name for p in announced.partitions if p.name not in read])
    metadata = HudiTable.at(table.storage.child(METADATA_DIR))
    Action(metadata.storage, metadata.properties, announced.instant, _DELTA_COMMIT).remove()
    _action(table, announced.instant).remove()
