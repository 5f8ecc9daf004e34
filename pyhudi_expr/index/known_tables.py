"""What is known of a table at an instant, and the few small reads that show whether it changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.index.statistics.column_stats import BoundsLimits, ColumnStats, Footers
from pyhudi_expr.index.statistics.entry_source import GroupEntries
from pyhudi_expr.index.statistics.joined_column_stats import JoinedColumnStats
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, ListingPart, TableView
from pyhudi_expr.tables.mdt.extension.reader import EXTENSION_DIR
from pyhudi_expr.tables.mdt.store.listing_following import KnownListing, following_listing
from pyhudi_expr.tables.mdt.store.listing_snapshots import (
    found_listing,
    is_worth_keeping,
    listing_identity,
    remember_state,
    remembered,
)
from pyhudi_expr.tables.mdt.store.listing_state import ListingState
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline.timeline import Timeline


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
        """Read the state of the table in a storage, see `expected_reads` for what is read.

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
        is_own = stats is not None and isinstance(stats.entries, MetadataTable)
        pairs = ((self.listing.parts[0], stats),) if stats is not None and is_own else ()
        return KnownTable(self.listed, pairs)

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
            return ColumnStats(metadata, listing, storage, limits, earlier=footers)

        def fresh(part: ListingPart) -> ColumnStats:
            entries = GroupEntries.of_few(metadata, part.num_files)
            own = FileListing.of(listing.instant, listing.view, part)
            return ColumnStats(entries, own, storage, limits, len(listing.partitions), footers)

        parts = [known.get(id(part)) or fresh(part) for part in listing.parts]
        return JoinedColumnStats(metadata, listing, storage, limits, parts)


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
        stats = ColumnStats(entries, listing, metadata.table.storage, limits)
        return ((listing.parts[0], stats),)
    return ()
