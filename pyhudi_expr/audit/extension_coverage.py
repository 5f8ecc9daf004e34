"""The extension's list of covered slices: their rows, as the indexes of rows rely on them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyhudi_expr.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.audit.scope import MOST, AuditedRecords, AuditedTable
from pyhudi_expr.audit.slice_keys import SliceKeys
from pyhudi_expr.mdt.extension.coverage import UNCOVERED
from pyhudi_expr.mdt.extension.reader import COVERAGE_DIR, Extension

COVERAGE = "coverage"


def check_coverage(
    records: AuditedRecords, table: AuditedTable, extension: Extension, keys: SliceKeys
) -> Iterator[Finding]:
    """Return the covered slices that have another number of rows than the list says."""
    told = extension.coverage.rows_of(table.table, records.slices)
    ids = zip(
        records.slices.partitions.take(records.slices.slice_partition).to_pylist(),
        records.slices.slice_file_id.to_pylist(),
        strict=True,
    )
    number = np.array([keys.numbers[str(partition), str(one)] for partition, one in ids], np.int64)
    read = ~np.isin(number, list(keys.unread))
    wrong = (told != UNCOVERED) & read & (keys.rows[number] != told)
    for row in np.flatnonzero(wrong)[:MOST].tolist():
        real = int(keys.rows[number[row]])
        lost = bool(told[row] < real)
        yield records.finding(
            COVERAGE,
            Fault.COVERED_ROWS_WRONG,
            Severity.ROWS_LOST if lost else Severity.SLOWER,
            keys.path(int(number[row])),
            subject=records.relative(f"{records.records.metadata.base_path}/{COVERAGE_DIR}"),
            expected=f"{real} rows",
            found=f"{told[row]} rows",
            queries="those for keys that the index lacks" if lost else "those by key read the file",
            readers=(Reader.PYHUDI,) if lost else (),
        )
