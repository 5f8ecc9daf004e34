"""The bounds of one column over N containers and over runs of them (zone maps), kept on disk.

A zone is a container like a file: its rows are those of its files. Its bounds hold for all of them,
so what proves that no row of a zone matches proves it of each of its files. A file whose bounds are
unknown makes its zone's bounds unknown, unless it is known to have no value.

Bounds on disk are in the order of a listing's files, so that a new process has neither to decode
entries nor to find their files. They are valid for the same files, the same entries and the same
column.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    Int64Array,
    arrow_array,
    arrow_nulls,
    combined,
    numpy_numbers,
)
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, Domain, Values
from pyhudi_expr.index.statistics.entry_source import ListedEntries
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache, Identity
from pyhudi_expr.tables.mdt.store.listing_state import (
    flags_of,
    group_states,
    is_worth_keeping,
    stored_flags,
)


class ColumnBounds:
    """Bounds of `size` containers, unknown until `put`. Not thread safe: the owner locks."""

    def __init__(self, size: int, domain: Domain) -> None:
        self._domain = domain
        self._is_mapped = False
        self._zones: Bounds | None = None
        self._bounds = _without_ends(domain, np.ones(size, np.bool_))

    @classmethod
    def of(cls, domain: Domain, bounds: Bounds) -> ColumnBounds:
        """Return known bounds; arrays of equal length."""
        known = cls(0, domain)
        known._bounds = bounds
        return known

    @classmethod
    def mapped(cls, domain: Domain, bounds: Bounds) -> ColumnBounds:
        """Return known bounds, arrays of equal length that are mapped from a file."""
        known = cls.of(domain, bounds)
        known._is_mapped = True
        return known

    @staticmethod
    def least_bytes(size: int) -> int:
        """Return the memory that `size` containers take, without the bytes of texts."""
        return size * (2 * np.dtype(np.int64).itemsize + 2 * np.dtype(np.bool_).itemsize)

    @property
    def nbytes(self) -> int:
        """Memory in bytes; none for a mapped file, as processes share it, and it can be dropped."""
        return 0 if self._is_mapped else bounds_bytes(self._bounds)

    def put(self, positions: Int64Array, bounds: Bounds) -> None:
        """Set the bounds of the containers at distinct `positions`; arrays of equal length.

        Arrays that `bounds` returned before do not change.
        """
        old: Any = self._bounds
        may_be_value, may_be_null = old.may_be_value.copy(), old.may_be_null.copy()
        may_be_value[positions] = bounds.may_be_value
        may_be_null[positions] = bounds.may_be_null
        lower = self._with(old.lower, positions, bounds.lower)
        upper = self._with(old.upper, positions, bounds.upper)
        self._is_mapped, self._zones = False, None
        self._bounds = Bounds(lower, upper, may_be_value, may_be_null)

    def bounds(self) -> Bounds:
        """Return the bounds so far; arrays of length `size`."""
        return self._bounds

    def zones(self, starts: Int64Array) -> Bounds:
        """Return the bounds over zones so far, see `zone_bounds`; made once for the same bounds."""
        if self._zones is None:
            self._zones = zone_bounds(self._bounds, starts, self._domain)
        return self._zones

    def _with(self, old: Values, positions: Int64Array, new: Values) -> Values:
        if self._domain.is_ordinal:
            changed = old.copy()
            changed[positions] = new
            return changed
        source = np.arange(len(old), dtype=np.int64)
        source[positions] = len(old) + np.arange(len(positions), dtype=np.int64)
        both = pa.concat_arrays([old, new])
        return pc.take(both, arrow_array(source))


def bounds_bytes(bounds: Bounds) -> int:
    """Return the memory of bounds that are arrays."""
    arrays: tuple[Any, ...] = (bounds.lower, bounds.upper, bounds.may_be_value, bounds.may_be_null)
    return sum([int(array.nbytes) for array in arrays])


def bounds_at(bounds: Bounds, positions: Int64Array) -> Bounds:
    """Return the bounds of the containers at `positions`; all are arrays."""
    ends: tuple[Any, ...] = (bounds.lower, bounds.upper, bounds.may_be_value, bounds.may_be_null)
    return Bounds(*(end.take(positions) for end in ends))


def no_rows(size: int, domain: Domain) -> Bounds:
    """Return the bounds of containers without a row."""
    return _without_ends(domain, np.zeros(size, np.bool_))


def _without_ends(domain: Domain, may_be: BoolArray) -> Bounds:
    """Return bounds that say only, by the flags, whether there may be values and nulls."""
    size = len(may_be)
    if domain.is_ordinal:
        lower = np.full(size, MIN_ORDINAL, dtype=np.int64)
        return Bounds(lower, np.full(size, MAX_ORDINAL, dtype=np.int64), may_be, may_be)
    missing = arrow_nulls(size, domain.arrow_type)
    return Bounds(missing, missing, may_be, may_be)


def concat_bounds(
    pieces: Sequence[tuple[Int64Array, Bounds]],
) -> tuple[Int64Array, Bounds]:
    """Concatenate positions and bounds of one or more pieces; the bounds are arrays."""
    if len(pieces) == 1:
        return pieces[0]
    bounds = [found for _, found in pieces]
    return np.concatenate([positions for positions, _ in pieces]), Bounds(
        concatenated([found.lower for found in bounds]),
        concatenated([found.upper for found in bounds]),
        concatenated([found.may_be_value for found in bounds]),
        concatenated([found.may_be_null for found in bounds]),
    )


def concatenated(arrays: Sequence[Any]) -> Any:  # noqa: ANN401 - of numpy or of Arrow
    """Return arrays, all of numpy or all of Arrow, one behind the other."""
    join = np.concatenate if isinstance(arrays[0], np.ndarray) else pa.concat_arrays
    return join(arrays)


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
            known = arrow_array(has_values[own])
            lows, highs = lows.filter(known), highs.filter(known)
        lower.append(pc.min_max(lows, skip_nulls=False)["min"].as_py())
        upper.append(pc.min_max(highs, skip_nulls=False)["max"].as_py())
    return pa.array(lower, type_), pa.array(upper, type_)


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
    def of(entries: ListedEntries) -> BoundsSnapshots | None:
        """Return the snapshots for entries of `column_stats`; None if nothing can be kept.

        Raises:
            HudiError: A file group cannot be read.
        """
        source, listing = entries.source, entries.listing
        if source.cache is None or not is_worth_keeping(listing):
            return None
        groups = source.groups(COLUMN_STATS)
        states = group_states(groups)
        if not groups or states is None:
            return None
        encoded = json.dumps([states, source.meta_fields, listing.content_id]).encode()
        return BoundsSnapshots(source.cache, listing, xxhash.xxh3_128_hexdigest(encoded))

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
