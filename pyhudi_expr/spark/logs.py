"""Entries of the extension's indexes into log files: one for each file group that they touch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

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


def write_logs(entries: Batches, tasks: int, metadata_uri: str, instant: str) -> list[WrittenFile]:
    """Writes the entries' log files. entries: of the schema `LOG_ENTRIES`; tasks: how many write,
    each holds its entries in memory; instant: of the delta commit. Raises HudiError."""
    ordered = entries.together(tasks, "partition", "shard").ordered("partition", "shard", "key")
    rows = ordered.then(_writer(metadata_uri, instant), _WRITTEN).rows()
    return [WrittenFile(**row, is_log=True) for row in rows]


def logged(partition: str, entries: pa.RecordBatch) -> pa.RecordBatch:
    """Entries of one metadata partition (`shards.ENTRY_SCHEMA`) as those of a log."""
    partitions = pa.repeat(pa.scalar(partition), entries.num_rows)
    columns = [partitions, *(entries.column(name) for name in ("shard", "key", "value"))]
    return pa.record_batch(columns, schema=LOG_ENTRY_SCHEMA)


def _writer(metadata_uri: str, instant: str) -> Step:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if held:
            storage = Storage.open(metadata_uri)
            for part in _groups(pa.Table.from_batches(held).combine_chunks()):
                yield _log(storage, instant, part)

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


def _log(storage: Storage, instant: str, rows: pa.Table) -> pa.RecordBatch:
    partition, shard = rows.column("partition")[0].as_py(), rows.column("shard")[0].as_py()
    keys, values = rows.column("key").to_pylist(), rows.column("value").to_pylist()
    kept = [(key, value) for key, value in zip(keys, values, strict=True) if value]
    gone = [key for key, value in zip(keys, values, strict=True) if not value]
    content = log_writer.deletes(instant, gone) if gone else b""
    content += log_writer.records(instant, kept) if kept else b""
    group = file_id(partition, shard)
    path = f"{partition}/{log_file(group, f'{shard}-0-0', instant)}"
    storage.write(path, content)
    columns = [[group], [path], [len(content)], [len(rows)]]
    return pa.record_batch(columns, schema=_WRITTEN_SCHEMA)
