"""Which files may have one of the first rows of an order, by bounds and numbers of rows."""

from __future__ import annotations

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.domains import MAX_ORDINAL
from pyhudi_expr.index.statistics.file_ranges import UNKNOWN
from pyhudi_expr.limits.key_bounds import KeyBounds
from pyhudi_expr.limits.wanted import OrderColumn


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
    threshold = _threshold(bounds.upper, as_good, rows)
    if threshold is None:
        return np.ones(len(sure), np.bool_)
    flags = bounds.may_be_value & (bounds.lower <= threshold)
    return flags | bounds.may_be_null if order.nulls_first else flags


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
