"""What is wrong with a table's metadata, as an Arrow table."""

from __future__ import annotations

import warnings
from dataclasses import asdict

import pyarrow as pa

from pyhudi_expr.api.arguments import whole_number
from pyhudi_expr.errors import PyHudiWarning
from pyhudi_expr.manage.audit.runner import AuditOptions, Progress, audit
from pyhudi_expr.tables.hudi_table import HudiTable

_TEXTS = ("store", "partition", "fault", "severity", "file", "subject", "expected", "found")
_FINDINGS = pa.schema(
    [
        *((name, pa.string()) for name in (*_TEXTS, "queries", "remedy")),
        ("readers", pa.list_(pa.string())),
    ]
)
_CALLER = 3
"""The depth of the program that calls `Table.audit`."""


def findings_table(table: HudiTable, sample: int | None, seed: int, progress: Progress) -> pa.Table:
    """Audit a table, see `Table.audit`."""
    slices = None if sample is None else whole_number("sample", sample)
    found = audit(table, AuditOptions(slices, whole_number("seed", seed)), progress)
    for note in found.unchecked:
        warnings.warn(f"not checked: {note}", PyHudiWarning, stacklevel=_CALLER)
    rows = [{**asdict(one), "readers": list(one.readers)} for one in found.findings]
    return pa.Table.from_pylist(rows, _FINDINGS)
