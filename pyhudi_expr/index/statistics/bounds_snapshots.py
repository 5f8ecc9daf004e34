"""Keep the decoded bounds of a column on disk, as arrays that are memory-mapped.

They are in the order of a listing's files, so that a new process has neither to decode entries nor
to find their files. Kept bounds are valid for the same files, the same entries and the same column.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    arrow_array,
    combined,
    numpy_numbers,
)
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds, Values
from pyhudi_expr.expr.domains import Domain
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.entry_source import EntrySource
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache, Identity
from pyhudi_expr.tables.mdt.store.listing_snapshots import flags_of, is_worth_keeping, stored_flags
from pyhudi_expr.tables.mdt.store.listing_state import group_states

#: Changes whenever the columns or their meaning change, and whenever entries are decoded otherwise.
_LAYOUT = 3


@dataclass(frozen=True)
class KeptBounds:
    """Bounds over all files of a listing.

    Attributes:
        bounds: The bounds; arrays of length N.
        doubted: Flags for files whose own footers may have better bounds.
    """

    bounds: Bounds
    doubted: BoolArray


class BoundsSnapshots:
    """The kept bounds of one listing's columns, by one state of their entries."""

    def __init__(self, cache: DiskCache, listing: FileListing, state: str) -> None:
        """Use a cache for a listing and its entries.

        Args:
            cache: Where bounds are kept.
            listing: The files.
            state: What determines the entries of these files.
        """
        self._cache = cache
        self._listing = listing
        self._state = state

    @staticmethod
    def of(entries: EntrySource, listing: FileListing) -> BoundsSnapshots | None:
        """Return the snapshots for entries of `column_stats`; None if nothing can be kept.

        Raises:
            HudiError: A file group cannot be read.
        """
        if entries.cache is None or not is_worth_keeping(listing):
            return None
        groups = entries.groups(COLUMN_STATS)
        states = group_states(groups)
        if not groups or states is None:
            return None
        encoded = json.dumps([states, entries.meta_fields, listing.content_id]).encode()
        return BoundsSnapshots(entries.cache, listing, xxhash.xxh3_128_hexdigest(encoded))

    def find(self, column: BoundColumn) -> KeptBounds | None:
        """Return the kept bounds of a column, mapped from the disk; None if there are none."""
        tables = self._cache.find(self._identity(column))
        return None if tables is None else _from_table(tables[0], column.domain)

    def keep(self, column: BoundColumn, fresh: KeptBounds) -> ColumnBounds:
        """Write bounds, and return them as they are mapped; in memory if they cannot be written."""
        table = _to_table(fresh)
        (kept,) = self._cache.tables(self._identity(column), lambda: [table])
        if kept is table:
            return ColumnBounds.of(column.domain, fresh.bounds)
        return ColumnBounds.mapped(column.domain, _from_table(kept, column.domain).bounds)

    def _identity(self, column: BoundColumn) -> Identity:
        what = f"bounds {_LAYOUT} {column}"
        return Identity("", self._listing.num_files, 0, self._state, what)


def _to_table(kept: KeptBounds) -> pa.Table:
    bounds = kept.bounds
    columns: dict[str, Any] = {
        "lower": _stored(bounds.lower),
        "upper": _stored(bounds.upper),
        "may_be_value": stored_flags(np.asarray(bounds.may_be_value)),
        "may_be_null": stored_flags(np.asarray(bounds.may_be_null)),
        "doubted": stored_flags(kept.doubted),
    }
    return pa.table(columns)


def _stored(ends: Values) -> Values:
    return arrow_array(ends) if isinstance(ends, np.ndarray) else ends


def _from_table(table: pa.Table, domain: Domain) -> KeptBounds:
    columns: dict[str, AnyArray] = {
        name: combined(table.column(name)) for name in table.column_names
    }
    ends = [columns["lower"], columns["upper"]]
    lower, upper = map(numpy_numbers, ends) if domain.is_ordinal else ends
    flags = (flags_of(columns[name]) for name in ("may_be_value", "may_be_null", "doubted"))
    may_be_value, may_be_null, doubted = flags
    return KeptBounds(Bounds(lower, upper, may_be_value, may_be_null), doubted)
