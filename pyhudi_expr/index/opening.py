"""Open the parts of a table's snapshot, each with notes on what is not used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from pyhudi_expr.errors import ExternalFiles, HudiError
from pyhudi_expr.index.known_tables import KnownListing, KnownTable, following_table, opened_state
from pyhudi_expr.index.statistics.column_stats import (
    NO_LIMITS,
    BoundsLimits,
    ColumnStats,
    WholeColumnStats,
)
from pyhudi_expr.index.statistics.joined_column_stats import Streaming, evaluate_streaming
from pyhudi_expr.index.statistics.partition_stats import PartitionStats, has_aggregates
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES, PARTITION_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.extension import Extension, extension_table
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.tables.schema import SchemaHistory, schema_history

if TYPE_CHECKING:
    from pyhudi_expr.index.lookups.lookup_indexes import LookupIndexes


#: Why less was read than could be.
Notes: TypeAlias = tuple[str, ...]


_USUAL = frozenset({FILES, COLUMN_STATS, PARTITION_STATS})


#: A note.
NO_METADATA_TABLE = "the table has no metadata table"
NO_STATISTICS = "the table has no column_stats: files are pruned by their own footers"


@dataclass(frozen=True)
class SnapshotOptions:
    """What to read of a table, and where to cache it.

    Attributes:
        view: See `PruneRequest`.
        as_of: See `PruneRequest`.
        cache: Caches the contents of the metadata table's base files between processes.
        limits: What the bounds of columns may take.
        streaming: Evaluates columns whose bounds exceed the limit.
    """

    view: TableView = TableView.SNAPSHOT
    as_of: str | None = None
    cache: DiskCache | None = None
    limits: BoundsLimits = NO_LIMITS
    streaming: Streaming = evaluate_streaming


def open_schema_history(table: HudiTable) -> tuple[SchemaHistory | None, Notes]:
    """Return the versions of the schema; None if it cannot be read, or has none."""
    try:
        history = schema_history(table.storage, table.timeline.is_committed)
    except HudiError as error:
        return None, (f"the table's schema was evolved on read: statistics are not used: {error}",)
    if history is None:
        return None, ()
    return history, ("the table's schema was evolved on read: only column_stats are used",)


def open_metadata_table(
    table: HudiTable, cache: DiskCache | None, earlier: MetadataTable | None
) -> tuple[MetadataTable | None, Notes]:
    """Return the metadata table; None if there is none, or it cannot be read."""
    try:
        mdt = MetadataTable.open(table, cache, earlier)
    except HudiError as error:
        return None, (f"the metadata table cannot be read: {error}",)
    return mdt, _missing_commits(mdt)


def _missing_commits(mdt: MetadataTable | None) -> Notes:
    if mdt is None:
        return (NO_METADATA_TABLE,)
    newest = mdt.table.instant
    if newest is None or mdt.covers(newest):
        return ()
    upto = f"ends at {mdt.instant}" if mdt.instant else "has no commit of the table"
    return (f"the metadata table {upto}, and the table at {newest}: what is newer is not pruned",)


def open_extension_table(table: HudiTable) -> tuple[HudiTable | None, Notes]:
    """Return the extension's metadata table; None if there is none, or it cannot be read."""
    try:
        return extension_table(table), ()
    except HudiError as error:
        return None, (_unreadable_extension(error),)


def open_extension(
    own: HudiTable | None, cache: DiskCache | None
) -> tuple[Extension | None, Notes]:
    """Return the extension over its metadata table; None if there is none, or it is damaged."""
    if own is None:
        return None, ()
    try:
        return Extension.of(own, cache), ()
    except HudiError as error:
        return None, (_unreadable_extension(error),)


def _unreadable_extension(error: HudiError) -> str:
    return f"the extension metadata table cannot be read: {error}"


def open_listing(
    table: HudiTable,
    mdt: MetadataTable | None,
    options: SnapshotOptions,
    earlier: KnownTable | None,
) -> tuple[KnownTable, Notes]:
    """Return the file slices, listed in the storage if the metadata table cannot list them.

    Raises:
        ExternalFiles: Other writers made some of the files.
        HudiError: The storage cannot be listed.
    """
    try:
        return _listed(table, mdt, options, earlier), ()
    except ExternalFiles:
        raise
    except HudiError as error:
        if mdt is None:
            raise
        note = f"the metadata table's listing cannot be read: {error}"
        listing = table.listing(options.view, options.as_of)
        return KnownTable(KnownListing(listing, None)), (note,)


def _listed(
    table: HudiTable,
    mdt: MetadataTable | None,
    options: SnapshotOptions,
    earlier: KnownTable | None,
) -> KnownTable:
    is_newest = options.as_of is None and mdt is not None and mdt.table is table
    state = opened_state(mdt) if mdt is not None and is_newest else None
    if mdt is None or state is None:
        listing = current_listing(table, mdt, options.view, options.as_of)
        return KnownTable(KnownListing(listing, None))
    return following_table(mdt, options.view, state, earlier, options.limits)


def open_column_stats(
    table: HudiTable,
    known: KnownTable,
    mdt: MetadataTable | None,
    extension: Extension | None,
    options: SnapshotOptions,
    earlier: ColumnStats | None,
) -> tuple[ColumnStats, Notes]:
    """Return the bounds over files: of an index that describes them, else of their footers."""
    footers = {} if earlier is None else earlier.footers()
    available = frozenset[str]() if mdt is None else mdt.partitions
    # The entry of a log file that is appended to does not cover all of it.
    is_covered = mdt is not None and (mdt.lists_files or table.properties.timeline_layout != 1)
    if mdt is not None and COLUMN_STATS in available and is_covered:
        return known.column_stats(mdt, options.limits, footers), ()
    source, notes = None, Notes()
    if extension is not None and COLUMN_STATS in extension.partitions:
        source = extension.records
    elif COLUMN_STATS in available:
        notes = ("column_stats lags behind the table and is not used: footers are",)
    else:
        notes = (NO_STATISTICS,)
    listing, limits = known.listing, options.limits
    return WholeColumnStats(source, listing, table.storage, limits, earlier=footers), notes


def open_partition_stats(
    table: HudiTable, listing: FileListing, mdt: MetadataTable | None, options: SnapshotOptions
) -> PartitionStats | None:
    """Open `partition_stats` where it describes the files that the query reads."""
    newest = options.as_of is None and has_aggregates(table)
    if mdt is None or PARTITION_STATS not in mdt.partitions or not newest or not mdt.lists_files:
        return None
    return PartitionStats(mdt, listing)


def open_lookup_indexes(
    table: HudiTable,
    listing: FileListing,
    mdt: MetadataTable | None,
    extension: Extension | None,
    schema: pa.Schema,
    earlier: LookupIndexes | None,
) -> LookupIndexes | None:
    """Return the indexes of keys and values; None if the table has none."""
    available = frozenset[str]() if mdt is None else mdt.partitions
    if available <= _USUAL and extension is None:
        return None
    # Imported on use: most tables have none of these indexes, and the import takes time.
    from pyhudi_expr.index.lookups.lookup_indexes import LookupIndexes

    return LookupIndexes.open(table, listing, mdt, extension, schema, earlier)
