"""Pruning: a table, a predicate, an instant -> which file slices may hold a matching row.

This is the one use case of the package; the service and the command line are built on it. What is
wrong with an index becomes a note of the result and costs pruning, never rows. What is wrong with
the table itself (there is none, it cannot be listed) is a HudiError: the caller keeps every file.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, columns, unknown_reasons
from pyhudi_expr.expr.evaluate import Evidence, as_array, may_be
from pyhudi_expr.expr.nodes import And, Column, Comparison, HudiExpression, Literal, Op
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.explanation import Explanation, explain
from pyhudi_expr.index.partition_semantics import PartitionReader, ReaderSemantics
from pyhudi_expr.index.planner import NamedEvidence, Question
from pyhudi_expr.index.row_counts import Counts
from pyhudi_expr.index.slice_merging import SliceMerging, keep_slices
from pyhudi_expr.index.snapshot import SnapshotOptions, TableSnapshot
from pyhudi_expr.index.sources import VALUES
from pyhudi_expr.index.statistics.commit_times import COMMIT_TIME
from pyhudi_expr.index.statistics.streaming_evaluation import Streaming, evaluate_streaming
from pyhudi_expr.mdt.store.disk_cache import DiskCache
from pyhudi_expr.mdt.store.metadata_table import PARTITION_STATS
from pyhudi_expr.table.errors import HudiError, UnsupportedTable
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing, TableView
from pyhudi_expr.table.schema_history import SchemaHistory
from pyhudi_expr.table.timeline.timeline import query_instant


@dataclass(frozen=True)
class PruneOptions:
    """How a process prunes.

    footers: judge by Parquet footers where a table has no `column_stats`. footer_wait: seconds
    that a query waits for footers that are being read in the background. cache_bytes: memory for
    the snapshots of tables that are kept between queries, and for the bounds of one table's
    columns: those that are larger are streamed for each query (the list of a table's files is held
    all the same). streaming: by whom; in this process, unless said otherwise. snapshot_dir: a
    directory in which what was read of metadata tables is kept between processes, at most
    `snapshot_bytes`; None: nowhere.
    """

    footers: bool = False
    footer_wait: float = 0.5
    cache_bytes: int = 1 << 30
    streaming: Streaming = evaluate_streaming
    snapshot_dir: Path | None = None
    snapshot_bytes: int = 4 << 30


@dataclass(frozen=True)
class PruneRequest:
    """One question. zone: IANA zone in which the engine reads instants as wall clocks.

    as_of: an instant (requested time) for time travel; None: the newest. since: an instant for an
    incremental query: only rows that were written after it, up to `as_of`. Both may be written as
    dates (`query_instant`). reader: where partition columns get their values from.
    Raises HudiError: the instants are none.
    """

    predicate: HudiExpression
    view: TableView = TableView.SNAPSHOT
    zone: str | None = None
    as_of: str | None = None
    since: str | None = None
    reader: PartitionReader = PartitionReader.ANY

    def __post_init__(self) -> None:
        for name in ("as_of", "since"):
            object.__setattr__(self, name, query_instant(getattr(self, name)))


@dataclass(frozen=True)
class RowCount:
    """How many rows there are at most. exact: reading gives neither more nor fewer."""

    rows: int
    exact: bool


@dataclass(frozen=True)
class PruneResult:
    """The answer, for the file slices that the listing names. A value: it reads nothing.

    keep: one flag for each slice; False: proved to hold no matching row.
    partition_keep: one flag for each partition; False: excluded by its values alone, whatever
    files it has. notes: why less was pruned than could be. evidence: of the indexes that were
    asked, in their order. dropped_by: the files that each index drops of those that the ones
    before it leave, where it drops any: the partitions' values first, then `partition_stats`, then
    the others as asked. merging: how the slices' records were merged. is_evolved: whether columns
    of the table were renamed or retyped; schema_history: when, None where that cannot be read.
    """

    listing: FileListing
    keep: BoolArray
    partition_keep: BoolArray
    predicate: BoundExpression
    notes: tuple[str, ...]
    evidence: Sequence[NamedEvidence] = field(repr=False)
    dropped_by: Mapping[str, int] = field(default_factory=dict)
    merging: SliceMerging = SliceMerging.OPAQUE
    is_evolved: bool = False
    schema_history: SchemaHistory | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """A line: there may be a million files."""
        files = f"{self.files_kept} of {self.files_total} files"
        notes = "".join(f"; {note}" for note in self.notes)
        return f"<PruneResult: keep {files}, at instant {self.instant}{notes}>"

    @property
    def instant(self) -> str | None:
        """The instant that was judged."""
        return self.listing.instant

    @cached_property
    def file_keep(self) -> BoolArray:
        """One flag for each file of the listing."""
        return self.listing.of_files(self.keep)

    @property
    def files_total(self) -> int:
        """Files that the view shows, base and log files."""
        return self.listing.num_files

    @cached_property
    def files_kept(self) -> int:
        """Files that have to be read."""
        return int(np.count_nonzero(self.file_keep))

    @property
    def bytes_total(self) -> int:
        """Size of all files."""
        return int(self.listing.file_size.sum())

    @cached_property
    def bytes_kept(self) -> int:
        """Size of the files that have to be read."""
        return int(self.listing.file_size[self.file_keep].sum())

    def kept_paths(self) -> list[str]:
        """The files to read, relative to the table's base path."""
        return self.listing.paths(self.file_keep)

    def with_evidence(self, *more: Evidence) -> PruneResult:
        """The same answer had there been this evidence over the files, too."""
        sources = [*(source.evidence for source in self.evidence), *more]
        keep = keep_slices(self.predicate, sources, self.listing, self.merging)
        return replace(self, keep=self.keep & keep)

    def rows_kept(self, row_counts: Counts | None) -> RowCount | None:
        """Rows of the slices that have to be read; None: not known.

        row_counts: of the snapshot (`TableSnapshot.row_counts`).
        """
        if row_counts is None or (row_counts[self.keep] < 0).any():
            return None
        # What log files add is an upper bound: they may update, or delete, what they seem to add.
        merged = self.listing.file_is_log & self.file_keep
        return RowCount(int(row_counts[self.keep].sum()), exact=not merged.any())

    def explain(self, row_counts: Counts | None = None) -> Explanation:
        """What each part of the predicate excluded, and by which index.

        row_counts: of the snapshot, where rows are to be counted, too.
        """
        return explain(self.predicate, self.evidence, self.listing, row_counts)


class Pruner:
    """Answers questions and keeps what it learnt of tables between them. Thread safe."""

    def __init__(self, options: PruneOptions | None = None) -> None:
        self._options = options or PruneOptions()
        directory, limit = self._options.snapshot_dir, self._options.snapshot_bytes
        self._cache = DiskCache(directory, limit) if directory else None
        self._snapshots: OrderedDict[_Key, TableSnapshot] = OrderedDict()
        self._lock = threading.Lock()
        self._opening: dict[_Key, threading.Lock] = {}

    def prune(self, base_path: str, request: PruneRequest) -> PruneResult:
        """Which slices of the table may hold a row for which the predicate is TRUE.

        Raises HudiError when the table cannot be read: then nothing is known of any file.
        """
        return self.prune_snapshot(self.snapshot(base_path, request), request)

    def prune_snapshot(self, snapshot: TableSnapshot, request: PruneRequest) -> PruneResult:
        """`prune`, of the table as it was opened for this request, or for one like it.

        Raises HudiError.
        """
        bound = bind(_asked(request, snapshot), Scope(snapshot.schema, request.zone))
        reading = snapshot.reading(request.reader, bound)
        predicate = snapshot.with_key_predicates(bound, reading)
        needed = list(columns(predicate).values())
        values = snapshot.value_evidence()
        by_values = _judge_partitions(predicate, values, snapshot)
        aggregates, unread = _aggregate_evidence(snapshot, needed, reading)
        partitions = by_values & _judge_partitions(predicate, values + aggregates, snapshot)
        found = snapshot.file_evidence(
            predicate, needed, partitions, self._options.footer_wait, reading
        )
        notes = [*snapshot.notes, *unknown_reasons(predicate), *unread, *found.notes]
        if snapshot.merging is SliceMerging.OPAQUE and snapshot.listing.file_is_log.any():
            notes.append("the table's merger is not known: slices with log files are kept")
        return PruneResult(
            listing=snapshot.listing,
            keep=found.slices,
            partition_keep=by_values,
            predicate=predicate,
            notes=tuple(notes),
            evidence=[*found.answers, *snapshot.spread_aggregates(reading)],
            dropped_by=_dropped_by(by_values, found),
            merging=snapshot.merging,
            is_evolved=snapshot.is_evolved,
            schema_history=snapshot.history,
        )

    def snapshot(self, base_path: str, request: PruneRequest) -> TableSnapshot:
        """The table in the view and at the instant of a request; kept between requests.

        Raises HudiError when the table cannot be read.
        """
        key = (base_path, request.view, request.as_of)
        known = self._current(key)
        if known is not None:
            return known
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
        with opening:
            try:
                # Another thread may have opened it meanwhile; what it found may be old already.
                known = self._current(key)
                if known is None:
                    options = SnapshotOptions(
                        request.view,
                        request.as_of,
                        self._options.footers,
                        self._cache,
                        self._options.cache_bytes,
                        self._options.streaming,
                    )
                    table, earlier = HudiTable.open(base_path), self._snapshots.get(key)
                    known = TableSnapshot.open(table, options, earlier)
                    self._keep(key, known)
                return known
            finally:
                with self._lock:
                    self._opening.pop(key, None)

    def held(self) -> tuple[int, int]:
        """How many tables are kept between requests, and their memory in bytes."""
        with self._lock:
            return len(self._snapshots), sum(known.nbytes for known in self._snapshots.values())

    def _current(self, key: _Key) -> TableSnapshot | None:
        """The kept snapshot, if neither the table nor its extension has changed since."""
        with self._lock:
            known = self._snapshots.get(key)
        if known is None or not known.is_current():
            return None
        self._keep(key, known)
        return known

    def _keep(self, key: _Key, snapshot: TableSnapshot) -> None:
        """Makes the snapshot the most recent one and forgets the oldest beyond the limit."""
        with self._lock:
            self._snapshots[key] = snapshot
            self._snapshots.move_to_end(key)
            held = sum(known.nbytes for known in self._snapshots.values())
            while held > self._options.cache_bytes and len(self._snapshots) > 1:
                _, forgotten = self._snapshots.popitem(last=False)
                held -= forgotten.nbytes


_Key = tuple[str, TableView, str | None]


def _asked(request: PruneRequest, snapshot: TableSnapshot) -> HudiExpression:
    """The request's predicate, with what an incremental query asks of a row's commit time."""
    if request.since is None:
        return request.predicate
    if not snapshot.table.properties.meta_fields:
        raise UnsupportedTable(
            f"{snapshot.table.base_path}: incremental queries need the meta fields in the files"
            " (hoodie.populate.meta.fields)"
        )
    since = Literal(request.since, pa.string())
    return And((Comparison(Op.GT, Column((COMMIT_TIME,)), since), request.predicate))


def _dropped_by(by_values: BoolArray, found: Question) -> dict[str, int]:
    """See `PruneResult.dropped_by`. by_values: one flag for each partition."""
    listing = found.listing
    left = [
        (VALUES, by_values[listing.slice_partition]),
        (PARTITION_STATS, found.partitions[listing.slice_partition]),
        *((answer.name, kept) for answer, kept in zip(found.answers, found.left, strict=True)),
    ]
    files, dropped = listing.num_files, Counter[str]()
    for name, keep in left:
        now = int(np.count_nonzero(listing.of_files(keep)))
        dropped[name] += files - now
        files = now
    return {name: number for name, number in dropped.items() if number}


def _judge_partitions(
    predicate: BoundExpression, evidence: Sequence[NamedEvidence], snapshot: TableSnapshot
) -> BoolArray:
    mask = may_be(predicate, True, [source.evidence for source in evidence])
    return as_array(mask, len(snapshot.listing.partitions))


def _aggregate_evidence(
    snapshot: TableSnapshot, needed: Sequence[BoundColumn], reading: ReaderSemantics
) -> tuple[list[NamedEvidence], Sequence[str]]:
    """The evidence, and notes on what cannot be read."""
    try:
        return snapshot.aggregate_evidence(needed, reading), ()
    except HudiError as error:
        return [], (f"partition_stats cannot be read: {error}",)
