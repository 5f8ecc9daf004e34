"""Entries of `expr_index_*`: bounds or Bloom filters of a function's results, by Spark.

Spark evaluates the function, and aggregates the values by file and by partition. Log files count as
in `file_statistics`. As in Hudi the value count excludes nulls, the size is that of the file, and
the uncompressed size twice that.

A Bloom filter has a function's results for the rows of a base file, as text of Java's
``toString``. Nulls are in no filter: nothing equals them. Hudi's own writers fail on them, so an
index that these maintain must not meet any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_type

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.expr.domains import type_widens
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.manage.indexing.index_plan import IDENTITY, arguments
from pyhudi_expr.spark.jobs.batch_runner import each_item
from pyhudi_expr.spark.jobs.shard_writer import ENTRIES, text_entries
from pyhudi_expr.spark.jobs.slice_frames import arrow_type, read_slices
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import base_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import (
    bloom_filter_key,
    column_stats_key,
    expression_partition_stats_key,
)
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.bloom_filter import SIMPLE, FilterBuilder
from pyhudi_expr.tables.mdt.records.metadata_records import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.mdt.records.value_types import Bound, ValueType, value_type
from pyhudi_expr.tables.slices.log_rows import log_values
from pyhudi_expr.tables.slices.slice_files import FileSlice
from pyhudi_expr.tables.slices.slice_rows import SliceReader, leaf, scalar_type

_DESCRIBED = {"partition": pa.string(), "file": pa.string(), "size": pa.int64()}


def function_results(
    spark: SparkSession, table: HudiTable, listing: FileListing, definition: IndexDefinition
) -> DataFrame:
    """Return rows of partition, file, its size, and value.

    The rows of a file are adjacent. The function and its options are those of the index.

    Raises:
        HudiError: The function is not supported.
    """
    if len(definition.fields) != 1:
        raise HudiError(f"{table.base_path}: {definition.name} is not over one column")
    values = _values(spark, table, listing, definition.fields[0])
    return values.withColumn("value", _call(definition))


def _call(definition: IndexDefinition) -> Column:
    """Return the function of the column `value`. Raises HudiError."""
    further = map(sql.lit, arguments(definition))
    value = sql.col("value")
    if definition.function == IDENTITY:
        return value
    return sql.call_function(definition.function, value, *further)


def _values(spark: SparkSession, table: HudiTable, listing: FileListing, field: str) -> DataFrame:
    """Return the column's values: partition, file, its size, value."""
    stored = _of_spark(scalar_type(table, table.schema(), field))
    try:
        spark_type = from_arrow_type(stored, prefer_timestamp_ntz=True).simpleString()
    except TypeError as error:
        raise HudiError(f"{table.base_path}: column {field!r}: {error}") from error
    reader = SliceReader.of(table, listing.instant)

    def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
        if one.base is not None:
            alone = replace(one, logs=())
            yield from rows(one, one.base, (part for (part,) in reader.columns(alone, [field])))
        root = field.partition(".")[0]
        for log in one.logs:
            blocks = log_values(reader.storage(), one.path(log), [root])
            yield from rows(one, log, (leaf(block, field) for block in blocks))

    def rows(one: FileSlice, file: str, parts: Iterable[AnyArray]) -> Iterator[pa.RecordBatch]:
        stat = reader.storage().stat(one.path(file))
        described = (one.partition, file, 0 if stat is None else stat.size)
        for values in parts:
            if not (pa.types.is_null(values.type) or type_widens(values.type, stored)):
                raise UnsupportedTable(
                    f"{reader.base_uri}: {one.name} holds column {field!r} as {values.type}, of "
                    f"which readers make other values of type {stored}; rewrite the file"
                )
            same = [
                pa.array([value] * len(values), type_)
                for value, type_ in zip(described, _DESCRIBED.values(), strict=True)
            ]
            columns = [*same, values.cast(stored)]
            yield pa.record_batch(columns, names=[*_DESCRIBED, "value"])

    schema = f"partition string, file string, size long, value {spark_type}"
    return read_slices(spark, listing, each_item(extract), schema)


def _of_spark(type_: pa.DataType) -> pa.DataType:
    """Return the type in which Spark takes the values: it counts microseconds."""
    return pa.timestamp("us", type_.tz) if pa.types.is_timestamp(type_) else type_


# Spark's names of types whose texts are the same in all engines.
_SPELLED = ("string", "byte", "short", "integer", "long", "date", "boolean")
_File = tuple[str, str]


def expression_filters(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """Return the entries, see `entries.entries`."""
    found = function_results(spark, table, listing.base_files_only(), definition)
    type_name = found.schema["value"].dataType.typeName()
    if type_name not in _SPELLED:
        raise HudiError(
            f"{table.base_path}: {definition.name} gives values of type {type_name}, whose texts "
            "differ between engines; use the kind column_stats"
        )
    texts = found.select("partition", "file", sql.col("value").cast("string"))
    return texts.mapInArrow(filter_maker(shards), ENTRIES)


def filter_maker(
    shards: int,
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """Return the step from the texts of files (partition, file, value) to entries.

    The texts of a file have to be adjacent.
    """

    def make(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the entries of batches."""
        for (partition, name), texts in _by_file(batches):
            builder = FilterBuilder(len(texts))
            builder.add(ByteStrings.from_arrow(texts.cast(pa.large_binary())))
            instant = base_files(pa.array([name]), "parquet").instant[0].as_py()
            value = payloads.bloom_filter(SIMPLE, instant, builder.text())
            yield text_entries([(bloom_filter_key(partition, name), value)], shards)

    return make


def _by_file(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[_File, AnyArray]]:
    """Return the distinct texts of each file; those of one file are in memory."""
    current: _File | None = None
    held: list[AnyArray] = []
    for batch in batches:
        start = 0
        for length, file in _runs(batch):
            if file != current and current is not None:
                yield current, _distinct(held)
                held = []
            current = file
            held.append(batch.column("value").slice(start, length).unique())
            start += length
    if current is not None:
        yield current, _distinct(held)


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[int, _File]]:
    """Return how many adjacent rows belong to which file."""
    both = pc.binary_join_element_wise(batch.column("partition"), batch.column("file"), "\n")
    runs = pc.run_end_encode(both, pa.int32())
    start = 0
    for end, name in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        partition, _, file = name.partition("\n")
        yield end - start, (partition, file)
        start = end


def _distinct(texts: list[AnyArray]) -> AnyArray:
    return pc.drop_null(pa.concat_arrays(texts).unique())


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
    every = by_file.unionByName(_by_partition(by_file))
    return every.mapInArrow(_encoder(definition.fields[0], kind, shards), ENTRIES)


def expression_of_files(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """Return the entries of files, see `entries.file_entries`."""
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
    """Return the bounds and counts of each file, and their type."""
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
