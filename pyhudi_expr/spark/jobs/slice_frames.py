"""DataFrames of what Spark's tasks read from file slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.rows.slice_files import FileSlice, slice_of, slice_table
from pyhudi_expr.spark.jobs.batch_runner import Read, SparkRunner
from pyhudi_expr.tables.listing import FileListing

Extract = Callable[[Iterable[FileSlice]], Iterator[pa.RecordBatch]]
"""What is read of some slices, in their order."""


def read_slices(
    spark: SparkSession, listing: FileListing, extract: Extract, schema: str
) -> DataFrame:
    """Return a DataFrame of the batches that `extract` returns for the listing's slices.

    `schema` is that of the batches, as Spark's DDL.
    """
    return SparkRunner(spark).each(slice_table(listing), of_slices(extract), schema).frame


def of_slices(extract: Extract) -> Read:
    """Return the function for rows of `slice_table`."""
    return lambda rows: extract(map(slice_of, rows))
