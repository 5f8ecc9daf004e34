"""A repair removes what its plan names, and succeeds only if another audit says so."""

from __future__ import annotations

import pytest

from pyhudi_expr.manage.audit.findings import Audit
from pyhudi_expr.manage.audit.remedies import TableRepair
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.operations import Action, OperationFailed, carry_out, plan_record
from tests.manage.audit import faults
from tests.manage.audit.living_table import LivingTable
from tests.tables.directory_contents import contents


def audited(table: LivingTable) -> Audit:
    return audit(table.open(), AuditOptions())


def repair(table: LivingTable, found: Audit, after: Audit | None = None) -> TableRepair:
    """As if another process had built each index in the meantime."""
    return TableRepair(
        found,
        BuildOptions(wait=1),
        lambda work: None,
        lambda: after or audited(table),
        lambda step: None,
    )


def test_what_the_plan_names_is_removed_and_nothing_else(table: LivingTable) -> None:
    faults.seed("two_keys_have_each_others_places", table)
    before = contents(table.path)
    found = audited(table)
    operation = repair(table, found)
    plan = operation.plan()
    operation.check(plan)
    assert contents(table.path) == before
    assert plan.mended == found.findings
    assert carry_out(operation, plan).findings == ()
    after = contents(table.path)
    gone = {str(name) for name in before if name not in after}
    named = tuple(one.what for one in plan.changes if one.action is Action.REMOVE)
    assert gone
    assert {name for name in gone if not name.startswith(named)} == set()
    assert plan_record(plan)["operation"] == "audit --repair"


def test_findings_that_are_left_are_no_success(table: LivingTable) -> None:
    faults.seed("two_keys_have_each_others_places", table)
    found = audited(table)
    operation = repair(table, found, after=found)
    with pytest.raises(OperationFailed, match=r"findings are left, such as .*run it again"):
        carry_out(operation, operation.plan())
