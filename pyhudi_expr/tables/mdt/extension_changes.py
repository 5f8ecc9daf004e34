"""Change the extension metadata table: indexes that Hudi's own would refuse, break or delete.

It is stored beside Hudi's, under `.hoodie/pyhudi/metadata`, in the same format (that of table
version 9, whatever the version of the data table): its own properties file lists the complete
partitions; it has its own timeline, and file groups of HFiles and log files. Hudi neither reads nor
changes it.

How it is changed
-----------------

One *change* is made at a time. It is a delta commit (a compaction: a commit) of one instant.

1. `begin`, under the table's lock: the changes of processes that died are rolled back, and the
   commit is requested and started, with the id of the process. While it is pending, no other change
   begins.
2. Files are written, with the change's instant in their names. No query reads them, as their commit
   is not complete.
3. `publish`, under the lock: the definitions of new indexes and the list of the covered slices are
   written, the commit completes, and only then new partitions are listed in the properties.
4. `abort` rolls everything back as long as the commit is not complete.

A process that dies at any moment leaves the indexes as they were before or as they are after the
change, with their coverage. A new index whose commit completed and that was not listed is removed
by the next change.

Log files accumulate between compactions. Readers use a snapshot; the files that a compaction
replaced stay until the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi_expr.arrays import string_list
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables import hudi_names, properties
from pyhudi_expr.tables.hudi_names import HOODIE_DIR, base_files, log_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import Lease, TableLock
from pyhudi_expr.tables.mdt.changes import bootstrap
from pyhudi_expr.tables.mdt.changes.partitions import (
    IndexConflict,
    NewPartition,
    begin_groups,
    check_restores,
    known_times,
)
from pyhudi_expr.tables.mdt.changes.rollback import rollback_on_failure
from pyhudi_expr.tables.mdt.extension import (
    BEFORE,
    COVERAGE,
    COVERAGE_DIR,
    EXTENSION_DIR,
    INSTANTS,
    Coverage,
    Extension,
    extension_exists,
)
from pyhudi_expr.tables.mdt.index_definitions import (
    IndexDefinition,
    add_definitions,
    remove_definitions,
)
from pyhudi_expr.tables.parsing.budget import parse_json
from pyhudi_expr.tables.process_owner import HOST, PROCESS, is_gone, this_process
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import Action, WrittenFile, commit_record, next_time

__all__ = [
    "EXTENSION_DIR",
    "Change",
    "Extension",
    "abort",
    "begin",
    "begin_compaction",
    "begin_partition",
    "clean",
    "drop",
    "publish",
]

_VERSION, _LAYOUT = 9, 2
_KEPT_COVERAGES = 2
_UPSERT, _COMPACT = "UPSERT", "COMPACT"
_DELTA_COMMIT, _COMMIT = "deltacommit", "commit"


@dataclass(frozen=True)
class Change:
    """A change in progress.

    Attributes:
        instant: The instant of all its files.
        before: The extension before the change.
    """

    extension: HudiTable
    instant: str
    action: str
    before: Extension | None

    @property
    def storage(self) -> Storage:
        """The extension's files."""
        return self.extension.storage


def begin(table: HudiTable, lock: TableLock) -> Change:
    """Step 1 of adding records.

    Raises:
        HudiError: Another process changes the extension (IndexConflict), the lock cannot be taken
            (LockNotAcquired), or another error.
    """
    return _begin(table, lock, _DELTA_COMMIT)


def begin_compaction(table: HudiTable, lock: TableLock) -> Change:
    """Step 1 of replacing all older files of the file groups by new base files."""
    return _begin(table, lock, _COMMIT)


def begin_partition(change: Change, partition: NewPartition) -> None:
    """Create the empty file groups of a new partition.

    Raises:
        IndexConflict: The partition exists.
    """
    if partition.name in change.extension.properties.metadata_partitions:
        raise IndexConflict(f"{change.storage.uri}: {partition.name} exists already")
    begin_groups(change.extension, partition, change.instant)


def publish(
    change: Change,
    files: Sequence[WrittenFile],
    coverage: Coverage,
    lock: TableLock,
    new: Iterable[IndexDefinition] = (),
    register: Callable[[], None] = lambda: None,
) -> None:
    """Step 3.

    Args:
        change: The change.
        files: All files that were written.
        coverage: What the indexes cover from now on.
        lock: The table's lock.
        new: Definitions of the partitions that were started.
        register: Called before new partitions are listed.

    Raises:
        HudiError: The change cannot be completed; call `abort`.
    """
    with lock.held(f"publishes {change.instant} of the extension metadata table") as lease:
        extension = change.extension.refreshed()
        if change.instant not in extension.timeline.pending:
            raise IndexConflict(
                f"{change.storage.uri}: the change {change.instant} was taken back by another "
                "process; try again"
            )
        definitions = list(new)
        lease.check()
        add_definitions(extension, definitions)
        name = f"{change.instant}.parquet"
        change.storage.write(f"{COVERAGE_DIR}/{name}", coverage.content())
        extra = {
            COVERAGE: name,
            INSTANTS: ",".join(sorted(coverage.instants)),
            BEFORE: coverage.before,
        }
        operation = _COMPACT if change.action == _COMMIT else _UPSERT
        completed = next_time(extension.properties, known_times(extension))
        lease.check()
        _action(change).complete(commit_record(_LAYOUT, files, operation, extra), completed)
        if definitions:
            lease.check()
            register()
            lease.check()
            _name_partitions(extension, added=[definition.name for definition in definitions])
        lease.check()
        _forget_coverages(change.storage)


def abort(change: Change, lock: TableLock, forget: Callable[[], None] = lambda: None) -> bool:
    """Step 4: roll the change back.

    Args:
        change: The change.
        lock: The table's lock.
        forget: Removes what else was written for it, while no other change can begin.

    Returns:
        False if its commit is complete, so that it stays.
    """
    with lock.held(f"rolls back {change.instant} of the extension metadata table") as lease:
        extension = change.extension.refreshed()
        if change.instant in extension.timeline.completed_requests:
            return False
        lease.check()
        forget()
        _take_back(extension, change.instant, lease)
        _remove_if_empty(extension, lease)
    return True


def drop(table: HudiTable, names: Sequence[str], lock: TableLock) -> None:
    """Remove partitions, if they exist, with their definitions.

    Raises:
        IndexConflict: Another process changes the extension, see `begin`.
    """
    with lock.held(f"drops {', '.join(names)}") as lease:
        storage = table.storage.child(EXTENSION_DIR)
        if not extension_exists(storage):
            return
        extension = HudiTable.at(storage)
        _recover(extension, lease)
        lease.check()
        _name_partitions(extension, removed=names)
        lease.check()
        remove_definitions(extension, names)
        lease.check()
        for name in names:
            extension.storage.delete_dir(name)
        _remove_if_empty(extension, lease)


def clean(change: Change) -> None:
    """Delete files of slices older than the last compaction, and commits without files.

    A compaction calls it before it publishes. Only readers that opened the table before the last
    compaction may need these files.
    """
    storage, oldest = change.storage, change.instant
    for partition in change.extension.properties.metadata_partitions:
        names = [entry.name for entry in storage.list(partition) if entry.is_file]
        for name, instant in _superseded(change.extension, names):
            if instant is None:
                storage.delete(f"{partition}/{name}")
            else:
                oldest = min(oldest, instant)
    for entry in storage.list(change.extension.properties.timeline_dir):
        if entry.is_file and entry.name.split(".")[0].split("_")[0] < oldest:
            storage.delete(entry.path)


def _superseded(extension: HudiTable, names: list[str]) -> Iterable[tuple[str, str | None]]:
    """Return each file with its instant.

    The instant is None if a newer base file replaced the file, or its change was rolled back (no
    other change is in progress).
    """
    array = pa.array(names, pa.string())
    bases, logs = base_files(array, "hfile"), log_files(array)
    newest: dict[str, str] = {}
    parsed = []
    for files in (bases, logs):
        columns = files.row.tolist(), string_list(files.file_id), string_list(files.instant)
        parsed.append(list(zip(*columns, strict=True)))
    for _, group, instant in parsed[0]:
        if extension.timeline.is_committed(instant):
            newest[group] = max(instant, newest.get(group, ""))
    for row, group, instant in (*parsed[0], *parsed[1]):
        counts = instant >= newest.get(group, "") and extension.timeline.is_committed(instant)
        yield names[row], instant if counts else None


def _begin(table: HudiTable, lock: TableLock, action: str) -> Change:
    with lock.held("begins to change the extension metadata table") as lease:
        check_restores(table.refreshed())
        storage = table.storage.child(EXTENSION_DIR)
        if not extension_exists(storage):
            lease.check()
            data = replace(table.properties, version=_VERSION, timeline_layout=_LAYOUT)
            bootstrap.write_table(storage, f"{table.properties.name}_extension", data)
        extension = HudiTable.at(storage)
        with rollback_on_failure(lambda: _remove_if_empty(extension, lease)):
            _recover(extension, lease)
            extension = extension.refreshed()
            instant = next_time(extension.properties, known_times(extension))
            change = Change(extension, instant, action, Extension.open(table))
            lease.check()
            with rollback_on_failure(_action(change).remove):
                _action(change).request(json.dumps(this_process()).encode())
                _action(change).start()
    return change


def _recover(extension: HudiTable, lease: Lease) -> None:
    """Roll back the changes of processes that died.

    Raises:
        IndexConflict: One is alive, or may be, on another machine.
    """
    for instant in extension.timeline.instants:
        if instant.is_completed:
            continue
        owner = _owner(extension, instant.requested, instant.action)
        if not is_gone(owner) and owner != this_process():
            raise IndexConflict(
                f"{extension.base_path}: process {owner.get(PROCESS)} on {owner.get(HOST)} changes "
                f"the indexes at present; if it is gone, delete "
                f"{extension.properties.timeline_dir}/{instant.requested}.*"
            )
        _take_back(extension, instant.requested, lease)
    lease.check()
    for entry in extension.storage.list():
        # A new index whose process died between its last steps.
        named = extension.properties.metadata_partitions | {HOODIE_DIR}
        if not entry.is_file and entry.name not in named:
            extension.storage.delete_dir(entry.name)


def _owner(extension: HudiTable, instant: str, action: str) -> dict[str, str]:
    path = f"{extension.properties.timeline_dir}/{instant}.{action}.requested"
    content = extension.storage.read_if_present(path)
    if content is None:
        return this_process()
    try:
        owner = parse_json(content, path)
    except CorruptFile:
        return {}
    return owner if isinstance(owner, dict) else {}


def _take_back(extension: HudiTable, instant: str, lease: Lease) -> None:
    lease.check()
    storage, named = extension.storage, extension.properties.metadata_partitions
    for entry in storage.list():
        if entry.is_file or entry.name == HOODIE_DIR:
            continue
        if entry.name not in named:
            storage.delete_dir(entry.name)
            continue
        for file in storage.list(entry.name):
            if file.is_file and f"_{instant}." in file.name:
                storage.delete(file.path)
    storage.delete(f"{COVERAGE_DIR}/{instant}.parquet")
    for action in (_DELTA_COMMIT, _COMMIT):
        Action(storage, extension.properties, instant, action).remove()


def _remove_if_empty(extension: HudiTable, lease: Lease) -> None:
    """Delete an extension that holds no index; under the lock."""
    extension = extension.refreshed()
    if not extension.properties.metadata_partitions and not extension.timeline.pending:
        lease.check()
        extension.storage.delete_dir("")


def _name_partitions(
    extension: HudiTable, *, added: Iterable[str] = (), removed: Iterable[str] = ()
) -> None:
    named = HudiTable.at(extension.storage).properties.metadata_partitions
    changed = (named - set(removed)) | set(added)
    properties.update(
        extension.storage, {hudi_names.METADATA_PARTITIONS: ",".join(sorted(changed))}
    )


def _action(change: Change) -> Action:
    return Action(change.storage, change.extension.properties, change.instant, change.action)


def _forget_coverages(storage: Storage) -> None:
    names = sorted(entry.name for entry in storage.list(COVERAGE_DIR) if entry.is_file)
    for name in names[:-_KEPT_COVERAGES]:
        storage.delete(f"{COVERAGE_DIR}/{name}")
