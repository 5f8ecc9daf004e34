"""Entries of indexes into log files: one for each file group that they touch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.mdt import log_writer
from pyhudi_expr.mdt.group_names import file_id, log_file
from pyhudi_expr.spark.running import Batches, Step
from pyhudi_expr.table.action_records import WrittenFile
from pyhudi_expr.table.storage import Storage

LOG_ENTRIES = "partition string, shard int, key binary, value binary"
"""Schema of a log's entries: the metadata partition, its shard, the record's key as UTF-8,
and its payload, empty for a key that is to be deleted. A key comes once."""
LOG_ENTRY_SCHEMA = pa.schema(
    [
        pa.field("partition", pa.string(), False),
        pa.field("shard", pa.int32(), False),
        pa.field("key", pa.binary(), False),
        pa.field("value", pa.binary(), False),
    ]
)
"""The same for Arrow."""

_WRITTEN = "file_id string, path string, bytes long, records long"
_WRITTEN_SCHEMA = pa.schema(
    [
        pa.field("file_id", pa.string()),
        pa.field("path", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("records", pa.int64()),
    ]
)


@dataclass(frozen=True)
class LogTarget:
    """Where log files go; small, and sent to the tasks.

    metadata_uri: base path of the metadata table. instant: of the delta commit. named: the instant
    in the files' names: the same, but in timeline layout 1 that of the base files, whose logs
    `number` counts.
    """

    metadata_uri: str
    instant: str
    named: str
    number: int = 1

    def path(self, partition: str, shard: int) -> str:
        """The file of a file group, from the metadata table's base path."""
        name = log_file(file_id(partition, shard), f"{shard}-0-0", self.named, self.number)
        return f"{partition}/{name}"


def write_logs(entries: Batches, tasks: int, target: LogTarget) -> list[WrittenFile]:
    """Writes the entries' log files. entries: of the schema `LOG_ENTRIES`; tasks: how many write,
    each holds its entries in memory. Raises HudiError."""
    ordered = entries.together(tasks, "partition", "shard").ordered("partition", "shard", "key")
    rows = ordered.then(_writer(target), _WRITTEN).rows()
    return [WrittenFile(**row, is_log=True) for row in rows]


def logged(partition: str, entries: pa.RecordBatch) -> pa.RecordBatch:
    """Entries of one metadata partition (`shards.ENTRY_SCHEMA`) as those of a log."""
    partitions = pa.repeat(pa.scalar(partition), entries.num_rows)
    columns = [partitions, *(entries.column(name) for name in ("shard", "key", "value"))]
    return pa.record_batch(columns, schema=LOG_ENTRY_SCHEMA)


def _writer(target: LogTarget) -> Step:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if held:
            storage = Storage.open(target.metadata_uri)
            for part in _groups(pa.Table.from_batches(held).combine_chunks()):
                yield _log(storage, target, part)

    return write


def _groups(rows: pa.Table) -> Iterator[pa.Table]:
    """The rows of each file group, which lie together."""
    partition = rows.column("partition").combine_chunks().dictionary_encode()
    chunk = partition.chunk(0) if isinstance(partition, pa.ChunkedArray) else partition
    code, shard = np.asarray(chunk.indices), np.asarray(rows.column("shard"))
    edges = np.flatnonzero((np.diff(code) != 0) | (np.diff(shard) != 0)) + 1
    bounds = [0, *edges.tolist(), len(rows)]
    for start, end in itertools.pairwise(bounds):
        yield rows.slice(start, end - start)


def _log(storage: Storage, target: LogTarget, rows: pa.Table) -> pa.RecordBatch:
    partition, shard = rows.column("partition")[0].as_py(), rows.column("shard")[0].as_py()
    keys, values = rows.column("key").to_pylist(), rows.column("value").to_pylist()
    kept = [(key, value) for key, value in zip(keys, values, strict=True) if value]
    gone = [key for key, value in zip(keys, values, strict=True) if not value]
    content = log_writer.deletes(target.instant, gone) if gone else b""
    content += log_writer.records(target.instant, kept) if kept else b""
    path = target.path(partition, shard)
    storage.write(path, content)
    columns = [[file_id(partition, shard)], [path], [len(content)], [len(rows)]]
    return pa.record_batch(columns, schema=_WRITTEN_SCHEMA)
