"""Write entries of indexes to log files: one for each file group that they touch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import arrow_schema_of, value_list
from pyhudi_expr.spark.jobs.batch_runner import Batches, Step, gather_batches
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.store.group_files import file_id, log_file
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import WrittenFile

LOG_ENTRIES = "partition string, shard int, key binary, value binary"
"""Schema of a log's entries: the metadata partition, its shard, the record's key as UTF-8,
and its payload, empty for a key that is to be deleted. A key comes once, or twice to be deleted
and then to have this payload."""
LOG_ENTRY_SCHEMA = arrow_schema_of(
    [
        pa.field("partition", pa.string(), False),
        pa.field("shard", pa.int32(), False),
        pa.field("key", pa.binary(), False),
        pa.field("value", pa.binary(), False),
    ]
)
"""The same for Arrow."""

_BLOCK_BYTES = 16 << 20

_WRITTEN = "file_id string, path string, bytes long, records long"
_WRITTEN_SCHEMA = arrow_schema_of(
    [
        pa.field("file_id", pa.string()),
        pa.field("path", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("records", pa.int64()),
    ]
)


@dataclass(frozen=True)
class LogTarget:
    """Where log files go. Small; it is sent to tasks.

    Attributes:
        metadata_uri: Base path of the metadata table.
        instant: The instant of the delta commit.
        named: The instant in the files' names: the same, but in timeline layout 1 that of the base
            files, whose logs `number` counts.
        block_bytes: Approximate bytes of a block's entries; a log has as many blocks as necessary.
    """

    metadata_uri: str
    instant: str
    named: str
    number: int = 1
    block_bytes: int = _BLOCK_BYTES

    def path(self, partition: str, shard: int) -> str:
        """Return the path of a file group's file, relative to the metadata table's base path."""
        name = log_file(file_id(partition, shard), f"{shard}-0-0", self.named, self.number)
        return f"{partition}/{name}"


def write_logs(entries: Batches, tasks: int, target: LogTarget) -> list[WrittenFile]:
    """Write log files.

    Args:
        entries: Entries of the schema `LOG_ENTRIES`.
        tasks: Number of tasks; each holds the entries of one block in memory.
        target: Where the files go.

    Raises:
        HudiError: A file cannot be written.
    """
    ordered = entries.together(tasks, "partition", "shard").ordered(*LOG_ENTRY_SCHEMA.names)
    rows = ordered.then(_writer(target), _WRITTEN).rows()
    return [WrittenFile(**row, is_log=True) for row in rows]


def as_log_entries(partition: str, entries: pa.RecordBatch) -> pa.RecordBatch:
    """Return entries of one metadata partition (`shard_writer.ENTRY_SCHEMA`) as log entries."""
    partitions = pa.repeat(pa.scalar(partition), entries.num_rows)
    columns = [partitions, *(entries.column(name) for name in ("shard", "key", "value"))]
    return pa.record_batch(columns, schema=LOG_ENTRY_SCHEMA)


def deletions(entries: pa.RecordBatch) -> pa.RecordBatch:
    """Return deletions of the entries' keys, in the schema of the entries."""
    values = pa.repeat(pa.scalar(b"", pa.binary()), entries.num_rows)
    place = entries.schema.get_field_index("value")
    return entries.set_column(place, entries.schema.field(place), values)


def _writer(target: LogTarget) -> Step:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        storage = Storage.open(target.metadata_uri)
        parts = itertools.chain.from_iterable(map(_parts, batches))
        for group, own in itertools.groupby(parts, key=lambda part: part.group):
            yield _log(storage, target, group, (part.rows for part in own))

    return write


@dataclass(frozen=True)
class _Part:
    """Adjacent rows of one file group.

    Attributes:
        group: Metadata partition and shard.
    """

    group: tuple[str, int]
    rows: pa.RecordBatch


def _parts(batch: pa.RecordBatch) -> Iterator[_Part]:
    partition = batch.column("partition").dictionary_encode()
    code, shard = np.asarray(partition.indices), np.asarray(batch.column("shard"))
    edges = np.flatnonzero((np.diff(code) != 0) | (np.diff(shard) != 0)) + 1
    bounds = [0, *edges.tolist(), len(batch)] if len(batch) else []
    for start, end in itertools.pairwise(bounds):
        group = partition[start].as_py(), int(shard[start])
        yield _Part(group, batch.slice(start, end - start))


def _log(
    storage: Storage, target: LogTarget, group: tuple[str, int], parts: Iterator[pa.RecordBatch]
) -> pa.RecordBatch:
    path, size, count = target.path(*group), 0, 0
    with storage.writing(path) as stream:
        for rows in gather_batches(parts, target.block_bytes):
            content = _content(target.instant, rows)
            stream.write(content)
            size, count = size + len(content), count + len(rows)
    return pa.record_batch([[file_id(*group)], [path], [size], [count]], schema=_WRITTEN_SCHEMA)


def _content(instant: str, rows: pa.RecordBatch) -> bytes:
    keys, values = value_list(rows.column("key")), value_list(rows.column("value"))
    kept = [(key, value) for key, value in zip(keys, values, strict=True) if value]
    gone = [key for key, value in zip(keys, values, strict=True) if not value]
    content = log_writer.deletes(instant, gone) if gone else b""
    return content + log_writer.records(instant, kept) if kept else content
