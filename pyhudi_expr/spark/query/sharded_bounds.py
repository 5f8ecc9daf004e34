"""Read the bounds of whole columns in Spark tasks, to keep them as snapshots.

A task gets the entries of some file groups (`file_buckets`), and decodes them as one process would;
it reads the footers of files whose entries are not trusted as well. The driver puts the parts
together, so it needs the memory of one column's bounds: 18 bytes for each file, and texts.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.index.statistics.bounds_snapshots import BoundsSnapshots, KeptBounds
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.column_stats import ColumnStats
from pyhudi_expr.spark.jobs.batch_runner import Runner
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.spark.query.file_buckets import BUCKET_BYTES, Buckets, dealt, gathered
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
    buckets = Buckets.of(listing, stats.entries.groups(COLUMN_STATS), bucket_bytes)
    partitions = np.ones(len(listing.partitions), np.bool_)
    slices = listing.slices_of_partitions(partitions)
    trusted = np.zeros(listing.num_files, np.bool_)
    for column in columns:
        read = _Reading(column, stats.storage, stats.entries.meta_fields)
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
