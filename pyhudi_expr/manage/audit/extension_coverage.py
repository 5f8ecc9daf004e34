"""The extension's list of covered slices: their rows, as the indexes of rows rely on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.manage.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.manage.audit.scope import MOST, AuditedRecords, AuditedTable
from pyhudi_expr.manage.audit.slice_keys import SliceNames
from pyhudi_expr.tables.mdt.extension.coverage import UNCOVERED
from pyhudi_expr.tables.mdt.extension.reader import COVERAGE_DIR, Extension

COVERAGE = "coverage"


def check_coverage(
    records: AuditedRecords,
    table: AuditedTable,
    extension: Extension,
    names: SliceNames,
    rows: Int64Array,
    unread: Collection[int],
) -> Iterator[Finding]:
    """Return the covered slices that have another number of rows than the list says.

    Args:
        records: The extension.
        table: The table.
        extension: The extension, with its coverage.
        names: The covered slices.
        rows: The number of rows of each.
        unread: The numbers of slices whose rows are not known.
    """
    counted = extension.coverage.rows_of(table.table, records.slices)
    ids = zip(
        records.slices.partitions.take(records.slices.slice_partition).to_pylist(),
        records.slices.slice_file_id.to_pylist(),
        strict=True,
    )
    number = np.array([names.numbers[str(partition), str(one)] for partition, one in ids], np.int64)
    read = ~np.isin(number, list(unread))
    wrong = (counted != UNCOVERED) & read & (rows[number] != counted)
    for row in np.flatnonzero(wrong)[:MOST].tolist():
        real = int(rows[number[row]])
        lost = bool(counted[row] < real)
        yield records.finding(
            COVERAGE,
            Fault.COVERED_ROWS_WRONG,
            Severity.ROWS_LOST if lost else Severity.SLOWER,
            names.path(int(number[row])),
            subject=records.relative(f"{records.records.metadata.base_path}/{COVERAGE_DIR}"),
            expected=f"{real} rows",
            found=f"{counted[row]} rows",
            queries="those for keys that the index lacks" if lost else "those by key read the file",
            readers=(Reader.PYHUDI,) if lost else (),
        )
