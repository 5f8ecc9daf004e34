"""Secondary indexes of Hudi 1.0, which writes no entries of NULL, are right without them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyhudi_expr.manage.audit.findings import Fault, Finding, Reader
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.keys import secondary_key
from pyhudi_expr.tables.mdt.index_definitions import add_definitions, index_definitions
from tests.manage.audit.living_rows import BY_NUMBER
from tests.manage.audit.living_table import LivingTable
from tests.manage.audit.seeding import first, tampered


def of_version(table: LivingTable, version: str) -> None:
    opened = HudiTable.open(str(table.path))
    add_definitions(opened, [replace(index_definitions(opened)[BY_NUMBER], version=version)])


def without_nulls(table: LivingTable) -> str:
    """Remove each entry of NULL; return the key of a row of the first file that had one."""
    keys = [
        str(key)
        for group in table.groups.values()
        for key, row in group.rows.items()
        if row["intField"] is None
    ]
    assert keys
    with tampered(table, BY_NUMBER) as records:
        for key in keys:
            records.pop(secondary_key(None, key).encode(), None)
    return next(str(key) for key, row in first(table).rows.items() if row["intField"] is None)


def found_in(table: LivingTable) -> list[Finding]:
    every = audit(table.open(), AuditOptions()).findings
    return [one for one in every if one.partition == BY_NUMBER]


def test_rows_of_null_without_entries_are_no_fault_in_an_index_of_hudi_1_0(
    table: LivingTable,
) -> None:
    of_version(table, "V1")
    without_nulls(table)
    assert found_in(table) == []


def test_entries_of_null_that_a_later_hudi_added_are_none_either(table: LivingTable) -> None:
    of_version(table, "V1")
    assert found_in(table) == []


def test_they_are_missing_in_an_index_of_a_later_version(table: LivingTable) -> None:
    without_nulls(table)
    assert {one.fault for one in found_in(table)} == {Fault.VALUE_MISSING}


def test_a_value_is_missing_in_an_index_of_hudi_1_0_as_in_any_other(table: LivingTable) -> None:
    of_version(table, "V1")
    rows = first(table).rows.items()
    key, value = next((str(k), row["intField"]) for k, row in rows if row["intField"] is not None)
    with tampered(table, BY_NUMBER) as records:
        del records[secondary_key(str(value), key).encode()]
    assert [one.fault for one in found_in(table)] == [Fault.VALUE_MISSING]


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_an_old_value_of_a_row_that_is_null_now_loses_it(table: LivingTable, version: str) -> None:
    """The key has one entry, so this package would trust it, and look for NULL elsewhere."""
    of_version(table, version)
    key = without_nulls(table)
    with tampered(table, BY_NUMBER) as records:
        records[secondary_key("4711", key).encode()] = next(iter(records.values()))
    lost = [one for one in found_in(table) if Reader.PYHUDI in one.readers]
    assert [one.fault for one in lost] == [Fault.VALUE_MISSING]
