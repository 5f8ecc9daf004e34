"""Log what was committed while an index of Hudi's metadata table was built.

Hudi's writers do not write to every in-flight partition: those of Hudi 1.2 omit secondary and
expression indexes, and what their own settings do not enable. So the file slices that were added
and removed in the meantime are read, and the difference is logged on top of the base files.

For an index of keys or values that is the new slices' entries, and tombstones for entries of the
old slices only. For files it is the entries of new base files: a second entry of a file would be
added to the first, with its counts. Entries of removed files are never looked up. Aggregates of
partitions are computed anew for the partitions that changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from pyhudi_expr.manage.indexing.build_options import BuildSource
from pyhudi_expr.spark.builds.key_changes import DELETED, is_secondary
from pyhudi_expr.spark.entries import entries, file_entries, partition_entries
from pyhudi_expr.spark.jobs.batch_runner import SparkBatches
from pyhudi_expr.spark.jobs.log_files import LogTarget, write_logs
from pyhudi_expr.tables.hudi_names import METADATA_DIR, PARTITION_STATS, RECORD_INDEX, log_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.changes.async_indexing import AnnouncedAction
from pyhudi_expr.tables.mdt.changes.partitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.timeline.writer import WrittenFile


def catch_up(
    spark: SparkSession,
    built: BuildSource,
    now: BuildSource,
    partitions: Sequence[tuple[IndexDefinition, int]],
    target: LogTarget,
) -> list[WrittenFile]:
    """Log the differences between the built snapshot and the current one.

    Args:
        spark: The session.
        built: The snapshot of the base files.
        now: The current snapshot.
        partitions: The metadata partitions with their numbers of file groups.
        target: Where the logs go.

    Returns:
        The log files; none if nothing was committed in between.

    Raises:
        HudiError: A file cannot be read; for example, a file of `built` is gone already.
    """
    if not built.has_changed(now):
        return []
    frames = [_changes(spark, built, now, *partition) for partition in partitions]
    tasks = sum(shards for _, shards in partitions)
    return write_logs(SparkBatches(reduce(DataFrame.union, frames)), tasks, target)


def log_target(table: HudiTable, announced: AnnouncedAction, instant: str) -> LogTarget:
    """Return where the logs of a delta commit go, in the partitions that are being built.

    In timeline layout 1 their numbers follow the existing ones.
    """
    metadata = table.storage.child(METADATA_DIR)
    if table.properties.timeline_layout > 1:
        return LogTarget(metadata.uri, instant, instant)
    names = [e.name for p in announced.partitions for e in metadata.list(p.name)]
    numbers = log_files(pa.array(names, pa.string())).version
    return LogTarget(metadata.uri, instant, announced.instant, 1 + int(max(numbers)))


def _changes(
    spark: SparkSession,
    built: BuildSource,
    now: BuildSource,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """Return the differences as `spark.jobs.log_files.LOG_ENTRIES`."""
    if definition.name == RECORD_INDEX or is_secondary(definition):
        gone = payloads.secondary_tombstone() if is_secondary(definition) else DELETED
        went = entries(spark, built.table, built.slices_not_in(now), definition, shards)
        old = went.withColumn("value", sql.lit(gone)).withColumn(
            "version", sql.lit(-1).cast("long")
        )
        new = entries(spark, now.table, now.slices_not_in(built), definition, shards)
        newest = sql.max_by("value", "version").alias("value")
        found = old.union(new).groupBy("shard", "key").agg(newest)
    else:
        whole = _of_partitions(now.listing, [now.slices_not_in(built), built.slices_not_in(now)])
        parts = [partition_entries(spark, now.table, whole, definition, shards)]
        if definition.name != PARTITION_STATS:
            fresh = now.base_files_not_in(built)
            parts.append(file_entries(spark, now.table, fresh, definition, shards))
        found = reduce(DataFrame.union, [part for part in parts if part is not None])
    return found.select(sql.lit(definition.name).alias("partition"), "shard", "key", "value")


def _of_partitions(listing: FileListing, changed: Sequence[FileListing]) -> FileListing:
    """Return all slices of the changed slices' partitions."""
    paths = pa.concat_arrays([one.partitions for one in changed])
    touched = np.asarray(pc.is_in(listing.partitions, paths))
    return listing.some(listing.slices_of_partitions(touched))
