"""The rows that surely match a predicate, slice by slice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.expr.nodes import (
    READINGS,
    Call,
    Case,
    Cast,
    HudiExpression,
    IsNull,
    Not,
    Or,
    walk,
)
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot


def sure_rows(
    pruner: Pruner, snapshot: TableSnapshot, request: PruneRequest, result: PruneResult
) -> Int64Array:
    """Return for each slice how many rows surely match, if all of its rows do; else 0.

    Args:
        pruner: What has made the result.
        snapshot: The table.
        request: The request; not that of an incremental query, which reads rows of slices.
        result: What it keeps.

    Raises:
        HudiError: The table does not support the request.
    """
    counts = snapshot.row_counts()
    if counts is None or request.since is not None or not _is_plain(request.predicate):
        return np.zeros(snapshot.listing.num_slices, np.int64)
    is_exact = (counts > 0) & ~snapshot.listing.slice_has_logs & result.keep
    if not is_exact.any():
        return np.zeros(snapshot.listing.num_slices, np.int64)
    # TRUE for each row for which the predicate is not: the slices that this excludes have none.
    others = Or((Not(request.predicate), IsNull(request.predicate)))
    doubtful = pruner.prune_snapshot(snapshot, replace(request, predicate=others)).keep
    return np.where(is_exact & ~doubtful, counts, 0).astype(np.int64)


def _is_plain(predicate: HudiExpression) -> bool:
    """Return whether a predicate compares columns with constants, and with each other.

    Engines agree where such a predicate is NULL. They do not of conditional values and of functions
    of values that these do not accept, which excludes no row that matches, but would be one here.
    """
    return not any(
        isinstance(node, Case | Cast) or (isinstance(node, Call) and node.name not in READINGS)
        for node in walk(predicate)
    )
