"""Zone maps: bounds over runs of files, so that a selective question touches few of them.

A zone is a container like a file: its rows are those of its files. Its bounds hold for all of them,
so what proves that no row of a zone matches proves it of each of its files. A file whose bounds are
unknown makes its zone's bounds unknown, unless it is known to have no value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Domain


def zone_bounds(bounds: Bounds, starts: Int64Array, domain: Domain) -> Bounds:
    """Return the bounds of Z zones over N files.

    Args:
        bounds: The bounds of the files; arrays of length N.
        starts: For each zone its first file, ascending; the first one is 0.
        domain: The domain of the column.
    """
    has_values: BoolArray = np.asarray(bounds.may_be_value)
    may_be_value = np.logical_or.reduceat(has_values, starts)
    may_be_null = np.logical_or.reduceat(np.asarray(bounds.may_be_null), starts)
    merge = _merged_ordinals if domain.is_ordinal else _merged_values
    lower, upper = merge(bounds, starts, has_values)
    return Bounds(lower, upper, may_be_value, may_be_null)


def _merged_ordinals(bounds: Bounds, starts: Int64Array, has_values: BoolArray) -> tuple[Any, Any]:
    lower, upper = bounds.lower, bounds.upper
    if not has_values.all():
        lower = np.where(has_values, lower, np.int64(MAX_ORDINAL))
        upper = np.where(has_values, upper, np.int64(MIN_ORDINAL))
    least, greatest = np.minimum.reduceat(lower, starts), np.maximum.reduceat(upper, starts)
    crossed = least > greatest  # no file has a value
    least[crossed], greatest[crossed] = MIN_ORDINAL, MAX_ORDINAL
    return least, greatest


def _merged_values(bounds: Bounds, starts: Int64Array, has_values: BoolArray) -> tuple[Any, Any]:
    ends = np.append(starts[1:], len(has_values)).tolist()
    type_ = bounds.lower.type
    lower, upper = [], []
    for start, end in zip(starts.tolist(), ends, strict=True):
        own = slice(start, end)
        lows, highs = bounds.lower[own], bounds.upper[own]
        if not has_values[own].all():
            known = pa.array(has_values[own])
            lows, highs = lows.filter(known), highs.filter(known)
        lower.append(pc.min_max(lows, skip_nulls=False)["min"].as_py())
        upper.append(pc.min_max(highs, skip_nulls=False)["max"].as_py())
    return pa.array(lower, type_), pa.array(upper, type_)
