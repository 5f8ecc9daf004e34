"""The rows that match, in the protocol's form."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from pyhudi_expr.index.limits.matching_rows import matching_rows
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.service.column_summaries import to_thrift


def matching(
    pruner: Pruner,
    snapshot: TableSnapshot,
    request: PruneRequest,
    result: PruneResult,
    names: Collection[str],
) -> ttypes.MatchingRows | None:
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
    columns = [to_thrift(summary) for summary in snapshot.summaries_of(schema, rows)]
    return ttypes.MatchingRows(rows=int(rows.sum()), columns=columns)
