"""Narrow a result to the slices that have the rows which a LIMIT needs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.index.limits.first_files import OrderColumn, WantedRows, may_have_first_rows
from pyhudi_expr.index.limits.key_bounds import KeyBounds, key_bounds
from pyhudi_expr.index.limits.sure_rows import sure_rows
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.slice_sets import SliceMerging
from pyhudi_expr.index.snapshot import TableSnapshot

LIMIT, TOP_K = "limit", "top-k"
"""Names of what excludes files, in `PruneResult.dropped_by`."""


def narrowed(
    pruner: Pruner,
    snapshot: TableSnapshot,
    request: PruneRequest,
    result: PruneResult,
    wanted: Collection[WantedRows],
) -> PruneResult:
    """Return a result with the slices that suffice; the same one if all may be needed.

    It says nothing about a slice alone: who reads by it reads every slice that it keeps, in the
    state of the table that it is about.

    Args:
        pruner: What has made the result.
        snapshot: The table as it was pruned.
        request: The request.
        result: What it keeps.
        wanted: What the query needs of the rows, each of these; nothing: all of the rows.

    Raises:
        HudiError: The table does not support the request.
    """
    if not wanted or any(each.rows < 1 for each in wanted) or not result.keep.any():
        return result
    sure = sure_rows(pruner, snapshot, request, result)
    if not sure.any():
        return result
    wait = pruner.settings[0].footer_wait
    keep = np.zeros(len(sure), np.bool_)
    for each in wanted:
        if each.order is None:
            keep |= _enough(sure, snapshot, each.rows)
        else:
            bounds = key_bounds(snapshot, request, each.order.column, result.keep, wait)
            keep |= _first(sure, snapshot, bounds, each.rows, each.order)
    found = replace(result, keep=result.keep & keep)
    dropped = result.files_kept - found.files_kept
    if not dropped:
        return result
    name = LIMIT if all(each.order is None for each in wanted) else TOP_K
    return replace(found, dropped_by={**result.dropped_by, name: dropped})


def _enough(sure: Int64Array, snapshot: TableSnapshot, rows: int) -> BoolArray:
    """Flag the fewest slices that have so many rows, the smallest of them; all if none do."""
    keep = np.zeros(len(sure), np.bool_)
    if sure.sum() < rows:
        return ~keep
    alone = np.flatnonzero(sure >= rows)
    if len(alone):
        listing = snapshot.listing
        sizes = np.bincount(listing.file_slice, listing.file_size, listing.num_slices)
        keep[alone[np.argmin(sizes[alone])]] = True
        return keep
    largest = np.argsort(-sure, kind="stable")
    keep[largest[: np.searchsorted(np.cumsum(sure[largest]), rows) + 1]] = True
    return keep


def _first(
    sure: Int64Array,
    snapshot: TableSnapshot,
    bounds: KeyBounds | None,
    rows: int,
    order: OrderColumn,
) -> BoolArray:
    """Flag the slices that may have one of the first rows of an order; all if that is unknown."""
    if bounds is None:
        return np.ones(len(sure), np.bool_)
    # Sure rows are in slices of one file, a base file.
    in_files = sure[snapshot.listing.file_slice]
    return _slices(may_have_first_rows(bounds, in_files, rows, order), snapshot)


def _slices(files: BoolArray, snapshot: TableSnapshot) -> BoolArray:
    """Return which slices may have a row that flagged files may have, merged with their logs."""
    listing = snapshot.listing
    slices = listing.any_file_of_slice(files)
    if snapshot.merging is SliceMerging.OPAQUE:
        return slices | listing.slice_has_logs
    return slices
