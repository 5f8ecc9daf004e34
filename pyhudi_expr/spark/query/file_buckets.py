"""Deal the entries of `column_stats` out to Spark tasks, by file group.

A task reads a shard of the index and deals its entries out. Another one gets the entries of some
file groups, a *bucket*, out of all shards, with these groups' part of the listing. So the index is
read once, nowhere as a whole, and a bucket has all that is known of its files.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array
from pyhudi_expr.index.statistics.column_stats import ColumnStats, WholeColumnStats
from pyhudi_expr.spark.jobs.batch_runner import Batches, Row, Runner, each_item
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, RECORD_KEY
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import hashes
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.statistics import (
    ColumnStatistics,
    column_statistics,
    from_table,
    read_statistics,
    to_table,
)
from pyhudi_expr.tables.parsing.budget import THREADS
from pyhudi_expr.tables.storage import Storage

BUCKET_BYTES = 32 << 20
"""Stored bytes of the index whose entries one task gets."""
#: What is dealt out: a pickled listing, or entries as an Arrow stream.
_DEALT = "bucket int, is_listing boolean, content binary"


@dataclass(frozen=True)
class Buckets:
    """The bucket, of `count`, of each slice of a listing."""

    count: int
    of_slice: Int64Array

    @staticmethod
    def of(listing: FileListing, groups: Sequence[FileGroup], bucket_bytes: int) -> Buckets:
        """Deal out a listing's slices, so that a bucket has so many bytes of these groups."""
        stored = sum(file.size for group in groups for file in group.stored_files)
        count = 1 + stored // bucket_bytes
        return Buckets(count, _bucket(listing.slice_file_id, count))

    def files(self, listing: FileListing, slices: BoolArray, bucket: int) -> Int64Array:
        """Return the positions of the files of a bucket's flagged slices."""
        return np.flatnonzero(listing.of_files(slices & (self.of_slice == bucket)))

    def parts(self, listing: FileListing, slices: BoolArray) -> Iterator[_Part]:
        """Return the flagged slices by bucket."""
        for bucket in np.unique(self.of_slice[slices]).tolist():
            yield _Part(bucket, listing.some(slices & (self.of_slice == bucket)))


def dealt(
    runner: Runner,
    stats: ColumnStats,
    buckets: Buckets,
    columns: Iterable[str],
    partitions: BoolArray,
    listing: FileListing,
) -> Batches:
    """Return batches in which the entries and the slices of a bucket are together.

    Args:
        runner: Runs the tasks.
        stats: The statistics of the table; they have entries.
        buckets: Of the listing's slices.
        columns: The columns whose entries are dealt out.
        partitions: One flag for each partition whose slices are dealt out.
        listing: The slices.
    """
    assert stats.entries is not None
    needed = {*columns, *({RECORD_KEY} if listing.has_logs else ())}
    prefixes = [p for name in sorted(needed) for p in stats.entries.prefixes(name, partitions)]
    parts = buckets.parts(listing, listing.slices_of_partitions(partitions))
    items = [*stats.entries.source.groups(COLUMN_STATS), *parts]
    table = pa.table({"part": pa.array(map(pickle.dumps, items), pa.binary())})
    read = each_item(_Dealer(tuple(prefixes), buckets.count))
    return runner.each(table, read, _DEALT).together(buckets.count, "bucket")


@dataclass
class Bucket:
    """What a task has of one bucket.

    Attributes:
        listing: Its slices; None if none of them was requested.
        entries: The entries of its files.
    """

    listing: FileListing | None = None
    entries: list[ColumnStatistics] = field(default_factory=list)

    @property
    def all_partitions(self) -> BoolArray:
        """One flag for each partition of its slices, all set."""
        assert self.listing is not None
        return np.ones(len(self.listing.partitions), np.bool_)

    def statistics(self, storage: Storage, meta_fields: bool) -> ColumnStats:
        """Return the statistics of the bucket's files.

        Args:
            storage: The table's storage.
            meta_fields: Whether rows have Hudi's meta fields.
        """
        assert self.listing is not None
        pieces = [column_statistics([], []), *self.entries]  # there is one at least
        return WholeColumnStats(_Dealt(pieces, meta_fields), self.listing, storage)


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Bucket]]:
    """Return the buckets of a task that have slices, with their numbers."""
    buckets: dict[int, Bucket] = {}
    for batch in batches:
        numbers, kinds = batch.column("bucket"), batch.column("is_listing")
        contents = batch.column("content")
        for row in range(batch.num_rows):
            bucket = buckets.setdefault(numbers[row].as_py(), Bucket())
            content = contents[row].as_buffer()
            if kinds[row].as_py():
                bucket.listing = pickle.loads(content)  # noqa: S301  made by this job's own driver
            else:
                with pa.ipc.open_stream(content) as stream:
                    bucket.entries.append(from_table(stream.read_all()))
    # Entries without slices are those of files that were not requested.
    return (pair for pair in buckets.items() if pair[1].listing is not None)


@dataclass(frozen=True)
class _Part:
    """The slices of one bucket."""

    bucket: int
    listing: FileListing


def _bucket(file_ids: AnyArray, count: int) -> Int64Array:
    found = hashes(ByteStrings.from_arrow(file_ids.cast(pa.large_binary())))
    return (found % np.uint64(count)).astype(np.int64)


@dataclass(frozen=True)
class _Dealer:
    """Reads a shard, deals its entries out, and passes on the parts of buckets."""

    prefixes: tuple[str, ...]
    buckets: int

    def __call__(self, row: Row) -> Iterator[pa.RecordBatch]:
        match pickle.loads(row["part"]):  # noqa: S301  as above
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
