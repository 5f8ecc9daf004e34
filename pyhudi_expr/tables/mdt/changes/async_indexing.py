"""Add partitions to a metadata table during other writes: Hudi's asynchronous indexing.

1. `announce`, under the table's lock: an `indexing` action is requested, the partitions are listed
   as in-flight in hoodie.properties, and their file groups get their first, empty log files.
   Writers that start from now on may write to these partitions, too.
2. `wait_for_writers`: wait for the writers that started before. The base files hold the table as it
   is then.
3. `publish`, under the lock: what was committed in the meantime is added to the partitions, as
   Hudi's writers do not write to all in-flight partitions. The base files become valid by one delta
   commit and the added records by a second one. The indexes are defined, the partitions are
   complete, and, after whatever else has to follow, so is the action. A writer that has started to
   write to the metadata table has already chosen its partitions, and is waited for first.
4. `abort` removes what is not complete.

A process that dies leaves the table as readable as before, with a pending action.
`recovery.recover` ends it: it completes the action if the partitions were complete, else it rolls
the action back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    METADATA_DIR,
    PARTITION_STATS,
    base_files,
    log_files,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import Lease, TableLock
from pyhudi_expr.tables.mdt.changes.partitions import (
    IndexConflict,
    NewPartition,
    begin_groups,
    check_restores,
    known_times,
    move_partitions,
    remove_unread,
)
from pyhudi_expr.tables.mdt.changes.rollback import rollback_on_failure
from pyhudi_expr.tables.mdt.index_definitions import add_definitions
from pyhudi_expr.tables.pending_writes import is_scheduled_clustering, wait_for_instants
from pyhudi_expr.tables.process_owner import this_process
from pyhudi_expr.tables.timeline import ANNOUNCED, INDEXING, Instant, State
from pyhudi_expr.tables.timeline_writer import (
    Action,
    IndexedPartition,
    WrittenFile,
    commit_record,
    index_commit,
    index_plan,
    next_time,
    time_before,
)

ACTION = INDEXING
_DELTA_COMMIT = "deltacommit"
_OPERATION = "BULK_INSERT"
BUILDER, BUILDER_NAME, NOTE = "builder", "pyhudi", "note"

# Plans that may wait for long: the writer that executes them starts only then.
_PLANS = frozenset({"compaction", "logcompaction", "clustering", "clean", ACTION, "rollback"})


CatchUp: TypeAlias = Callable[[HudiTable, str], Sequence[WrittenFile]]
"""Writes log files for the commits since the base files were read, given the current table and the
instant of the delta commit. Its paths have the same base as those of the base files."""

Finish: TypeAlias = Callable[[HudiTable, str], None]
"""Called under the lock once the partitions are complete, with the table and the action's note.
It must be idempotent: recovery calls it again if it cannot tell whether it ran."""


@dataclass(frozen=True)
class AnnouncedAction:
    """An index action in progress.

    Attributes:
        instant: The instant of the action, and of its base files.
        time: When it was announced, as an instant.
    """

    table: HudiTable
    instant: str
    time: str
    partitions: tuple[NewPartition, ...]
    earlier: frozenset[str]
    """Writes that had started before; they do not know of the partitions."""
    note: str
    """For `Finish`."""

    @property
    def is_complete(self) -> bool:
        """Return whether the partitions are complete, with the files that were built here."""
        names = {partition.name for partition in self.partitions}
        storage = self.table.storage
        metadata = HudiTable.at(storage.child(METADATA_DIR))
        is_committed = self.instant in metadata.timeline.completed_requests
        return is_committed and names <= HudiTable.at(storage).properties.metadata_partitions


def announce(
    table: HudiTable, partitions: Sequence[NewPartition], lock: TableLock, note: str = ""
) -> AnnouncedAction:
    """Step 1. The table must have a metadata table.

    Args:
        table: The table.
        partitions: The partitions to build.
        lock: The table's lock.
        note: Passed to `Finish` by the process that ends the action.

    Raises:
        HudiError: The action is not possible (IndexConflict, UnknownLock, LockNotAcquired or
            another one), and nothing is changed.
    """
    with lock.held(f"announces {', '.join(p.name for p in partitions)}") as lease:
        table = table.refreshed()
        lock.check()
        _check(table, partitions)
        metadata = HudiTable.at(table.storage.child(METADATA_DIR))
        time = next_time(table.properties, known_times(table, metadata))
        instant = _instant(table, metadata, time)
        extra = {BUILDER: BUILDER_NAME, NOTE: note, ANNOUNCED: time, **this_process()}
        plan = [IndexedPartition(p.name, table.instant or "", extra) for p in partitions]
        announced = AnnouncedAction(table, instant, time, tuple(partitions), _writing(table), note)
        action = _action(table, instant)
        lease.check()
        action.request(index_plan(plan))
        with rollback_on_failure(lambda: take_back(announced, lease)):
            for partition in partitions:
                begin_groups(metadata, partition, instant)
            lease.check()
            move_partitions(table, added_inflight=_visible_inflight(p.name for p in partitions))
            action.start()
    return announced


def _instant(table: HudiTable, metadata: HudiTable, time: str) -> str:
    """Return the instant of a new action: right before the newest completed one.

    A writer of Hudi 1.2 that initialises a metadata partition does so at the instant of the newest
    completed action. If that is an index action, it rolls the delta commit of this instant back,
    and with it the index (`HoodieBackedTableMetadataWriter.generateUniqueInstantTime`). So an index
    action must not be the newest one.
    """
    newest = table.timeline.newest_completed
    if newest is None:
        return time
    known, found = {*known_times(table, metadata)}, time_before(newest.requested)
    while found in known:
        found = time_before(found)
    return found


def wait_for_writers(announced: AnnouncedAction, wait: float) -> HudiTable:
    """Step 2. Return the table once the writers that started before the announcement are done.

    Raises:
        IndexConflict: One of them is not done after `wait` seconds.
    """
    return wait_for_instants(announced.table, announced.earlier, wait, IndexConflict)


def no_finish(_table: HudiTable, _note: str) -> None:
    """Finish an action after which nothing else has to follow."""


def publish(
    announced: AnnouncedAction,
    files: Sequence[WrittenFile],
    lock: TableLock,
    wait: float,
    catch_up: CatchUp,
    finish: Finish = no_finish,
) -> HudiTable:
    """Step 3.

    Args:
        announced: The action.
        files: The base files, already in place; paths relative to the metadata table's base path.
        lock: The table's lock.
        wait: Seconds to wait for writers.
        catch_up: Logs what was committed in the meantime.
        finish: Does what has to follow before the action completes.

    Raises:
        HudiError: Another writer intervened or is not done (IndexConflict), or another error; call
            `abort`.
    """
    give_up = time.monotonic() + wait
    while True:
        with lock.held(f"publishes {', '.join(p.name for p in announced.partitions)}") as lease:
            table = announced.table.refreshed()
            metadata = HudiTable.at(table.storage.child(METADATA_DIR))
            _check_unchanged(announced, table, metadata)
            decided = _writing(table) & metadata.timeline.pending
            if not decided:
                _complete_partitions(announced, table, metadata, files, catch_up, lease)
                finish(table.refreshed(), announced.note)
                lease.check()
                complete(announced, table.instant or "")
                return table.refreshed()
        wait_for_instants(table, decided, give_up - time.monotonic(), IndexConflict)


def _complete_partitions(
    announced: AnnouncedAction,
    table: HudiTable,
    metadata: HudiTable,
    files: Sequence[WrittenFile],
    catch_up: CatchUp,
    lease: Lease,
) -> None:
    """Complete the partitions."""
    lease.check()
    if table.properties.timeline_layout == 1:
        _remove_later_slices(announced, metadata)
    later = next_time(table.properties, known_times(table, metadata))
    logs = catch_up(table, later)
    _commit(metadata, announced.instant, files, known_times(table, metadata), lease)
    if logs:
        _commit(metadata, later, logs, [*known_times(table, metadata.refreshed()), later], lease)
    lease.check()
    add_definitions(table, [p.definition for p in announced.partitions if p.definition])
    lease.check()
    move_partitions(table, added=[p.name for p in announced.partitions])
    lease.check()  # `finish` follows


def _remove_later_slices(announced: AnnouncedAction, metadata: HudiTable) -> None:
    """Remove log files that would hide the base files.

    In timeline layout 1 log files name their base file, and writers know of none yet. Their
    instants are later, so their records would replace those of the base files.
    """
    for partition in announced.partitions:
        names = pa.array([e.name for e in metadata.storage.list(partition.name)], pa.string())
        logs = log_files(names)
        of_others = pc.not_equal(logs.instant, announced.instant)
        for name in names.take(logs.row).filter(of_others).to_pylist():
            metadata.storage.delete(f"{partition.name}/{name}")


def _commit(
    metadata: HudiTable,
    instant: str,
    files: Sequence[WrittenFile],
    known: Iterable[str | None],
    lease: Lease,
) -> None:
    delta = Action(metadata.storage, metadata.properties, instant, _DELTA_COMMIT)

    def remove() -> None:
        lease.check()
        delta.remove()

    lease.check()
    with rollback_on_failure(remove):
        delta.request()
        delta.start()
        record = commit_record(metadata.properties.timeline_layout, files, _OPERATION, {})
        lease.check()
        delta.complete(record, next_time(metadata.properties, known))


def abort(announced: AnnouncedAction, lock: TableLock) -> None:
    """Step 4: remove the action and what is not complete.

    Complete partitions, which queries and writers use, are left to `recovery`.
    """
    with lock.held(f"rolls back {', '.join(p.name for p in announced.partitions)}") as lease:
        if not announced.is_complete:
            take_back(announced, lease)


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
    lost = sorted(_visible_inflight(names) - properties.metadata_partitions_inflight)
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


def _visible_inflight(names: Iterable[str]) -> set[str]:
    """Return the partitions, of those built together, that writers can see as in-flight.

    A writer of Hudi 1.2 whose settings enable `partition_stats` fails until `column_stats` is
    complete; one whose settings do not enable it would delete the partition, and the action with
    it. So neither sees it: what they do not log is added by `publish`.
    """
    every = set(names)
    return every - {PARTITION_STATS} if COLUMN_STATS in every else every


def _writing(table: HudiTable) -> frozenset[str]:
    """Return the instants of writers that may have read the table's properties before."""

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
    """Complete the action; the partitions cover the table up to the instant `upto`."""
    table = HudiTable.at(announced.table.storage)
    metadata = HudiTable.at(table.storage.child(METADATA_DIR))
    extra = {ANNOUNCED: announced.time}
    partitions = [IndexedPartition(p.name, upto, extra) for p in announced.partitions]
    completed = next_time(table.properties, known_times(table, metadata))
    _action(table, announced.instant).complete(index_commit(partitions), completed)


def take_back(announced: AnnouncedAction, lease: Lease) -> None:
    """Remove partitions that no query reads; complete ones are another writer's by now.

    The files go first, as other files may need their space.
    """
    table = announced.table
    read = HudiTable.at(table.storage).properties.metadata_partitions
    remove_unread(table, [p.name for p in announced.partitions if p.name not in read], lease)
    lease.check()
    metadata = HudiTable.at(table.storage.child(METADATA_DIR))
    Action(metadata.storage, metadata.properties, announced.instant, _DELTA_COMMIT).remove()
    _action(table, announced.instant).remove()
