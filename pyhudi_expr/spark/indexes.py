"""CREATE, DROP, SHOW and REFRESH INDEX: as functions, and as statements by `execute`.

Entries are read and written by Spark jobs (`entries`, `shards`); what makes them count is Hudi's
own protocol (`hudi_indexes`), or a commit to the metadata table beside it (`extension_indexes`).
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from pyhudi_expr.index.registry import Registry, Store
from pyhudi_expr.index.status import IndexStatus, State, statuses
from pyhudi_expr.mdt import bootstrap, index_action
from pyhudi_expr.mdt.reader import RECORD_INDEX
from pyhudi_expr.spark.building import BuildOptions, Built
from pyhudi_expr.spark.extension_indexes import (
    extension_build,
    extension_drop,
    extension_refresh,
)
from pyhudi_expr.spark.hudi_indexes import hudi_build
from pyhudi_expr.spark.plans import SECONDARY_INDEX, IndexPlan, InvalidIndex, plan
from pyhudi_expr.spark.statements import (
    CreateIndex,
    DropIndex,
    RefreshIndex,
    ShowIndexes,
    Statement,
    parse,
)
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable


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
    if planned.store is Store.EXTENSION:
        built = extension_build(spark, table, planned, options)
    else:
        if bootstrap.ensure_metadata_table(table, lock):
            notes.append("the table had no metadata table; one was made")
        built = hudi_build(spark, table.refreshed(), planned, options)
    return replace(built, notes=tuple(notes))


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
        secondary = (s for s in statuses(table) if s.kind == SECONDARY_INDEX)
        needing = [s.name for s in secondary if s.store is status.store]
        if needing:
            raise InvalidIndex(
                f"{table.base_path}: {', '.join(needing)} cannot be without the record index; "
                "drop them first"
            )
    if status.store is Store.EXTENSION:
        extension_drop(table, status.partitions, lock)
    else:
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
    again = CreateIndex(
        registered.name, request.table, registered.kind, registered.columns, registered.options
    )
    if registered.store is Store.EXTENSION:
        if status.state is State.LAGGING:
            return extension_refresh(spark, table, registered.name, options)
        return extension_build(spark, table, plan(table, again), options)
    lock = options.lock(table.storage)
    index_action.recover(table, lock)
    table = table.refreshed()
    left = set(registered.partitions) & table.properties.metadata_partitions
    if left:
        index_action.drop(table, sorted(left), lock)
    bootstrap.ensure_metadata_table(table.refreshed(), lock)
    table = table.refreshed()
    return hudi_build(spark, table, plan(table, again), options)


def _exists(table: HudiTable, planned: IndexPlan) -> bool:
    """Whether the store has the partitions that the index would be, or there is one of its name."""
    if planned.name in Registry.read(table.storage).indexes:
        return True
    if planned.store is Store.EXTENSION:
        return False  # the build itself tells
    there = table.properties.metadata_partitions | table.properties.metadata_partitions_inflight
    return bool(there & {partition.name for partition in planned.partitions})


def _status(table: HudiTable, name: str) -> IndexStatus | None:
    return next((s for s in statuses(table) if name in (s.name, *s.partitions)), None)
