"""A DataFrame of what is read of file slices, in Spark's tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.reading.slice_files import FileSlice, slice_of, slice_table
from pyhudi_expr.spark.jobs.batch_runner import Read, SparkRunner
from pyhudi_expr.table.listing import FileListing

Extract = Callable[[Iterable[FileSlice]], Iterator[pa.RecordBatch]]
"""What is read of some slices, in their order."""


def read_slices(
    spark: SparkSession, listing: FileListing, extract: Extract, schema: str
) -> DataFrame:
    """A DataFrame of what `extract` gives for the slices of the listing, in Spark's tasks.

    schema: that of the batches, as Spark's DDL.
    """
    return SparkRunner(spark).each(slice_table(listing), of_slices(extract), schema).frame


def of_slices(extract: Extract) -> Read:
    """The same for rows of `slice_table`."""
    return lambda rows: extract(map(slice_of, rows))
