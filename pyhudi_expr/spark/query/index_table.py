"""RFC-28's index table of a Hudi table, as a DataFrame.

>>> files = index_table(spark, "/warehouse/trips", ["fare"])
>>> keep = to_sql(index_filter(condition, schema, RFC28_COLUMNS), Dialect.SPARK)
>>> files.where(keep).select("file")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from pyhudi_expr.arrays import AnyArray, BoolArray, arrow_array, arrow_nulls
from pyhudi_expr.errors import UnknownColumn
from pyhudi_expr.expr.backend.index_filter import RFC28_COLUMNS
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Values
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Domain, domain_of
from pyhudi_expr.expr.terms import UnboundError, resolve
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.file_ranges import file_ranges, ordinal_values
from pyhudi_expr.spark.jobs.slice_frames import to_ipc

FILE = "file"
_FILES_OF_PART = 100_000


def index_table(
    spark: SparkSession,
    table: str,
    columns: Sequence[str] | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the index table of a table's newest snapshot, a row for each of its files.

    `file` is the path relative to the base path. For each column ``c`` there are ``c_minValue`` and
    ``c_maxValue``, of the column's type, and ``c_num_nulls``: null where the table's `column_stats`
    do not say it, where they are not trusted, and in file slices with log files, whose rows are of
    several files together. Use it with `index_filter(..., RFC28_COLUMNS)`.

    Args:
        spark: The session.
        table: The base path.
        columns: Columns that have an order, nested ones with dots. None: all those at the top.
        storage_options: Credentials and other settings of the table's storage, see `Storage.open`.

    Raises:
        HudiError: The table cannot be read, or has no such column (UnknownColumn).
    """
    pruner = Pruner(storage_options=storage_options)
    snapshot = pruner.open(table)
    listing = snapshot.listing
    is_whole = ~listing.of_files(listing.slice_has_logs)
    arrays: dict[str, AnyArray] = {
        FILE: pa.array(listing.paths(np.ones(listing.num_files, np.bool_)), pa.string())
    }
    for column in _columns(snapshot, columns):
        arrays |= _ranges(snapshot, column, is_whole)
    return _frame(spark, pa.table(arrays))


def _columns(snapshot: TableSnapshot, names: Sequence[str] | None) -> Iterator[BoundColumn]:
    schema = snapshot.schema
    for name in schema.names if names is None else names:
        try:
            found, type_ = resolve(tuple(name.split(".")), schema)
        except UnboundError as error:
            raise UnknownColumn(f"{snapshot.table.base_path}: {error}") from error
        domain = domain_of(type_)
        if domain is not None:
            yield BoundColumn(found, type_, domain)
        elif names is not None:
            raise UnknownColumn(
                f"{snapshot.table.base_path}: the column {name} of type {type_} has no order"
            )


def _ranges(
    snapshot: TableSnapshot, column: BoundColumn, is_whole: BoolArray
) -> dict[str, AnyArray]:
    # An old file of a table whose columns were renamed may hold another column of that name.
    stats = None if snapshot.is_evolved else snapshot.column_stats
    found = file_ranges(stats, snapshot.listing, column)
    bounds, named = found.bounds, RFC28_COLUMNS
    doubted = np.asarray(bounds.may_be_null) & (found.nulls <= 0)
    ends = ((named.low, bounds.lower, MIN_ORDINAL), (named.high, bounds.upper, MAX_ORDINAL))
    return {
        **{
            f"{column.name}{end}": pc.if_else(
                pa.array(is_whole),
                _values(values, unknown, column.domain, column.type),
                pa.scalar(None, column.type),
            )
            for end, values, unknown in ends
        },
        f"{column.name}{named.nulls}": arrow_array(found.nulls, doubted | ~is_whole),
    }


def _values(ends: Values, unknown: int, domain: Domain, type_: pa.DataType) -> AnyArray:
    """Return bounds as values of the column's type; null where they are unknown, or no value."""
    if domain.is_ordinal:
        try:
            values = ordinal_values(ends, domain).cast(type_)
        except pa.ArrowInvalid:  # a bound that was loosened beyond the type
            return arrow_nulls(len(ends), type_)
        return pc.if_else(pa.array(ends == unknown), pa.scalar(None, type_), values)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        # A bound that was loosened may be no text.
        return pa.array([_text(value) for value in ends.to_pylist()], type_)
    return ends.cast(type_)


def _text(value: bytes | str | None) -> str | None:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return None


def _frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    starts = range(0, max(len(rows), 1), _FILES_OF_PART)
    parts = [(to_ipc(rows.slice(start, _FILES_OF_PART)),) for start in starts]
    dealt = spark.createDataFrame(spark.sparkContext.parallelize(parts, len(parts)), "part binary")

    def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column("part"):
                yield from pa.ipc.open_stream(part.as_buffer()).read_all().to_batches()

    return dealt.mapInArrow(unpacked, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))
