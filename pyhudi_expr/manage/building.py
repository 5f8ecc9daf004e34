"""CREATE INDEX and REFRESH INDEX in either metadata table; Spark builds the entries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import index_status, is_broken
from pyhudi_expr.manage.indexing.build_options import BuildOptions, BuildResult
from pyhudi_expr.manage.indexing.preparation import (
    BuildPlan,
    RecoveryPlan,
    RefreshPlan,
    Work,
    begin_work,
    check_work,
    plan_work,
)
from pyhudi_expr.manage.indexing.statements import CreateIndex, RefreshIndex
from pyhudi_expr.manage.invariants import active_indexes, stopped_indexes
from pyhudi_expr.manage.operations import Action, Change, run
from pyhudi_expr.tables.hudi_names import METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR


class Builder(Protocol):
    """Builds what was planned."""

    def __call__(self, work: Work) -> BuildResult | None:
        """Build it; None if another process did it in the meantime.

        Raises:
            HudiError: The build failed, and took back what it had written.
        """


@dataclass(frozen=True)
class BuildingPlan:
    """What is built.

    Attributes:
        work: What there is to do; None if the index is up to date.
        name: The index.
        state: Its state before; empty if there is none.
        others: The other indexes that answer.
    """

    operation: str
    table: str
    work: Work | RecoveryPlan | None
    name: str
    state: str
    others: frozenset[str]

    @property
    def changes(self) -> tuple[Change, ...]:
        """The metadata partitions; those of dead builds are ended before anything is planned."""
        match self.work:
            case None:
                return ()
            case RecoveryPlan(partitions=partitions):
                return tuple(
                    Change(Action.REPLACE, f"{METADATA_DIR}/{name}") for name in partitions
                )
            case RefreshPlan():
                return (Change(Action.REPLACE, EXTENSION_DIR),)
            case BuildPlan(planned=planned, replaced=replaced):
                root = METADATA_DIR if planned.store is Store.HUDI else EXTENSION_DIR
                removed = [Change(Action.REMOVE, f"{root}/{name}") for name in replaced]
                written = [Change(Action.WRITE, f"{root}/{p.name}") for p in planned.partitions]
                registered = Change(Action.SET, planned.name, planned.kind)
                return (*removed, *written, registered)


@dataclass(frozen=True)
class IndexBuilding:
    """An index that is created, or brought up to the table's newest commit.

    It becomes valid by one commit to its metadata table, which is the last step but the entry in
    the register of indexes; the next command ends what a process that died has left.
    """

    request: CreateIndex | RefreshIndex
    options: BuildOptions
    build: Builder

    def plan(self) -> BuildingPlan:
        """Return what is built.

        Raises:
            InvalidIndex: There is an index of this name, or there is none to refresh.
            HudiError: The table cannot be read.
        """
        table = HudiTable.open(self.request.table)
        status = index_status(table, self.request.name)
        return BuildingPlan(
            "index create" if isinstance(self.request, CreateIndex) else "index refresh",
            table.base_path,
            plan_work(self.request),
            self.request.name,
            "" if status is None else status.state.value,
            active_indexes(table) - {self.request.name},
        )

    def check(self, plan: BuildingPlan) -> None:
        """Check that the table's state and its writers allow the change."""
        if plan.work is not None:
            check_work(plan.work, self.options)

    def act(self, plan: BuildingPlan) -> BuildResult | None:
        """End what dead processes left, and build."""
        work = begin_work(self.request, self.options)
        return None if work is None else self.build(work)

    def verify(self, plan: BuildingPlan, done: BuildResult | None) -> BuildResult | None:
        """Check that the index is there and its files can be read; note others that stopped."""
        if done is None:
            return None
        table = HudiTable.open(self.request.table)
        status = index_status(table, plan.name)
        if status is None:
            raise HudiError(f"there is no index {plan.name}: another writer has removed it")
        if is_broken(IndexCatalog.open(table), status):
            raise HudiError(f"the files of the index {plan.name} cannot be read: refresh it")
        return replace(done, notes=(*done.notes, *stopped_indexes(table, plan.others)))

    def restore(self, plan: BuildingPlan) -> str:
        """Leave what is there: a build has taken back its files, and no query uses broken ones."""
        table = HudiTable.open(self.request.table)
        status = index_status(table, plan.name)
        state = "is not there" if status is None else f"is {status.state.value}"
        return f"no row is concerned; the index {plan.name} {state}"


def build_index(
    request: CreateIndex | RefreshIndex, options: BuildOptions, build: Builder
) -> BuildResult | None:
    """Create or refresh an index; None if there was nothing to do.

    Raises:
        HudiError: It was refused, or failed; the message says what is as before.
    """
    return run(IndexBuilding(request, options, build))
