"""What a query needs of matching rows, and the slices that have the rows which a LIMIT needs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.domains import MAX_ORDINAL
from pyhudi_expr.expr.nodes import Column
from pyhudi_expr.index.limits.key_bounds import KeyBounds, key_bounds
from pyhudi_expr.index.limits.sure_rows import sure_rows
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.file_ranges import UNKNOWN
from pyhudi_expr.tables.properties import SliceMerging


@dataclass(frozen=True)
class OrderColumn:
    """The first column of an order.

    Attributes:
        column: The column, with the type that the engine declares.
        descending: From the greatest value on.
        nulls_first: NULL comes before all values, else behind them.
        any_of_equal: Of rows that are equal in this column any will do: no further ones decide.
    """

    column: Column
    descending: bool = False
    nulls_first: bool = False
    any_of_equal: bool = False


@dataclass(frozen=True)
class WantedRows:
    """The first rows of an order, or any rows.

    Attributes:
        rows: How many; those that an OFFSET passes over are wanted, too.
        order: The first column of the order; further ones decide among equal rows only. None: any
            rows will do.
    """

    rows: int
    order: OrderColumn | None = None


def may_have_first_rows(
    bounds: KeyBounds, sure: Int64Array, rows: int, order: OrderColumn
) -> BoolArray:
    """Flag the files that may have one of the first rows of an order; all if that is unknown.

    Args:
        bounds: The bounds of the order's column in N files.
        sure: For each of them how many rows surely match, if all of its rows do; else 0.
        rows: The number of rows that are wanted.
        order: The order.
    """
    if order.descending:
        bounds = bounds.reversed()
    nulls = np.where(bounds.nulls <= sure, bounds.nulls, UNKNOWN)
    if order.nulls_first:
        if nulls[nulls != UNKNOWN].sum() >= rows:
            return bounds.may_be_null
        as_good = sure  # NULL comes before the file's last value, too
    else:
        as_good = np.where(nulls == UNKNOWN, 0, sure - nulls)
    if rows == 1:
        return _with_first(bounds, sure, as_good, order)
    threshold = _threshold(bounds.upper, as_good, rows)
    if threshold is None:
        return np.ones(len(sure), np.bool_)
    return _with_nulls(bounds.lower <= threshold, bounds, order)


def _with_first(
    bounds: KeyBounds, sure: Int64Array, as_good: Int64Array, order: OrderColumn
) -> BoolArray:
    """Flag the files that may have the first row.

    Args:
        bounds: As above, in ascending order.
        sure: As above.
        as_good: For each file how many rows surely match and come no later than its last value.
        order: The order.
    """
    ends = np.where(as_good > 0, bounds.upper, MAX_ORDINAL)
    ends = np.where(bounds.are_values & (sure > 0), bounds.lower, ends)
    best = int(np.argmin(ends))
    if ends[best] == MAX_ORDINAL:
        return np.ones(len(ends), np.bool_)
    is_before = bounds.lower < ends[best]
    flags = _with_nulls(
        is_before if order.any_of_equal else bounds.lower <= ends[best], bounds, order
    )
    flags[best] = True
    return flags


def _with_nulls(flags: BoolArray, bounds: KeyBounds, order: OrderColumn) -> BoolArray:
    """Flag the files that have a value, and are flagged, or a NULL that comes first."""
    found = flags & bounds.may_be_value
    return found | bounds.may_be_null if order.nulls_first else found


def _threshold(last: Int64Array, rows: Int64Array, wanted: int) -> int | None:
    """Return the least value at or before which there are so many rows; None if unknown.

    Args:
        last: Of files the last value, in ascending order.
        rows: For each a number of rows that come no later.
        wanted: The rows that are wanted.
    """
    places = np.argsort(last, kind="stable")
    reached = np.searchsorted(np.cumsum(rows[places]), wanted)
    if reached == len(places) or last[places[reached]] == MAX_ORDINAL:
        return None
    return int(last[places[reached]])


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
