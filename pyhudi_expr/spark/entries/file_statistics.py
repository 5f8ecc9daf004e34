"""Statistics of each file and column, from which column_stats and partition_stats are computed.

Those of a log file are of the values in its blocks, those of deleted and replaced rows included.
Hudi's writers compute the ranges of a partition from the entries of all its files, so a log file
without an entry would make these too narrow at the next write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.arrays import AnyArray, arrow_schema_of
from pyhudi_expr.errors import CorruptFile, UnsupportedTable
from pyhudi_expr.expr.domains import domain_of, type_widens
from pyhudi_expr.spark.entries.bounds import Range, converted, footer_range, value_range
from pyhudi_expr.spark.jobs.batch_runner import each_item
from pyhudi_expr.spark.jobs.slice_frames import read_slices
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records.value_types import Bound, ValueType, value_type
from pyhudi_expr.tables.parquet.calendars import INT96
from pyhudi_expr.tables.slices.log_rows import log_values
from pyhudi_expr.tables.slices.slice_files import FileSlice
from pyhudi_expr.tables.slices.slice_rows import (
    SliceReader,
    leaf,
    leaf_types,
    parquet_columns,
    parquet_file,
    scalar_type,
)

SCHEMA = arrow_schema_of(
    [
        pa.field("partition", pa.string(), False),
        pa.field("file", pa.string()),
        pa.field("column", pa.string(), False),
        pa.field("is_known", pa.bool_(), False),
        pa.field("wrapper", pa.string()),
        pa.field("ordinal", pa.int32()),
        pa.field("info", pa.string()),
        *(
            pa.field(f"{side}_{kind}", type_)
            for kind, type_ in (
                ("long", pa.int64()),
                ("double", pa.float64()),
                ("bytes", pa.binary()),
                ("decimal", pa.decimal128(38, 0)),
            )
            for side in ("low", "high")
        ),
        pa.field("value_count", pa.int64(), False),
        pa.field("null_count", pa.int64(), False),
        pa.field("size", pa.int64(), False),
        pa.field("uncompressed_size", pa.int64(), False),
    ]
)
"""Of one row for each file and column. The bounds are in the pair of columns of their kind, null
where there is no value; wrapper, ordinal and info are those of the column's `ValueType` (bounds of
decimals are rescaled already), all null where the file does not have the column: its rows count as
nulls. Not known is what a file holds in a type that does not widen to the column's."""
DDL = (
    "partition string, file string, column string, is_known boolean, "
    "wrapper string, ordinal int, info string, "
    "low_long long, high_long long, low_double double, high_double double, "
    "low_bytes binary, high_bytes binary, low_decimal decimal(38,0), high_decimal decimal(38,0), "
    "value_count long, null_count long, size long, uncompressed_size long"
)
"""The same for Spark."""

Row = dict[str, Any]


@dataclass(frozen=True)
class _Column:
    """A column with its current type in the table, and how its bounds are wrapped."""

    name: str
    type: pa.DataType
    wrapped: ValueType


@dataclass(frozen=True)
class FileStatistics:
    """Computes the statistics of slices in the tasks."""

    reader: SliceReader
    columns: tuple[_Column, ...]

    @staticmethod
    def of(table: HudiTable, instant: str | None, definition: IndexDefinition) -> FileStatistics:
        """Prepare for slices of a listing at `instant`.

        Raises:
            HudiError: There is no such column, or its type has no statistics.
        """
        columns = tuple(_column(table, name, definition.version) for name in definition.fields)
        return FileStatistics(SliceReader.of(table, instant), columns)

    def of_files(self, one: FileSlice) -> list[Row]:
        """Return the rows of the slice's files, by `SCHEMA`; nulls may be omitted."""
        rows = list(_of_base_file(self.reader, one, self.columns))
        for log in one.logs:
            rows.extend(_of_log_file(self.reader, one, log, self.columns))
        return rows

    def frame(self, spark: SparkSession, listing: FileListing) -> DataFrame:
        """Return the rows of all slices."""

        def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_pylist(self.of_files(one), SCHEMA)

        return read_slices(spark, listing, each_item(extract), DDL)


def _column(table: HudiTable, name: str, index_version: str) -> _Column:
    type_ = scalar_type(table, table.schema(), name)
    wrapped = value_type(type_, index_version)
    if wrapped is None:
        raise UnsupportedTable(
            f"{table.base_path}: Hudi keeps no statistics of column {name!r} of type {type_} "
            f"in indexes of version {index_version}"
        )
    return _Column(name, type_, wrapped)


def _of_base_file(reader: SliceReader, one: FileSlice, columns: Sequence[_Column]) -> Iterator[Row]:
    if one.base is None:
        return
    path = one.path(one.base)
    label = f"{reader.base_uri}/{path}"
    with parquet_file(reader.storage(), path) as file:
        footer = file.metadata
        positions = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
        stored = leaf_types(footer.schema.to_arrow_schema())
        for column in columns:
            identity = {"partition": one.partition, "file": one.base, "column": column.name}
            if column.name not in positions:
                yield {**identity, "is_known": True, **_nulls(footer.num_rows)}
                continue
            position = positions[column.name]
            own = _own_type(footer, position, stored.get(column.name))
            if own is None or not type_widens(own, column.type):
                yield {**identity, "is_known": False, **_nulls(footer.num_rows)}
                continue
            found = footer_range(footer, position, own)
            bounds, nulls = found.range, found.null_count
            if not found.is_known:
                bounds, nulls = value_range(_values(file, column.name, own, label))
            yield {
                **identity,
                **_typed(column, own, bounds),
                "value_count": found.value_count,
                "null_count": nulls,
                "size": found.size,
                "uncompressed_size": found.uncompressed_size,
            }


def _own_type(
    footer: pq.FileMetaData, position: int, stored: pa.DataType | None
) -> pa.DataType | None:
    """Return the type of the file's values; None if it is no scalar."""
    if footer.schema.column(position).physical_type == "INT96":
        return INT96
    if stored is None or not pa.types.is_dictionary(stored):
        return stored
    return stored.value_type


def _values(file: pq.ParquetFile, name: str, type_: pa.DataType, label: str) -> Iterator[AnyArray]:
    for (values,) in parquet_columns(file, [name], label):
        yield _cast(values, type_, label)


def _cast(values: AnyArray, type_: pa.DataType, label: str) -> AnyArray:
    try:
        return values.cast(type_)
    except pa.ArrowException as error:
        raise CorruptFile(label, f"its values are not {type_}: {error}") from error


def _of_log_file(
    reader: SliceReader, one: FileSlice, log: str, columns: Sequence[_Column]
) -> Iterator[Row]:
    path = one.path(log)
    label = f"{reader.base_uri}/{path}"
    roots = list(dict.fromkeys(column.name.partition(".")[0] for column in columns))
    blocks = list(log_values(reader.storage(), path, roots))
    for column in columns:
        values = [leaf(block, column.name) for block in blocks]
        identity = {"partition": one.partition, "file": log, "column": column.name}
        rows = sum(map(len, values))
        if not all(pa.types.is_null(v.type) or type_widens(v.type, column.type) for v in values):
            yield {**identity, "is_known": False, **_nulls(rows)}
            continue
        bounds, nulls = value_range(_cast(part, column.type, label) for part in values)
        yield {
            **identity,
            **_typed(column, column.type, bounds),
            "value_count": rows,
            "null_count": nulls,
            "size": 0,
            "uncompressed_size": 0,
        }


def _nulls(rows: int) -> Row:
    return {"value_count": rows, "null_count": rows, "size": 0, "uncompressed_size": 0}


def _typed(column: _Column, own: pa.DataType, bounds: Range | None) -> Row:
    """Return the bounds, which are of type `own`, in the column's type."""
    type_ = column.wrapped
    row: Row = {"wrapper": type_.wrapper, "ordinal": type_.ordinal, "info": type_.info}
    stored, domain = domain_of(own), domain_of(column.type)
    if bounds is not None and stored is not None and domain is not None:
        bounds = converted(bounds, stored, domain)
        if bounds is None:
            return {"is_known": False}
    if bounds is None:
        return {"is_known": True, **row}
    kind = bound_kind(type_)
    low, high = (_stored(bound, type_) for bound in (bounds.low, bounds.high))
    return {"is_known": True, **row, f"low_{kind}": low, f"high_{kind}": high}


def _stored(bound: Bound, type_: ValueType) -> Bound | Decimal:
    # The product of integers is exact; that of decimals has as many digits as the context.
    is_decimal = type_.is_decimal and isinstance(bound, int)
    return Decimal(int(bound) * type_.factor) if is_decimal else bound


def bound_kind(type_: ValueType) -> str:
    """Return which of the schema's pairs of columns has the bounds."""
    if type_.is_decimal:
        return "decimal"
    if type_.wrapper in ("FloatWrapper", "DoubleWrapper"):
        return "double"
    return "bytes" if type_.wrapper in ("StringWrapper", "BytesWrapper") else "long"
