"""An audit beside a writer: what has left the table in the meantime is no finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyhudi_expr.manage.audit.findings import Fault, Finding, Severity
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.manage.audit.scope import AuditedRecords, AuditedTable
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from tests.manage.audit.living_table import LivingTable
from tests.manage.audit.seeding import first, last


def test_findings_about_replaced_files_are_dropped(table: LivingTable) -> None:
    replaced, kept = first(table), last(table)
    files = [f"{group.part}/{group.name}" for group in (replaced, kept)]

    def write_meanwhile(
        records: AuditedRecords,
        _table: AuditedTable,
        _partitions: Sequence[str],
        _unchecked: list[str],
    ) -> Iterator[Finding]:
        table.update(list(replaced.rows)[:1])
        table.clean()
        for file in files:
            fault, severity = Fault.KEY_MISSING, Severity.ROWS_LOST
            yield records.finding(RECORD_INDEX, fault, severity, file)

    found = audit(table.open(), AuditOptions(), row_checks=write_meanwhile)
    assert [one.file for one in found.findings] == files[1:]
    (note,) = found.unchecked
    assert "replaced or deleted since 20260101000004000" in note
    assert audit(table.open(), AuditOptions()).findings == ()
