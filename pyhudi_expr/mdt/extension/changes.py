"""The extension metadata table: indexes that Hudi's own would refuse, break or delete.

It lies beside Hudi's, under `.hoodie/pyhudi/metadata`, and has the same format on disk (that of
table version 9, whatever the version of the data table): a properties file of its own that names
the complete partitions, a timeline of its own, file groups of HFiles and log files. Hudi neither
reads nor changes it.

How it is changed
-----------------
One *change* is done at a time; it is a delta commit (a compaction: a commit) of one instant.

1. `begin`, under the table's lock: what a process that died has left is taken back, and the commit
   is requested and started, with the name of the process. While it is pending, nobody else begins.
2. Files are written, with the change's instant in their names. Nobody reads them: their commit is
   not complete.
3. `publish`, under the lock: the definitions of new indexes and the list of the covered slices are
   written, the commit completes, and only then new partitions are named in the properties.
4. `abort` takes all back as long as the commit is not complete.

Dying anywhere leaves the indexes as they were before or as they are after the change, with what
they cover. A new index whose commit completed and that was not named is taken back by the next
change.

Log files count up between compactions. Readers work with a snapshot; the files that a compaction
replaced stay until the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi_expr.mdt.changes import bootstrap
from pyhudi_expr.mdt.changes.index_definitions import (
    IndexDefinition,
    add_definitions,
    remove_definitions,
)
from pyhudi_expr.mdt.changes.partitions import (
    IndexConflict,
    NewPartition,
    begin_groups,
    check_restores,
    known_times,
)
from pyhudi_expr.mdt.changes.rollback import rollback_on_failure
from pyhudi_expr.mdt.extension.coverage import Coverage
from pyhudi_expr.mdt.extension.reader import (
    BEFORE,
    COVERAGE,
    COVERAGE_DIR,
    EXTENSION_DIR,
    INSTANTS,
    Extension,
    extension_exists,
)
from pyhudi_expr.table import properties_writer
from pyhudi_expr.table.file_names import base_files, log_files
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock
from pyhudi_expr.table.process_owner import HOST, PROCESS, is_gone, this_process
from pyhudi_expr.table.properties import HOODIE_DIR
from pyhudi_expr.table.storage import Storage
from pyhudi_expr.table.timeline.action_records import WrittenFile, commit_record
from pyhudi_expr.table.timeline.writer import Action, next_time

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
_COMPLETE = "hoodie.table.metadata.partitions"
_KEPT_COVERAGES = 2
_UPSERT, _COMPACT = "UPSERT", "COMPACT"
_DELTA_COMMIT, _COMMIT = "deltacommit", "commit"


@dataclass(frozen=True)
class Change:
    """A change that is being made. instant: of all its files; before: the extension until then."""

    extension: HudiTable
    instant: str
    action: str
    before: Extension | None

    @property
    def storage(self) -> Storage:
        """The extension's files."""
        return self.extension.storage


def begin(table: HudiTable, lock: TableLock) -> Change:
    """Step 1 of adding records. Raises IndexConflict while another process changes the extension,
    LockNotAcquired or another HudiError.
    """
    return _begin(table, lock, _DELTA_COMMIT)


def begin_compaction(table: HudiTable, lock: TableLock) -> Change:
    """Step 1 of putting new base files in the place of all older files of their groups."""
    return _begin(table, lock, _COMMIT)


def begin_partition(change: Change, partition: NewPartition) -> None:
    """The empty file groups of a new partition. Raises IndexConflict: it is there already."""
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
    """Step 3. files: all that were written; new: definitions of the partitions that were begun;
    register: called before new partitions are named. Raises HudiError; then `abort`.
    """
    with lock.held(f"publishes {change.instant} of the extension metadata table"):
        extension = change.extension.refreshed()
        if change.instant not in extension.timeline.pending:
            raise IndexConflict(
                f"{change.storage.uri}: the change {change.instant} was taken back by another "
                "process; try again"
            )
        definitions = list(new)
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
        _action(change).complete(commit_record(_LAYOUT, files, operation, extra), completed)
        if definitions:
            register()
            _name_partitions(extension, added=[definition.name for definition in definitions])
        _forget_coverages(change.storage)


def abort(change: Change, lock: TableLock, forget: Callable[[], None] = lambda: None) -> bool:
    """Step 4: nothing of the change is left. False: its commit is complete, and counts. forget:
    takes back what else was written for it, while nobody else begins.
    """
    with lock.held(f"takes back {change.instant} of the extension metadata table"):
        extension = change.extension.refreshed()
        if change.instant in extension.timeline.completed_requests:
            return False
        forget()
        _take_back(extension, change.instant)
        _remove_if_empty(extension)
    return True


def drop(table: HudiTable, names: Sequence[str], lock: TableLock) -> None:
    """Removes partitions, if they are there, with their definitions. Raises IndexConflict, see
    `begin`.
    """
    with lock.held(f"drops {', '.join(names)}"):
        storage = table.storage.child(EXTENSION_DIR)
        if not extension_exists(storage):
            return
        extension = HudiTable.at(storage)
        _recover(extension)
        _name_partitions(extension, removed=names)
        remove_definitions(extension, names)
        for name in names:
            extension.storage.delete_dir(name)
        _remove_if_empty(extension)


def clean(change: Change) -> None:
    """Deletes what only readers of the time before the last compaction may need: the files of older
    slices, and the commits that have no files any more. For a compaction, before it publishes.
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
    """For each file its instant; None where a newer base file has taken its place, or its change
    was taken back (nobody else's is under way).
    """
    array = pa.array(names, pa.string())
    bases, logs = base_files(array, "hfile"), log_files(array)
    newest: dict[str, str] = {}
    parsed = []
    for files in (bases, logs):
        columns = files.row.tolist(), files.file_id.to_pylist(), files.instant.to_pylist()
        parsed.append(list(zip(*columns, strict=True)))
    for _, group, instant in parsed[0]:
        if extension.timeline.is_committed(instant):
            newest[group] = max(instant, newest.get(group, ""))
    for row, group, instant in (*parsed[0], *parsed[1]):
        counts = instant >= newest.get(group, "") and extension.timeline.is_committed(instant)
        yield names[row], instant if counts else None


def _begin(table: HudiTable, lock: TableLock, action: str) -> Change:
    with lock.held("begins to change the extension metadata table"):
        check_restores(table.refreshed())
        storage = table.storage.child(EXTENSION_DIR)
        if not extension_exists(storage):
            data = replace(table.properties, version=_VERSION, timeline_layout=_LAYOUT)
            bootstrap.write_table(storage, f"{table.properties.name}_extension", data)
        extension = HudiTable.at(storage)
        with rollback_on_failure(lambda: _remove_if_empty(extension)):
            _recover(extension)
            extension = extension.refreshed()
            instant = next_time(extension.properties, known_times(extension))
            change = Change(extension, instant, action, Extension.open(table))
            with rollback_on_failure(_action(change).remove):
                _action(change).request(json.dumps(this_process()).encode())
                _action(change).start()
    return change


def _recover(extension: HudiTable) -> None:
    """Takes back the changes of processes that died. Raises IndexConflict where one is alive, or
    may be, on another machine.
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
        _take_back(extension, instant.requested)
    for entry in extension.storage.list():
        # A new index whose change died between its last steps.
        named = extension.properties.metadata_partitions | {HOODIE_DIR}
        if not entry.is_file and entry.name not in named:
            extension.storage.delete_dir(entry.name)


def _owner(extension: HudiTable, instant: str, action: str) -> dict[str, str]:
    path = f"{extension.properties.timeline_dir}/{instant}.{action}.requested"
    if extension.storage.stat(path) is None:
        return this_process()
    try:
        owner = json.loads(extension.storage.read(path))
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _take_back(extension: HudiTable, instant: str) -> None:
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


def _remove_if_empty(extension: HudiTable) -> None:
    """Deletes an extension that holds no index; under the lock."""
    extension = extension.refreshed()
    if not extension.properties.metadata_partitions and not extension.timeline.pending:
        extension.storage.delete_dir("")


def _name_partitions(
    extension: HudiTable, *, added: Iterable[str] = (), removed: Iterable[str] = ()
) -> None:
    named = HudiTable.at(extension.storage).properties.metadata_partitions
    changed = (named - set(removed)) | set(added)
    properties_writer.update(extension.storage, {_COMPLETE: ",".join(sorted(changed))})


def _action(change: Change) -> Action:
    return Action(change.storage, change.extension.properties, change.instant, change.action)


def _forget_coverages(storage: Storage) -> None:
    names = sorted(entry.name for entry in storage.list(COVERAGE_DIR) if entry.is_file)
    for name in names[:-_KEPT_COVERAGES]:
        storage.delete(f"{COVERAGE_DIR}/{name}")
