"""Which slices to read first, to find the first rows of an order soon."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Values
from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.file_ranges import file_ranges
from pyhudi_expr.rows.sorting import SortKey


def ranked_slices(snapshot: TableSnapshot, key: SortKey) -> Int64Array:
    """Return the positions of all slices, the most promising one first.

    They are ranked by the bound in `column_stats` at which an order begins; without it, unknown
    bounds come first. No row depends on the ranking, so stale or wrong bounds cost time only.
    """
    listing = snapshot.listing
    domain = domain_of(snapshot.schema.field(key.column).type)
    if domain is None or snapshot.is_evolved:
        return np.arange(listing.num_slices)
    try:
        column = BoundColumn(key.column, snapshot.schema.field(key.column).type, domain)
        found = file_ranges(snapshot.column_stats, listing, column)
    except HudiError:
        return np.arange(listing.num_slices)
    bounds = found.bounds.upper if key.descending else found.bounds.lower
    files = _order(bounds, key.descending)
    if key.nulls_first:
        files = files[np.argsort(found.nulls[files] == 0, kind="stable")]
    places = np.empty(listing.num_files, np.int64)
    places[files] = np.arange(listing.num_files)
    first = np.full(listing.num_slices, listing.num_files, np.int64)
    np.minimum.at(first, listing.file_slice, places)
    return np.argsort(first, kind="stable")


def _order(bounds: Values, descending: bool) -> Int64Array:
    """Return the positions of sorted bounds, unknown ones first."""
    values = bounds if isinstance(bounds, pa.Array | pa.ChunkedArray) else pa.array(bounds)
    order = "descending" if descending else "ascending"
    found = pc.array_sort_indices(values, order=order, null_placement="at_start")
    return found.to_numpy().astype(np.int64)
