"""Every fault that is put into a table's metadata is found, named, and placed in its file."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pyhudi_expr.audit.findings import Severity
from pyhudi_expr.audit.runner import AuditOptions, audit
from tests.audit.faults import FAULTS, healthy
from tests.audit.living_table import LivingTable


@pytest.fixture(scope="module")
def without_fault(tmp_path_factory: pytest.TempPathFactory) -> LivingTable:
    return healthy(tmp_path_factory.mktemp("healthy") / "table")


@pytest.fixture
def table(without_fault: LivingTable, tmp_path: Path) -> LivingTable:
    """A copy, for one fault."""
    shutil.copytree(without_fault.path, tmp_path / "table")
    groups = {name: replace(one, rows=dict(one.rows)) for name, one in without_fault.groups.items()}
    return replace(without_fault, path=tmp_path / "table", groups=groups)


def test_a_table_without_a_fault_has_no_finding(without_fault: LivingTable) -> None:
    found = audit(without_fault.open(), AuditOptions())
    assert (found.findings, found.unchecked) == ((), ())
    assert len(found.checked) == 9


def test_there_are_fifty_faults_and_more() -> None:
    assert len(FAULTS) >= 50


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found(table: LivingTable, name: str) -> None:
    expected = FAULTS[name](table)
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
