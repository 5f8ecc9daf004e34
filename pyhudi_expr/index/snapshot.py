"""A table at one instant, with its indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import BoolArray, string_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression
from pyhudi_expr.expr.evaluate import StatisticsEvidence
from pyhudi_expr.expr.nodes import Unknown
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.known_tables import KnownTable, TableState, expect_commits, expect_refresh
from pyhudi_expr.index.opening import (
    SnapshotOptions,
    open_column_stats,
    open_extension,
    open_extension_table,
    open_listing,
    open_lookup_indexes,
    open_metadata_table,
    open_partition_stats,
    open_schema_history,
)
from pyhudi_expr.index.partition_semantics import PartitionReader, ReaderSemantics
from pyhudi_expr.index.partition_values import (
    BoundsOfPartition,
    FormattedPaths,
    PartitionRanges,
    PartitionValues,
    path_layout,
)
from pyhudi_expr.index.planner import NamedEvidence, Question, Source, announce, gather
from pyhudi_expr.index.sources import (
    VALUES,
    ColumnStatsSource,
    CommitTimes,
    NameSource,
    ValueSource,
    find_null_key,
)
from pyhudi_expr.index.spark_partition_values import SparkPartitionColumns, SparkPathValues
from pyhudi_expr.index.statistics.column_stats import ColumnStats
from pyhudi_expr.index.statistics.joined_column_stats import Streaming
from pyhudi_expr.index.statistics.partition_stats import PartitionStats
from pyhudi_expr.tables.hudi_names import BOOTSTRAP_BASE_PATH, META_COLUMNS, PARTITION_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import hidden_columns, require_key_columns
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.extension import Extension
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import SliceMerging, StatedBuckets, slice_merging
from pyhudi_expr.tables.schema import SchemaHistory, optional_columns

if TYPE_CHECKING:
    from pyhudi_expr.index.lookups.buckets import BucketSource
    from pyhudi_expr.index.lookups.lookup_indexes import LookupIndexes
    from pyhudi_expr.index.row_counts import Counts
    from pyhudi_expr.index.statistics.column_summaries import ColumnSummary


#: Limit of entries to read for column summaries, as a planner waits for them.
_MOST_SUMMARISED = 1_000_000
_NOT_STORED = Unknown("the meta columns hold nothing: the table has virtual keys")
_OF_ANOTHER_TYPE = Unknown("a partition column that some readers show as another type")


@dataclass(frozen=True, eq=False)
class TableSnapshot:
    """The file slices of a table at an instant, with evidence about them. Thread safe.

    Attributes:
        table: The data table.
        listing: Its file slices.
        schema: The schema at the instant.
        merging: How the records of a slice are merged.
        values: The values of the partitions.
        partition_stats: Bounds over partitions, if the table has them.
        column_stats: Bounds over files, of an index or of their footers. None: columns cannot be
            told by their names in old files.
        is_evolved: Whether columns were renamed or retyped.
        history: The versions of the schema. None if the table did not evolve, or if its history
            cannot be read.
        notes: Why an index is not used.
        known: What the snapshot of the next instant is made of.
    """

    table: HudiTable
    listing: FileListing
    schema: pa.Schema
    merging: SliceMerging
    values: PartitionValues
    partition_stats: PartitionStats | None
    column_stats: ColumnStats | None
    is_evolved: bool
    history: SchemaHistory | None
    notes: tuple[str, ...]
    _paths: SparkPathValues
    _mdt: MetadataTable | None
    _extension: Extension | None
    _optional: LookupIndexes | None
    _streaming: Streaming
    known: KnownTable
    _buckets: dict[StatedBuckets, BucketSource | None] = field(default_factory=dict)

    @classmethod
    def open(
        cls, table: HudiTable, options: SnapshotOptions, earlier: TableSnapshot | None = None
    ) -> TableSnapshot:
        """Open a table as its files are now.

        Args:
            table: The table.
            options: What to read, and where to cache it.
            earlier: An earlier snapshot of the table, whose metadata log blocks are reused.

        Raises:
            HudiError: The table cannot be read.
        """
        expect_commits(table)
        own, own_notes = open_extension_table(table)
        mdt, mdt_notes = open_metadata_table(
            table, options.cache, earlier._mdt if earlier else None
        )
        table = table if mdt is None else mdt.table
        extension, extension_notes = open_extension(own, options.cache)
        known, listing_notes = open_listing(table, mdt, options, earlier.known if earlier else None)
        listing = known.listing
        schema = table.schema(options.as_of)
        require_key_columns(table.properties, schema, table.base_path)
        partitions: list[str] = string_list(listing.partitions)
        # Statistics are stored by the column's name in its file, which schema evolution may change.
        is_evolved = table.has_schema_history
        history, history_notes = open_schema_history(table) if is_evolved else (None, ())
        is_resolved = history is not None or not is_evolved
        column_stats, column_notes = (
            open_column_stats(
                table, known, mdt, extension, options, earlier.column_stats if earlier else None
            )
            if is_resolved
            else (None, ())
        )
        optional = (
            None
            if is_evolved
            else open_lookup_indexes(
                table, listing, mdt, extension, schema, earlier._optional if earlier else None
            )
        )
        return cls(
            table=table,
            listing=listing,
            schema=schema,
            merging=slice_merging(table.properties),
            values=PartitionValues(partitions, path_layout(table.properties)),
            partition_stats=None
            if is_evolved
            else open_partition_stats(table, listing, mdt, options),
            column_stats=column_stats,
            is_evolved=is_evolved,
            history=history,
            notes=(
                *(
                    *mdt_notes,
                    *own_notes,
                    *extension_notes,
                    *listing_notes,
                    *history_notes,
                    *column_notes,
                ),
                *(optional.notes if optional else ()),
            ),
            _paths=SparkPathValues(partitions, SparkPartitionColumns.of(table.properties)),
            _mdt=mdt,
            _extension=extension,
            _optional=optional,
            _streaming=options.streaming,
            known=known.with_statistics(column_stats),
        )

    def require_keys(self) -> None:
        """Refuse rows without a virtual key, as far as the statistics show that there are some.

        Reads them at the first call.

        Raises:
            MissingKey: A key column is null in a row.
        """
        if self._null_key is not None:
            from pyhudi_expr.tables.keys.generators import MissingKey

            raise MissingKey(self._null_key)

    @computed_once
    def _null_key(self) -> str | None:
        if self.column_stats is None or self.is_evolved:
            return None
        return find_null_key(self.table, self.listing, self.schema, self.column_stats)

    def state_now(self) -> TableState:
        """Read the state that the table and its extension have now.

        Raises:
            HudiError: The table cannot be read.
        """
        with self.table.storage.reading_ahead() as storage:
            expect_refresh(storage, self.table, self._extension)
            return TableState.read(storage)

    def is_in(self, state: TableState) -> bool:
        """Return whether the table and its extension were in this state when they were opened."""
        if not (state.is_complete and self.table.is_as(state.table)):
            return False
        if self._extension is None or state.extension is None:
            return self._extension is None and state.extension is None
        return self._extension.records.metadata.is_as(state.extension)

    @property
    def extension(self) -> Extension | None:
        """The extension metadata table; None if there is none, or it cannot be read."""
        return self._extension

    @property
    def nbytes(self) -> int:
        """Memory of the snapshot in bytes (estimated)."""
        indexes = [one for one in (self.column_stats, self._optional) if one is not None]
        return self.listing.nbytes + sum([index.nbytes for index in indexes])

    @computed_once
    def scope(self) -> Scope:
        """The columns that a predicate can name."""
        return Scope(self.schema, null_if_absent=self._null_if_absent)

    @property
    def _null_if_absent(self) -> frozenset[str]:
        """The columns that are NULL in files without them.

        Values of partition columns are in the paths, too. Files of bootstrapped tables have their
        columns elsewhere.
        """
        properties = self.table.properties
        if BOOTSTRAP_BASE_PATH in properties.raw:
            return frozenset()
        given = frozenset(map(str.lower, (*META_COLUMNS, *properties.partition_fields)))
        return frozenset(
            name for name in optional_columns(self.schema) if name.lower() not in given
        )

    def value_evidence(self, columns: Sequence[BoundColumn]) -> list[NamedEvidence]:
        """Return the evidence of the partitions' values about the columns, over the partitions."""
        if not self._ranges.have_any(columns):
            return []
        return [NamedEvidence(VALUES, StatisticsEvidence(self._ranges))]

    @computed_once
    def _ranges(self) -> PartitionRanges:
        formatted = FormattedPaths.of(self.table.properties)
        return PartitionRanges(self.values, self.listing.partitions, formatted)

    def aggregate_evidence(
        self, columns: Sequence[BoundColumn], reading: ReaderSemantics
    ) -> list[NamedEvidence]:
        """Return the evidence of `partition_stats` about the columns, over the partitions.

        Raises:
            HudiError: The index cannot be read.
        """
        if self.partition_stats is None:
            return []
        for column in columns:
            self.partition_stats.load(column)
        evidence = reading.of_partitions(StatisticsEvidence(self.partition_stats))
        return [NamedEvidence(PARTITION_STATS, evidence)]

    def reading(self, reader: PartitionReader, needed: Iterable[BoundColumn]) -> ReaderSemantics:
        """Return how a reader understands the partition columns among those of a predicate."""
        return ReaderSemantics.of(reader, self._paths, self.values, needed)

    @computed_once
    def hidden(self) -> frozenset[str]:
        """The columns of which only indexes of keys are asked: readers show them as nulls."""
        return hidden_columns(self.table.properties)

    def with_key_predicates(
        self, predicate: BoundExpression, reading: ReaderSemantics
    ) -> BoundExpression:
        """Add what a predicate implies for record keys, if an index of them can use it."""
        if self.hidden or reading.retyped:
            # Imported on use: few tables have such columns, and the import takes time.
            from pyhudi_expr.index.lookups.key_predicates import without_columns

            predicate = without_columns(predicate, self.hidden, _NOT_STORED)
            predicate = without_columns(predicate, reading.retyped, _OF_ANOTHER_TYPE)
        # Keys are built from the values that files hold.
        in_doubt = not reading.disputed.keys().isdisjoint(self.table.properties.record_key_fields)
        if self._optional is None or in_doubt:
            return predicate
        return self._optional.with_key_predicates(predicate)

    def file_evidence(
        self,
        predicate: BoundExpression,
        columns: Sequence[BoundColumn],
        partitions: BoolArray,
        footer_wait: float,
        reading: ReaderSemantics,
        buckets: StatedBuckets | None = None,
    ) -> Question:
        """Gather the evidence of the sources over the files of the flagged partitions.

        Args:
            predicate: The bound predicate.
            columns: The columns of the predicate.
            partitions: One flag for each partition.
            footer_wait: Seconds to wait for footers that are read in the background.
            reading: How the reader understands partition columns.
            buckets: What is stated of the table's buckets.
        """
        no_footers = np.zeros(self.listing.num_files, np.bool_)
        question = Question(
            predicate,
            columns,
            self.listing,
            self.merging,
            partitions,
            footer_wait,
            no_footers,
            reading,
        )
        of_buckets = None if buckets is None else self._bucket_source(buckets)
        sources = self.sources if of_buckets is None else (*self.sources, of_buckets)
        if self.table.storage.is_remote:
            announce(sources, question)
        found = gather(sources, question)
        if found.lacks_footers and found.kept.num_files:
            # Only now it is known which files an engine would have to open.
            found = gather(sources, replace(question, footers=found.files))
        return found

    def _bucket_source(self, stated: StatedBuckets) -> BucketSource | None:
        """Return the evidence of buckets; kept until something else is stated of them."""
        if self.is_evolved:
            return None
        if stated not in self._buckets:
            # Imported on use: few tables have buckets, and the import takes time.
            from pyhudi_expr.index.lookups.buckets import bucket_source

            self._buckets.clear()
            stats = self.column_stats
            indexed = None if stats is None or stats.entries is None else stats
            found = bucket_source(stated, self.table, self.listing, self.schema, indexed)
            return self._buckets.setdefault(stated, found)
        return self._buckets.get(stated)

    @computed_once
    def sources(self) -> tuple[Source, ...]:
        """The sources of evidence over files, in order of use."""
        times = CommitTimes(self.table, self.listing)
        sources: list[Source] = [ValueSource(self._ranges, self.listing), NameSource(times)]
        if self.column_stats is not None and self.history is not None:
            from pyhudi_expr.index.statistics.evolved_column_stats import EvolvedColumnStats

            sources.append(EvolvedColumnStats(self.column_stats, self.history, self.listing))
        elif self.column_stats is not None:
            sources.append(ColumnStatsSource(self.column_stats, self._streaming, self.values))
        if self._optional is not None:
            sources.extend(self._optional.sources)
        return tuple(sources)

    def row_counts(self) -> Counts | None:
        """Return upper bounds for the rows of each slice, -1 where unknown; None if there are none.

        Reads the metadata table at the first call.
        """
        return self._row_counts

    @computed_once
    def _row_counts(self) -> Counts | None:
        try:
            from pyhudi_expr.index.row_counts import row_counts

            return None if self._mdt is None else row_counts(self._mdt, self.listing)
        except HudiError:
            return None

    def base_file_rows(self) -> Counts:
        """Return the rows of each base file; -1 where unknown, and for log files.

        Raises:
            HudiError: The metadata table or the timeline cannot be read.
        """
        from pyhudi_expr.index.row_counts import UNKNOWN, base_file_rows

        if self._mdt is None:
            return np.full(self.listing.num_files, UNKNOWN, np.int64)
        return base_file_rows(self._mdt, self.listing)

    def column_summaries(self) -> list[ColumnSummary]:
        """Return what the statistics say about each column over all files; read at the first call.

        Raises:
            HudiError: The statistics cannot be read.
        """
        return self._column_summaries

    def summaries_of(self, schema: pa.Schema, rows: Counts | None) -> list[ColumnSummary]:
        """Return what the statistics say about columns over the slices that have rows.

        Args:
            schema: The columns, of the table's schema.
            rows: The rows of each slice at most, -1 where unknown; None: unknown for all.

        Raises:
            HudiError: The statistics cannot be read.
        """
        if self.is_evolved:
            return []  # an old file may hold another column of that name
        from pyhudi_expr.index.statistics.column_summaries import column_summaries

        return column_summaries(
            self.column_stats, self.values, self.listing, rows, schema, _MOST_SUMMARISED
        )

    @computed_once
    def _column_summaries(self) -> list[ColumnSummary]:
        found = self.summaries_of(self.schema, self.row_counts())
        by_value = self._optional.columns_by_value() if self._optional else frozenset[str]()
        return [
            # An index of the values distinguishes values that ranges cannot.
            replace(summary, kept_by_equality=None) if summary.column.name in by_value else summary
            for summary in map(self._with_keys_counted, found)
        ]

    def _with_keys_counted(self, summary: ColumnSummary) -> ColumnSummary:
        """Set the number of distinct record keys, which is the number of rows."""
        rows = self.row_counts()
        is_key = (summary.column.name,) == self.table.properties.record_key_fields
        if not is_key or rows is None or (rows < 0).any():
            return summary
        return replace(summary, distinct=int(rows.sum()))

    def spread_aggregates(self, reading: ReaderSemantics) -> list[NamedEvidence]:
        """Return the loaded `partition_stats` as evidence over the files, for the explanation."""
        if self.partition_stats is None:
            return []
        spread = BoundsOfPartition(self.partition_stats, self.listing)
        evidence = reading.of_files(StatisticsEvidence(spread), self.listing)
        return [NamedEvidence(PARTITION_STATS, evidence)]
