"""RFC-28's index table of a Hudi table, as a DataFrame.

>>> files = index_table(spark, "/warehouse/trips", ["fare"])
>>> keep = to_sql(index_filter(condition, schema, RFC28_COLUMNS), Dialect.SPARK)
>>> files.where(keep).select("file")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, arrow_array, arrow_nulls
from pyhudi_expr.errors import UnknownColumn
from pyhudi_expr.expr.backend.index_filter import RFC28_COLUMNS, TOTAL_ROWS
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Domain, Values, domain_of
from pyhudi_expr.expr.terms import UnboundError, resolve
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.index.row_counts import Counts
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.file_ranges import (
    UNKNOWN,
    FileRanges,
    file_ranges,
    ordinal_values,
)
from pyhudi_expr.index.statistics.parquet_footers import read_row_counts
from pyhudi_expr.spark.jobs.slice_frames import to_ipc

FILE = "file"
_FILES_OF_PART = 100_000
_FOOTER_WAIT = 600.0  # seconds


def index_table(
    spark: SparkSession,
    table: str,
    columns: Sequence[str] | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the index table of a table's newest snapshot, a row for each of its files.

    `file` is the path relative to the base path, `totalNum` its number of rows. For each column
    ``c`` there are ``c_minValue`` and ``c_maxValue``, of the column's type, and ``c_num_nulls``.
    They come of `column_stats`, and of the file's footer where these have no entry, or none that is
    trusted; all are read. What neither says is null, and so is everything in file slices with log
    files, whose rows are of several files together. Use it with `index_filter(...,
    RFC28_COLUMNS)`.

    Args:
        spark: The session.
        table: The base path.
        columns: Columns that have an order, nested ones with dots. None: all those at the top.
        storage_options: Credentials and other settings of the table's storage, see `Storage.open`.

    Raises:
        HudiError: The table cannot be read, or has no such column (UnknownColumn).
    """
    options = PruneOptions(footers=True, footer_wait=_FOOTER_WAIT)
    snapshot = Pruner(options, storage_options=storage_options).open(table)
    listing = snapshot.listing
    is_whole = ~listing.of_files(listing.slice_has_logs)
    rows = _rows(snapshot, is_whole)
    paths = listing.paths(np.ones(listing.num_files, np.bool_))
    arrays: dict[str, AnyArray] = {
        FILE: pa.array(paths, pa.string()),
        TOTAL_ROWS: arrow_array(rows, rows == UNKNOWN),
    }
    for column in _columns(snapshot, columns):
        arrays |= _arrays(column, _ranges(snapshot, column), is_whole, rows)
    return _frame(spark, pa.table(arrays))


def _rows(snapshot: TableSnapshot, is_whole: BoolArray) -> Counts:
    """Return the rows of each file that is a whole slice, UNKNOWN of others."""
    rows = np.where(is_whole, snapshot.base_file_rows(), UNKNOWN)
    unread = np.flatnonzero(is_whole & (rows == UNKNOWN))
    rows[unread] = read_row_counts(snapshot.table.storage, snapshot.listing.paths(unread))
    return rows


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


def _ranges(snapshot: TableSnapshot, column: BoundColumn) -> FileRanges:
    """Return the ranges by `column_stats`, with the bounds of footers where these are better."""
    if snapshot.is_evolved or snapshot.column_stats is None:
        # An old file of a table whose columns were renamed may hold another column of that name.
        return file_ranges(None, snapshot.listing, column)
    stats, partitions = snapshot.column_stats, np.ones(len(snapshot.listing.partitions), np.bool_)
    found = file_ranges(stats, snapshot.listing, column)
    loaded = stats.load([column], partitions, _FOOTER_WAIT)
    return replace(found, bounds=loaded.bounds(column) or found.bounds)


def _arrays(
    column: BoundColumn, found: FileRanges, is_whole: BoolArray, rows: Counts
) -> dict[str, AnyArray]:
    bounds, named, nulls = found.bounds, RFC28_COLUMNS, _nulls(found, rows)
    ends = ((named.low, bounds.lower, MIN_ORDINAL), (named.high, bounds.upper, MAX_ORDINAL))
    has_ends = pa.array(is_whole & bounds.may_be_value)
    return {
        **{
            f"{column.name}{end}": pc.if_else(
                has_ends,
                _values(values, unknown, column.domain, column.type),
                pa.scalar(None, column.type),
            )
            for end, values, unknown in ends
        },
        f"{column.name}{named.nulls}": arrow_array(nulls, ~is_whole | (nulls == UNKNOWN)),
    }


def _nulls(found: FileRanges, rows: Counts) -> Int64Array:
    """Return the numbers of nulls that agree with the bounds, UNKNOWN elsewhere.

    A file without statistics is written as one of nulls alone.
    """
    may_be_value, may_be_null = (
        np.asarray(flags) for flags in (found.bounds.may_be_value, found.bounds.may_be_null)
    )
    all_null = (rows != UNKNOWN) & (found.nulls >= rows)
    some = np.where(all_null | (found.nulls == 0), UNKNOWN, found.nulls)
    return np.where(may_be_value, np.where(may_be_null, some, 0), rows)


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
