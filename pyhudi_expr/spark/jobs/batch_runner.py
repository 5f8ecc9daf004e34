"""Where the steps of a change run: in Spark's tasks or, if there is little to do, in this process.

A step is a function over Arrow batches; both ways call the same functions with the same rows, so
what they write is the same. A refresh is several steps, and Spark takes some tenths of a second to
begin each: longer than a commit of some files takes to read and compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

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
    """Rows that are yet to be made; schemas are Spark's DDL."""

    def together(self, tasks: int, *columns: str) -> Batches:
        """Rows with equal values of the columns in one task."""

    def ordered(self, *columns: str) -> Batches:
        """The rows of each task in ascending order."""

    def then(self, step: Step, schema: str) -> Batches:
        """What the step makes of each task's rows."""

    def rows(self) -> list[Row]:
        """Makes them; for few. Raises what the steps raise, or Spark's error with its message."""


class Runner(Protocol):
    """One of the two ways."""

    def each(self, items: pa.Table, read: Read, schema: str) -> Batches:
        """What is read for the rows of the table; they are dealt out in turn."""


def runner(spark: SparkSession, size: int) -> Runner:
    """The way that suits. size: about how many bytes will be read or compared."""
    return LocalRunner() if size <= LOCAL_BYTES else SparkRunner(spark)


@dataclass(frozen=True)
class SparkRunner:
    """Steps in the Python workers of Spark's tasks."""

    spark: SparkSession

    def each(self, items: pa.Table, read: Read, schema: str) -> SparkBatches:
        context = self.spark.sparkContext
        tasks = min(_TASKS_PER_CORE * context.defaultParallelism, len(items))
        parts = [_written(items.take(pa.array(range(t, len(items), tasks)))) for t in range(tasks)]
        dealt = context.parallelize([(part,) for part in parts], max(tasks, 1))
        frame = self.spark.createDataFrame(dealt, "items binary")
        return SparkBatches(frame.mapInArrow(_reader(read), schema))


@dataclass(frozen=True)
class SparkBatches:
    """A DataFrame."""

    frame: DataFrame

    def together(self, tasks: int, *columns: str) -> SparkBatches:
        # A single task needs no shuffle.
        some = self.frame.coalesce(1) if tasks == 1 else self.frame.repartition(tasks, *columns)
        return SparkBatches(some)

    def ordered(self, *columns: str) -> SparkBatches:
        return SparkBatches(self.frame.sortWithinPartitions(*columns))

    def then(self, step: Step, schema: str) -> SparkBatches:
        return SparkBatches(self.frame.mapInArrow(step, schema))

    def rows(self) -> list[Row]:
        return [row.asDict() for row in self.frame.collect()]


@dataclass(frozen=True)
class LocalRunner:
    """All steps as one task, here; the rows between two that order or compare are in memory."""

    def each(self, items: pa.Table, read: Read, schema: str) -> LocalBatches:
        return LocalBatches(read(items.to_pylist()))


@dataclass(frozen=True)
class LocalBatches:
    """Batches to be taken once."""

    batches: Iterable[pa.RecordBatch]

    def together(self, tasks: int, *columns: str) -> LocalBatches:
        return self

    def ordered(self, *columns: str) -> LocalBatches:
        return LocalBatches(_ordered(self.batches, columns))

    def then(self, step: Step, schema: str) -> LocalBatches:
        return LocalBatches(step(self.batches))

    def rows(self) -> list[Row]:
        return [row for batch in self.batches for row in batch.to_pylist()]


def each_item(
    read: Callable[[_Item], Iterator[pa.RecordBatch]],
) -> Callable[[Iterable[_Item]], Iterator[pa.RecordBatch]]:
    """Reads each item by itself."""
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
    """Small batches as larger ones, each of as many as have `enough` bytes."""
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
        keys = [(column, "ascending") for column in columns]
        yield from pa.Table.from_batches(held).sort_by(keys).to_batches()
