"""The listing of a new instant, made of an earlier one and of the partitions that have changed.

To select the slices of all files takes seconds where there are a million, and to keep them on disk
takes as much space again. A commit changes few partitions. Where it is known which ones
(`ListingState.changed_partitions`), only these are selected anew. Else, and after many changes, all
are.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.store.file_lists import stored_files_of
from pyhudi_expr.tables.mdt.store.listing_snapshots import is_worth_keeping
from pyhudi_expr.tables.mdt.store.listing_state import ListingState
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

MOST_PARTS = 32
"""A listing of more parts is made as a whole."""
LEAST_SHARE = 16
"""So is one whose changed partitions have more than one of so many files."""


@dataclass(frozen=True)
class KnownListing:
    """A listing, and the state that it was made from.

    Attributes:
        listing: The slices.
        state: The state; None if it is not known. Then no later listing is made of this one.
    """

    listing: FileListing
    state: ListingState | None


def opened_state(metadata: MetadataTable) -> ListingState | None:
    """Return the state of a table; None if it is not known, or if the table's files are not."""
    if not metadata.lists_files:
        return None
    try:
        has_statistics = COLUMN_STATS in metadata.partitions
        statistics = metadata.groups(COLUMN_STATS) if has_statistics else ()
        return ListingState.of(metadata.table, metadata.groups(FILES), statistics)
    except HudiError:
        return None  # who reads the damaged partition gets the error


def following_listing(
    metadata: MetadataTable, view: TableView, state: ListingState, known: KnownListing
) -> FileListing | None:
    """Return the listing of a state, made of one that is known; None if it has to be made anew.

    Args:
        metadata: The metadata table in this state.
        view: The view of both listings.
        state: See `opened_state`.
        known: What is known of an earlier state.

    Raises:
        HudiError: A file is damaged, or cannot be read.
    """
    earlier = known.listing
    if known.state is None or earlier.view is not view or not is_worth_keeping(earlier):
        return None
    files = metadata.groups(FILES)
    statistics = metadata.groups(COLUMN_STATS) if state.statistics else ()
    changed = known.state.changed_partitions(state, files, statistics, earlier.partitions)
    if changed is None or not _is_small(
        earlier, earlier.partition_files[_among(earlier, changed)].sum()
    ):
        return None
    stored = stored_files_of(files, changed)
    if stored is None:
        return None
    fresh = metadata.table.listing(view, None, stored)
    found = earlier.with_partitions(fresh, changed)
    if not found.num_files or len(found.parts) > MOST_PARTS:
        return None
    own = found.parts[1:] if len(found.parts) > 1 else ()
    return found if _is_small(found, sum(part.num_files for part in own)) else None


def _among(listing: FileListing, partitions: frozenset[str]) -> BoolArray:
    """Return flags for those of the listing's partitions."""
    paths = pa.array(sorted(partitions), pa.string())
    flags: BoolArray = pc.is_in(listing.partitions, paths).to_numpy(zero_copy_only=False)
    return flags


def _is_small(listing: FileListing, changed: int) -> bool:
    return changed * LEAST_SHARE <= listing.num_files
