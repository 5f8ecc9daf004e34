"""Indexes of Hudi's own metadata table: built by Hudi's protocol, maintained by Hudi's writers.

`extension_indexes` is the counterpart for what Hudi does not keep.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from pyhudi_expr.index.registry import RegisteredIndex, Registry
from pyhudi_expr.mdt import index_action
from pyhudi_expr.mdt.index_action import Announced, NewPartition
from pyhudi_expr.mdt.reader import METADATA_DIR, RECORD_INDEX, MetadataTable, current_listing
from pyhudi_expr.spark.building import BuildOptions, Built, sums
from pyhudi_expr.spark.entries import entries
from pyhudi_expr.spark.plans import SECONDARY_INDEX, IndexPlan
from pyhudi_expr.spark.shard_counts import shard_count
from pyhudi_expr.spark.shards import ShardTarget, write_shards
from pyhudi_expr.table.action_records import WrittenFile
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing, TableView


def hudi_build(
    spark: SparkSession, table: HudiTable, planned: IndexPlan, options: BuildOptions
) -> Built:
    """Builds the index, and registers it. The table must have a metadata table.

    Raises HudiError; then nothing is changed.
    """
    lock = options.lock(table.storage)
    shards = {
        partition.name: planned.shards or shard_count(table, partition.definition)
        for partition in planned.partitions
    }
    new = [
        NewPartition(p.name, shards[p.name], p.definition if p.is_listed else None)
        for p in planned.partitions
    ]
    announced = index_action.announce(table, new, lock)
    try:
        table, listing = _snapshot(index_action.settled(announced, options.wait))
        files = _write(spark, table, listing, planned, announced)
        index_action.publish(announced, table.instant or "", files, lock)
        with lock.held(f"registers {planned.name}"):
            _register(table, planned)
    except BaseException:
        index_action.abort(announced, lock)
        raise
    return Built(
        name=planned.name,
        instant=announced.instant,
        records=sums(files, lambda file: file.records),
        bytes=sums(files, lambda file: file.bytes),
    )


def _snapshot(table: HudiTable) -> tuple[HudiTable, FileListing]:
    metadata = MetadataTable.open(table)
    if metadata is None:
        return table, table.listing(TableView.SNAPSHOT)
    return metadata.table, current_listing(metadata.table, metadata, TableView.SNAPSHOT)


def _write(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    planned: IndexPlan,
    announced: Announced,
) -> list[WrittenFile]:
    metadata_uri = table.storage.child(METADATA_DIR).uri
    files = []
    for partition, new in zip(planned.partitions, announced.partitions, strict=True):
        frame = entries(spark, table, listing, partition.definition, new.shards)
        target = ShardTarget(metadata_uri, partition.name, announced.instant)
        for written in write_shards(frame, new.shards, target):
            group = written.path.rpartition("/")[2].split("_", 1)[0]
            files.append(WrittenFile(group, written.path, written.bytes, written.records))
    return files


def _register(table: HudiTable, planned: IndexPlan) -> None:
    registry = Registry.read(table.storage)
    names = [partition.name for partition in planned.partitions]
    if planned.kind == SECONDARY_INDEX and RECORD_INDEX in names:
        # It was needed, and is an index of its own: other secondary indexes share it.
        names.remove(RECORD_INDEX)
        keys = RegisteredIndex(
            RECORD_INDEX, RECORD_INDEX, (), {}, planned.store, (RECORD_INDEX,), table.instant or ""
        )
        registry = registry.with_index(keys)
    index = RegisteredIndex(
        name=planned.name,
        kind=planned.kind,
        columns=planned.columns,
        options=planned.options,
        store=planned.store,
        partitions=tuple(names),
        created=table.instant or "",
    )
    registry.with_index(index).write(table.storage)
