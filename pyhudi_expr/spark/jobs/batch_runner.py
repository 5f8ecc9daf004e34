"""Run the steps of a change: in Spark's tasks or, if there is little to do, in this process.

A step is a function over Arrow batches. Both runners call the same functions with the same rows, so
they write the same files. A refresh has several steps, and Spark takes some tenths of a second to
start each: longer than reading and comparing a commit of a few files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.spark.jobs.executor_archive import with_storage_options

LOCAL_BYTES = 32 << 20
"""Of files to read, or of rows to compare, that this process takes on: its memory stays within a
few times of that, whatever the size of the table."""

_BATCH_BYTES = 1 << 20
_TASKS_PER_CORE = 2
"""More tasks than cores even out items of unlike sizes."""

Row = dict[str, Any]
Read = Callable[[Iterable[Row]], Iterator[pa.RecordBatch]]
"""What is read for some items, in their order."""
Step = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""From all rows of a task to others."""


_Item = TypeVar("_Item")


class Batches(Protocol):
    """Rows that are not computed yet; schemas are Spark's DDL."""

    def together(self, tasks: int, *columns: str) -> Batches:
        """Put rows with equal values of the columns into one task."""

    def ordered(self, *columns: str) -> Batches:
        """Sort the rows of each task."""

    def then(self, step: Step, schema: str) -> Batches:
        """Apply a step to each task's rows."""

    def rows(self) -> list[Row]:
        """Compute the rows, if they are few. Raises the steps' exceptions, or Spark's."""


class Runner(Protocol):
    """Runs steps."""

    def each(self, items: pa.Table, read: Read, schema: str) -> Batches:
        """Read for each row of the table; the rows are dealt out in turn."""


def runner(spark: SparkSession, size: int) -> Runner:
    """Return the runner for about so many bytes to read or compare."""
    return LocalRunner() if size <= LOCAL_BYTES else SparkRunner(spark)


@dataclass(frozen=True)
class SparkRunner:
    """Runs steps in the Python workers of Spark's tasks."""

    spark: SparkSession

    def each(self, items: pa.Table, read: Read, schema: str) -> SparkBatches:
        """Read for each row, see `Runner`."""
        context = self.spark.sparkContext
        tasks = min(_TASKS_PER_CORE * context.defaultParallelism, len(items))
        parts = [_written(items.take(pa.array(range(t, len(items), tasks)))) for t in range(tasks)]
        dealt = context.parallelize([(part,) for part in parts], max(tasks, 1))
        frame = self.spark.createDataFrame(dealt, "items binary")
        return SparkBatches(frame.mapInArrow(with_storage_options(_reader(read)), schema))


@dataclass(frozen=True)
class SparkBatches:
    """Batches of a DataFrame."""

    frame: DataFrame

    def together(self, tasks: int, *columns: str) -> SparkBatches:
        """Repartition, see `Batches`."""
        # A single task needs no shuffle.
        some = self.frame.coalesce(1) if tasks == 1 else self.frame.repartition(tasks, *columns)
        return SparkBatches(some)

    def ordered(self, *columns: str) -> SparkBatches:
        """Sort, see `Batches`."""
        return SparkBatches(self.frame.sortWithinPartitions(*columns))

    def then(self, step: Step, schema: str) -> SparkBatches:
        """Apply a step, see `Batches`."""
        return SparkBatches(self.frame.mapInArrow(with_storage_options(step), schema))

    def rows(self) -> list[Row]:
        """Collect, see `Batches`."""
        return [row.asDict() for row in self.frame.collect()]


@dataclass(frozen=True)
class LocalRunner:
    """Runs all steps as one task in this process; rows to order or compare are in memory."""

    def each(self, items: pa.Table, read: Read, schema: str) -> LocalBatches:
        """Read for each row, see `Runner`."""
        return LocalBatches(read(items.to_pylist()))


@dataclass(frozen=True)
class LocalBatches:
    """Batches that can be taken once."""

    batches: Iterable[pa.RecordBatch]

    def together(self, tasks: int, *columns: str) -> LocalBatches:
        """Return the same rows, see `Batches`."""
        return self

    def ordered(self, *columns: str) -> LocalBatches:
        """Sort, see `Batches`."""
        return LocalBatches(_ordered(self.batches, columns))

    def then(self, step: Step, schema: str) -> LocalBatches:
        """Apply a step, see `Batches`."""
        return LocalBatches(step(self.batches))

    def rows(self) -> list[Row]:
        """Compute, see `Batches`."""
        return [row for batch in self.batches for row in batch.to_pylist()]


def each_item(
    read: Callable[[_Item], Iterator[pa.RecordBatch]],
) -> Callable[[Iterable[_Item]], Iterator[pa.RecordBatch]]:
    """Return a step that reads each item by itself."""
    return lambda items: chain.from_iterable(map(read, items))


def _reader(read: Read) -> Step:
    def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        for batch in batches:
            for part in batch.column("items"):
                with pa.ipc.open_stream(part.as_buffer()) as stream:
                    yield from stream.read_all().to_pylist()

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Each batch costs Spark about as much as thousands of rows.
        return gather_batches(read(rows_of(batches)), _BATCH_BYTES)

    return rows


def gather_batches(batches: Iterable[pa.RecordBatch], enough: int) -> Iterator[pa.RecordBatch]:
    """Combine small batches into larger ones of at least `enough` bytes."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= enough:
            yield from _joined(held)
            held, size = [], 0
    yield from _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(batches) < 2:
        return batches
    joined: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined


def _written(items: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, items.schema) as writer:
        writer.write_table(items.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def _ordered(batches: Iterable[pa.RecordBatch], columns: Iterable[str]) -> Iterator[pa.RecordBatch]:
    held = list(batches)
    if held:
        ordered = pa.Table.from_batches(held).sort_by([(each, "ascending") for each in columns])
        yield from ordered.to_batches()
