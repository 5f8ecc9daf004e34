"""What is known of rows without reading them, for callers that need no more than that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.index.limits.matching_rows import matching_rows
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.column_summaries import ColumnSummary


@dataclass(frozen=True)
class MatchingRows:
    """All rows that match: their number, and summaries of columns over them."""

    rows: int
    columns: Sequence[ColumnSummary]


def described_matching(
    pruner: Pruner,
    snapshot: TableSnapshot,
    request: PruneRequest,
    result: PruneResult,
    names: Collection[str],
) -> MatchingRows | None:
    """Return all rows that match; None if that is not certain.

    Args:
        pruner: What has made the result.
        snapshot: The table.
        request: The request.
        result: What it keeps.
        names: The columns to describe, in any case.

    Raises:
        HudiError: The statistics cannot be read.
    """
    rows = matching_rows(pruner, snapshot, request, result)
    if rows is None:
        return None
    wanted = {name.lower() for name in names}
    schema = pa.schema([field for field in snapshot.schema if field.name.lower() in wanted])
    return MatchingRows(int(rows.sum()), snapshot.summaries_of(schema, rows))
