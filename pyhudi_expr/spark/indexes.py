"""CREATE, DROP, SHOW and REFRESH INDEX: as functions, and as statements by `execute`.

Entries are read and written by Spark jobs (`entries`, `shards`); what makes them count is Hudi's
own protocol (`mdt.index_action`).
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from pyhudi_expr.index.registry import RegisteredIndex, Registry
from pyhudi_expr.index.status import IndexStatus, State, statuses
from pyhudi_expr.mdt import bootstrap, index_action
from pyhudi_expr.mdt.index_action import Announced, NewPartition
from pyhudi_expr.mdt.reader import (
    METADATA_DIR,
    RECORD_INDEX,
    MetadataTable,
    current_listing,
)
from pyhudi_expr.spark.building import BuildOptions, Built, sums
from pyhudi_expr.spark.entries import entries
from pyhudi_expr.spark.plans import SECONDARY_INDEX, IndexPlan, InvalidIndex, plan
from pyhudi_expr.spark.shard_counts import shard_count
from pyhudi_expr.spark.shards import ShardTarget, write_shards
from pyhudi_expr.spark.statements import (
    CreateIndex,
    DropIndex,
    RefreshIndex,
    ShowIndexes,
    Statement,
    parse,
)
from pyhudi_expr.table.action_records import WrittenFile
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing, TableView


def execute(
    spark: SparkSession, statement: str, options: BuildOptions | None = None
) -> Built | list[IndexStatus] | None:
    """Runs one statement (see `statements`). None: there was nothing to do, or to tell.

    Raises StatementError, InvalidIndex or another HudiError; the table is as before then.
    """
    return run(spark, parse(statement), options or BuildOptions())


def run(
    spark: SparkSession, statement: Statement, options: BuildOptions
) -> Built | list[IndexStatus] | None:
    """`execute` for a statement that was read already."""
    statement = replace(statement, table=location(spark, statement.table))
    match statement:
        case CreateIndex():
            return create_index(spark, statement, options)
        case DropIndex():
            drop_index(statement, options)
            return None
        case ShowIndexes(table=table):
            return statuses(HudiTable.open(table))
        case RefreshIndex():
            return refresh_index(spark, statement, options)


def location(spark: SparkSession, table: str) -> str:
    """The base path of a table that is named by its path or in the session's catalog."""
    if "/" in table:
        return table
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    except AnalysisException as error:
        raise HudiError(f"there is no table {table}: {error}") from error
    found = next((row.data_type for row in rows if row.col_name == "Location"), None)
    if not found:
        raise HudiError(f"{table} has no location; name the table by its path")
    return str(found)


def create_index(spark: SparkSession, request: CreateIndex, options: BuildOptions) -> Built | None:
    """Builds the index; None: it exists, and may. Raises HudiError; then nothing is changed."""
    table = HudiTable.open(request.table)
    lock = options.lock(table.storage)
    notes = index_action.recover(table, lock)
    table = table.refreshed()
    planned = plan(table, request)
    if _exists(table, planned):
        if request.if_not_exists:
            return None
        raise InvalidIndex(
            f"{table.base_path}: the index {request.name!r} exists; drop it first, or refresh it"
        )
    if bootstrap.ensure_metadata_table(table, lock):
        notes.append("the table had no metadata table; one was made")
    return replace(_build(spark, table.refreshed(), planned, options), notes=tuple(notes))


def drop_index(request: DropIndex, options: BuildOptions) -> None:
    """Removes the index, whoever made it. Raises HudiError."""
    table = HudiTable.open(request.table)
    lock = options.lock(table.storage)
    status = _status(table, request.name)
    if status is None:
        if request.if_exists:
            return
        raise InvalidIndex(f"{table.base_path}: there is no index {request.name!r}")
    if RECORD_INDEX in status.partitions:
        needing = [s.name for s in statuses(table) if s.kind == SECONDARY_INDEX]
        if needing:
            raise InvalidIndex(
                f"{table.base_path}: {', '.join(needing)} cannot be without the record index; "
                "drop them first"
            )
    index_action.drop(table, status.partitions, lock)
    with lock.held(f"forgets {status.name}"):
        Registry.read(table.storage).without(status.name).write(table.storage)


def refresh_index(
    spark: SparkSession, request: RefreshIndex, options: BuildOptions
) -> Built | None:
    """Brings the index up to the table's newest commit; None: it is there.

    Raises HudiError; then the index is as before.
    """
    table = HudiTable.open(request.table)
    status = _status(table, request.name)
    if status is None:
        raise InvalidIndex(f"{table.base_path}: there is no index {request.name!r}")
    if status.state is State.ACTIVE:
        return None
    registered = Registry.read(table.storage).indexes.get(status.name)
    if registered is None:
        raise InvalidIndex(
            f"{table.base_path}: {request.name!r} was made by Hudi and covers {status.covers}; "
            "drop it and create it to have it anew"
        )
    lock = options.lock(table.storage)
    index_action.recover(table, lock)
    left = set(registered.partitions) & HudiTable.open(request.table).properties.metadata_partitions
    if left:
        index_action.drop(table, sorted(left), lock)
    again = CreateIndex(
        registered.name, request.table, registered.kind, registered.columns, registered.options
    )
    bootstrap.ensure_metadata_table(table.refreshed(), lock)
    table = table.refreshed()
    return _build(spark, table, plan(table, again), options)


def _exists(table: HudiTable, planned: IndexPlan) -> bool:
    there = table.properties.metadata_partitions | table.properties.metadata_partitions_inflight
    names = {partition.name for partition in planned.partitions}
    return bool(names & there) or planned.name in Registry.read(table.storage).indexes


def _status(table: HudiTable, name: str) -> IndexStatus | None:
    return next((s for s in statuses(table) if name in (s.name, *s.partitions)), None)


def _build(
    spark: SparkSession, table: HudiTable, planned: IndexPlan, options: BuildOptions
) -> Built:
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
