"""Keep the file slices that a query sees on disk, as arrays that are memory-mapped.

To select slices means to parse, to compare and to sort the names of all files. What was selected is
valid as long as everything that it was selected from is the same: the metadata table's records of
files, the timeline, and the table's properties.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from pyhudi_expr.arrays import AnyArray, BoolArray, combined
from pyhudi_expr.mdt.store.disk_cache import DiskCache, Identity
from pyhudi_expr.mdt.store.file_group import FileGroup
from pyhudi_expr.mdt.store.group_state import group_states
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing, TableView
from pyhudi_expr.table.timeline.archive import ARCHIVE_VERSION

LEAST_FILES = 1_000
"""Fewer files are selected in less time than it takes to keep them."""
#: Changes whenever the columns or their meaning change, and whenever the rules of selection do.
_LAYOUT = 1
_OF_SLICES = ("slice_partition", "slice_file_id", "slice_base_instant")
_OF_FILES = ("file_slice", "file_name", "file_size", "file_is_log")


def listing_identity(
    table: HudiTable, groups: Sequence[FileGroup], view: TableView, as_of: str | None
) -> Identity | None:
    """Return what determines the slices that a query sees; None if a part of it is not known.

    Args:
        table: The data table.
        groups: The file groups of the metadata partition `files`.
        view: The view of the table.
        as_of: The instant of time travel.

    Raises:
        HudiError: A file is damaged, or cannot be read.
    """
    records = group_states(groups)
    if records is None:
        return None
    properties = table.properties
    # Completion times of archived instants decide which slice a log file belongs to.
    archive = f"{properties.timeline_dir}/{properties.history_path}/{ARCHIVE_VERSION}"
    version = table.storage.read_if_present(archive)
    state = [
        records,
        sorted(properties.raw.items()),
        [[i.file_name, i.action, i.state.name, i.completed] for i in table.timeline.instants],
        None if version is None else version.hex(),
    ]
    digest = xxhash.xxh3_128_hexdigest(json.dumps(state).encode())
    content = f"listing {_LAYOUT} {view.value} {as_of or ''}"
    return Identity(table.base_path, 0, 0, digest, content)


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


def is_worth_keeping(listing: FileListing) -> bool:
    """Return whether a listing has so many files that what is known of them is kept on disk."""
    return listing.num_files >= LEAST_FILES


def to_tables(listing: FileListing) -> list[pa.Table]:
    """Return a listing as tables: about itself, and of partitions, slices and files."""
    about = {
        "instant": pa.array([listing.instant], pa.string()),
        "view": pa.array([listing.view.value]),
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
    return FileListing(
        instant=about.column("instant")[0].as_py(),
        view=TableView(about.column("view")[0].as_py()),
        partitions=combined(partitions.column("path")),
        slice_partition=combined(slices.column("slice_partition")).to_numpy(),
        slice_file_id=combined(slices.column("slice_file_id")),
        slice_base_instant=combined(slices.column("slice_base_instant")),
        file_slice=combined(files.column("file_slice")).to_numpy(),
        file_name=combined(files.column("file_name")),
        file_size=combined(files.column("file_size")).to_numpy(),
        file_is_log=flags_of(combined(files.column("file_is_log"))),
    )


def _stored(column: AnyArray | npt.NDArray[Any]) -> AnyArray:
    if isinstance(column, pa.Array):
        return column
    return stored_flags(column) if column.dtype == np.bool_ else pa.array(column)


def stored_flags(flags: BoolArray) -> AnyArray:
    """Return flags as an Arrow array of bytes, which numpy can map; Arrow's own flags are bits."""
    return pa.array(flags.view(np.uint8))


def flags_of(stored: AnyArray) -> BoolArray:
    """Return the flags of an array from `stored_flags`, without a copy."""
    found: BoolArray = stored.to_numpy().view(np.bool_)
    return found
