"""End the actions of index builders that died; see `async_indexing`.

Builds of the extension are rolled back by `mdt.extension_changes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.changes.async_indexing import (
    ACTION,
    BUILDER,
    BUILDER_NAME,
    NOTE,
    AnnouncedAction,
    Finish,
    complete,
    no_finish,
    take_back,
)
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict, NewPartition, remove_unread
from pyhudi_expr.tables.process_owner import HOST, PROCESS, is_gone, this_process
from pyhudi_expr.tables.timeline import ANNOUNCED, Instant, read_record

_Infos = list[dict[str, Any]]


def unfinished(table: HudiTable) -> list[str]:
    """Return the partitions that builders which died have left, which `recover` ends.

    Raises:
        IndexConflict: A builder is alive, or may be, on another machine.
    """
    left = []
    for instant, infos in _own_plans(table):
        _check_gone(table, instant, infos)
        left += _names(infos)
    return [*left, *_unplanned(table)]


def recover(table: HudiTable, lock: TableLock, finish: Finish = no_finish) -> list[str]:
    """End the actions of builders that died; return what was done to each, as sentences.

    Raises:
        IndexConflict: A builder is alive, or may be, on another machine.
    """
    done = []
    for instant, infos in list(_own_plans(table)):
        _check_gone(table, instant, infos)
        done.append(_ended(table, instant, infos, lock, finish))
    return [*done, *_without_action(table.refreshed(), lock)]


def _check_gone(table: HudiTable, instant: Instant, infos: _Infos) -> None:
    extra = infos[0]["extraMetadata"]
    owner = {key: extra.get(key, "") for key in (HOST, PROCESS)}
    if not is_gone(owner) and owner != this_process():
        raise IndexConflict(
            f"{table.base_path}: process {owner[PROCESS]} on {owner[HOST]} builds "
            f"{', '.join(_names(infos))} at present; if it is gone, delete "
            f"{table.properties.timeline_dir}/{instant.requested}.{ACTION}.* and drop the index"
        )


def _ended(
    table: HudiTable, instant: Instant, infos: _Infos, lock: TableLock, finish: Finish
) -> str:
    names = _names(infos)
    partitions = tuple(NewPartition(name, 0) for name in names)
    note = str(infos[0]["extraMetadata"].get(NOTE, ""))
    time = infos[0]["extraMetadata"].get(ANNOUNCED, instant.requested)
    found = AnnouncedAction(table, instant.requested, time, partitions, frozenset(), note)
    with lock.held(f"recovers {', '.join(names)}") as lease:
        lock.check()
        if found.is_complete:
            lease.check()
            finish(table.refreshed(), note)
            lease.check()
            complete(found, str(infos[0].get("indexUptoInstant") or ""))
            return f"completed {', '.join(names)}, which an earlier run had built"
        take_back(found, lease)
        return f"rolled back {', '.join(names)}, which an earlier run had started"


def _without_action(table: HudiTable, lock: TableLock) -> Iterator[str]:
    """Remove in-flight partitions without an action.

    A writer whose settings do not enable one of an action's partitions deletes that one, and the
    action with it.
    """
    if not _unplanned(table):
        return
    with lock.held("rolls back abandoned partitions") as lease:
        lock.check()
        names = _unplanned(table.refreshed())
        remove_unread(table, names, lease)
    if names:
        yield f"rolled back {', '.join(names)}, which no process builds any more"


def _unplanned(table: HudiTable) -> list[str]:
    planned = {name for _, infos in _plans(table) for name in _names(infos)}
    return sorted(table.properties.metadata_partitions_inflight - planned)


def _own_plans(table: HudiTable) -> Iterator[tuple[Instant, _Infos]]:
    """Return the pending index actions of this program, with their plans."""
    for instant, infos in _plans(table):
        extra = infos[0].get("extraMetadata") or {}
        if extra.get(BUILDER) == BUILDER_NAME:
            yield instant, infos


def _plans(table: HudiTable) -> Iterator[tuple[Instant, _Infos]]:
    """Return the pending index actions of any writer, with their plans."""
    for instant in table.timeline.instants:
        if instant.action == ACTION and not instant.is_completed:
            path = f"{table.properties.timeline_dir}/{instant.requested}.{ACTION}.requested"
            plan = read_record(table.storage.read(path), f"{table.base_path}/{path}")
            infos: _Infos = plan.get("indexPartitionInfos") or []
            if infos:
                yield instant, infos


def _names(infos: _Infos) -> list[str]:
    return [str(info["metadataPartitionPath"]) for info in infos]
