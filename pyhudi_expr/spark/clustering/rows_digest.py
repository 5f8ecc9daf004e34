"""What tells some rows from others, in any order: their number, and the sum of their hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from pyhudi_expr.tables.hudi_names import META_COLUMNS

_SUM = "decimal(38,0)"


@dataclass(frozen=True)
class RowsDigest:
    """The digest of some rows, without their meta columns.

    Attributes:
        rows: Their number.
        total: The sum of their hashes, which each row that is lost, added or changed changes.
    """

    rows: int
    total: int


def rows_digest(frames: Sequence[DataFrame]) -> RowsDigest:
    """Read the rows of frames of one schema, and return their digest."""
    if not frames:
        return RowsDigest(0, 0)
    found = reduce(DataFrame.unionByName, map(_hashes, frames))
    row = found.agg(f.count("*").alias("rows"), f.sum("hash").alias("total")).first()
    assert row is not None  # an aggregate over no rows has one
    return RowsDigest(row.rows, int(row.total or 0))


def _hashes(frame: DataFrame) -> DataFrame:
    fields = sorted(
        (field for field in frame.schema if field.name not in META_COLUMNS),
        key=lambda field: field.name,
    )
    hashed = f.xxhash64(*map(_hashable, fields)) if fields else f.lit(0)
    return frame.select(hashed.cast(_SUM).alias("hash"))


def _hashable(field: t.StructField) -> Column:
    """Return a column, as a text if it has maps, which Spark does not hash."""
    values = f.col(f"`{field.name}`")
    return values.cast("string") if _has_maps(field.dataType) else values


def _has_maps(type_: t.DataType) -> bool:
    if isinstance(type_, t.StructType):
        return any(_has_maps(field.dataType) for field in type_.fields)
    if isinstance(type_, t.ArrayType):
        return _has_maps(type_.elementType)
    return isinstance(type_, t.MapType)
