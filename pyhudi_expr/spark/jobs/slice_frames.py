"""DataFrames of what Spark's tasks read from file slices: Arrow tables, and Spark's types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_type

from pyhudi_expr.spark.jobs.batch_runner import Read, SparkRunner
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.slices.slice_files import FileSlice, slice_of, slice_table


def to_ipc(rows: pa.Table | pa.RecordBatch) -> bytes:
    """Return the rows with their schema as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_ipc(stream: bytes | bytearray) -> pa.Table:
    """Return the inverse of `to_ipc`."""
    return pa.ipc.open_stream(pa.py_buffer(stream)).read_all()


# PySpark wants it since 4.2. The versions before take UTC themselves.
_ZONE: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
)


def arrow_type(type_: t.DataType) -> pa.DataType:
    """Return the Arrow type of a Spark type, with the zone UTC for timestamps that have one.

    Raises:
        PySparkTypeError: Arrow has none.
    """
    return to_arrow_type(type_, **_ZONE)


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
