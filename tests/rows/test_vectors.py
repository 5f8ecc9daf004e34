"""Vectors of Hudi 1.2 come back as lists of a fixed size, with the values that Spark reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    LongType,
    StructField,
    StructType,
)

import pyhudi_expr as ph
from devtools.tables import TableSpec, TableType, create, upsert
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.rows.file_columns import ByName

pytestmark = pytest.mark.spark

_VECTORS: tuple[tuple[str, DataType, str], ...] = (
    ("floats", FloatType(), "VECTOR(3)"),
    ("doubles", DoubleType(), "VECTOR(3, DOUBLE)"),
    ("small", ByteType(), "VECTOR(3, INT8)"),
)
_SCHEMA = StructType(
    [
        StructField("id", LongType(), nullable=False),
        *(
            StructField(name, ArrayType(type_, containsNull=False), metadata={"hudi_type": vector})
            for name, type_, vector in _VECTORS
        ),
    ]
)


def _frame(spark: SparkSession, ids: range, add: float) -> DataFrame:
    rows = [
        (
            id_,
            None if id_ % 4 == 0 else [id_ + add, 0.1, -1e30],
            [id_ + add, 0.1, -1e300],
            [id_, -128, 127],
        )
        for id_ in ids
    ]
    return spark.createDataFrame(rows, _SCHEMA)


@pytest.mark.parametrize(
    "type_", [pytest.param(TableType.COW, marks=pytest.mark.smoke), TableType.MOR]
)
def test_vectors_have_the_values_of_spark(
    spark: SparkSession, tmp_path: Path, type_: TableType
) -> None:
    spec = TableSpec("vectors", type_)
    table = create(_frame(spark, range(20), 0.0).coalesce(2), spec, tmp_path)
    upsert(table, _frame(spark, range(3, 8), 0.5))

    found = ph.table(str(table.path)).scan().to_arrow()

    names = [name for name, _, _ in _VECTORS]
    assert [found.schema.field(name).type.list_size for name in names] == [3, 3, 3]
    elements = [found.schema.field(name).type.value_type for name in names]
    assert elements == [pa.float32(), pa.float64(), pa.int8()]
    read = spark.read.format("hudi").load(str(table.path)).select(*table.schema.names)
    expected = [row.asDict() for row in read.orderBy("id").collect()]
    assert found.sort_by("id").to_pylist() == expected
    assert ph.table(str(table.path)).scan("floats IS NULL").count() == _count_of_nulls(expected)


def _count_of_nulls(rows: list[dict[str, Any]]) -> int:
    return sum(row["floats"] is None for row in rows)


def test_vectors_of_another_size_are_refused() -> None:
    schema = pa.schema([("v", pa.list_(pa.float32(), 3))])
    rows = pa.record_batch([pa.array([b"12345678"], pa.binary(8))], ["v"])
    with pytest.raises(UnsupportedTable, match=r"a\.parquet: vectors of column 'v' have 8 bytes"):
        ByName().columns("", "a.parquet").rows(rows, schema)
