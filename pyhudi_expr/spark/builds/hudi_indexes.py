"""Build indexes of Hudi's own metadata table: by Hudi's protocol, maintained by Hudi's writers.

`extension_indexes` is the counterpart for indexes that Hudi does not support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pyspark.sql import SparkSession

from pyhudi_expr.index.catalog.registry import RegisteredIndex, note_of, register
from pyhudi_expr.manage.indexing.build_options import (
    BuildOptions,
    BuildResult,
    BuildSource,
    shard_count,
    sum_by_partition,
)
from pyhudi_expr.manage.indexing.index_plan import IndexPlan
from pyhudi_expr.rows.slice_rows import WHAT_TO_DO, UnmergeableSlice, may_be_merged
from pyhudi_expr.spark.builds import catch_up as catching_up
from pyhudi_expr.spark.entries import entries_of_each
from pyhudi_expr.spark.jobs.job_errors import await_running_tasks
from pyhudi_expr.spark.jobs.shard_writer import ShardTarget, write_shards
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    METADATA_DIR,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes import async_indexing
from pyhudi_expr.tables.mdt.changes.partitions import IndexDefinition, NewPartition
from pyhudi_expr.tables.mdt.changes.rollback import reserve_disk_space, rollback_on_failure
from pyhudi_expr.tables.properties import TableType
from pyhudi_expr.tables.timeline.writer import WrittenFile


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
            target = catching_up.log_target(now, announced, instant)
            return catching_up.catch_up(spark, built, BuildSource.of(now), partitions, target)

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
    slice whose log files cannot be merged here prevents it. Statistics are of files, and log files
    may have none; but the aggregates of partitions are of rows, too.

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
