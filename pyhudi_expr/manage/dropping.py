"""DROP INDEX in either metadata table; needs no Spark."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Registry, Store, kind_of
from pyhudi_expr.index.catalog.status import (
    IndexStatus,
    index_status,
    index_statuses,
    no_such_index,
)
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.index_plan import InvalidIndex
from pyhudi_expr.manage.indexing.leftovers import remove_leftovers
from pyhudi_expr.manage.indexing.reverse_mapping import ReverseMapping
from pyhudi_expr.manage.indexing.statements import DropIndex
from pyhudi_expr.manage.invariants import active_indexes, stopped_indexes
from pyhudi_expr.manage.operations import Action, Change, run
from pyhudi_expr.tables.hudi_names import (
    EXPRESSION_INDEX_PREFIX,
    METADATA_DIR,
    RECORD_INDEX,
    SECONDARY_INDEX,
    SECONDARY_INDEX_PREFIX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt import extension_changes as extension
from pyhudi_expr.tables.mdt.certificates.stored import delete_certificate
from pyhudi_expr.tables.mdt.changes import partitions
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR, Extension

_NEVER_MADE_AGAIN = (SECONDARY_INDEX_PREFIX, EXPRESSION_INDEX_PREFIX)
"""Indexes that only CREATE INDEX makes, and no setting of a writer."""
_PENDING_ALLOWED_FROM = 8
"""The version of tables of which Hudi initialises metadata partitions during other actions."""


@dataclass(frozen=True)
class DropPlan:
    """What is removed.

    Attributes:
        partitions: Partitions of Hudi's metadata table or of the extension; none if there is no
            such index.
        store: Which of the two.
        name: The index.
        is_registered: Whether its registration goes, too.
        others: The other indexes that answer.
    """

    table: str
    name: str
    store: Store
    partitions: tuple[str, ...]
    is_registered: bool
    others: frozenset[str]

    @property
    def operation(self) -> str:
        """The operation."""
        return "index drop"

    @property
    def changes(self) -> tuple[Change, ...]:
        """The partitions, then the registration."""
        root = METADATA_DIR if self.store is Store.HUDI else EXTENSION_DIR
        removed = [Change(Action.REMOVE, f"{root}/{name}") for name in self.partitions]
        registered = [self.name] if self.is_registered else []
        return (*removed, *(Change(Action.REMOVE, name) for name in registered))


@dataclass(frozen=True)
class IndexDrop:
    """DROP INDEX, whichever program created the index.

    An index is not used any more from the first step on; a drop that died is ended by the next one.
    """

    request: DropIndex
    options: BuildOptions

    def plan(self) -> DropPlan:
        """Return what is removed; nothing if there is no index, and IF EXISTS was said.

        Raises:
            InvalidIndex: There is no such index.
            HudiError: The table cannot be read.
        """
        table = HudiTable.open(self.request.table)
        status = index_status(table, self.request.name)
        name = self.request.name if status is None else status.name
        registered = name in Registry.read(table.storage).indexes
        others = active_indexes(table) - {name}
        if status is None:
            left = tuple(p for p in partitions.unlisted(table) if name in (p, kind_of(p)[1]))
            if not left and not self.request.if_exists:
                raise InvalidIndex(no_such_index(table, name))
            return DropPlan(table.base_path, name, Store.HUDI, left, registered, others)
        gone = status.partitions
        if status.store is Store.EXTENSION:
            gone = tuple(sorted(_gone_from_extension(table, gone)))
        return DropPlan(table.base_path, name, status.store, gone, registered, others)

    def check(self, plan: DropPlan) -> None:
        """Check that no other index needs this one, and that writers can make it again."""
        table = HudiTable.open(self.request.table)
        status = index_status(table, plan.name)
        if status is not None:
            _check_unneeded(table, status)
        if plan.store is Store.HUDI and plan.partitions:
            _check_nothing_pends(table, plan)
            _check_no_index_is_newest(table, plan)

    def act(self, plan: DropPlan) -> None:
        """Remove the partitions, then the registration."""
        table = HudiTable.open(self.request.table)
        lock = self.options.lock(table.storage)
        remove_leftovers(table, lock)
        if plan.store is Store.EXTENSION:
            extension_drop(table, plan.partitions, lock)
        elif plan.partitions:
            partitions.drop(table, plan.partitions, lock)
            for partition in plan.partitions:
                delete_certificate(table.storage, partition)
        if plan.is_registered:
            _unregister(table, plan.name, lock)

    def verify(self, plan: DropPlan, done: None) -> tuple[str, ...]:
        """Check that nothing of it is left; return a line for each other index that stopped."""
        table = HudiTable.open(self.request.table)
        still = (status for status in index_statuses(table) if status.name == plan.name)
        status = next(still, None)
        if status is not None:
            raise HudiError(f"the index {plan.name} is still there: {status.state.value}")
        left = sorted(set(plan.partitions) & set(_partitions(table, plan.store)))
        if left:
            raise HudiError(f"files of {', '.join(left)} are still there")
        return stopped_indexes(table, plan.others)

    def restore(self, plan: DropPlan) -> str:
        """Leave what was removed: an index is made of the table's files, and can be built again."""
        return "no row is concerned; run it again, which ends what was started"


def drop_index(request: DropIndex, options: BuildOptions) -> tuple[str, ...]:
    """Drop an index; return a line for each other index that answers no more.

    Raises:
        HudiError: There is no such index, or the table cannot be changed.
    """
    return run(IndexDrop(request, options))


def _unregister(table: HudiTable, name: str, lock: TableLock) -> None:
    with lock.held(f"unregisters {name}") as lease:
        registry = Registry.read(table.storage)
        if name in registry.indexes:
            lease.check()
            registry.without(name).write(table.storage)


def _partitions(table: HudiTable, store: Store) -> Collection[str]:
    """Return the partitions that have files or a definition, listed or not."""
    if store is Store.HUDI:
        listed = table.properties.metadata_partitions
        return listed | set(partitions.unlisted(table))
    found = Extension.open(table)
    return () if found is None else found.partitions


def extension_drop(table: HudiTable, partitions: Sequence[str], lock: TableLock) -> None:
    """Delete metadata partitions with their definitions and reverse mappings.

    The record index that was built only for secondary indexes goes with the last of these.

    Raises:
        IndexConflict: The extension is being changed.
        HudiError: The extension cannot be changed.
    """
    gone = sorted(_gone_from_extension(table, partitions))
    extension.drop(table, gone, lock)
    for partition in gone:
        ReverseMapping(table.base_path).drop(partition)
        delete_certificate(table.storage.child(EXTENSION_DIR), partition)


def _gone_from_extension(table: HudiTable, partitions: Sequence[str]) -> set[str]:
    gone = set(partitions)
    found = Extension.open(table)
    registered = Registry.read(table.storage).indexes.values()
    if not any(one.store is Store.EXTENSION and one.kind == RECORD_INDEX for one in registered):
        left = set() if found is None else found.partitions - gone
        gone |= {RECORD_INDEX} if left <= {RECORD_INDEX} else set()  # no other: a drop died
    return gone


def _check_nothing_pends(table: HudiTable, plan: DropPlan) -> None:
    """Check that a writer whose settings enable the index could make it again at once.

    In a table of version 6 a writer of Hudi 1.2 cannot while an action is pending. It does not say
    so, and does not add what it writes to the metadata table any more.
    """
    pending = sorted(table.timeline.pending)
    if pending and table.properties.version < _PENDING_ALLOWED_FROM:
        raise partitions.IndexConflict(
            f"{table.base_path}: {', '.join(pending)} are pending. Until they have ended, writers "
            f"of Hudi 1.2 that enable {', '.join(plan.partitions)} could not make it again in a "
            f"table of version {table.properties.version}, and would leave the metadata table "
            "without what they write. Run or roll back the pending actions first"
        )


def _check_no_index_is_newest(table: HudiTable, plan: DropPlan) -> None:
    """Check that a writer whose settings enable the index would make it again without harm.

    A writer of Hudi 1.2 makes metadata partitions at the instant of the newest completed action. If
    that is an index action, such as that of Hudi's own CREATE INDEX, each partition that it makes
    takes back what has the same instant: the index, and partitions made before it in that write
    (`HoodieBackedTableMetadataWriter.generateUniqueInstantTime`). They stay declared, and empty.
    """
    made_again = [name for name in plan.partitions if not name.startswith(_NEVER_MADE_AGAIN)]
    newest = table.timeline.newest_completed
    if made_again and newest in table.timeline.index_actions:
        raise partitions.IndexConflict(
            f"{table.base_path}: its newest action, {newest.requested}, has built an index. "
            f"Writers of Hudi 1.2 that enable {', '.join(made_again)} would make it again at that "
            "instant, and take that index back. Write to the table first, then drop"
        )


def _check_unneeded(table: HudiTable, status: IndexStatus) -> None:
    if RECORD_INDEX not in status.partitions:
        return
    secondary = (s for s in index_statuses(table) if s.kind == SECONDARY_INDEX)
    needing = [s.name for s in secondary if s.store is status.store]
    if needing:
        raise InvalidIndex(
            f"{table.base_path}: {', '.join(needing)} cannot be without the record index; "
            "drop them first"
        )
