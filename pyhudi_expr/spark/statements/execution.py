"""Run a statement, and return its result as rows of plain values.

The columns of the rows are those that the extension announces for the kind of statement
(`handler-java/spark`, `StatementKind`), in the same order.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from pyhudi_expr.arrays import string_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State, index_statuses
from pyhudi_expr.index.spark_partition_values import SparkPartitionColumns
from pyhudi_expr.manage.advice.query_history import (
    ObservedQueries,
    merge_queries,
    read_queries,
    read_query_log,
)
from pyhudi_expr.manage.advice.ranking import RankedIndex, advise
from pyhudi_expr.manage.indexing.build_options import BuildResult
from pyhudi_expr.manage.indexing.index_plan import KINDS
from pyhudi_expr.manage.indexing.statements import (
    AnalyzeIndexes,
    CreateIndex,
    Optimize,
    RefreshIndex,
    RefreshIndexes,
    SessionStatement,
    parse_session_statement,
)
from pyhudi_expr.manage.laying_out import Clustered
from pyhudi_expr.manage.layout.curves import Curve
from pyhudi_expr.manage.layout.row_order import Layout, Mapping
from pyhudi_expr.manage.layout.selection import Size
from pyhudi_expr.spark.clustering.clustering import ClusterOptions, cluster
from pyhudi_expr.spark.indexes import location, refresh_index, run, session_options
from pyhudi_expr.spark.query.partition_columns import ShownColumns
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable

_PATH = "__pyhudi_partition_path"


def matching_partitions(spark: SparkSession, table: HudiTable, condition: str) -> frozenset[str]:
    """Return the paths of the partitions for whose columns' values the condition is true.

    Args:
        spark: The session.
        table: The table.
        condition: In SQL, on partition columns alone.

    Raises:
        HudiError: The table is not partitioned, the condition is not valid or is on another column,
            or a path does not tell its values.
    """
    columns = SparkPartitionColumns.of(table.properties)
    names = ", ".join(table.properties.partition_fields)
    if not columns.fields:
        raise HudiError(f"{table.base_path}: the table has no partitions to choose by WHERE")
    schema = table.schema()
    fields = from_arrow_schema(schema.remove_metadata(), prefer_timestamp_ntz=True)
    shown = {
        each.name.lower(): each for each in ShownColumns.of(spark, table, schema, fields).types
    }
    rows = []
    for path in string_list(table.listing().partitions):
        texts = columns.texts(path)
        if any(text is None for text in texts):
            raise HudiError(
                f"{table.base_path}: the path {path!r} does not tell the values of {names}; leave"
                " WHERE out, or name partitions by pyhudi layout cluster --partition"
            )
        rows.append((path, *(text.text for text in texts if text is not None)))
    text_types = [StructField(name, StringType()) for name in (_PATH, *columns.fields)]
    values = spark.createDataFrame(rows, StructType(text_types)).select(
        _PATH,
        *(
            f.col(name).cast(shown[name].dataType).alias(shown[name].name)
            for name in columns.fields
        ),
    )
    try:
        chosen = values.where(condition).select(_PATH).collect()
    except PySparkException as error:
        reason = str(error).splitlines()[0]
        raise HudiError(
            f"{table.base_path}: WHERE chooses partitions, by {names} alone: {reason}"
        ) from error
    return frozenset(row[0] for row in chosen)


def attach() -> tuple[SparkSession, Any]:
    """Return the session, and the JVM's object that takes the statement's rows.

    The address of the JVM and its secret are in the environment, as for every driver in Python.
    """
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    statement = gateway.entry_point
    java_context = statement.context()
    settings = SparkConf(_jconf=java_context.getConf())
    context = SparkContext(gateway=gateway, jsc=java_context, conf=settings)
    # A first session would become the JVM's default, which is the application's business.
    session = SparkSession.__new__(SparkSession)
    session._sc = context
    SparkSession._instantiatedSession = session
    session.__init__(context, statement.session())  # type: ignore[misc] # once, and here
    return session, statement


def end_with_parent() -> None:
    """End this process when the JVM ends: its pipe to standard input is closed then."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


Row: TypeAlias = tuple[str | int | float | bool | None, ...]


class Application(Protocol):
    """What the application of a statement knows of its tables, and has to know."""

    def asked(self, table: str) -> Sequence[str]:
        """Return the conditions by which it has read the table with this base path."""

    def rewritten(self, table: str, instant: str) -> None:
        """Take the news that the commit of an instant has replaced files of a table."""


_OPTIONS = ("files", "file_bytes", "mapping", "statistics", "wait")


def execute(spark: SparkSession, text: str, application: Application) -> list[Row]:
    """Run one statement in a session: its database, its views and its settings.

    Args:
        spark: The session.
        text: The statement.
        application: That of the session.

    Raises:
        StatementError: The text is no statement of ours.
        HudiError: The statement failed; the table is as before.
    """
    statement = parse_session_statement(text)
    if isinstance(statement, CreateIndex) and statement.kind not in KINDS:
        raise HudiError(
            f"{statement.table}: there is no kind of index {statement.kind!r}: there are"
            f" {', '.join(KINDS)}"
        )
    return list(_rows(spark, statement, application))


def _rows(
    spark: SparkSession, statement: SessionStatement, application: Application
) -> Iterator[Row]:
    match statement:
        case Optimize():
            yield from _optimized(spark, statement, application)
        case AnalyzeIndexes():
            yield from _advice(spark, statement, application)
        case RefreshIndexes():
            for built in _refreshed(spark, location(spark, statement.table)):
                yield from _built(built)
        case CreateIndex(is_kind_implied=True):
            yield from _of_result(spark, _as_hudi_means(spark, statement))
        case _:
            yield from _of_result(spark, statement)


def _of_result(spark: SparkSession, statement: SessionStatement) -> Iterator[Row]:
    assert not isinstance(statement, Optimize | AnalyzeIndexes | RefreshIndexes)
    result = run(spark, statement, session_options(spark))
    if isinstance(result, list):
        yield from map(_status, result)
    elif result is not None:
        yield from _built(result)


def _as_hudi_means(spark: SparkSession, statement: CreateIndex) -> CreateIndex:
    """Return the statement with the kind that Hudi takes: `record_index` of the key's columns."""
    path = location(spark, statement.table)
    keys = HudiTable.open(path).properties.record_key_fields
    if not statement.columns or set(statement.columns) != set(keys):
        return replace(statement, table=path)
    return replace(statement, table=path, kind=RECORD_INDEX, columns=())


def _refreshed(spark: SparkSession, table: str) -> Iterator[BuildResult]:
    """Refresh the extension's indexes that lag; one refresh may bring up several."""
    options = session_options(spark)
    for status in index_statuses(HudiTable.open(table)):
        if status.store is Store.EXTENSION and status.state is not State.ACTIVE:
            built = refresh_index(spark, RefreshIndex(status.name, table), options)
            if built is not None:
                yield built


def _optimized(spark: SparkSession, statement: Optimize, application: Application) -> Iterator[Row]:
    path = location(spark, statement.table)
    options, mapping = _cluster_options(statement)
    layout = Layout(statement.columns, Curve(statement.curve), mapping)
    if statement.condition:
        opened = HudiTable.open(path)
        partitions = matching_partitions(spark, opened, statement.condition)
        options = replace(options, partitions=partitions)
    done = cluster(spark, path, layout, options)
    if done.instant is not None:
        application.rewritten(path, done.instant)
    yield _clustered(done)


def _cluster_options(statement: Optimize) -> tuple[ClusterOptions, Mapping]:
    """Return the options of an OPTIMIZE. Raises HudiError."""
    given = {key.lower(): value for key, value in statement.options.items()}
    unknown = [key for key in given if key not in _OPTIONS]
    if unknown:
        raise HudiError(f"OPTIMIZE has no option {unknown[0]!r}: there are {', '.join(_OPTIONS)}")
    try:
        size = Size(*(int(given[key]) if key in given else None for key in _OPTIONS[:2]))
        mapping = Mapping(given.get("mapping", Mapping.SAMPLED.value))
        statistics = {"true": True, "false": False}[given.get("statistics", "true").lower()]
        wait = float(given.get("wait", ClusterOptions().wait))
    except (ValueError, KeyError) as error:
        raise HudiError(f"an option of OPTIMIZE has a wrong value: {error}") from error
    return ClusterOptions(size=size, statistics=statistics, wait=wait), mapping


def _advice(
    spark: SparkSession, statement: AnalyzeIndexes, application: Application
) -> Iterator[Row]:
    path = location(spark, statement.table)
    named = [_queries(text, path) for text in statement.queries]
    queries = merge_queries(named or map(_asked_query, application.asked(path)))
    if not named and not queries.queries:
        raise HudiError(
            f"{path}: this application has not read the table by a condition that the advisor "
            "knows; name queries by FOR"
        )
    found = advise(path, queries.queries)
    yield from (_ranked(one, True) for one in found.recommendations)
    yield from (_ranked(one, False) for one in found.passed_over)


def _asked_query(text: str) -> ObservedQueries:
    try:
        return read_queries(text, "spark")
    except HudiError as error:  # Spark shows some of its own functions as no SQL
        return ObservedQueries((), (str(error),))


def _queries(text: str, table: str) -> ObservedQueries:
    """Read queries: those of a text, or of a file of SQL or a service's query log."""
    if not os.path.isfile(text):
        return read_queries(text, "spark")
    with open(text, encoding="utf-8") as file:
        content = file.read()
    is_log = content.startswith("{")
    return read_query_log(content, table) if is_log else read_queries(content, "spark")


def _built(built: BuildResult) -> Iterator[Row]:
    notes = "; ".join(built.notes)
    for partition, entries in built.records.items():
        yield built.name, partition, int(entries), int(built.bytes[partition]), built.instant, notes


def _status(status: IndexStatus) -> Row:
    columns = ",".join(status.columns)
    own = status.store.value, status.state.value, status.covers, status.note
    return status.name, status.kind, columns, *own


def _clustered(done: Clustered) -> Row:
    files = done.files_before, done.files_after, done.bytes_before, done.bytes_after
    return done.instant, ",".join(done.partitions), *files, "; ".join(done.notes)


def _ranked(one: RankedIndex, is_recommended: bool) -> Row:
    costs = one.costs
    saved = float(one.files), int(one.bytes), int(costs.storage), float(costs.build_seconds)
    written: Sequence[float] = (float(costs.bytes_of_row), float(costs.bytes_of_file))
    return one.sql, is_recommended, *saved, *written
