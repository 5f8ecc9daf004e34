"""CREATE, DROP, SHOW and REFRESH INDEX: as functions, and as statements by `execute`.

Spark jobs read and write the entries (`entries`, `jobs.shard_writer`). They become valid by Hudi's
own protocol (`hudi_indexes`), or by a commit to the extension metadata table (`extension_indexes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.index.catalog.index_catalog import reading_catalog
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, checked_statuses, index_status
from pyhudi_expr.manage.building import build_index
from pyhudi_expr.manage.dropping import drop_index
from pyhudi_expr.manage.indexing.build_options import BuildOptions, BuildResult
from pyhudi_expr.manage.indexing.preparation import RefreshPlan, Work
from pyhudi_expr.manage.indexing.statements import (
    CreateIndex,
    DropIndex,
    RefreshIndex,
    ShowIndexes,
    Statement,
    parse,
)
from pyhudi_expr.manage.indexing.writer_options import writer_options
from pyhudi_expr.spark.builds import indexed_values as reverse
from pyhudi_expr.spark.builds.certifying import certify
from pyhudi_expr.spark.builds.extension_indexes import extension_build, extension_refresh
from pyhudi_expr.spark.builds.hudi_indexes import hudi_build
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.tables import locks
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes import bootstrap, partitions
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict
from pyhudi_expr.tables.pending_writes import wait_for_all_writers
from pyhudi_expr.tables.storage import Storage, using_storage_options


def execute(
    spark: SparkSession,
    statement: str,
    options: BuildOptions | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> BuildResult | list[IndexStatus] | None:
    """Execute one statement (see `statements`); None if there was nothing to do or to return.

    Args:
        spark: The session.
        statement: The statement.
        options: How to build; by default with the lock of the session's settings, as in Hudi's own
            statements.
        storage_options: Credentials and other settings of the table's storage, see `Storage.open`.

    Raises:
        HudiError: The statement is malformed (StatementError), the index is not possible
            (InvalidIndex), or another error; the table is as before.
    """
    with using_storage_options(storage_options):
        return run(spark, parse(statement), options or session_options(spark))


def run(
    spark: SparkSession, statement: Statement, options: BuildOptions
) -> BuildResult | list[IndexStatus] | None:
    """Execute a parsed statement, see `execute`."""
    if isinstance(statement, DropIndex) and not statement.table:
        table = _only_table_with(spark, statement.name)
        if table is None and statement.if_exists:
            return None
        if table is None:
            raise HudiError(
                f"no table of the session's catalog has an index {statement.name!r}; name the"
                f" table by its path: DROP INDEX {statement.name} ON '/path'"
            )
        statement = replace(statement, table=table)
    statement = replace(statement, table=location(spark, statement.table))
    match statement:
        case CreateIndex():
            return create_index(spark, statement, options)
        case DropIndex():
            drop_index(statement, options)
            return None
        case ShowIndexes(table=table):
            with reading_catalog(Storage.open(table)) as catalog:
                return checked_statuses(catalog)
        case RefreshIndex():
            return refresh_index(spark, statement, options)


def session_options(spark: SparkSession) -> BuildOptions:
    """Return how to build in a session: with the lock of its settings, as in Hudi's statements."""
    said = {key: spark.conf.get(key, None) for key in locks.SETTINGS}
    settings = {key: value for key, value in said.items() if value}
    return BuildOptions(lambda storage: locks.TableLock.of(storage, settings))


def location(spark: SparkSession, table: str) -> str:
    """Return the base path of a table, given by its path or its name in the session's catalog."""
    if "/" in table:
        return table
    found = _described_location(spark, table)
    if found is None:
        raise HudiError(f"{table} has no location; name the table by its path")
    return found


def _described_location(spark: SparkSession, table: str) -> str | None:
    """Return the base path of a table in the session's catalog; None if it has none."""
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    except AnalysisException as error:
        raise HudiError(f"there is no table {table}: {str(error).splitlines()[0]}") from error
    return next((str(row.data_type) for row in rows if row.col_name == "Location"), None)


def _only_table_with(spark: SparkSession, index: str) -> str | None:
    """Return the base path of the one table that has an index; None if there is none.

    The tables of the session's database come first, and those of others only if none of them is it.

    Raises:
        HudiError: Several have it, or a table cannot be read, which may have it, too.
    """
    here = spark.catalog.currentDatabase()
    found = _tables_with(spark, index, [here])
    if not found:
        every = [row.namespace for row in spark.sql("SHOW DATABASES").collect()]
        found = _tables_with(spark, index, [one for one in every if one != here])
    if len(found) > 1:
        names = sorted(found.values())
        raise HudiError(
            f"several tables have an index {index!r}: {', '.join(names)}; name one: DROP INDEX"
            f" {index} ON {names[0]}"
        )
    return next(iter(found), None)


def _tables_with(spark: SparkSession, index: str, databases: Iterable[str]) -> dict[str, str]:
    """Return the names of tables that have an index, by their base paths."""
    found: dict[str, str] = {}
    for database in databases:
        for row in spark.sql(f"SHOW TABLES IN `{database}`").collect():
            if row.isTemporary:
                continue
            path = _described_location(spark, f"`{row.namespace}`.`{row.tableName}`")
            if path is None:  # a view
                continue
            try:
                if index_status(HudiTable.open(path), index) is not None:
                    found[path.rstrip("/")] = f"{row.namespace}.{row.tableName}"
            except TableNotFound:  # of another format
                continue
    return found


def indexed_values(
    spark: SparkSession, table: str, name: str, *, storage_options: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the values that a secondary index has for each record key (RFC-77's reverse mapping).

    Args:
        spark: The session.
        table: The table's path, or its name in the session's catalog.
        name: The index.
        storage_options: See `execute`.

    Returns:
        Rows of `key` and `values`: one text for each column of the index, written as in its entries
        (dates as days since 1970, for example); null for a null.

    Raises:
        HudiError: There is no such secondary index.
    """
    with using_storage_options(storage_options):
        opened = HudiTable.open(location(spark, table))
        status = index_status(opened, name)
        if status is None:
            raise HudiError(f"{opened.base_path}: there is no index {name!r}")
        return reverse.indexed_values(spark, opened, status)


def create_index(
    spark: SparkSession, request: CreateIndex, options: BuildOptions
) -> BuildResult | None:
    """Build an index; None if it exists and the statement allows that.

    Raises:
        HudiError: It was refused, or failed; the message says what is as before.
    """
    return build_index(request, options, lambda work: carry_out(spark, work, options))


def refresh_index(
    spark: SparkSession, request: RefreshIndex, options: BuildOptions
) -> BuildResult | None:
    """Bring an index up to the table's newest commit; None if it is.

    Raises:
        HudiError: It was refused, or failed; the message says what is as before.
    """
    return build_index(request, options, lambda work: carry_out(spark, work, options))


def carry_out(spark: SparkSession, work: Work, options: BuildOptions) -> BuildResult | None:
    """Do the prepared work; None if another process did it in the meantime. Raises HudiError."""
    with translate_spark_errors():
        if isinstance(work, RefreshPlan):
            refreshed = extension_refresh(spark, work.table, work.name, options)
            certify(spark, work.table.refreshed(), Store.EXTENSION)
            return refreshed
        notes, table = list(work.notes), work.table
        if work.planned.store is Store.EXTENSION:
            built = extension_build(spark, table, work.planned, options)
        else:
            lock = options.lock(table.storage)
            if work.replaced:
                # A build waits for writers: what it replaces answers until it can begin.
                wait_for_all_writers(table, options.wait, IndexConflict)
                partitions.drop(table, work.replaced, lock)
            if bootstrap.ensure_metadata_table(table.refreshed(), lock):
                notes.append("the table had no metadata table; one was made")
            built = hudi_build(spark, table.refreshed(), work.planned, options)
            built = replace(built, writer_options=writer_options(table.base_path))
        certify(spark, table.refreshed(), work.planned.store)
        return replace(built, notes=(*notes, *built.notes))
