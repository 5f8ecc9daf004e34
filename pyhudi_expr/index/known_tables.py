"""What is known of a table at an instant, and the few small reads that show whether it changed.

What a question reads first is announced, so that the requests wait together. Only the time depends
on it: what is not announced is read when it is needed (`Storage.expect`). What is announced
together is read in no order. So the first wave has only what shows a state of the table
(properties, timelines), and what is read again: whatever must not be older than a timeline is
announced when that is known.

The listing of a new instant is made of an earlier one and of the partitions that have changed. To
select the slices of all files takes seconds where there are a million, and to keep them on disk
takes as much space again. A commit changes few partitions. Where it is known which ones
(`ListingState.changed_partitions`), only these are selected anew. Else, and after many changes, all
are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.index.statistics.column_stats import (
    BoundsLimits,
    ColumnStats,
    Footers,
    WholeColumnStats,
)
from pyhudi_expr.index.statistics.entry_source import GroupEntries, ListedEntries
from pyhudi_expr.index.statistics.joined_column_stats import JoinedColumnStats
from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    FILES,
    HOODIE_DIR,
    INDEX_DEFINITIONS_FILE,
    METADATA_DIR,
    PARTITION_STATS,
    PROPERTIES_BACKUP_FILE,
    PROPERTIES_FILE,
    SCHEMA_DIR,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, ListingPart, TableView
from pyhudi_expr.tables.mdt.extension import EXTENSION_DIR, Extension
from pyhudi_expr.tables.mdt.store.file_lists import stored_files_of
from pyhudi_expr.tables.mdt.store.listing_state import (
    ListingState,
    found_listing,
    is_worth_keeping,
    listing_identity,
    remember_state,
    remembered,
)
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Expected, Storage
from pyhudi_expr.tables.timeline import Timeline

_TIMELINE_DIR = f"{HOODIE_DIR}/timeline"
# The timeline of layout 1 is in the first directory, that of layout 2 in the second.
_TIMELINES = (HOODIE_DIR, _TIMELINE_DIR)
_TABLE = Expected(files=(PROPERTIES_FILE, INDEX_DEFINITIONS_FILE), directories=_TIMELINES)
# The partitions are listed again after the timeline, see `MetadataTable.open`.
_METADATA = Expected(
    files=(PROPERTIES_FILE,), directories=(*_TIMELINES, FILES, COLUMN_STATS, PARTITION_STATS)
)
# Most tables have no extension: its absence shows by both files.
_EXTENSION_FILES = (PROPERTIES_FILE, PROPERTIES_BACKUP_FILE)
_EXTENSION = Expected(files=_EXTENSION_FILES, directories=(_TIMELINE_DIR,))
_STATE = Expected(files=(PROPERTIES_FILE,), directories=_TIMELINES)


def expect_opening(storage: Storage) -> None:
    """Announce what shows the state of a table that is not known yet."""
    storage.expect(_TABLE)
    storage.child(METADATA_DIR).expect(_METADATA)
    storage.child(EXTENSION_DIR).expect(_EXTENSION)


def expect_state(storage: Storage) -> None:
    """Announce what `TableState.read` reads of a table that is not known yet."""
    storage.expect(_STATE)
    storage.child(EXTENSION_DIR).expect(_EXTENSION)


def expect_commits(table: HudiTable) -> None:
    """Announce what schemas and listings read of a table, after its timeline."""
    table.storage.expect(table.commit_reads)
    table.storage.expect(Expected(directories=(SCHEMA_DIR,)))


def expect_refresh(storage: Storage, table: HudiTable, extension: Extension | None) -> None:
    """Announce what `TableState.read` reads of a table that is known."""
    if not storage.is_remote:
        return
    storage.expect(table.state_reads)
    known = None if extension is None else extension.records.metadata
    reads = Expected(files=_EXTENSION_FILES) if known is None else known.state_reads
    storage.child(EXTENSION_DIR).expect(reads)


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


@dataclass(frozen=True)
class TableState:
    """The properties and timelines of a table and of its extension, at one moment.

    Attributes:
        table: The table.
        extension: The extension's metadata table. None: there is none, or one without an index.
        is_complete: False if the extension cannot be read: no other state is the same then.
    """

    table: HudiTable
    extension: HudiTable | None
    is_complete: bool = True

    @staticmethod
    def read(storage: Storage) -> TableState:
        """Read the state of the table in a storage, see `expect_state` for what is read.

        Raises:
            HudiError: The table cannot be read.
        """
        table = HudiTable.at(storage)
        try:
            return TableState(table, _extension(storage.child(EXTENSION_DIR)))
        except HudiError:
            return TableState(table, None, is_complete=False)


def _extension(storage: Storage) -> HudiTable | None:
    try:
        properties = TableProperties.read(storage)
    except TableNotFound:
        return None
    if not properties.metadata_partitions:
        return None
    return HudiTable(storage, properties, Timeline.read(storage, properties))


@dataclass(frozen=True)
class KnownTable:
    """A table's listing, with the statistics of the listings that it is made of.

    Attributes:
        listed: The listing, and its state.
        statistics: Parts of listings with their `column_stats`, by entries of this state or of an
            earlier one; the partitions that are in use have the same entries in both.
    """

    listed: KnownListing
    statistics: tuple[tuple[ListingPart, ColumnStats], ...] = ()

    @property
    def listing(self) -> FileListing:
        """The listing."""
        return self.listed.listing

    def with_statistics(self, stats: ColumnStats | None) -> KnownTable:
        """Return the same table with the statistics of its listing, by entries of its state."""
        if isinstance(stats, JoinedColumnStats):
            pairs = tuple(zip(self.listing.parts, stats.parts, strict=True))
            return KnownTable(self.listed, pairs)
        entries = None if stats is None else stats.entries
        if stats is None or entries is None or not isinstance(entries.source, MetadataTable):
            return KnownTable(self.listed)
        return KnownTable(self.listed, ((self.listing.parts[0], stats),))

    def column_stats(
        self, metadata: MetadataTable, limits: BoundsLimits, footers: Footers
    ) -> ColumnStats:
        """Return the statistics of the listing, from the table's `column_stats`.

        Args:
            metadata: The metadata table in this state.
            limits: What the bounds may take.
            footers: The bounds of footers that were read in an earlier state.
        """
        listing, storage = self.listing, metadata.table.storage
        known = {id(part): stats for part, stats in self.statistics}
        if listing.is_whole and id(listing.parts[0]) not in known:
            return WholeColumnStats(metadata, listing, storage, limits, earlier=footers)

        def fresh(part: ListingPart) -> ColumnStats:
            entries = GroupEntries.of_few(metadata, part.num_files)
            own = FileListing.of(listing.instant, listing.view, part)
            return WholeColumnStats(entries, own, storage, limits, len(listing.partitions), footers)

        parts = [known.get(id(part)) or fresh(part) for part in listing.parts]
        return JoinedColumnStats(ListedEntries(metadata, listing), storage, limits, parts)


def following_table(
    metadata: MetadataTable,
    view: TableView,
    state: ListingState,
    earlier: KnownTable | None,
    limits: BoundsLimits,
) -> KnownTable:
    """Return a table in a new state, made of an earlier one where that is possible.

    Args:
        metadata: The metadata table in the new state.
        view: The view of the table.
        state: The new state.
        earlier: An earlier one that this process knows.
        limits: What the bounds of columns may take.

    Raises:
        HudiError: The listing cannot be read.
    """
    for known in _candidates(metadata, view, state, earlier, limits):
        if known.listed.state is state:
            return known
        with suppress(HudiError):  # what cannot be read is reported where it is needed
            listing = following_listing(metadata, view, state, known.listed)
            if listing is not None:
                return KnownTable(KnownListing(listing, state), known.statistics)
    listing = metadata.kept_listing(state, view)
    if metadata.cache is not None and is_worth_keeping(listing):
        remember_state(metadata.cache, metadata.table.base_path, state, view)
    return KnownTable(KnownListing(listing, state))


def _candidates(
    metadata: MetadataTable,
    view: TableView,
    state: ListingState,
    earlier: KnownTable | None,
    limits: BoundsLimits,
) -> Iterator[KnownTable]:
    """Return what is known: by this process, on disk of this state, on disk of an earlier one."""
    if earlier is not None:
        yield earlier
    cache, path = metadata.cache, metadata.table.base_path
    if cache is None:
        return
    kept = found_listing(cache, listing_identity(path, state, view, None))
    if kept is not None:
        yield KnownTable(KnownListing(kept, state))
    newest = remembered(cache, path, view)
    if newest is not None:
        listing, known = newest
        yield KnownTable(KnownListing(listing, known), _kept_statistics(metadata, newest, limits))


def _kept_statistics(
    metadata: MetadataTable, newest: tuple[FileListing, ListingState], limits: BoundsLimits
) -> tuple[tuple[ListingPart, ColumnStats], ...]:
    """Return the statistics of a listing on disk, by the entries of its state, as they are kept."""
    listing, state = newest
    if state.statistics is None:
        return ()
    with suppress(HudiError):
        entries = GroupEntries.as_of(metadata, state.statistics)
        stats = WholeColumnStats(entries, listing, metadata.table.storage, limits)
        return ((listing.parts[0], stats),)
    return ()
