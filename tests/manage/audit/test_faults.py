"""Every fault that is put into a table's metadata is found, named, and placed in its file."""

from __future__ import annotations

import pytest

from pyhudi_expr.manage.audit.findings import Severity
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from tests.manage.audit.faults import seed
from tests.manage.audit.living_table import LivingTable
from tests.manage.audit.seeding import FAULTS


def test_a_table_without_a_fault_has_no_finding(without_fault: LivingTable) -> None:
    found = audit(without_fault.open(), AuditOptions())
    assert (found.findings, found.unchecked) == ((), ())
    assert len(found.checked) == 9


def test_there_are_fifty_faults_and_more() -> None:
    assert len(FAULTS) >= 50


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found(table: LivingTable, name: str) -> None:
    expected = seed(name, table)
    found = audit(table.open(), AuditOptions()).findings
    own = [
        one
        for one in found
        if (one.store, one.partition, one.fault)
        == (expected.store, expected.partition, expected.fault)
    ]
    assert any(expected.file in one.file for one in own), found
    assert expected.readers in {one.readers for one in own}, own
    assert {(one.partition, one.fault) for one in found} == {
        (expected.partition, expected.fault),
        *expected.along,
    }
    for one in found:
        assert bool(one.readers) == (one.severity is Severity.ROWS_LOST)
        assert all((one.expected, one.found, one.queries, one.remedy)), one
