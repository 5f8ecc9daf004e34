"""The range of a column in each file, as `column_stats` has it: bounds as values, and counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, Int64Array
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    decimals_of,
    floats_of,
)
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.column_stats import ColumnStats
from pyhudi_expr.index.statistics.statistics_decoding import decode
from pyhudi_expr.tables.listing import FileListing

UNKNOWN = -1
"""Instead of a number of nulls or rows."""
_UNITS = {1: "s", 10**3: "ms", 10**6: "us", 10**9: "ns"}


@dataclass(frozen=True)
class FileRanges:
    """What the statistics say about one column in each of N files.

    Attributes:
        bounds: The bounds that can be trusted; arrays of length N.
        nulls: The numbers of nulls as written, UNKNOWN where missing.
        rows: The numbers of rows as written, UNKNOWN where missing.
    """

    bounds: Bounds
    nulls: Int64Array
    rows: Int64Array


def file_ranges(stats: ColumnStats | None, listing: FileListing, column: BoundColumn) -> FileRanges:
    """Read the ranges of a column; without statistics they are unknown.

    Raises:
        HudiError: The index cannot be read.
    """
    store = ColumnBounds(listing.num_files, column.domain)
    nulls = np.full(listing.num_files, UNKNOWN, np.int64)
    rows = np.full(listing.num_files, UNKNOWN, np.int64)
    if stats is not None and stats.entries is not None:
        for positions, entries in stats.entries.every(column.name):
            store.put(positions, decode(entries, column, listing.file_is_log[positions]).bounds)
            nulls[positions] = entries.null_count
            rows[positions] = entries.value_count
    return FileRanges(store.bounds(), nulls, rows)


def ordinal_values(ordinals: Int64Array, domain: Domain) -> AnyArray:
    """Return the values of ordinals, of any value where a bound is unknown."""
    known = np.where((ordinals == MIN_ORDINAL) | (ordinals == MAX_ORDINAL), 0, ordinals)
    match domain.kind:
        case Kind.BOOLEAN:
            return pa.array(known != 0)
        case Kind.FLOAT:
            floats = floats_of(known)
            return pa.array(floats.astype(np.float32) if domain.bits == 32 else floats)
        case Kind.DECIMAL:
            return decimals_of(known, domain.scale)
        case Kind.DATE:
            return pa.array(known.astype(np.int32), pa.int32()).cast(pa.date32())
        case Kind.WALL_CLOCK | Kind.INSTANT:
            return pa.array(known).cast(pa.timestamp(_UNITS[domain.units]))
        case _:
            return pa.array(known)
