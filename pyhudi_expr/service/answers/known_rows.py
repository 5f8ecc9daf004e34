"""What is known of rows without reading them, for callers that need no more than that."""

from __future__ import annotations

from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.service.answers.counting import counted
from pyhudi_expr.service.answers.matching import matching


def add_known_rows(
    response: ttypes.PruneResponse,
    asked: ttypes.PruneRequest,
    pruner: Pruner,
    snapshot: TableSnapshot,
    request: PruneRequest,
    result: PruneResult,
) -> None:
    """Answer with the rows that the caller wants counted or described, as far as they are known.

    Args:
        response: The answer, which is completed.
        asked: What the caller asks for.
        pruner: What has made the result.
        snapshot: The table.
        request: The same question, decoded.
        result: What it keeps.

    Raises:
        HudiError: The statistics cannot be read.
    """
    if asked.describeMatching is not None:
        response.matching = matching(pruner, snapshot, request, result, asked.describeMatching)
    if asked.countBy is not None:
        response.counted = counted(snapshot, request, result, asked.countBy)
