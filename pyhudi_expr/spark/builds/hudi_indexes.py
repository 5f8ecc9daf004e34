"""Build indexes of Hudi's own metadata table: by Hudi's protocol, maintained by Hudi's writers.

`extension_indexes` is the counterpart for indexes that Hudi does not support.

What was committed while an index was built is logged afterwards. Hudi's writers do not write to
every in-flight partition: those of Hudi 1.2 omit secondary and expression indexes, and what their
own settings do not enable. So the file slices that were added and removed in the meantime are read,
and the difference is logged on top of the base files.

For an index of keys or values that is the new slices' entries, and tombstones for entries of the
old slices only. For files it is the entries of new base files: a second entry of a file would be
added to the first, with its counts. Entries of removed files are never looked up. Aggregates of
partitions are computed anew for the partitions that changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from pyhudi_expr.index.catalog.registry import RegisteredIndex, note_of, register
from pyhudi_expr.manage.indexing.build_options import (
    BuildOptions,
    BuildResult,
    BuildSource,
    shard_count,
    sum_by_partition,
)
from pyhudi_expr.manage.indexing.index_plan import IndexPlan
from pyhudi_expr.spark.builds.key_changes import DELETED, is_secondary
from pyhudi_expr.spark.entries import entries, entries_of_each, file_entries, partition_entries
from pyhudi_expr.spark.jobs.batch_runner import SparkBatches
from pyhudi_expr.spark.jobs.job_errors import await_running_tasks
from pyhudi_expr.spark.jobs.log_files import LogTarget, write_logs
from pyhudi_expr.spark.jobs.shard_writer import ShardTarget, write_shards
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    METADATA_DIR,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX,
    log_files,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.changes import async_indexing
from pyhudi_expr.tables.mdt.changes.async_indexing import AnnouncedAction
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.tables.mdt.changes.rollback import reserve_disk_space, rollback_on_failure
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.properties import TableType
from pyhudi_expr.tables.slices.slice_rows import WHAT_TO_DO, UnmergeableSlice, may_be_merged
from pyhudi_expr.tables.timeline_writer import WrittenFile


def _catch_up(
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


def _log_target(table: HudiTable, announced: AnnouncedAction, instant: str) -> LogTarget:
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
            fresh = now.files_not_in(built)
            parts.append(file_entries(spark, now.table, fresh, definition, shards))
        found = reduce(DataFrame.union, [part for part in parts if part is not None])
    return found.select(sql.lit(definition.name).alias("partition"), "shard", "key", "value")


def _of_partitions(listing: FileListing, changed: Sequence[FileListing]) -> FileListing:
    """Return all slices of the changed slices' partitions."""
    paths = pa.concat_arrays([one.partitions for one in changed])
    touched = np.asarray(pc.is_in(listing.partitions, paths))
    return listing.some(listing.slices_of_partitions(touched))


def hudi_build(
    spark: SparkSession, table: HudiTable, planned: IndexPlan, options: BuildOptions
) -> BuildResult:
    """Build an index and register it. The table must have a metadata table.

    Raises:
        HudiError: The build failed, and nothing is changed.
    """
    lock = options.lock(table.storage)
    planned, notes = _buildable(table, planned)
    shards = {
        partition.name: planned.shards or shard_count(table, partition.definition)
        for partition in planned.partitions
    }
    new = [
        NewPartition(p.name, shards[p.name], p.definition if p.is_listed else None)
        for p in planned.partitions
    ]
    announced = async_indexing.announce(table, new, lock, note_of(_registered(planned)))
    undone = rollback_on_failure(lambda: async_indexing.abort(announced, lock))
    with (
        undone,
        reserve_disk_space(table.storage) as give_back,
        await_running_tasks(spark.sparkContext),
    ):
        built = BuildSource.of(async_indexing.wait_for_writers(announced, options.wait))
        partitions = [(p.definition, shards[p.name]) for p in planned.partitions]
        files = _write(spark, built, partitions, announced.instant)

        def catch_up(now: HudiTable, instant: str) -> list[WrittenFile]:
            """Log what was committed in the meantime."""
            target = _log_target(now, announced, instant)
            return _catch_up(spark, built, BuildSource.of(now), partitions, target)

        def finish(now: HudiTable, note: str) -> None:
            """Register the index."""
            give_back()
            register(now, note)

        async_indexing.publish(announced, files, lock, options.wait, catch_up, finish)
    return BuildResult(
        name=planned.name,
        instant=announced.instant,
        records=sum_by_partition(files, lambda file: file.records),
        bytes=sum_by_partition(files, lambda file: file.bytes),
        notes=tuple(notes),
    )


def _buildable(table: HudiTable, planned: IndexPlan) -> tuple[IndexPlan, list[str]]:
    """Return the part of the plan that can be built, and what is left out, as sentences.

    Hudi takes missing entries for missing rows. So an index of rows has to cover all slices, and a
    slice whose log files cannot be merged here prevents it. Statistics are of the values in files,
    but the aggregates of partitions are of rows, too.

    Raises:
        UnmergeableSlice: Nothing can be built.
    """
    if table.properties.table_type is TableType.COPY_ON_WRITE:
        return planned, []
    listing = BuildSource.of(table).listing
    left = np.flatnonzero(~may_be_merged(table, listing))
    of_rows = [p for p in planned.partitions if not _is_of_files(p.definition)]
    if not len(left) or not of_rows:
        return planned, []
    found = (
        f"the log files of {len(left)} of {listing.num_slices} file slices, of the file group "
        f"{listing.slice_file_id[int(left[0])]} for one, cannot be merged here"
    )
    if [partition.name for partition in of_rows] != [PARTITION_STATS]:
        raise UnmergeableSlice(f"{table.base_path}: {found}; {WHAT_TO_DO}")
    rest = tuple(p for p in planned.partitions if p.name != PARTITION_STATS)
    return replace(planned, partitions=rest), [f"partition_stats is left out: {found}"]


def _is_of_files(definition: IndexDefinition) -> bool:
    """Return whether entries are of base files, whatever their log files hold."""
    return definition.name in (COLUMN_STATS, BLOOM_FILTERS) or definition.type == BLOOM_FILTERS


def _write(
    spark: SparkSession,
    snapshot: BuildSource,
    partitions: Sequence[tuple[IndexDefinition, int]],
    instant: str,
) -> list[WrittenFile]:
    """Write the base files of partitions with their numbers of file groups."""
    uri = snapshot.table.storage.child(METADATA_DIR).uri
    files = []
    for together, frame in entries_of_each(spark, snapshot.table, snapshot.listing, partitions):
        targets = [ShardTarget(uri, definition.name, instant, n) for definition, n in together]
        files += [written.file for written in write_shards(frame, targets)]
    return files


def _registered(planned: IndexPlan) -> list[RegisteredIndex]:
    """Return the registry entries; their instants are set later."""
    names = [partition.name for partition in planned.partitions]
    indexes = []
    if planned.kind == SECONDARY_INDEX and RECORD_INDEX in names:
        # It was needed, and is an index of its own: other secondary indexes share it.
        names.remove(RECORD_INDEX)
        indexes.append(
            RegisteredIndex(
                RECORD_INDEX, RECORD_INDEX, (), {}, planned.store, (RECORD_INDEX,), created=""
            )
        )
    return [*indexes, planned.registered(names)]
