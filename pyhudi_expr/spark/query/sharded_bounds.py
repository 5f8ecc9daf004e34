"""Read or evaluate whole columns in Spark's tasks, where one machine's memory is too small.

A task gets the entries of some file groups (`file_buckets`), and decodes them as one process would;
it reads the footers of files whose entries are not trusted as well. The driver puts the parts
together, so it needs the memory of one column's bounds: 18 bytes for each file, and texts.

A task gets the entries of some file groups (`file_buckets`), and evaluates the leaves as one
process would. The results are two bits for each leaf and file, those of bounds in memory: leaves
over several columns and the footers of doubtful files included.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, Leaf, columns, walk
from pyhudi_expr.expr.evaluate import Evidence, StatisticsEvidence, as_array
from pyhudi_expr.index.statistics.column_bounds import BoundsSnapshots, ColumnBounds, KeptBounds
from pyhudi_expr.index.statistics.column_stats import ColumnStats, LoadedBounds
from pyhudi_expr.index.statistics.joined_column_stats import (
    LeafAnswer,
    StreamingEvidence,
    max_leaves,
)
from pyhudi_expr.spark.jobs.batch_runner import Runner
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.spark.query.file_buckets import BUCKET_BYTES, Bucket, Buckets, dealt, gathered
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.storage import Storage

_RESULT_SCHEMA = "bucket int, bounds binary"


def keep_bounds(
    runner: Runner,
    stats: ColumnStats,
    listing: FileListing,
    columns: Sequence[BoundColumn],
    kept: BoundsSnapshots,
    bucket_bytes: int = BUCKET_BYTES,
) -> None:
    """Read the bounds of columns in tasks, one column after the other, and keep them.

    Args:
        runner: Runs the tasks.
        stats: The statistics of the table; they have entries.
        listing: The slices.
        columns: The columns.
        kept: Where the bounds are kept.
        bucket_bytes: Stored bytes of the index that one task decodes.

    Raises:
        HudiError: The index cannot be read, or a task failed.
    """
    assert stats.entries is not None
    buckets = Buckets.of(listing, stats.entries.source.groups(COLUMN_STATS), bucket_bytes)
    partitions = np.ones(len(listing.partitions), np.bool_)
    slices = listing.slices_of_partitions(partitions)
    trusted = np.zeros(listing.num_files, np.bool_)
    for column in columns:
        read = _Reading(column, stats.storage, stats.entries.source.meta_fields)
        store = ColumnBounds(listing.num_files, column.domain)
        with translate_spark_errors():
            together = dealt(runner, stats, buckets, [column.name], partitions, listing)
            for row in together.then(read, _RESULT_SCHEMA).rows():
                files = buckets.files(listing, slices, row["bucket"])
                store.put(files, pickle.loads(row["bounds"]))  # noqa: S301  of this job's tasks
        kept.keep(column, KeptBounds(store.bounds(), trusted))


@dataclass(frozen=True)
class _Reading:
    """Decodes a column's bounds for the files of the buckets of a task."""

    column: BoundColumn
    storage: Storage
    meta_fields: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, bucket in gathered(batches):
            stats = bucket.statistics(self.storage, self.meta_fields)
            found = stats.load([self.column], bucket.all_partitions, threading.TIMEOUT_MAX)
            content = pickle.dumps(found.bounds(self.column))
            yield pa.record_batch(
                {
                    "bucket": pa.array([number], pa.int32()),
                    "bounds": pa.array([content], pa.binary()),
                }
            )


_EVALUATED_SCHEMA = "bucket int, answers binary"


@dataclass(frozen=True)
class ShardedEvaluation:
    """A `Streaming` in Spark tasks.

    Attributes:
        bucket_bytes: Stored bytes of the index that one task evaluates.
    """

    runner: Runner
    bucket_bytes: int = BUCKET_BYTES

    def __call__(
        self,
        stats: ColumnStats,
        listing: FileListing,
        predicate: BoundExpression,
        loaded: LoadedBounds,
        partitions: BoolArray,
    ) -> Evidence:
        """Evaluate, see `index.statistics.joined_column_stats.evaluate_streaming`.

        Leaves over several columns are evaluated, too.
        """
        assert stats.entries is not None
        leaves = _leaves(predicate, loaded.too_large)[: max_leaves(stats, listing)]
        if not leaves:
            return StatisticsEvidence(loaded)
        buckets = Buckets.of(listing, stats.entries.source.groups(COLUMN_STATS), self.bucket_bytes)
        needed = {column.name for leaf in leaves for column in columns(leaf).values()}
        evaluate = _Evaluator(tuple(leaves), stats.storage, stats.entries.source.meta_fields)
        answers = [LeafAnswer.unknown(leaf, listing.num_files) for leaf in leaves]
        with translate_spark_errors():
            together = dealt(self.runner, stats, buckets, needed, partitions, listing)
            results = together.then(evaluate, _EVALUATED_SCHEMA).rows()
        keep = listing.slices_of_partitions(partitions)
        for row in results:
            _unpack(row["answers"], answers, buckets.files(listing, keep, row["bucket"]))
        return StreamingEvidence(answers, StatisticsEvidence(loaded))


def _leaves(predicate: BoundExpression, too_large: Sequence[BoundColumn]) -> list[Leaf]:
    """Return the leaves over one of the columns at least."""
    found = [node for node in walk(predicate) if isinstance(node, Leaf)]
    return [leaf for leaf in found if not {*too_large}.isdisjoint(columns(leaf).values())]


@dataclass(frozen=True)
class _Evaluator:
    """Evaluates the leaves for the files of the buckets of a task."""

    leaves: tuple[Leaf, ...]
    storage: Storage
    meta_fields: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, bucket in gathered(batches):
            yield pa.record_batch(
                {
                    "bucket": pa.array([number], pa.int32()),
                    "answers": pa.array([self._answers(bucket)], pa.binary()),
                }
            )

    def _answers(self, bucket: Bucket) -> bytes:
        assert bucket.listing is not None
        listing, stats = bucket.listing, bucket.statistics(self.storage, self.meta_fields)
        needed = {column: None for leaf in self.leaves for column in columns(leaf).values()}
        loaded = stats.load([*needed], bucket.all_partitions, threading.TIMEOUT_MAX)
        evidence = StatisticsEvidence(loaded)
        flags = [
            as_array(evidence.may_be(leaf, truth), listing.num_files)
            for leaf in self.leaves
            for truth in (True, False)
        ]
        return np.packbits(np.concatenate(flags)).tobytes()


def _unpack(packed: bytes, answers: Sequence[LeafAnswer], files: Int64Array) -> None:
    """Write the results of `_Evaluator` for the files at these positions."""
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=2 * len(answers) * len(files))
    for answer, (true, false) in zip(
        answers, bits.reshape(len(answers), 2, len(files)).astype(np.bool_), strict=True
    ):
        answer.true[files], answer.false[files] = true, false
