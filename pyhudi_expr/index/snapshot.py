"""A table at one instant, with what its indexes have told so far."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, columns
from pyhudi_expr.expr.evaluate import Evidence, StatisticsEvidence
from pyhudi_expr.expr.nodes import Unknown
from pyhudi_expr.index.column_stats import ColumnStats
from pyhudi_expr.index.commit_times import COMMIT_TIME, CommitTimes
from pyhudi_expr.index.evolved_stats import EvolvedColumnStats
from pyhudi_expr.index.merging import Merging, merging_of
from pyhudi_expr.index.partition_readers import PartitionReader, Reading
from pyhudi_expr.index.partition_stats import PartitionStats
from pyhudi_expr.index.partition_values import OfPartition, PartitionValues, path_layout
from pyhudi_expr.index.path_values import PathColumns, PathValues
from pyhudi_expr.index.planner import NamedEvidence, Question, Source, gather
from pyhudi_expr.index.record_keys import without_columns
from pyhudi_expr.index.row_counts import Counts, row_counts
from pyhudi_expr.index.streamed_leaves import Streaming, streamed
from pyhudi_expr.index.summaries import ColumnSummary, summaries
from pyhudi_expr.keys.definition import hidden_columns
from pyhudi_expr.mdt.extension_reader import Extension
from pyhudi_expr.mdt.reader import (
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    MetadataTable,
    current_listing,
)
from pyhudi_expr.mdt.snapshot_cache import SnapshotCache
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing, TableView
from pyhudi_expr.table.properties import TableType
from pyhudi_expr.table.schema_history import SchemaHistory, schema_history

if TYPE_CHECKING:
    from pyhudi_expr.index.optional_indexes import OptionalIndexes

_Flags = npt.NDArray[np.bool_]

_USUAL = frozenset({FILES, COLUMN_STATS, PARTITION_STATS})
#: Entries that may be read to describe all columns; a planner does not wait for more.
_MOST_SUMMARISED = 1_000_000
#: The name of what the partitions' own values say.
VALUES = "partition values"
_NOT_STORED = Unknown("the meta columns hold nothing: the table has virtual keys")
_OF_ANOTHER_TYPE = Unknown("a partition column that some readers show as another type")
#: A note.
NO_STATISTICS = "the table has no column_stats: files are not judged"


class TableSnapshot:
    """The file slices of a table at an instant, and evidence about them. Thread safe.

    table: the data table's snapshot. notes: why an index is not used. is_evolved: whether
    columns were renamed or retyped; history: in which versions, None if it cannot be read.
    """

    def __init__(
        self,
        table: HudiTable,
        view: TableView,
        as_of: str | None,
        footers: bool,
        cache: SnapshotCache | None = None,
        bounds_limit: int = sys.maxsize,
        earlier: TableSnapshot | None = None,
        streaming: Streaming = streamed,
    ) -> None:
        """footers: judge by Parquet footers where there is no `column_stats`. cache: where what
        base files of the metadata table say is kept between processes. bounds_limit: bytes that
        the bounds of columns may take. earlier: the table as it was; what was read of the metadata
        table's log files is taken from there. streaming: how columns beyond the limit are judged.

        Raises HudiError when the table itself cannot be read.
        """
        notes: list[str] = []
        mdt = _metadata_table(table, cache, earlier._mdt if earlier else None, notes)
        if mdt is not None:
            table = mdt.table
        self.table = table
        self._mdt: MetadataTable | None = mdt
        self._extension: Extension | None = _extension(table, cache, notes)
        self.listing: FileListing = _listing(table, mdt, view, as_of, notes)
        self.schema: pa.Schema = table.schema(as_of)
        self.merging: Merging = merging_of(table.properties)
        self._streaming = streaming
        partitions: list[str] = self.listing.partitions.to_pylist()
        self.values = PartitionValues(partitions, path_layout(table.properties))
        self._paths = PathValues(partitions, PathColumns.of(table.properties))
        self.partition_stats: PartitionStats | None = None
        self.column_stats: ColumnStats | None = None
        self._optional: OptionalIndexes | None = None
        # Statistics go by a column's name in its file, which an evolution may have changed.
        self.is_evolved: bool = table.has_schema_history
        self.history = _schema_history(table, notes) if self.is_evolved else None
        if self.history is not None:
            notes.append("the table's schema was evolved on read: only column_stats are used")
            self._open_statistics(mdt, as_of, footers, bounds_limit, notes)
            self.partition_stats = None
        elif not self.is_evolved:
            self._open_statistics(mdt, as_of, footers, bounds_limit, notes)
            self._open_optional_indexes(mdt, notes)
        self.notes: tuple[str, ...] = tuple(notes)

    def _open_statistics(
        self,
        mdt: MetadataTable | None,
        as_of: str | None,
        footers: bool,
        limit: int,
        notes: list[str],
    ) -> None:
        available = mdt.partitions if mdt is not None else frozenset[str]()
        extension = self._extension
        # An aggregate covers the files of its writes; so does the entry of a log file that grows.
        covers = mdt is not None and mdt.lists_files
        logs_grow = self.table.properties.timeline_layout == 1
        if mdt is not None and COLUMN_STATS in available and (covers or not logs_grow):
            self.column_stats = ColumnStats(mdt, self.listing, self.table.storage, limit)
        elif extension is not None and COLUMN_STATS in extension.partitions:
            self.column_stats = ColumnStats(
                extension.records, self.listing, self.table.storage, limit
            )
        elif footers:
            self.column_stats = ColumnStats(None, self.listing, self.table.storage, limit)
        elif COLUMN_STATS in available:
            notes.append("column_stats lags behind the table: files are not judged")
        else:
            notes.append(NO_STATISTICS)
        # The aggregates describe the newest slices, base files and log files alike.
        newest = as_of is None and self.table.properties.table_type is TableType.COPY_ON_WRITE
        if mdt is not None and PARTITION_STATS in available and newest and covers:
            self.partition_stats = PartitionStats(mdt, self.listing)

    def _open_optional_indexes(self, mdt: MetadataTable | None, notes: list[str]) -> None:
        available = mdt.partitions if mdt is not None else frozenset[str]()
        if available <= _USUAL and self._extension is None:
            return
        # Imported where there are any: most tables have none, and they take time to import.
        from pyhudi_expr.index.optional_indexes import OptionalIndexes

        self._optional = OptionalIndexes(self.table, self.listing)
        if mdt is not None:
            self._optional.open(mdt, notes)
        if self._extension is not None:
            self._optional.open_extension(self._extension, self.schema, notes)

    def is_current(self) -> bool:
        """Whether neither the table nor its extension has changed since. Raises HudiError."""
        if self.table.refreshed() is not self.table:
            return False
        try:
            if self._extension is None:
                return not Extension.exists(self.table)
            own = self._extension.records.metadata
            return own.refreshed() is own
        except HudiError:
            return False

    @property
    def nbytes(self) -> int:
        """Memory held, bytes (estimated)."""
        listing = self.listing
        held: list[int] = [
            listing.file_name.nbytes,
            listing.file_slice.nbytes,
            listing.file_size.nbytes,
        ]
        held += [listing.file_is_log.nbytes, listing.slice_file_id.nbytes]
        indexes = (self.column_stats, self._optional)
        return sum(held) + sum(index.nbytes for index in indexes if index is not None)

    def value_evidence(self) -> list[NamedEvidence]:
        """What the partitions' own values say, over the partitions."""
        return [NamedEvidence(VALUES, StatisticsEvidence(self.values))]

    def aggregate_evidence(
        self, columns: Sequence[BoundColumn], reading: Reading
    ) -> list[NamedEvidence]:
        """What `partition_stats` says of the columns, over the partitions. Raises HudiError."""
        if self.partition_stats is None:
            return []
        for column in columns:
            self.partition_stats.load(column)
        evidence = reading.of_partitions(StatisticsEvidence(self.partition_stats))
        return [NamedEvidence(PARTITION_STATS, evidence)]

    def reading(self, reader: PartitionReader, predicate: BoundExpression) -> Reading:
        """What the reader makes of the partition columns of a predicate."""
        needed = columns(predicate).values()
        return Reading.of(reader, self._paths, self.values, needed)

    def completed(self, predicate: BoundExpression, reading: Reading) -> BoundExpression:
        """The predicate with what it implies for record keys, if an index of them can tell."""
        hidden = hidden_columns(self.table.properties)
        if hidden:
            predicate = without_columns(predicate, hidden, _NOT_STORED)
        if reading.unjudged:
            predicate = without_columns(predicate, reading.unjudged, _OF_ANOTHER_TYPE)
        # Keys are made of what files hold.
        in_doubt = not reading.disputed.keys().isdisjoint(self.table.properties.record_key_fields)
        if self._optional is None or in_doubt:
            return predicate
        return self._optional.completed(predicate)

    def file_evidence(
        self,
        predicate: BoundExpression,
        columns: Sequence[BoundColumn],
        partitions: _Flags,
        footer_wait: float,
        notes: list[str],
        reading: Reading,
    ) -> list[NamedEvidence]:
        """What the sources say of the files of the flagged partitions.

        columns: those of the predicate. notes: for what sources cannot read.
        """
        question = Question(
            predicate, columns, self.listing, self.merging, partitions, footer_wait, notes, reading
        )
        return gather(self.sources, question)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The sources of evidence over the files, in the order in which they are asked."""
        times = CommitTimes(self.table, self.listing)
        sources: list[Source] = [_ValueSource(self.values, self.listing), _NameSource(times)]
        if self.column_stats is not None and self.history is not None:
            sources.append(EvolvedColumnStats(self.column_stats, self.history, self.listing))
        elif self.column_stats is not None:
            sources.append(_ColumnStatsSource(self.column_stats, self._streaming))
        if self._optional is not None:
            sources.extend(self._optional.sources)
        return tuple(sources)

    @cached_property
    def row_counts(self) -> Counts | None:
        """For each slice the rows that it has at most, -1 where unknown; None: nothing tells."""
        try:
            return None if self._mdt is None else row_counts(self._mdt, self.listing)
        except HudiError:
            return None

    @cached_property
    def column_summaries(self) -> list[ColumnSummary]:
        """What statistics say of each column over all files. Raises HudiError."""
        if self.is_evolved:
            return []  # an old file's statistics may be another column's of today
        found = summaries(
            self.column_stats,
            self.values,
            self.listing,
            self.row_counts,
            self.schema,
            _MOST_SUMMARISED,
        )
        by_value = self._optional.columns_by_value() if self._optional else frozenset[str]()
        return [
            # What ranges cannot tell apart, an index of the values may.
            replace(summary, kept_by_equality=None) if summary.column.name in by_value else summary
            for summary in map(self._with_keys_counted, found)
        ]

    def _with_keys_counted(self, summary: ColumnSummary) -> ColumnSummary:
        """There are as many keys as rows."""
        rows = self.row_counts
        is_key = (summary.column.name,) == self.table.properties.record_key_fields
        if not is_key or rows is None or (rows < 0).any():
            return summary
        return replace(summary, distinct=int(rows.sum()))

    def spread_aggregates(self, reading: Reading) -> list[NamedEvidence]:
        """What `partition_stats` has told so far, over the files: for the explanation."""
        if self.partition_stats is None:
            return []
        spread = OfPartition(self.partition_stats, self.listing.file_partition)
        evidence = reading.of_files(StatisticsEvidence(spread), self.listing)
        return [NamedEvidence(PARTITION_STATS, evidence)]


@dataclass(frozen=True)
class _ValueSource:
    """The partitions' values, for their files."""

    values: PartitionValues
    listing: FileListing
    name: str = VALUES

    def answer(self, question: Question) -> Evidence | None:
        """See `Source`."""
        return StatisticsEvidence(OfPartition(self.values, self.listing.file_partition))


@dataclass(frozen=True)
class _NameSource:
    """What the files' names tell, of the one column that they tell of."""

    times: CommitTimes
    name: str = "file names"

    def answer(self, question: Question) -> Evidence | None:
        """See `Source`."""
        asked = any(column.name == COMMIT_TIME for column in question.columns)
        return StatisticsEvidence(self.times) if asked else None


@dataclass(frozen=True)
class _ColumnStatsSource:
    """`column_stats` of the partitions that are left."""

    stats: ColumnStats
    streaming: Streaming
    name: str = COLUMN_STATS

    def answer(self, question: Question) -> Evidence | None:
        """See `Source`."""
        found = self.stats.load(question.columns, question.partitions, question.footer_wait)
        question.notes.extend(found.notes)
        if not found.too_large or not self.stats.can_stream:
            return StatisticsEvidence(found)
        return self.streaming(
            self.stats, question.listing, question.predicate, found, question.partitions
        )


def _schema_history(table: HudiTable, notes: list[str]) -> SchemaHistory | None:
    try:
        return schema_history(table.storage, table.timeline.is_committed)
    except HudiError as error:
        notes.append(f"the table's schema was evolved on read: statistics are not used: {error}")
        return None


def _metadata_table(
    table: HudiTable,
    cache: SnapshotCache | None,
    earlier: MetadataTable | None,
    notes: list[str],
) -> MetadataTable | None:
    try:
        mdt = MetadataTable.open(table, cache, earlier)
    except HudiError as error:
        notes.append(f"the metadata table cannot be read: {error}")
        return None
    if mdt is None:
        notes.append("the table has no metadata table")
    return mdt


def _extension(table: HudiTable, cache: SnapshotCache | None, notes: list[str]) -> Extension | None:
    try:
        return Extension.open(table, cache)
    except HudiError as error:
        notes.append(f"the extension metadata table cannot be read: {error}")
        return None


def _listing(
    table: HudiTable,
    mdt: MetadataTable | None,
    view: TableView,
    as_of: str | None,
    notes: list[str],
) -> FileListing:
    try:
        return current_listing(table, mdt, view, as_of)
    except HudiError as error:
        if mdt is None:
            raise
        notes.append(f"the metadata table's listing cannot be read: {error}")
        return table.listing(view, as_of)
