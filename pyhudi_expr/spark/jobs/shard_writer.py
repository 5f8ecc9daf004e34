"""Write entries of indexes to HFiles, one for each shard (file group), sorted by Spark.

Each shard is one task, which gets its entries sorted by key (Spark spills what exceeds memory) and
writes them batch by batch. So a Python worker holds some batches and one block of an HFile,
whatever the size of the index. The driver gets only a row for each file.

A task writes to a file name of its own attempt and renames it at the end, to a name that is the
same for each attempt: equal entries make equal bytes, so retries and speculative tasks cannot
disagree.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import mmh3
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from pyhudi_expr.arrays import AnyArray, BoolArray, arrow_schema_of
from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark.jobs.executor_archive import with_storage_options
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import shards as shards_of
from pyhudi_expr.tables.mdt.hfile.writer import BLOCK_BYTES, LOOKUP_BLOCK_BYTES, write_batches
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.group_files import base_file, file_id, has_rows
from pyhudi_expr.tables.storage import Storage, is_unfinished
from pyhudi_expr.tables.timeline_writer import WrittenFile

ENTRIES = "shard int, key binary, value binary, version long"
"""Schema of a DataFrame of entries: the shard (from 0 on; those of a second index follow those of
the first), the record's key as UTF-8, its payload (`mdt.records.payloads`), and which of several
entries with one key counts: that of the highest version. Entries of one key and version must be
equal."""
ENTRY_SCHEMA = arrow_schema_of(
    [
        pa.field("shard", pa.int32(), False),
        pa.field("key", pa.binary(), False),
        pa.field("value", pa.binary(), False),
        pa.field("version", pa.int64(), False),
    ]
)
"""The same for Arrow."""

_WRITTEN = "shard int, path string, bytes long, records long"
_WRITTEN_SCHEMA = arrow_schema_of(
    [
        pa.field("shard", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("records", pa.int64()),
    ]
)
_HASH_SEED = 42  # Spark's, of its hash partitioning


@dataclass(frozen=True)
class ShardTarget:
    """Where the HFiles go.

    Attributes:
        metadata_uri: Base path of the metadata table, as executors reach it.
        partition: The metadata partition of the index.
        instant: The instant of the file slices.
        shards: The partition's number of shards.
    """

    metadata_uri: str
    partition: str
    instant: str
    shards: int

    def path(self, shard: int) -> str:
        """Return the shard's file, relative to the metadata table's base path."""
        return shard_path(self.partition, shard, self.instant)


@dataclass(frozen=True)
class WrittenShard:
    """One HFile.

    Attributes:
        shard: As in the entries.
        path: Its path relative to the metadata table's base path.
        bytes: Its size.
    """

    shard: int
    path: str
    bytes: int
    records: int

    @property
    def file(self) -> WrittenFile:
        """Return the file as commits list it."""
        group = self.path.rpartition("/")[2].split("_", 1)[0]
        return WrittenFile(group, self.path, self.bytes, self.records)


def write_shards(entries: DataFrame, targets: Sequence[ShardTarget]) -> list[WrittenShard]:
    """Write the entries' HFiles, by ascending shard; a shard without entries gets none.

    Args:
        entries: Entries of the schema `ENTRIES`.
        targets: Where the files of each index go, whose shards are counted through.

    Raises:
        HudiError: Entries of one key and version differ, a key is too long for an HFile, or a file
            of the same name and another size exists. Files that were written stay.
    """
    shards = sum(target.shards for target in targets)
    routes = routes_to(shards)
    route = sql.array(*(sql.lit(number) for number in routes))[sql.col("shard")]
    frame = entries.withColumn("route", route)
    ordered = frame.repartition(shards, "route").sortWithinPartitions("key", "version", "value")
    try:
        write = with_storage_options(_writer(targets))
        written = ordered.drop("route").mapInArrow(write, _WRITTEN).collect()
    finally:
        for target in targets:
            _sweep(target)
    return sorted((WrittenShard(**row.asDict()) for row in written), key=lambda one: one.shard)


def _sweep(target: ShardTarget) -> None:
    """Delete the files of killed attempts."""
    storage = Storage.open(target.metadata_uri)
    for entry in storage.list(target.partition):
        if is_unfinished(entry.name) and f"_{target.instant}." in entry.name:
            storage.delete(entry.path)


def shard_path(partition: str, shard: int, instant: str) -> str:
    """Return the path of a shard's base file, relative to the metadata table's base path."""
    return f"{partition}/{base_file(file_id(partition, shard), f'{shard}-0-0', instant)}"


def block_bytes(partition: str) -> int:
    """Return the size of the blocks of a partition's base files."""
    return LOOKUP_BLOCK_BYTES if has_rows(partition) else BLOCK_BYTES


def routes_to(shards: int) -> list[int]:
    """Return for each shard a number that Spark's hash partitioning sends to that task."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < shards:
        task = mmh3.hash(number.to_bytes(4, "little"), _HASH_SEED) % shards
        found.setdefault(task, number)
        number += 1
    return [found[shard] for shard in range(shards)]


def _writer(
    targets: Sequence[ShardTarget],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    firsts = [0, *itertools.accumulate(target.shards for target in targets)]

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is not None:
            shard = first.column("shard")[0].as_py()
            number = bisect_right(firsts, shard) - 1
            path = targets[number].path(shard - firsts[number])
            storage = Storage.open(targets[number].metadata_uri)
            cells = itertools.chain([first], filled)
            yield _written_file(storage, path, shard, cells, block_bytes(targets[number].partition))

    return write


def _written_file(
    storage: Storage, path: str, shard: int, entries: Iterator[pa.RecordBatch], block: int
) -> pa.RecordBatch:
    records = _Counted()
    try:
        with storage.writing(path) as sink:
            cells = records.of(_distinct(entries))
            size = write_batches(sink, cells, RECORD_SCHEMA, block)
            _check_size(storage, path, size)
    except ValueError as error:
        raise HudiError(f"{storage.uri}: {path!r} cannot be written: {error}") from error
    return pa.record_batch([[shard], [path], [size], [records.count]], schema=_WRITTEN_SCHEMA)


def _check_size(storage: Storage, path: str, size: int) -> None:
    """Check that the file that is replaced, if any, is that of another attempt at the same task."""
    there = storage.stat(path)
    if there is not None and there.size != size:
        raise HudiError(
            f"{storage.uri}: {path!r} is there with {there.size} bytes, not {size}; "
            "delete what an earlier build left behind"
        )


class _Counted:
    """Counts the records that pass."""

    def __init__(self) -> None:
        self.count = 0

    def of(
        self, batches: Iterator[tuple[ByteStrings, ByteStrings]]
    ) -> Iterator[tuple[ByteStrings, ByteStrings]]:
        for keys, values in batches:
            self.count += len(keys)
            yield keys, values


def _distinct(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[ByteStrings, ByteStrings]]:
    """Return the keys and values of sorted entries, for each key the highest version.

    The last entry of a batch is held back, as the next batch may begin with the same key.
    """
    held: pa.RecordBatch | None = None
    for batch in batches:
        table = pa.Table.from_batches([batch] if held is None else [held, batch])
        joined = table.combine_chunks().to_batches()[0]
        held = joined.slice(joined.num_rows - 1)
        yield _newest(joined)
    if held is not None:
        yield _columns(held)


def _newest(batch: pa.RecordBatch) -> tuple[ByteStrings, ByteStrings]:
    """Return all entries but the last whose successor has another key."""
    keys, values = _columns(batch)
    same = _equal_next(keys)
    if same.any():
        version = batch.column("version").to_numpy()
        conflict = same & (version[:-1] == version[1:]) & ~_equal_next(values)
        if conflict.any():
            key = keys[int(np.argmax(conflict))]
            raise HudiError(f"two entries that differ have the key {key!r}")
    chosen = np.flatnonzero(~same)
    return keys.take(chosen), values.take(chosen)


def _equal_next(strings: ByteStrings) -> BoolArray:
    """Return for all strings but the last whether the next one is equal."""
    array = strings.array()
    equal = pc.equal(array.slice(0, len(strings) - 1), array.slice(1))
    return np.asarray(equal.to_numpy(zero_copy_only=False), np.bool_)


def _columns(batch: pa.RecordBatch) -> tuple[ByteStrings, ByteStrings]:
    return (
        ByteStrings.from_arrow(batch.column("key").cast(pa.large_binary())),
        ByteStrings.from_arrow(batch.column("value").cast(pa.large_binary())),
    )


ANY_VERSION = 0
"""The version of entries whose payloads follow from their keys."""


def entry_batch(keys: AnyArray, values: AnyArray, shards: int) -> pa.RecordBatch:
    """Return entries whose shard is the hash of the whole key."""
    return _batch(keys, values, _shards(keys, shards), ANY_VERSION)


def constant_entries(
    keys: AnyArray,
    value: bytes,
    shards: int,
    *,
    shard_keys: AnyArray | None = None,
    version: int = ANY_VERSION,
) -> pa.RecordBatch:
    """Return entries with one payload; `shard_keys` are hashed, if not the keys."""
    values = pa.repeat(pa.scalar(value, pa.binary()), len(keys))
    chosen = keys if shard_keys is None else shard_keys
    return _batch(keys, values, _shards(chosen, shards), version)


def text_entries(entries: Sequence[tuple[str, bytes]], shards: int) -> pa.RecordBatch:
    """Return entries of pairs of key and payload."""
    keys = pa.array([key for key, _ in entries], pa.string())
    return entry_batch(keys, pa.array([value for _, value in entries], pa.binary()), shards)


def _shards(keys: AnyArray, count: int) -> AnyArray:
    strings = ByteStrings.from_arrow(keys.cast(pa.large_binary()))
    return pa.array(shards_of(strings, count).astype(np.int32))


def _batch(keys: AnyArray, values: AnyArray, shard: AnyArray, version: int) -> pa.RecordBatch:
    versions = pa.repeat(pa.scalar(version, pa.int64()), len(keys))
    columns = [shard, pc.cast(keys, pa.binary()), values, versions]
    return pa.record_batch(columns, schema=ENTRY_SCHEMA)
