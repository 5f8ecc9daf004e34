"""CREATE INDEX and REFRESH INDEX before a session is needed: planned, or refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, Store, register
from pyhudi_expr.index.catalog.status import (
    IndexStatus,
    State,
    account_of_values,
    checked_statuses,
    index_status,
    is_broken,
    no_such_index,
)
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.index_plan import IndexPlan, InvalidIndex, plan_index
from pyhudi_expr.manage.indexing.leftovers import remove_leftovers
from pyhudi_expr.manage.indexing.statements import CreateIndex, RefreshIndex
from pyhudi_expr.tables.hudi_names import PARTITION_STATS, RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes import recovery as index_recovery
from pyhudi_expr.tables.mdt.changes.partitions import check_metadata_table, check_restores
from pyhudi_expr.tables.mdt.extension_changes import Extension
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import require_changeable


@dataclass(frozen=True)
class BuildPlan:
    """An index to build.

    Attributes:
        replaced: Partitions that remain of an earlier build and are deleted first.
        notes: What was found and repaired.
    """

    table: HudiTable
    planned: IndexPlan
    replaced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RefreshPlan:
    """An index of the extension to bring up to the table's newest commit."""

    table: HudiTable
    name: str


@dataclass(frozen=True)
class RecoveryPlan:
    """Builds that died have to be ended; what is left to do is planned then.

    Attributes:
        partitions: What they have left.
    """

    table: HudiTable
    partitions: tuple[str, ...]


Work: TypeAlias = BuildPlan | RefreshPlan


def plan_work(request: CreateIndex | RefreshIndex) -> Work | RecoveryPlan | None:
    """Return what a statement has to do, by the table as it is; None if there is nothing to do.

    Raises:
        InvalidIndex: There is another index of that name, or there is none to refresh.
        IndexConflict: Another process builds an index.
        HudiError: The table cannot be read.
    """
    match request:
        case CreateIndex():
            return _plan_create(request)
        case RefreshIndex():
            return _plan_refresh(request)


def check_work(work: Work | RecoveryPlan, options: BuildOptions) -> None:
    """Check whether the table's state and its writers allow a change.

    Raises:
        HudiError: They do not, and nothing is changed.
    """
    require_changeable(work.table.properties, work.table.base_path)
    check_restores(work.table)
    of_extension = isinstance(work, RefreshPlan) or (
        isinstance(work, BuildPlan) and work.planned.store is Store.EXTENSION
    )
    if not of_extension:
        check_metadata_table(work.table)
        options.lock(work.table.storage).check()


def begin_work(request: CreateIndex | RefreshIndex, options: BuildOptions) -> Work | None:
    """End what dead processes left, and return what is to be done then; None if nothing is.

    Raises:
        HudiError: The statement is refused, or the table cannot be written.
    """
    table = HudiTable.open(request.table)
    lock = options.lock(table.storage)
    remove_leftovers(table, lock)
    notes: list[str] = []
    while isinstance(work := plan_work(request), RecoveryPlan):
        notes += index_recovery.recover(work.table, lock, register)
    if work is None:
        return None
    check_work(work, options)
    if isinstance(work, RefreshPlan):
        return work
    with lock.held(f"checks write access for {work.planned.name}"):
        return replace(work, notes=tuple(notes))


def prepare_create(request: CreateIndex, options: BuildOptions) -> BuildPlan | None:
    """Prepare CREATE INDEX for builders without the protocol of operations; None if it exists.

    Raises:
        HudiError: The statement is refused, and nothing is changed.
    """
    work = begin_work(request, options)
    assert not isinstance(work, RefreshPlan)
    return work


def _plan_create(request: CreateIndex) -> BuildPlan | RecoveryPlan | None:
    table = HudiTable.open(request.table)
    planned = plan_index(table, request)
    unfinished = index_recovery.unfinished(table)
    if unfinished:
        return RecoveryPlan(table, tuple(unfinished))
    there = _what_exists(table, planned)
    if there is None:
        return BuildPlan(table, planned)
    if request.if_not_exists:
        return None
    raise InvalidIndex(f"{table.base_path}: {there}")


def _plan_refresh(request: RefreshIndex) -> Work | RecoveryPlan | None:
    table = HudiTable.open(request.table)
    status = _status(table, request.name)
    of_hudi = status.store is Store.HUDI
    unfinished = index_recovery.unfinished(table) if of_hudi else []
    if unfinished:
        return RecoveryPlan(table, tuple(unfinished))
    if status.kind == RECORD_INDEX:
        # It covers every commit, but may lack keys that a writer deleted.
        found = checked_statuses(IndexCatalog.open(table))
        status = next(one for one in found if one.name == status.name)
    if is_broken(IndexCatalog.open(table), status):
        status = replace(status, state=State.BROKEN)
    if status.state is State.ACTIVE and not _is_repairable(table, status):
        return None
    index = Registry.read(table.storage).indexes.get(status.name)
    if index is None and status.kind == SECONDARY_INDEX and of_hudi:
        index = RegisteredIndex(
            status.name, status.kind, status.columns, {}, status.store, status.partitions, ""
        )
    if index is None:
        raise InvalidIndex(
            f"{table.base_path}: {request.name!r} was made by Hudi and covers {status.covers}; "
            "drop it and create it to have it anew"
        )
    if index.store is Store.EXTENSION and status.state is State.LAGGING:
        return RefreshPlan(table, index.name)
    again = CreateIndex(index.name, request.table, index.kind, index.columns, index.options)
    left = sorted(set(index.partitions) & table.properties.metadata_partitions)
    if index.store is Store.EXTENSION:
        left = []
    return BuildPlan(table, plan_index(table, again), tuple(left))


def _is_repairable(table: HudiTable, status: IndexStatus) -> bool:
    """Return whether a secondary index of Hudi's answers for more file slices if built anew."""
    if status.kind != SECONDARY_INDEX or status.store is not Store.HUDI:
        return False
    metadata = MetadataTable.open(table)
    account = None if metadata is None else account_of_values(metadata, status)
    return account is not None and account.is_repaired_by_building


def _status(table: HudiTable, name: str) -> IndexStatus:
    status = index_status(table, name)
    if status is None:
        raise InvalidIndex(no_such_index(table, name))
    return status


def _what_exists(table: HudiTable, planned: IndexPlan) -> str | None:
    """Return what prevents the index, and what to do about it."""
    extension = Extension.open(table)
    kept = frozenset[str]() if extension is None else extension.partitions
    same = Registry.read(table.storage).indexes.get(planned.name)
    # A partition that a build registered just before it failed is gone.
    if same is not None and (same.store is Store.HUDI or set(same.partitions) <= kept):
        return f"the index {planned.name!r} exists; drop it first, or refresh it"
    names = {partition.name for partition in planned.partitions}
    if planned.store is Store.EXTENSION:
        shared = {RECORD_INDEX} if planned.kind == SECONDARY_INDEX else set[str]()
        taken = kept & (names - shared - {PARTITION_STATS})
    else:
        properties = table.properties
        there = properties.metadata_partitions | properties.metadata_partitions_inflight
        taken = there & names
    for partition in sorted(taken):
        found = index_status(table, partition)
        name = partition if found is None else found.name
        return f"there is {partition} already, as the index {name!r}; drop it first"
    return None
