"""Evaluate a function of a column for the rows of file slices, by Spark in the session's zone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_type

from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.expr.domains import type_widens
from pyhudi_expr.manage.indexing.expression_arguments import IDENTITY, arguments
from pyhudi_expr.rows.slice_files import FileSlice
from pyhudi_expr.rows.slice_rows import SliceReader, scalar_type
from pyhudi_expr.spark.jobs.batch_runner import each_item
from pyhudi_expr.spark.jobs.slice_frames import read_slices
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.changes.index_definitions import IndexDefinition

_DESCRIBED = {"partition": pa.string(), "file": pa.string(), "size": pa.int64()}


def function_results(
    spark: SparkSession, table: HudiTable, listing: FileListing, definition: IndexDefinition
) -> DataFrame:
    """Return rows of partition, file (null for merged slices), its size, and value.

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
    """Return the column's values: partition, file (null for merged slices), its size, value."""
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
