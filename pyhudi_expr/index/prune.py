"""Prune the files of a table: a table, a predicate and an instant give the file slices to read.

This is the entry point of the package. The service and the command line are built on it. An index
that cannot be used becomes a note of the result: it costs pruning, never rows. A table that cannot
be read (it does not exist, or its files cannot be listed) raises HudiError, and the caller reads
every file.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, columns, unknown_reasons
from pyhudi_expr.expr.evaluate import Evidence, as_array, may_be
from pyhudi_expr.expr.nodes import And, Column, Comparison, HudiExpression, Literal, Op
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Semantics
from pyhudi_expr.index.opening import SnapshotOptions
from pyhudi_expr.index.partition_semantics import PartitionReader, ReaderSemantics
from pyhudi_expr.index.planner import NamedEvidence, UnaskedIndex
from pyhudi_expr.index.slice_sets import SliceSet, keep_slices
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.snapshot_cache import SnapshotCache
from pyhudi_expr.index.sources import dropped_by
from pyhudi_expr.index.statistics.column_stats import BoundsLimits
from pyhudi_expr.index.statistics.joined_column_stats import Streaming, evaluate_streaming
from pyhudi_expr.tables.hudi_names import COMMIT_TIME
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache, SharedSnapshots
from pyhudi_expr.tables.properties import SliceMerging, StatedBuckets
from pyhudi_expr.tables.schema import SchemaHistory
from pyhudi_expr.tables.timeline import query_instant

if TYPE_CHECKING:
    from pyhudi_expr.index.explanation import Explanation
    from pyhudi_expr.index.row_counts import Counts, RowCount


@dataclass(frozen=True)
class PruneOptions:
    """Options of a `Pruner`, the same for all its requests.

    Attributes:
        footers: Read the Parquet footers of all files that the indexes have no bounds of.
        footer_seconds: For how long each question has them read otherwise; 0: none are read
            (`index.statistics.column_stats`).
        footer_wait: Seconds that a request waits for footers that are read in the background.
        cache_bytes: Memory in bytes for cached table snapshots, and for the column bounds of one
            table. Larger bounds are streamed for each request. The file listing of a table is
            always cached.
        streaming: Evaluates streamed bounds; by default in this process.
        snapshot_dir: Directory that caches the contents of metadata tables between processes. None:
            no such cache.
        snapshot_bytes: Size limit of `snapshot_dir` in bytes.
        shared_snapshots: URI of a directory with snapshots that `pyhudi snapshot` published; what
            `snapshot_dir` lacks is copied from there. None: there is none.
    """

    footers: bool = False
    footer_seconds: float = 2.0
    footer_wait: float = 0.5
    cache_bytes: int = 1 << 30
    streaming: Streaming = evaluate_streaming
    snapshot_dir: Path | None = None
    snapshot_bytes: int = 4 << 30
    shared_snapshots: str | None = None


@dataclass(frozen=True)
class PruneRequest:
    """A request to prune the files of one table.

    Attributes:
        predicate: The filter of the query.
        view: The table's view that the query reads.
        semantics: What the engine's process decides of the predicate's meaning.
        as_of: Instant (requested time) for time travel. None: the newest instant.
        since: Instant for an incremental query, which reads only rows written after it, up to
            `as_of`.
        reader: Where the engine takes the values of partition columns from.
        buckets: What is stated of the table's buckets. None: nothing is.

    `as_of` and `since` may also be dates, see `query_instant`.

    Raises:
        HudiError: `as_of` or `since` is not an instant.
    """

    predicate: HudiExpression
    view: TableView = TableView.SNAPSHOT
    semantics: Semantics = UNKNOWN_SEMANTICS
    as_of: str | None = None
    since: str | None = None
    reader: PartitionReader = PartitionReader.ANY
    buckets: StatedBuckets | None = None

    def __post_init__(self) -> None:
        for name in ("as_of", "since"):
            object.__setattr__(self, name, query_instant(getattr(self, name)))


@dataclass(frozen=True)
class PruneResult:
    """The file slices that a query has to read. A value: it reads nothing.

    Attributes:
        listing: The file slices of the table.
        keep: One flag for each slice. False: no row of it can match.
        partition_keep: One flag for each partition. False: its values alone exclude it, whatever
            files it has.
        predicate: The bound predicate.
        columns: Its columns.
        unknown: Why parts of it cannot be evaluated.
        notes: Why less was pruned than could be; these reasons, too.
        evidence: The evidence of the indexes that were used, in order of use.
        dropped_by: For each index, the number of files that it excludes beyond the indexes before
            it. Partition values come first, then `partition_stats`, then the others in order of
            use. Indexes that exclude no file are left out.
        merging: How the records of a slice are merged.
        is_evolved: Whether columns of the table were renamed or retyped.
        schema_history: The versions of the schema. None if the table did not evolve, or if its
            history cannot be read.
        unasked: The indexes that could have dropped more, and were not asked.
    """

    listing: FileListing
    keep: BoolArray
    partition_keep: BoolArray
    predicate: BoundExpression
    columns: Sequence[BoundColumn]
    unknown: Sequence[str]
    notes: tuple[str, ...]
    evidence: Sequence[NamedEvidence] = field(repr=False)
    dropped_by: Mapping[str, int] = field(default_factory=dict)
    merging: SliceMerging = SliceMerging.OPAQUE
    is_evolved: bool = False
    schema_history: SchemaHistory | None = field(default=None, repr=False)
    unasked: Sequence[UnaskedIndex] = ()
    _found: SliceSet | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Return one line, as there may be a million files."""
        files = f"{self.files_kept} of {self.files_total} files"
        notes = "".join(f"; {note}" for note in self.notes)
        return f"<PruneResult: keep {files}, at instant {self.instant}{notes}>"

    @property
    def instant(self) -> str | None:
        """The instant of the table that was pruned."""
        return self.listing.instant

    @computed_once
    def file_keep(self) -> BoolArray:
        """One flag for each file of the listing."""
        return self.listing.of_files(self.keep)

    @property
    def files_total(self) -> int:
        """Number of files in the view, base and log files."""
        return self.listing.num_files

    @computed_once
    def kept(self) -> SliceSet:
        """The slices to read."""
        found = self._found
        if found is not None and found.full is self.keep:
            return found
        return SliceSet(self.listing, None, self.keep)

    @property
    def files_kept(self) -> int:
        """Number of files to read."""
        return self.kept.num_files

    @property
    def bytes_total(self) -> int:
        """Size of all files in bytes."""
        return self.listing.total_bytes

    @property
    def bytes_kept(self) -> int:
        """Size of the files to read in bytes."""
        return self.kept.num_bytes

    def kept_paths(self) -> list[str]:
        """Return the paths of the files to read, relative to the table's base path."""
        return self.listing.paths(self.kept.files)

    def with_evidence(self, *more: Evidence) -> PruneResult:
        """Return the result that additional evidence over the files would give."""
        sources = [*(source.evidence for source in self.evidence), *more]
        keep = keep_slices(self.predicate, sources, self.listing, self.merging)
        return replace(self, keep=self.keep & keep)

    def rows_kept(self, row_counts: Counts | None) -> RowCount | None:
        """Return the number of rows in the slices to read; None if it is unknown.

        Args:
            row_counts: Row counts of the snapshot, see `TableSnapshot.row_counts`.
        """
        if row_counts is None or (row_counts[self.keep] < 0).any():
            return None
        # Log files give an upper bound: a record may update or delete a row instead of adding one.
        merged = self.listing.file_is_log & self.file_keep
        # Imported on use: few requests count rows.
        from pyhudi_expr.index.row_counts import RowCount

        return RowCount(int(row_counts[self.keep].sum()), exact=not merged.any())

    def explain(self, row_counts: Counts | None = None) -> Explanation:
        """Return what each part of the predicate excludes, and by which index.

        Args:
            row_counts: Row counts of the snapshot, to report excluded rows as well as files.
        """
        from pyhudi_expr.index.explanation import explain

        return explain(self.predicate, self.evidence, self.listing, row_counts)


class Pruner:
    """Prunes files, and caches table snapshots between requests. Thread safe."""

    def __init__(
        self,
        options: PruneOptions | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """Create a pruner that has no table in its cache.

        Args:
            options: The same for all requests.
            storage_options: Credentials and other settings of the tables' storages, see
                `Storage.open`.
        """
        self._options = options or PruneOptions()
        self._storage_options = storage_options
        directory, limit = self._options.snapshot_dir, self._options.snapshot_bytes
        shared = SharedSnapshots.at(self._options.shared_snapshots, storage_options)
        self._cache = DiskCache(directory, limit, shared) if directory else None
        self._snapshots = SnapshotCache(self._options.cache_bytes, storage_options)

    @property
    def settings(self) -> tuple[PruneOptions, Mapping[str, str] | None]:
        """The options, and the storage options, with which another pruner does the same."""
        return self._options, self._storage_options

    def prune(self, base_path: str, request: PruneRequest) -> PruneResult:
        """Return the slices of a table that may hold a row for which the predicate is TRUE.

        Raises:
            HudiError: The table cannot be read. The caller has to read every file.
        """
        snapshot = self.open(base_path, request.view, request.as_of)
        return self.prune_snapshot(snapshot, request)

    def prune_snapshot(self, snapshot: TableSnapshot, request: PruneRequest) -> PruneResult:
        """Prune a table as it was opened for this request, or for one of the same view and instant.

        Raises:
            HudiError: The table does not support the request, or rows have no key (MissingKey).
        """
        snapshot.require_keys()
        bound = bind(_predicate(request, snapshot), snapshot.scope.of(request.semantics))
        asked = columns(bound)
        reading = snapshot.reading(request.reader, asked.values())
        predicate = snapshot.with_key_predicates(bound, reading)
        used = asked if predicate is bound else columns(predicate)
        # What files hold of hidden columns is not what the predicate's leaves about them mean.
        needed = [column for name, column in used.items() if name not in snapshot.hidden]
        values = snapshot.value_evidence(needed)
        by_values = _evaluate_partitions(predicate, values, snapshot)
        aggregates, unread = _aggregate_evidence(snapshot, needed, reading)
        partitions = by_values
        if aggregates:
            partitions = by_values & _evaluate_partitions(predicate, values + aggregates, snapshot)
        found = snapshot.file_evidence(
            predicate, needed, partitions, self._options.footer_wait, reading, request.buckets
        )
        self._snapshots.measure(snapshot)
        unknown = unknown_reasons(
            predicate, lambda column: column in needed and snapshot.values.has_all(column)
        )
        notes = [*snapshot.notes, *unknown, *unread, *found.notes]
        if snapshot.merging is SliceMerging.OPAQUE and snapshot.listing.file_is_log.any():
            notes.append("the table's merger is not known: slices with log files are kept")
        return PruneResult(
            listing=snapshot.listing,
            keep=found.slices,
            partition_keep=by_values,
            predicate=predicate,
            columns=needed,
            unknown=unknown,
            notes=tuple(notes),
            evidence=[*found.answers, *snapshot.spread_aggregates(reading)],
            dropped_by=dropped_by(by_values, found),
            merging=snapshot.merging,
            is_evolved=snapshot.is_evolved,
            schema_history=snapshot.history,
            unasked=found.unasked,
            _found=found.kept,
        )

    def prepare(self, base_path: str, request: PruneRequest) -> None:
        """Read what a request will need, so that it need not.

        Whether a table that is known has changed is left to the request, which would wait for the
        answer to that question, and then ask it itself.

        Raises:
            HudiError: The table cannot be read.
        """
        options = self._snapshot_options(request.view, request.as_of)
        snapshot = self._snapshots.recent(base_path, options)
        self.prune_snapshot(snapshot, request)
        snapshot.row_counts()

    def open(
        self,
        base_path: str,
        view: TableView = TableView.SNAPSHOT,
        as_of: str | None = None,
        *,
        asked: float | None = None,
    ) -> TableSnapshot:
        """Open a table, or return the cached snapshot of its state.

        Args:
            base_path: The table.
            view: What is read of slices with log files.
            as_of: An instant or a date for time travel; None: the latest instant.
            asked: When the question came, of `time.monotonic`; None: now. A look at the table since
                then, for another question, serves this one, too.

        Raises:
            HudiError: The table cannot be read.
        """
        asked = time.monotonic() if asked is None else asked
        return self._snapshots.current(base_path, self._snapshot_options(view, as_of), asked)

    def has_opened(self, base_path: str, request: PruneRequest) -> bool:
        """Return whether a table is kept in memory in the view and at the instant of a request."""
        options = self._snapshot_options(request.view, request.as_of)
        return self._snapshots.keeps(base_path, options)

    def _snapshot_options(self, view: TableView, as_of: str | None) -> SnapshotOptions:
        """Return what is read of a table."""
        return SnapshotOptions(
            view,
            query_instant(as_of),
            self._cache,
            BoundsLimits(
                self._options.cache_bytes,
                math.inf if self._options.footers else self._options.footer_seconds,
            ),
            self._options.streaming,
        )

    def held(self) -> tuple[int, int]:
        """Return the number of cached snapshots, and their memory in bytes."""
        return self._snapshots.held()


def _predicate(request: PruneRequest, snapshot: TableSnapshot) -> HudiExpression:
    """Return the request's predicate, with the commit-time condition of an incremental query."""
    if request.since is None:
        return request.predicate
    if not snapshot.table.properties.meta_fields:
        raise UnsupportedTable(
            f"{snapshot.table.base_path}: incremental queries need the meta fields in the files"
            " (hoodie.populate.meta.fields)"
        )
    since = Literal(request.since, pa.string())
    return And((Comparison(Op.GT, Column((COMMIT_TIME,)), since), request.predicate))


def _evaluate_partitions(
    predicate: BoundExpression, evidence: Sequence[NamedEvidence], snapshot: TableSnapshot
) -> BoolArray:
    mask = may_be(predicate, True, [source.evidence for source in evidence])
    return as_array(mask, len(snapshot.listing.partitions))


def _aggregate_evidence(
    snapshot: TableSnapshot, needed: Sequence[BoundColumn], reading: ReaderSemantics
) -> tuple[list[NamedEvidence], Sequence[str]]:
    """Return the evidence, and notes on what cannot be read."""
    try:
        return snapshot.aggregate_evidence(needed, reading), ()
    except HudiError as error:
        return [], (f"partition_stats cannot be read: {error}",)
