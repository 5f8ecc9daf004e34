"""How many rows match, where whole slices do."""

from __future__ import annotations

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.index.limits.sure_rows import sure_rows
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot


def matching_rows(
    pruner: Pruner, snapshot: TableSnapshot, request: PruneRequest, result: PruneResult
) -> Int64Array | None:
    """Return the number of rows of each slice that match; None if that is not certain.

    Args:
        pruner: What has made the result.
        snapshot: The table.
        request: The request.
        result: What it keeps.

    Raises:
        HudiError: The table does not support the request.
    """
    sure = sure_rows(pruner, snapshot, request, result)
    return sure if (sure[result.keep] > 0).all() and sure.any() else None
