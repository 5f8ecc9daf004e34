"""DataFrames in a layout's order: the same rows, in ranges of the curve."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from pyhudi_expr.manage.layout import Curve, InvalidLayout, Mapping
from pyhudi_expr.spark.clustering.layout_frames import order_by
from tests.marks import long

pytestmark = pytest.mark.spark

_ROWS = 8_000
_FILES = 16


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> Iterator[DataFrame]:
    """Rows with every type of Spark, and nulls in most columns."""
    number = f.when(f.col("id") % 97 != 0, f.col("id"))
    rows = spark.range(0, _ROWS, numPartitions=4).select(
        "id",
        f.round(f.exp(f.rand(1) * 12)).cast("int").alias("skewed"),
        f.format_string("https://www.example.com/%06d", (f.rand(2) * 1e6).cast("int")).alias("url"),
        (number * 1.5).alias("d"),
        number.cast("decimal(30, 3)").alias("dec"),
        f.timestamp_micros(number * 1_000_001).alias("ts"),
        f.expr("cast(timestamp_micros(id * 1000001) as timestamp_ntz)").alias("ntz"),
        f.date_add(f.lit("1969-12-01").cast("date"), f.col("id").cast("int")).alias("day"),
        f.array(number).alias("list"),
        f.create_map(f.lit("k"), number).alias("map"),
        f.struct(number.alias("x"), f.lit(None).cast("string").alias("y")).alias("st"),
        f.unhex(f.hex("id")).alias("bin"),
        (number % 2 == 0).alias("flag"),
        f.lit("same").alias("constant"),
        f.lit(None).cast("int").alias("nothing"),
    )
    yield rows.cache()
    rows.unpersist()


def as_texts(frame: DataFrame) -> list[str]:
    """Comparable rows, also with map columns."""
    return sorted(row[0] for row in frame.select(f.to_json(f.struct("*"))).collect())


def share_touched(frame: DataFrame, column: str) -> float:
    """The mean share of Spark partitions that hold a range of a tenth of the column's values."""
    parts = frame.groupBy(f.spark_partition_id()).agg(f.min(column), f.max(column)).collect()
    ordered = [row[0] for row in frame.select(column).orderBy(column).collect()]
    edges = [ordered[len(ordered) * tenth // 10] for tenth in range(10)] + [ordered[-1]]
    touched = [
        sum(low <= edges[n + 1] and high >= edges[n] for _, low, high in parts) / len(parts)
        for n in range(10)
    ]
    return sum(touched) / len(touched)


@pytest.mark.parametrize(
    ("curve", "mapping"),
    [
        *((Curve.LINEAR, Mapping.DIRECT), (Curve.HILBERT, Mapping.SAMPLED)),
        *(long(Curve.LINEAR, Mapping.SAMPLED), long(Curve.Z_ORDER, Mapping.SAMPLED)),
        *(long(Curve.Z_ORDER, Mapping.DIRECT), long(Curve.HILBERT, Mapping.DIRECT)),
    ],
)
def test_rows_and_types_are_kept(frame: DataFrame, curve: Curve, mapping: Mapping) -> None:
    columns = ("skewed", "url", "d", "dec", "ts", "ntz", "day", "bin", "flag")
    ordered = order_by(frame, columns, curve, mapping, files=_FILES)
    assert ordered.schema.simpleString() == frame.schema.simpleString()
    assert ordered.rdd.getNumPartitions() == _FILES
    assert as_texts(ordered) == as_texts(frame)


@pytest.mark.parametrize("curve", [Curve.Z_ORDER, Curve.HILBERT])
def test_a_curve_narrows_the_ranges_of_all_its_columns(frame: DataFrame, curve: Curve) -> None:
    ordered = order_by(frame, ("skewed", "url"), curve, files=_FILES).cache()
    sizes = [row["count"] for row in ordered.groupBy(f.spark_partition_id()).count().collect()]
    assert len(sizes) == _FILES
    assert max(sizes) < 1.5 * _ROWS / _FILES
    assert share_touched(ordered, "skewed") < 0.45
    assert share_touched(ordered, "url") < 0.45
    ordered.unpersist()


def test_the_linear_order_sorts_by_the_columns(frame: DataFrame) -> None:
    ordered = order_by(frame, ("flag", "skewed", "id"), Curve.LINEAR, files=5)
    numbered = ordered.withColumn("part", f.spark_partition_id()).collect()
    found = [
        (row["part"], row["flag"] is None, row["flag"], row["skewed"], row["id"])
        for row in numbered
    ]
    assert found == sorted(found)


def test_a_target_size_determines_the_number_of_files(spark: SparkSession) -> None:
    rows = spark.range(100_000)  # 8 bytes each by Spark's estimate
    assert order_by(rows, ["id"], target_file_size=80_000).rdd.getNumPartitions() == 10
    assert order_by(rows, ["id"], target_file_size=10**9).rdd.getNumPartitions() == 1


@pytest.mark.smoke("columns1")
@pytest.mark.parametrize("columns", [("constant",), ("nothing",), ("constant", "nothing")])
def test_rows_that_are_all_alike_share_a_file(frame: DataFrame, columns: tuple[str, ...]) -> None:
    ordered = order_by(frame, columns, files=4)
    assert [row["count"] for row in ordered.groupBy(f.spark_partition_id()).count().collect()] == [
        _ROWS
    ]


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_more_files_than_rows(frame: DataFrame, rows: int) -> None:
    some = frame.where(f.col("id") < rows)
    assert as_texts(order_by(some, ("skewed", "url"), files=_FILES)) == as_texts(some)


def test_columns_with_odd_names(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "x"), (2, "y")], "`a.b` int, `c ``d` string")
    assert order_by(rows, ("a.b", "c `d"), files=2).count() == 2


@pytest.mark.smoke("columns4-'st")
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("nowhere",), "there is no column 'nowhere'"),
        (("st.x",), "there is no column 'st.x' .*fields of structs cannot be chosen"),
        (("list",), "'list': values of type .* have no order"),
        (("map",), "'map': values of type .* have no order"),
        (("st",), "'st': values of type .* have no order"),
        ((), "1 to 16 columns"),
    ],
)
def test_unsupported_columns_are_refused(
    frame: DataFrame, columns: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidLayout, match=message):
        order_by(frame, columns, files=2)


def test_types_without_an_arrow_type_are_refused_by_layouts(spark: SparkSession) -> None:
    type_ = t.StructType([t.StructField("i", t.YearMonthIntervalType())])
    rows = spark.createDataFrame(spark.sparkContext.emptyRDD(), type_)
    with pytest.raises(InvalidLayout, match="have no order"):
        order_by(rows, ["i"], files=2)


@pytest.mark.parametrize(
    "size", [{}, {"files": 0}, {"target_file_size": 0}, {"files": 1, "target_file_size": 1}]
)
def test_exactly_one_size_must_be_given(frame: DataFrame, size: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="files"):
        order_by(frame, ["id"], **size)
