"""What a query needs of matching rows, and the files that may have the first of an order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.domains import MAX_ORDINAL
from pyhudi_expr.expr.nodes import Column
from pyhudi_expr.index.limits.key_bounds import KeyBounds
from pyhudi_expr.index.statistics.file_ranges import UNKNOWN


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
