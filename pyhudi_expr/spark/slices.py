"""File slices handed out to Spark's tasks, and a DataFrame of what the tasks read of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.table.listing import FileListing

_TASKS_PER_CORE = 4
"""More tasks than cores even out slices of unlike sizes."""


@dataclass(frozen=True)
class FileSlice:
    """One slice of a snapshot. base: the base file's name, None without one; logs: in order."""

    partition: str
    file_id: str
    base_instant: str
    base: str | None
    logs: tuple[str, ...]

    def path(self, name: str) -> str:
        """The path of one of its files, from the table's base path."""
        return f"{self.partition}/{name}" if self.partition else name

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path(f"{self.file_id} (base instant {self.base_instant})")


Extract = Callable[[FileSlice], Iterator[pa.RecordBatch]]
"""What a task reads of one slice."""


def read_slices(
    spark: SparkSession, listing: FileListing, extract: Extract, schema: str
) -> DataFrame:
    """A DataFrame of what `extract` gives for each slice of the listing.

    schema: that of the batches, as Spark's DDL. `extract` runs in Python workers; slices are dealt
    out so that tasks have equal numbers of bytes, nearly.
    """
    parts = _parts(listing, _TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    dealt = spark.sparkContext.parallelize([(part,) for part in parts], max(len(parts), 1))
    return spark.createDataFrame(dealt, "slices binary").mapInArrow(_reader(extract), schema)


def _reader(extract: Extract) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column("slices"):
                for one in _slices(part.as_buffer()):
                    yield from extract(one)

    return read


def _parts(listing: FileListing, tasks: int) -> list[bytes]:
    """The slices as Arrow streams, one for each task, of about as many bytes each."""
    table = pa.table(
        {
            "partition": listing.partitions.take(pa.array(listing.slice_partition)),
            "file_id": listing.slice_file_id,
            "base_instant": listing.slice_base_instant,
            "base": _base_names(listing),
            "logs": _log_names(listing),
        }
    )
    size = np.zeros(listing.num_slices, np.int64)
    np.add.at(size, listing.file_slice, listing.file_size)
    order = np.argsort(-size, kind="stable")
    # The largest slices first, to each task in turn.
    dealt = [order[task::tasks] for task in range(min(tasks, listing.num_slices))]
    return [_written(table.take(pa.array(rows))) for rows in dealt]


def _base_names(listing: FileListing) -> pa.Array:
    bases = np.flatnonzero(~listing.file_is_log)
    position = np.zeros(listing.num_slices, np.int64)
    missing = np.ones(listing.num_slices, np.bool_)
    position[listing.file_slice[bases]], missing[listing.file_slice[bases]] = bases, False
    return listing.file_name.take(pa.array(position, mask=missing))


def _log_names(listing: FileListing) -> pa.Array:
    logs = np.flatnonzero(listing.file_is_log)
    edges = np.searchsorted(listing.file_slice[logs], np.arange(listing.num_slices + 1))
    names = listing.file_name.take(pa.array(logs))
    return pa.ListArray.from_arrays(pa.array(edges, pa.int32()), names)


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def _slices(part: pa.Buffer) -> Iterator[FileSlice]:
    with pa.ipc.open_stream(part) as stream:
        for row in stream.read_all().to_pylist():
            yield FileSlice(**{**row, "logs": tuple(row["logs"])})
