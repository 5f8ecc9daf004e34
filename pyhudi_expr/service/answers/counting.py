"""Counted rows in the protocol's form."""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi_expr.index.limits.equal_rows import equal_rows
from pyhudi_expr.index.prune import PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.service.column_summaries import literal


def counted(
    snapshot: TableSnapshot, request: PruneRequest, result: PruneResult, names: Sequence[str]
) -> list[ttypes.EqualRows] | None:
    """Return all rows of the kept slices by the values of columns; None if these are not known.

    Args:
        snapshot: The table.
        request: The request.
        result: What it keeps.
        names: Partition columns, in any case.
    """
    found = equal_rows(snapshot, request, result, names)
    if found is None:
        return None
    return [
        ttypes.EqualRows(
            values=[
                literal(value, column) for value, column in zip(values, found.columns, strict=True)
            ],
            rows=rows,
        )
        for values, rows in found.rows.items()
    ]
