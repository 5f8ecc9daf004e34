"""DataFrames over Hudi tables that read only the files that can match a condition.

`pyhudi_expr.index.prune` prunes the files, as for Hive. Spark's own Parquet reader reads slices
without log files. Hudi's reader (whose bundle must be on the driver's class path then) reads slices
with log files, or of another schema than the table's.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pyhudi_expr.arrays import BoolArray, string_list
from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.index.limits.narrowing import narrowed
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest, PruneResult
from pyhudi_expr.rows.file_columns import SchemaEvolution
from pyhudi_expr.rows.sorting import Order, SortKey, sort_keys, wanted_rows
from pyhudi_expr.spark.clustering.clustering_client import ClusteringClient
from pyhudi_expr.spark.clustering.write_client import slice_files
from pyhudi_expr.spark.jobs.batch_runner import SparkRunner
from pyhudi_expr.spark.query.partition_columns import ShownColumns
from pyhudi_expr.spark.query.predicates import predicate_of
from pyhudi_expr.spark.query.sharded_bounds import ShardedEvaluation
from pyhudi_expr.spark.virtual_keys.key_column import hide_keys
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import COMMIT_TIME
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.properties import StatedBuckets
from pyhudi_expr.tables.slices.slice_files import check_supported
from pyhudi_expr.tables.storage import using_storage_options
from pyhudi_expr.tables.timeline import query_instant

_LOG = logging.getLogger(__name__)
#: The option with which Hudi's reader maps the columns of older files.
_SCHEMA_WITH_IDS = "hoodie.internal.schema"
#: Spark's own option: paths are names, and `[`, `{`, `*` are not patterns.
_GLOB_PATHS = "__globPaths__"


@dataclass(frozen=True)
class PrunedTable:
    """A table's rows for which a condition is TRUE.

    Attributes:
        frame: Reads the kept files only.
        result: Which files are kept, and why.
    """

    frame: DataFrame
    result: PruneResult


def pruned(
    spark: SparkSession,
    table: str,
    condition: Column | str,
    *,
    view: TableView = TableView.SNAPSHOT,
    as_of: str | None = None,
    since: str | None = None,
    limit: int | None = None,
    order_by: Order | None = None,
    pruner: Pruner | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the rows of a table for which a condition is TRUE, meta columns first.

    The logical plan (``explain(True)``) shows how many files are dropped. If the session's options
    for Hudi's writers (`SET hoodie.index.type = BUCKET` and so on) state the number of buckets,
    equalities of the hashed columns prune by them.

    Args:
        spark: The session.
        table: The base path.
        condition: A SQL text or a `Column`. None: all rows.
        view: The view of the table.
        as_of: An instant or a date for time travel.
        since: An instant or a date for an incremental read: only rows written after it.
        limit: Maximum number of rows; files that are not needed for them are not read.
        order_by: The order of the rows, see `sort_keys`.
        pruner: A pruner with other options, or with the table in its cache.
        storage_options: Credentials and other settings for this package's own reads of the table,
            see `Storage.open`. Spark reads the rows with its own settings (`spark.hadoop.*`).

    Raises:
        HudiError: The table cannot be read.
        AnalysisException: The condition is not valid for the table (from Spark).
        InvalidType: `order_by` has another type.
        InvalidValue: `order_by` cannot be understood.
    """
    return prune_table(
        spark,
        table,
        condition,
        view=view,
        as_of=as_of,
        since=since,
        limit=limit,
        order_by=order_by,
        pruner=pruner,
        storage_options=storage_options,
    ).frame


def prune_table(
    spark: SparkSession,
    table: str,
    condition: Column | str,
    *,
    view: TableView = TableView.SNAPSHOT,
    as_of: str | None = None,
    since: str | None = None,
    limit: int | None = None,
    order_by: Order | None = None,
    pruner: Pruner | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> PrunedTable:
    """Return the rows as in `pruned`, with the result of pruning."""
    with using_storage_options(storage_options):
        opened = HudiTable.open(table)
        check_supported(opened)
        as_of = query_instant(as_of)
        schema = opened.schema(as_of)
        columns = ShownColumns.of(spark, opened, schema, _spark_schema(opened, schema))
        read_predicate = predicate_of(spark.createDataFrame([], columns.types), condition)
        request = PruneRequest(
            read_predicate.expression,
            view,
            read_predicate.semantics,
            as_of,
            since,
            columns.reader,
            _stated_buckets(spark),
        )
        keys = sort_keys(order_by)
        result = _prune(pruner or pruner_of(spark), table, request, limit, keys)
        evolution = SchemaEvolution.of(opened, result)
        if evolution is not None and not evolution.is_newest:
            raise UnsupportedTable(
                f"{table}: columns were renamed or retyped since {result.instant}, and Hudi's "
                "reader knows them by their names of now only"
            )
        rows = hide_keys(_rows(spark, opened, columns, result, evolution), opened).where(condition)
        if request.since is not None:
            rows = rows.where(rows[COMMIT_TIME] > request.since)
        rows = rows.orderBy(*map(_spark_key, keys)) if keys else rows
        rows = rows if limit is None else rows.limit(limit)
        dropped = result.files_total - result.files_kept
        _LOG.info("%s: %d of %d files are dropped", table, dropped, result.files_total)
        return PrunedTable(rows.alias(f"{dropped} of {result.files_total} files dropped"), result)


def _stated_buckets(spark: SparkSession) -> StatedBuckets | None:
    """Return what the session's options for Hudi's writers state of a table's buckets."""
    given = {name: spark.conf.get(name, None) for name in hudi_names.OF_BUCKETS}
    return StatedBuckets.of({name: str(text) for name, text in given.items() if text is not None})


def _prune(
    pruner: Pruner, table: str, request: PruneRequest, limit: int | None, keys: Sequence[SortKey]
) -> PruneResult:
    snapshot = pruner.open(table, request.view, request.as_of)
    result = pruner.prune_snapshot(snapshot, request)
    return narrowed(pruner, snapshot, request, result, wanted_rows(limit, keys))


def _spark_key(key: SortKey) -> Column:
    column, nulls = functions.col(key.column), "first" if key.nulls_first else "last"
    direction = "desc" if key.descending else "asc"
    found: Column = getattr(column, f"{direction}_nulls_{nulls}")()
    return found


def pruner_of(spark: SparkSession, cache_bytes: int = 1 << 30) -> Pruner:
    """Return a pruner that leaves to Spark's tasks what exceeds the driver's memory.

    `cache_bytes` is the limit of that memory, see `PruneOptions`.
    """
    streaming = ShardedEvaluation(SparkRunner(spark))
    return Pruner(PruneOptions(cache_bytes=cache_bytes, streaming=streaming))


def _spark_schema(table: HudiTable, schema: pa.Schema) -> StructType:
    try:
        return from_arrow_schema(schema.remove_metadata(), prefer_timestamp_ntz=True)
    except Exception as error:  # of several kinds, by the version of PySpark
        raise UnsupportedTable(f"{table.base_path}: a type that Spark lacks: {error}") from error


def _rows(
    spark: SparkSession,
    table: HudiTable,
    columns: ShownColumns,
    result: PruneResult,
    evolution: SchemaEvolution | None,
) -> DataFrame:
    """Return all rows of the kept slices."""
    listing = result.listing
    merged = listing.slice_has_logs | ~_has_current_types(table, listing, result.keep)
    if evolution is not None:
        merged |= evolution.changed(listing)
    frames = []
    for part in columns.parts(listing, result.keep):
        plain = listing.of_files(part.slices & ~merged)
        if plain.any():
            read = _by_spark(spark, table, columns.fields, listing.paths(plain))
            frames.append(columns.shown(read, part))
        if (part.slices & merged).any():
            read = _by_hudi(spark, table, listing.some(part.slices & merged), evolution)
            frames.append(columns.shown(read, part))
    return _united(frames) if frames else spark.createDataFrame([], columns.types)


def _united(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the union of the rows, in a plan that is not as deep as there are frames."""
    if len(frames) == 1:
        return frames[0]
    middle = len(frames) // 2
    return _united(frames[:middle]).union(_united(frames[middle:]))


def _by_spark(
    spark: SparkSession, table: HudiTable, fields: StructType, paths: Sequence[str]
) -> DataFrame:
    """Return the rows of Parquet files, by their paths relative to the table's base path."""
    root = table.base_path.rstrip("/")
    reader = spark.read.schema(fields).option(_GLOB_PATHS, "false")
    return reader.parquet(*(f"{root}/{path}" for path in paths))


def _has_current_types(table: HudiTable, listing: FileListing, slices: BoolArray) -> BoolArray:
    """Return for each slice whether its base file has the columns' current types.

    Spark's reader widens few types, and Hudi's all that a table may have changed.
    """
    instants = string_list(listing.slice_base_instant.filter(pa.array(slices)).unique())
    now = table.schema(listing.instant)
    alike = pa.array([one for one in instants if _is_of(table, now, one)], pa.string())
    flags: BoolArray = np.asarray(pc.is_in(listing.slice_base_instant, value_set=alike))
    return flags


def _is_of(table: HudiTable, now: pa.Schema, instant: str) -> bool:
    try:
        then = table.schema(instant)
    except HudiError:  # archived, with its schema
        return False
    present = set(then.names)
    return all(then.field(field.name).type == field.type for field in now if field.name in present)


def _by_hudi(
    spark: SparkSession, table: HudiTable, listing: FileListing, evolution: SchemaEvolution | None
) -> DataFrame:
    """Return the rows of slices, merged by Hudi as of the listing's instant."""
    options = {
        hudi_names.METADATA_ENABLE: "false",
        hudi_names.EMBED_TIMELINE_SERVER: "false",
        hudi_names.WRITE_AUTO_UPGRADE: "false",
        hudi_names.WRITE_TABLE_VERSION: str(table.properties.version),
    }
    if table.properties.record_key_fields:
        # In a session with a bucket index Hudi's client does not start without it.
        key = ",".join(table.properties.record_key_fields)
        options[hudi_names.WRITE_RECORDKEY_FIELD] = key
    if evolution is not None:
        options[_SCHEMA_WITH_IDS] = evolution.now.json
    with closing(ClusteringClient.open(spark, table.base_path, options)) as client:
        return client.frame(list(slice_files(listing)), listing.instant or "")
