"""Mend what an audit found. Metadata is dropped and built again; no data file is touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.manage.audit.findings import Audit, Finding
from pyhudi_expr.manage.audit.remedies import Repair, plan_repair
from pyhudi_expr.manage.building import Builder, build_index
from pyhudi_expr.manage.dropping import drop_index
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.statements import DropIndex
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes import bootstrap, partitions


@dataclass(frozen=True)
class TableRepair:
    """The repair of what an audit found.

    Attributes:
        found: The audit.
        options: How indexes are built, and which lock is taken.
        build: Builds an index.
        audited: Audits the table again.
        say: Called with each step before it is done.
    """

    found: Audit
    options: BuildOptions
    build: Builder
    audited: Callable[[], Audit]
    say: Callable[[str], None]

    def plan(self) -> Repair:
        """Return what mends the findings. Raises HudiError."""
        return plan_repair(self.found, IndexCatalog.open(HudiTable.open(self.found.table)))

    def check(self, plan: Repair) -> None:
        """Check that the table's lock can be taken, where Hudi's metadata table is changed."""
        if plan.remakes:
            self.options.lock(HudiTable.open(plan.table).storage).check()

    def act(self, plan: Repair) -> None:
        """Drop what is wrong, and build it again: an index that is not there loses no row."""
        steps = iter(plan.steps)
        for name in plan.dropped:
            self.say(next(steps))
            drop_index(DropIndex(name, plan.table, if_exists=True), self.options)
        if plan.remakes:
            self.say(next(steps))
            table = HudiTable.open(plan.table)
            lock = self.options.lock(table.storage)
            partitions.drop(table, sorted(table.properties.metadata_partitions), lock)
            bootstrap.ensure_metadata_table(table.refreshed(), lock)
        for request in plan.built:
            self.say(next(steps))
            build_index(replace(request, if_not_exists=True), self.options, self.build)

    def verify(self, plan: Repair, done: None) -> Audit:
        """Audit the table again, and check that no finding is left that should be mended."""
        after = self.audited()
        left = {_identity(one) for one in after.findings} & {_identity(one) for one in plan.mended}
        if left:
            partition, fault, place = min(left)
            raise HudiError(
                f"{len(left)} findings are left, such as {fault} of {partition} in {place}"
            )
        return after

    def restore(self, plan: Repair) -> str:
        """Leave what was dropped: it was wrong, and queries read more files without it."""
        return "no data file was touched; run it again, which builds what is missing"


def _identity(finding: Finding) -> tuple[str, str, str]:
    """Return what makes two findings of several audits the same."""
    return f"{finding.store.value} {finding.partition}", finding.fault.value, finding.place
