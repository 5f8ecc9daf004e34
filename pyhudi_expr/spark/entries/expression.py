"""Entries of `expr_index_*`: bounds of what a function of a column gives for a file's rows.

Spark evaluates the function, in the session's time zone, and aggregates the values by file and by
partition. As in Hudi a count of values leaves out the nulls, the size is that of the file, and the
uncompressed one twice that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from pyhudi_expr.mdt import payloads
from pyhudi_expr.mdt.index_definitions import IndexDefinition
from pyhudi_expr.mdt.keys import column_stats_key, expression_partition_stats_key
from pyhudi_expr.mdt.records import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.mdt.value_types import Bound, ValueType, value_type
from pyhudi_expr.spark.entries.batches import text_entries
from pyhudi_expr.spark.shards import ENTRIES
from pyhudi_expr.spark.slice_rows import SliceReader, scalar_type
from pyhudi_expr.spark.slices import FileSlice, read_slices
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing

_COLUMN_STATS = "column_stats"
#: What Hudi calls the functions, in Spark's SQL; the options that are their further arguments.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("year", "month", "day", "hour", "abs", "ceil", "floor"), ()),
    **dict.fromkeys(("upper", "lower", "trim", "ltrim", "rtrim", "length"), ()),
    **dict.fromkeys(("date_format", "from_unixtime"), ("format",)),
    **dict.fromkeys(("date_add", "date_sub"), ("days",)),
    "to_date": (),
}
_NUMBERS = frozenset({"days"})
_UNCOMPRESSED_FACTOR = 2
_DESCRIBED = {"partition": pa.string(), "file": pa.string(), "size": pa.int64()}


def expression_index(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """See `entries.entries`."""
    if definition.type != _COLUMN_STATS or len(definition.fields) != 1:
        raise HudiError(
            f"{table.base_path}: {definition.name} is no index of kind column_stats over one column"
        )
    (field,) = definition.fields
    values = _values(spark, table, listing, field)
    results = values.withColumn("value", _call(table, definition))
    result_type = results.schema["value"].dataType
    kind = value_type(to_arrow_type(result_type), definition.version)
    if kind is None:
        raise HudiError(f"{table.base_path}: {definition.name} gives values of {result_type}")
    bounds = _physical(result_type.typeName())
    found = [sql.min(bounds).alias("low"), sql.max(bounds).alias("high")]
    found += [sql.count("value").alias("values"), sql.count_if(sql.isnull("value")).alias("nulls")]
    by_file = results.groupBy("partition", "file", "size").agg(*found)
    by_partition = by_file.groupBy("partition").agg(
        sql.lit(None).cast("string").alias("file"),
        sql.sum("size").alias("size"),
        sql.min("low").alias("low"),
        sql.max("high").alias("high"),
        sql.sum("values").alias("values"),
        sql.sum("nulls").alias("nulls"),
    )
    # A merged slice counts for its partition only.
    every = by_file.where("file IS NOT NULL").unionByName(by_partition)
    return every.mapInArrow(_encoder(field, kind, shards), ENTRIES)


def _call(table: HudiTable, definition: IndexDefinition) -> Column:
    """The function of the column `value`, with its options. Raises HudiError."""
    name, options = definition.function, dict(definition.options)
    options.pop("expr", None)
    expected = _FUNCTIONS.get(name)
    if expected is None or options.keys() != set(expected):
        wanted = f" (with the options {', '.join(expected)})" if expected else ""
        raise HudiError(
            f"{table.base_path}: an index over {name!r} with the options {sorted(options)} is not "
            f"known{wanted}; known functions: {', '.join(sorted(_FUNCTIONS))}"
        )
    try:
        arguments = [int(options[o]) if o in _NUMBERS else options[o] for o in expected]
    except ValueError as error:
        raise HudiError(f"{table.base_path}: {definition.name}: {error}") from error
    return sql.call_function(name, sql.col("value"), *map(sql.lit, arguments))


def _values(spark: SparkSession, table: HudiTable, listing: FileListing, field: str) -> DataFrame:
    """The column's values: partition, file (null for merged slices), its size, value."""
    stored = _of_spark(scalar_type(table, table.schema(), field))
    try:
        spark_type = from_arrow_type(stored, prefer_timestamp_ntz=True).simpleString()
    except TypeError as error:
        raise HudiError(f"{table.base_path}: column {field!r}: {error}") from error
    reader = SliceReader.of(table, listing.instant)

    def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
        if one.base is not None:
            file = reader.storage().stat(one.path(one.base))
            alone = replace(one, logs=())
            yield from rows(alone, one.base, 0 if file is None else file.size)
        if one.logs or one.base is None:
            yield from rows(one, None, 0)

    def rows(one: FileSlice, file: str | None, size: int) -> Iterator[pa.RecordBatch]:
        described = (one.partition, file, size)
        for (values,) in reader.columns(one, [field]):
            same = [
                pa.repeat(pa.scalar(value, type_), len(values))
                for value, type_ in zip(described, _DESCRIBED.values(), strict=True)
            ]
            columns = [*same, values.cast(stored)]
            yield pa.record_batch(columns, names=[*_DESCRIBED, "value"])

    schema = f"partition string, file string, size long, value {spark_type}"
    return read_slices(spark, listing, extract, schema)


def _of_spark(type_: pa.DataType) -> pa.DataType:
    """The type in which Spark takes the values: it counts microseconds."""
    return pa.timestamp("us", type_.tz) if pa.types.is_timestamp(type_) else type_


def _physical(type_name: str) -> Column:
    """The results as what bounds are made of."""
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


def _bound(value: Any) -> Bound | None:
    if isinstance(value, Decimal):
        sign, digits, _ = value.as_tuple()
        unscaled = int("".join(map(str, digits)))
        return -unscaled if sign else unscaled
    return value  # type: ignore[no-any-return]
