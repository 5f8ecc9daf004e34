"""Evaluate leaves in Spark tasks, on columns whose bounds exceed the memory of one machine.

A task reads a shard of `column_stats` and deals its entries out by file group. Another one gets the
entries of some file groups, out of all shards, with these groups' part of the listing, and
evaluates the leaves as one process would. The results are two bits for each leaf and file. So the
index is read once, nowhere as a whole, and the results are those of bounds in memory: leaves over
several columns and the footers of doubtful files included.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, Leaf, columns, walk
from pyhudi_expr.expr.evaluate import Evidence, StatisticsEvidence, as_array
from pyhudi_expr.index.statistics.column_stats import ColumnStats, LoadedBounds
from pyhudi_expr.index.statistics.streaming_evaluation import (
    LeafAnswer,
    StreamingEvidence,
    max_leaves,
)
from pyhudi_expr.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.mdt.bytes.key_hashes import hashes
from pyhudi_expr.mdt.store.file_group import FileGroup
from pyhudi_expr.mdt.store.parallel_iter import THREADS
from pyhudi_expr.mdt.store.statistics import (
    ColumnStatistics,
    column_statistics,
    from_table,
    read_statistics,
    to_table,
)
from pyhudi_expr.spark.jobs.batch_runner import Row, Runner, each_item
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.table.hudi_names import COLUMN_STATS, RECORD_KEY
from pyhudi_expr.table.listing import FileListing
from pyhudi_expr.table.storage import Storage

#: What is dealt out: a pickled listing, or entries as an Arrow stream.
_DEALT = "bucket int, is_listing boolean, content binary"
_RESULT_SCHEMA = "bucket int, answers binary"


@dataclass(frozen=True)
class ShardedEvaluation:
    """A `Streaming` in Spark tasks.

    Attributes:
        bucket_bytes: Stored bytes of the index that one task evaluates.
    """

    runner: Runner
    bucket_bytes: int = 32 << 20

    def __call__(
        self,
        stats: ColumnStats,
        listing: FileListing,
        predicate: BoundExpression,
        loaded: LoadedBounds,
        partitions: BoolArray,
    ) -> Evidence:
        """Evaluate, see `index.statistics.streaming_evaluation.evaluate_streaming`.

        Leaves over several columns are evaluated, too.
        """
        assert stats.entries is not None
        leaves = _leaves(predicate, loaded.too_large)[: max_leaves(stats, listing)]
        if not leaves:
            return StatisticsEvidence(loaded)
        groups = stats.entries.groups(COLUMN_STATS)
        buckets = _Buckets.of(listing, 1 + _stored_bytes(groups) // self.bucket_bytes)
        needed = {column.name for leaf in leaves for column in columns(leaf).values()}
        if listing.has_logs:
            needed.add(RECORD_KEY)
        prefixes = [p for name in sorted(needed) for p in stats.prefixes(name, partitions)]
        keep = listing.slices_of_partitions(partitions)
        dealt = [*groups, *buckets.parts(listing, keep)]
        items = pa.table({"part": pa.array(map(pickle.dumps, dealt), pa.binary())})
        judge = _Judge(tuple(leaves), stats.storage, stats.entries.meta_fields)
        answers = [LeafAnswer.unknown(leaf, listing.num_files) for leaf in leaves]
        with translate_spark_errors():
            read = each_item(_Dealer(tuple(prefixes), buckets.count))
            made = self.runner.each(items, read, _DEALT)
            results = made.together(buckets.count, "bucket").then(judge, _RESULT_SCHEMA).rows()
        for row in results:
            files = np.flatnonzero(listing.of_files(keep & (buckets.of_slice == row["bucket"])))
            _unpack(row["answers"], answers, files)
        return StreamingEvidence(answers, StatisticsEvidence(loaded))


def _leaves(predicate: BoundExpression, too_large: Sequence[BoundColumn]) -> list[Leaf]:
    """Return the leaves over one of the columns at least."""
    found = [node for node in walk(predicate) if isinstance(node, Leaf)]
    return [leaf for leaf in found if not {*too_large}.isdisjoint(columns(leaf).values())]


def _stored_bytes(groups: Sequence[FileGroup]) -> int:
    return sum(file.size for group in groups for file in group.stored_files)


@dataclass(frozen=True)
class _Part:
    """The files of one bucket."""

    bucket: int
    listing: FileListing


@dataclass(frozen=True)
class _Buckets:
    """The bucket, of `count`, of each slice of a listing."""

    count: int
    of_slice: Int64Array

    @staticmethod
    def of(listing: FileListing, count: int) -> _Buckets:
        return _Buckets(count, _bucket(listing.slice_file_id, count))

    def parts(self, listing: FileListing, slices: BoolArray) -> Iterator[_Part]:
        """Return the flagged slices by bucket."""
        for bucket in np.unique(self.of_slice[slices]).tolist():
            yield _Part(bucket, listing.some(slices & (self.of_slice == bucket)))


def _bucket(file_ids: AnyArray, count: int) -> Int64Array:
    found = hashes(ByteStrings.from_arrow(file_ids.cast(pa.large_binary())))
    return (found % np.uint64(count)).astype(np.int64)


@dataclass(frozen=True)
class _Dealer:
    """Reads a shard, deals its entries out, and passes on the parts of buckets."""

    prefixes: tuple[str, ...]
    buckets: int

    def __call__(self, row: Row) -> Iterator[pa.RecordBatch]:
        match pickle.loads(row["part"]):  # noqa: S301  made by this job's own driver
            case FileGroup() as group:
                for entries in read_statistics(group, self.prefixes, None):
                    yield from self._dealt(entries)
            case _Part(bucket=bucket, listing=listing):
                yield _dealt(bucket, True, pickle.dumps(listing))

    def _dealt(self, entries: ColumnStatistics) -> Iterator[pa.RecordBatch]:
        # A base file's name begins with the file id, a log file's with a point and the file id.
        named = pc.fill_null(entries.file_name, "")
        file_ids = pc.replace_substring_regex(named, r"^\.?([^_]*)(?s:.*)$", r"\1")
        bucket_of = _bucket(file_ids, self.buckets)
        table = to_table(entries).take(np.argsort(bucket_of, kind="stable"))
        found, sizes = np.unique(bucket_of, return_counts=True)
        for bucket, end, size in zip(found.tolist(), np.cumsum(sizes), sizes, strict=True):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table.slice(end - size, size))
            yield _dealt(bucket, False, sink.getvalue().to_pybytes())


def _dealt(bucket: int, is_listing: bool, content: bytes) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "bucket": pa.array([bucket], pa.int32()),
            "is_listing": pa.array([is_listing]),
            "content": pa.array([content], pa.binary()),
        }
    )


@dataclass
class _Bucket:
    """What a task has of one bucket."""

    listing: FileListing | None = None
    entries: list[ColumnStatistics] = field(default_factory=list)


@dataclass(frozen=True)
class _Judge:
    """Evaluates the leaves for the files of the buckets of a task."""

    leaves: tuple[Leaf, ...]
    storage: Storage
    meta_fields: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        buckets: dict[int, _Bucket] = {}
        for batch in batches:
            numbers, kinds = batch.column("bucket"), batch.column("is_listing")
            contents = batch.column("content")
            for row in range(batch.num_rows):
                bucket = buckets.setdefault(numbers[row].as_py(), _Bucket())
                content = contents[row].as_buffer()
                if kinds[row].as_py():
                    bucket.listing = pickle.loads(content)  # noqa: S301  as above
                else:
                    with pa.ipc.open_stream(content) as stream:
                        bucket.entries.append(from_table(stream.read_all()))
        for number, bucket in buckets.items():
            if bucket.listing is not None:  # else these are entries of files that are not requested
                answers = self._answers(bucket.listing, bucket.entries)
                yield pa.record_batch(
                    {
                        "bucket": pa.array([number], pa.int32()),
                        "answers": pa.array([answers], pa.binary()),
                    }
                )

    def _answers(self, listing: FileListing, entries: Sequence[ColumnStatistics]) -> bytes:
        pieces = [column_statistics([], []), *entries]  # there is one at least
        stats = ColumnStats(_Dealt(pieces, self.meta_fields), listing, self.storage)
        needed = {column: None for leaf in self.leaves for column in columns(leaf).values()}
        everything = np.ones(len(listing.partitions), np.bool_)
        evidence = StatisticsEvidence(stats.load([*needed], everything, threading.TIMEOUT_MAX))
        flags = [
            as_array(evidence.may_be(leaf, truth), listing.num_files)
            for leaf in self.leaves
            for truth in (True, False)
        ]
        return np.packbits(np.concatenate(flags)).tobytes()


def _unpack(packed: bytes, answers: Sequence[LeafAnswer], files: Int64Array) -> None:
    """Write the results of `_Judge` for the files at these positions."""
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=2 * len(answers) * len(files))
    for answer, (true, false) in zip(
        answers, bits.reshape(len(answers), 2, len(files)).astype(np.bool_), strict=True
    ):
        answer.true[files], answer.false[files] = true, false


@dataclass(frozen=True)
class _Dealt:
    """Entries in memory (`index.statistics.column_stats.EntrySource`)."""

    pieces: Sequence[ColumnStatistics]
    meta_fields: bool
    cache: None = None

    def groups(self, partition: str) -> Sequence[FileGroup]:
        return ()

    @property
    def reading_threads(self) -> int:
        """Two, as for entries in memory."""
        return THREADS

    def statistics_pieces(
        self, partition: str, prefixes: Sequence[str]
    ) -> list[Iterator[ColumnStatistics]]:
        return [self._beginning(prefixes)]

    def _beginning(self, prefixes: Sequence[str]) -> Iterator[ColumnStatistics]:
        for piece in self.pieces:
            found: Any = np.zeros(len(piece), np.bool_)
            for prefix in prefixes:
                found |= pc.starts_with(piece.key, prefix).to_numpy(zero_copy_only=False)
            yield piece.filter(found)
