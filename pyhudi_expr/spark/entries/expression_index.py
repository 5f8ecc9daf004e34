"""Entries of `expr_index_*`: bounds of a function's results for a file, or a Bloom filter of them.

Spark evaluates the function (`function_results`), and aggregates the values by file and by
partition. As in Hudi the value count excludes nulls, the size is that of the file, and the
uncompressed size twice that. `expression_filters` has the Bloom filters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.spark.entries.batches import text_entries
from pyhudi_expr.spark.entries.expression_filters import expression_filters
from pyhudi_expr.spark.entries.function_results import function_results
from pyhudi_expr.spark.jobs.arrow_types import arrow_type
from pyhudi_expr.spark.jobs.shard_writer import ENTRIES
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.keys import column_stats_key, expression_partition_stats_key
from pyhudi_expr.tables.mdt.changes.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.mdt.records.value_types import Bound, ValueType, value_type

_UNCOMPRESSED_FACTOR = 2


def expression_index(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """Return the entries, see `entries.entries`."""
    if definition.type == hudi_names.BLOOM_FILTERS:
        return expression_filters(spark, table, listing, definition, shards)
    by_file, kind = _bounds(spark, table, listing, definition)
    # A merged slice counts for its partition only.
    every = by_file.where("file IS NOT NULL").unionByName(_by_partition(by_file))
    return every.mapInArrow(_encoder(definition.fields[0], kind, shards), ENTRIES)


def expression_of_files(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """Return the entries of base files, see `entries.file_entries`."""
    if definition.type == hudi_names.BLOOM_FILTERS:
        return expression_filters(spark, table, listing, definition, shards)
    by_file, kind = _bounds(spark, table, listing, definition)
    return by_file.mapInArrow(_encoder(definition.fields[0], kind, shards), ENTRIES)


def expression_of_partitions(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame | None:
    """Return the entries of partitions, see `entries.partition_entries`."""
    if definition.type == hudi_names.BLOOM_FILTERS:
        return None
    by_file, kind = _bounds(spark, table, listing, definition)
    encoder = _encoder(definition.fields[0], kind, shards)
    return _by_partition(by_file).mapInArrow(encoder, ENTRIES)


def _by_partition(by_file: DataFrame) -> DataFrame:
    """Return the bounds and counts of each partition, with a null file."""
    return by_file.groupBy("partition").agg(
        sql.lit(None).cast("string").alias("file"),
        sql.sum("size").alias("size"),
        sql.min("low").alias("low"),
        sql.max("high").alias("high"),
        sql.sum("values").alias("values"),
        sql.sum("nulls").alias("nulls"),
    )


def _bounds(
    spark: SparkSession, table: HudiTable, listing: FileListing, definition: IndexDefinition
) -> tuple[DataFrame, ValueType]:
    """Return the bounds and counts of each file (null for merged slices), and their type."""
    if definition.type != hudi_names.COLUMN_STATS:
        raise HudiError(
            f"{table.base_path}: {definition.name} is of no kind that is known ({definition.type})"
        )
    found = function_results(spark, table, listing, definition)
    result_type = found.schema["value"].dataType
    kind = value_type(arrow_type(result_type), definition.version)
    if kind is None:
        raise HudiError(f"{table.base_path}: {definition.name} gives values of {result_type}")
    bounds = _physical(result_type.typeName())
    aggregates = [sql.min(bounds).alias("low"), sql.max(bounds).alias("high")]
    aggregates += [
        sql.count("value").alias("values"),
        sql.count_if(sql.isnull("value")).alias("nulls"),
    ]
    return found.groupBy("partition", "file", "size").agg(*aggregates), kind


def _physical(type_name: str) -> Column:
    """Return the results in the physical form of bounds."""
    value = sql.col("value")
    match type_name:
        case "date":
            return sql.unix_date(value).cast("long")
        case "string":
            return value.cast("binary")
        case "boolean" | "byte" | "short" | "integer":
            return value.cast("long")
    return value


def _encoder(
    field: str, kind: ValueType, shards: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    def encode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield text_entries([_entry(row, field, kind) for row in batch.to_pylist()], shards)

    return encode


def _entry(row: dict[str, Any], field: str, kind: ValueType) -> tuple[str, bytes]:
    of_partition = row["file"] is None
    low, high = _bound(row["low"]), _bound(row["high"])
    stats = payloads.Statistics(
        described=row["partition"] if of_partition else row["file"],
        column=field,
        value_type=kind,
        bounds=None if low is None or high is None else (low, high),
        value_count=row["values"],
        null_count=row["nulls"],
        size=row["size"],
        uncompressed_size=row["size"] * _UNCOMPRESSED_FACTOR,
        is_tight=of_partition,
    )
    if of_partition:
        key = expression_partition_stats_key(field, row["partition"])
        return key, payloads.statistics(PARTITION_STATS, stats)
    key = column_stats_key(field, row["partition"], row["file"])
    return key, payloads.statistics(COLUMN_STATS, stats)


def _bound(value: PythonValue) -> Bound | None:
    if isinstance(value, Decimal):
        sign, digits, _ = value.as_tuple()
        unscaled = int("".join(map(str, digits)))
        return -unscaled if sign else unscaled
    return value
