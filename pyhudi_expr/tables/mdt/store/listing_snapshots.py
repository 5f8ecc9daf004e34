"""Keep the file slices that a query sees on disk, as arrays that are memory-mapped.

To select slices means to parse, to compare and to sort the names of all files. What was selected is
valid as long as everything that it was selected from is the same: the metadata table's records of
files, the timeline, and the table's properties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    arrow_array,
    arrow_list,
    combined,
    numpy_numbers,
)
from pyhudi_expr.tables.listing import FileListing, ListingPart, TableView
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache, Identity
from pyhudi_expr.tables.mdt.store.listing_state import ListingState

LEAST_FILES = 1_000
"""Fewer files are selected in less time than it takes to keep them."""
#: Changes whenever the columns or their meaning change, and whenever the rules of selection do.
_LAYOUT = 1
_OF_SLICES = ("slice_partition", "slice_file_id", "slice_base_instant")
_OF_FILES = ("file_slice", "file_name", "file_size", "file_is_log")


def listing_identity(
    base_path: str, state: ListingState, view: TableView, as_of: str | None
) -> Identity:
    """Return what determines the slices that a query sees.

    Args:
        base_path: That of the data table.
        state: The state of the table.
        view: The view of the table.
        as_of: The instant of time travel.
    """
    content = f"listing {_LAYOUT} {view.value} {as_of or ''}"
    return Identity(base_path, 0, 0, state.listing_digest, content)


def remember_state(cache: DiskCache, base_path: str, state: ListingState, view: TableView) -> None:
    """Write down the state of the newest listing that is kept as a whole."""
    cache.replace(_newest(base_path, view), [pa.table({"state": [state.to_json()]})])


def remembered(
    cache: DiskCache, base_path: str, view: TableView
) -> tuple[FileListing, ListingState] | None:
    """Return the listing of `remember_state` and its state, if both are still kept."""
    found = cache.find(_newest(base_path, view))
    if found is None:
        return None
    state = ListingState.from_json(found[0].column("state")[0].as_py())
    listing = found_listing(cache, listing_identity(base_path, state, view, None))
    return None if listing is None else (listing, state)


def _newest(base_path: str, view: TableView) -> Identity:
    return Identity(base_path, 0, 0, "", f"newest listing {_LAYOUT} {view.value}")


def kept_listing(
    cache: DiskCache | None, identity: Identity | None, select: Callable[[], FileListing]
) -> FileListing:
    """Return the listing of an identity, mapped from the disk; `select` makes it if it is missing.

    Args:
        cache: Where listings are kept.
        identity: See `listing_identity`.
        select: Selects the slices; its exceptions are passed on.
    """
    if cache is None or identity is None:
        return select()
    known = cache.find(identity)
    if known is None:
        fresh = select()
        if not is_worth_keeping(fresh):
            return fresh
        known = cache.tables(identity, lambda: to_tables(fresh))
    return from_tables(known)


def found_listing(cache: DiskCache, identity: Identity) -> FileListing | None:
    """Return the listing of an identity, mapped from the disk; None if it is missing."""
    tables = cache.find(identity)
    return None if tables is None else from_tables(tables)


def is_worth_keeping(listing: FileListing) -> bool:
    """Return whether a listing has so many files that what is known of them is kept on disk."""
    return listing.num_files >= LEAST_FILES


def to_tables(listing: FileListing) -> list[pa.Table]:
    """Return a listing as tables: about itself, and of partitions, slices and files."""
    about = {
        "instant": arrow_list([listing.instant], pa.string()),
        "view": arrow_list([listing.view.value], pa.string()),
    }
    return [
        pa.table(about),
        pa.table({"path": listing.partitions}),
        pa.table({name: _stored(getattr(listing, name)) for name in _OF_SLICES}),
        pa.table({name: _stored(getattr(listing, name)) for name in _OF_FILES}),
    ]


def from_tables(tables: Sequence[pa.Table]) -> FileListing:
    """Return the listing of tables from `to_tables`; its arrays are views of theirs."""
    about, partitions, slices, files = tables
    part = ListingPart(
        partitions=combined(partitions.column("path")),
        slice_partition=numpy_numbers(combined(slices.column("slice_partition"))),
        slice_file_id=combined(slices.column("slice_file_id")),
        slice_base_instant=combined(slices.column("slice_base_instant")),
        file_slice=numpy_numbers(combined(files.column("file_slice"))),
        file_name=combined(files.column("file_name")),
        file_size=numpy_numbers(combined(files.column("file_size"))),
        file_is_log=flags_of(combined(files.column("file_is_log"))),
    )
    view = TableView(about.column("view")[0].as_py())
    return FileListing.of(about.column("instant")[0].as_py(), view, part)


def _stored(column: AnyArray | npt.NDArray[Any]) -> AnyArray:
    if isinstance(column, pa.Array):
        return column
    return stored_flags(column) if column.dtype == np.bool_ else arrow_array(column)


def stored_flags(flags: BoolArray) -> AnyArray:
    """Return flags as an Arrow array of bytes, which numpy can map; Arrow's own flags are bits."""
    return arrow_array(flags.view(np.uint8))


def flags_of(stored: AnyArray) -> BoolArray:
    """Return the flags of an array from `stored_flags`, without a copy."""
    return numpy_numbers(stored).view(np.bool_)
