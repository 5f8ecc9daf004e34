"""The rows that match, in the protocol's form."""

from __future__ import annotations

from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.limits.matching_rows import matching_rows
from pyhudi_expr.protocol import ttypes
from pyhudi_expr.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.service.column_summaries import to_thrift


def matching(
    pruner: Pruner, snapshot: TableSnapshot, request: PruneRequest, result: PruneResult
) -> ttypes.MatchingRows | None:
    """Return all rows that match; None if that is not certain.

    Args:
        pruner: What has made the result.
        snapshot: The table.
        request: The request.
        result: What it keeps.

    Raises:
        HudiError: The statistics cannot be read.
    """
    rows = matching_rows(pruner, snapshot, request, result)
    if rows is None:
        return None
    columns = [to_thrift(summary) for summary in snapshot.summaries_of(rows)]
    return ttypes.MatchingRows(rows=int(rows.sum()), columns=columns)
