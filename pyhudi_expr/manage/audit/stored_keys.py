"""Rows without a stored key, in a table that says that it stores them.

Hudi's next update of such a row fails, or writes the row a second time.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.manage.audit.scope import AuditedTable
from pyhudi_expr.manage.stored_keys import SliceKeys, stored_keys
from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.keys.definition import is_virtual

PARTITION = "table"
"""Stands for the table's own files where findings name a partition of the metadata table."""


def check_stored_keys(table: AuditedTable, unchecked: list[str]) -> Iterator[Finding]:
    """Check that each row of the slices has its key, unless keys are virtual."""
    if is_virtual(table.table.properties):
        return
    try:
        found = stored_keys(table.table, table.slices)
    except HudiError as error:
        unchecked.append(f"stored keys: {error}")
        return
    for one in found:
        if one.lacks_keys:
            yield _finding(one)


def _finding(one: SliceKeys) -> Finding:
    rows, keys = one.rows + one.log_rows, one.keys + one.log_keys
    return Finding(
        store=Store.HUDI,
        partition=PARTITION,
        fault=Fault.STORED_KEY_MISSING,
        severity=Severity.QUERY_FAILS,
        file=one.slice.path(one.slice.base or one.slice.logs[0]),
        subject=RECORD_KEY,
        expected=f"a stored key in each of {rows} rows",
        found=f"keys in {keys} of them",
        queries="updates, deletes and compactions of these rows; queries of the column",
        readers=(Reader.HUDI, Reader.PYHUDI),
        remedy="",
    )
