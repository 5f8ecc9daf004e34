"""Build, refresh and compact indexes of the extension metadata table.

This is the counterpart of `hudi_indexes`. No writer of Hudi knows these indexes, so
`extension_refresh` has to be called after commits, or by a scheduled job. What is not covered in
the meantime is read without pruning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from pyhudi_expr.arrays import string_list
from pyhudi_expr.index.catalog.registry import note_of, register
from pyhudi_expr.manage.indexing.build_options import (
    BuildOptions,
    BuildResult,
    BuildSource,
    shard_count,
    sum_by_partition,
)
from pyhudi_expr.manage.indexing.index_plan import IndexPlan
from pyhudi_expr.manage.indexing.reverse_mapping import ReverseMapping, covered_slice_name
from pyhudi_expr.spark.builds.extension_refresh import ExtensionRefresh
from pyhudi_expr.spark.builds.key_changes import is_secondary
from pyhudi_expr.spark.jobs.executor_archive import with_storage_options
from pyhudi_expr.spark.jobs.job_errors import await_running_tasks
from pyhudi_expr.spark.jobs.shard_writer import block_bytes, shard_path
from pyhudi_expr.tables.hudi_names import PARTITION_STATS, RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt import extension_changes as extension
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict
from pyhudi_expr.tables.mdt.changes.rollback import reserve_disk_space, rollback_on_failure
from pyhudi_expr.tables.mdt.extension_changes import Change, Extension
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.index_definitions import COLUMN_TYPE, IndexDefinition, type_names
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.compaction import Cells, compact_group
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.slices.slice_rows import scalar_type
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import WrittenFile

_log = logging.getLogger(__name__)

_MOST_LOGS = 10
"""Of a file group, before a refresh compacts it."""


def extension_build(
    spark: SparkSession, table: HudiTable, planned: IndexPlan, options: BuildOptions
) -> BuildResult:
    """Build an index; existing ones are refreshed as well, as all cover the same slices.

    Aggregates of partitions (`partition_stats`) are not supported: they would have to cover all
    slices of a partition, always.

    Raises:
        HudiError: The build failed, and nothing is changed.
    """
    lock = options.lock(table.storage)
    found = Extension.open(table)
    there = frozenset[str]() if found is None else found.partitions
    own = [p.definition for p in planned.partitions if p.name != PARTITION_STATS]
    new = [
        (_typed(table, definition), planned.shards or shard_count(table, definition))
        for definition in own
        if definition.name not in there
    ]
    shared = {RECORD_INDEX} if planned.kind == SECONDARY_INDEX else set[str]()
    index = planned.registered([d.name for d in own if d.name not in shared])

    def registering() -> None:
        """Register the index."""
        register(table.refreshed(), note_of([index]))

    return _changed(spark, table, planned.name, new, lock, registering)


def extension_refresh(
    spark: SparkSession,
    table: HudiTable,
    name: str,
    options: BuildOptions,
) -> BuildResult | None:
    """Refresh all indexes of the extension to the table's newest commit; None if they are current.

    Args:
        spark: The session.
        table: The table.
        name: The requested index.
        options: How to build.

    Raises:
        HudiError: The refresh failed. The indexes are as before, except those of columns that have
            another type now: they are dropped, as they were useless, until the next refresh.
    """
    lock = options.lock(table.storage)
    found = Extension.open(table)
    if found is None:
        raise IndexConflict(f"{table.base_path}: there is no extension metadata table")
    metadata = MetadataTable.open(table.refreshed())
    table = table.refreshed() if metadata is None else metadata.table
    stale = _stale(table, found)
    if found.coverage.first_uncovered(table) is None and not stale:
        return None
    if stale:
        # Its texts are of another type: no entry can be used.
        extension.drop(table, [definition.name for definition in stale], lock)
        for definition in stale:
            ReverseMapping(table.base_path).drop(definition.name)
    new = [(_typed(table, d), shard_count(table, d)) for d in stale]
    built = _changed(spark, table, name, new, lock)
    if _longest(table) > _MOST_LOGS:
        extension_compact(spark, table, options)
    return built


def extension_compact(spark: SparkSession, table: HudiTable, options: BuildOptions) -> int:
    """Merge the log files of all file groups into base files; return the number of such groups.

    Reverse mappings that failed refreshes left behind are deleted, too.

    Raises:
        HudiError: The compaction failed, and the indexes are as before.
    """
    lock = options.lock(table.storage)
    change = extension.begin_compaction(table, lock)
    before = change.before
    undone = rollback_on_failure(lambda: extension.abort(change, lock))
    with undone, reserve_disk_space(table.storage), await_running_tasks(spark.sparkContext):
        groups = [] if before is None else list(_with_logs(before))
        if before is None or not groups:
            extension.abort(change, lock)
            return 0
        extension.clean(change)
        uri, instant = change.storage.uri, change.instant
        dealt = spark.sparkContext.parallelize(groups, len(groups))
        compact = with_storage_options(partial(map, partial(_compacted, uri, instant)))
        written = dealt.mapPartitions(compact).collect()
        extension.publish(change, written, before.coverage, lock)
    _forget_uncovered(table, before)
    return len(groups)


def _changed(
    spark: SparkSession,
    table: HudiTable,
    name: str,
    new: Sequence[tuple[IndexDefinition, int]],
    lock: TableLock,
    registering: Callable[[], None] = lambda: None,
) -> BuildResult:
    """Make one change, for the index of the name."""
    change: Change = extension.begin(table, lock)

    def forget() -> None:
        for definition, _ in new:
            ReverseMapping(table.base_path).drop(definition.name)
        if change.before is not None:
            _forget_uncovered(table, change.before)

    undone = rollback_on_failure(lambda: extension.abort(change, lock, forget))
    with (
        undone,
        reserve_disk_space(table.storage) as give_back,
        await_running_tasks(spark.sparkContext),
    ):

        def end() -> None:
            give_back()
            registering()

        found = BuildSource.of(table.refreshed())
        refresh = ExtensionRefresh.of(spark, found.table, found.listing, change, new)
        done = refresh.run()
        definitions = [definition for definition, _ in new]
        extension.publish(change, done.files, done.coverage, lock, definitions, end)
    refresh.forget()
    notes = []
    if done.problems:
        left_out = f"{len(done.problems)} of {found.listing.num_slices} file slices are left out"
        notes.append(f"{left_out}, and read by every query: {done.problems[0]}")
        _log.warning("%s: %s", table.base_path, notes[0])
    return BuildResult(
        name=name,
        instant=change.instant,
        records=sum_by_partition(done.files, lambda file: file.records),
        bytes=sum_by_partition(done.files, lambda file: file.bytes),
        notes=tuple(notes),
    )


def _forget_uncovered(table: HudiTable, found: Extension) -> None:
    """Delete the reverse mapping of slices that are not covered."""
    covered = frozenset(map(covered_slice_name, string_list(found.coverage.slices["slice"])))
    for partition in found.partitions:
        ReverseMapping(table.base_path).forget_others(partition, covered)


def _typed(table: HudiTable, definition: IndexDefinition) -> IndexDefinition:
    """Add the types of its columns to a definition, if entries depend on them."""
    if not is_secondary(definition):
        return definition
    schema = table.schema()
    types = type_names(scalar_type(table, schema, field) for field in definition.fields)
    return replace(definition, options={**definition.options, COLUMN_TYPE: types})


def _stale(table: HudiTable, found: Extension) -> list[IndexDefinition]:
    """Return the indexes whose columns have another type now."""
    return [d for d in found.definitions.values() if is_secondary(d) and _typed(table, d) != d]


def _with_logs(found: Extension) -> Iterator[tuple[str, int]]:
    """Return the file groups with log files of later changes than their base files."""
    for partition in sorted(found.partitions):
        for number, group in enumerate(found.records.groups(partition)):
            if _later_logs(group):
                yield partition, number


def _later_logs(group: FileGroup) -> int:
    base = "" if group.base is None else group.base.path.rpartition("_")[2].partition(".")[0]
    return sum(written != base for _, written in group.logs)


def _longest(table: HudiTable) -> int:
    found = Extension.open(table)
    if found is None:
        return 0
    groups = [group for name in found.partitions for group in found.records.groups(name)]
    return max(map(_later_logs, groups), default=0)


def _compacted(uri: str, instant: str, place: tuple[str, int]) -> WrittenFile:
    """Write the base file of one group, in a task."""
    partition, number = place
    own = HudiTable.at(Storage.open(uri))
    group = MetadataTable(own, own).groups(partition)[number]
    storage, records = own.storage, 0

    def counted() -> Iterator[Cells]:
        nonlocal records
        for keys, values in compact_group(group):
            records += len(keys)
            yield keys, values

    path = shard_path(partition, number, instant)
    with storage.writing(path) as sink:
        size = hfile_writer.write_batches(sink, counted(), RECORD_SCHEMA, block_bytes(partition))
    return WrittenFile(path.rpartition("/")[2].split("_")[0], path, size, records)
