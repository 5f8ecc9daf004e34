"""RFC-28 to the letter: an index table as a DataFrame, and filters over it that Spark evaluates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from devtools.tables import TableSpec, TableType, create, upsert
from pyhudi_expr.errors import UnknownColumn
from pyhudi_expr.expr.backend.index_filter import RFC28_COLUMNS, index_filter
from pyhudi_expr.expr.backend.sql import Dialect, to_sql
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.spark.query.index_table import index_table
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.matching_slices import Group, groups_with_matches, read
from tests.manage.layout.tables import written

pytestmark = pytest.mark.spark

_FILES = 10
_ROWS = f"""
SELECT id, if(id % 7 = 3, null, cast(id * 3 as int)) AS n, cast(id / 4 as decimal(10,2)) AS m,
  if(id div 10 = 6, null, 'k' || lpad(id, 3, '0')) AS s, date_add(date'2024-01-01', int(id)) AS d,
  timestamp_micros(1700000000000000 + id * 1000001) AS ts, id div 10 = 2 AS flag,
  if(id = 55, double('NaN'), id * 0.5D) AS f, cast('b' || id AS binary) AS b, array(id) AS many,
  if(id div 10 IN (3, 4), int(id), null) AS a
FROM range(0, 100, 1, {_FILES})
"""
_PREDICATES: Mapping[str, int] = {
    "n = 33": 1,
    "n < 30 OR n > 290": 2,
    "n IS NULL": _FILES,
    "m BETWEEN 4.00 AND 6.50": 2,
    "s LIKE 'k01%'": 1,
    "s = 'k015' AND n > 10": 1,
    "s IS NULL": 1,
    "s IS NOT NULL": _FILES - 1,
    "d = date'2024-02-01'": 1,
    "NOT (d > date'2024-01-05')": 1,
    "ts < timestamp'2023-11-14 22:13:25'": 1,
    "flag": 1,
    "f > 46": 2,
    "f <=> null": 1,
    "b = X'6234'": 4,
    "id IN (1, 98)": 2,
    "id = 5 AND array_contains(many, 5)": 1,
    "abs(n) = 3": _FILES,
    "a = 35": 1,
    "a > 0": 2,
    "a IS NOT NULL": 2,
    "NOT (a = 35)": 2,
}
"""The most files that are kept, of ten; those with NaN are always kept."""


def kept_files(index: DataFrame, path: str, texts: Iterable[str]) -> dict[str, list[str]]:
    """The files that Spark finds in the index table for each predicate, by the RFC's filters."""
    schema = HudiTable.open(path).schema()
    filters = {
        text: to_sql(
            index_filter(parse_predicate(text, SPARK), schema, RFC28_COLUMNS), Dialect.SPARK
        )
        for text in texts
    }
    is_kept = [f.expr(f"coalesce({sql}, false)").alias(text) for text, sql in filters.items()]
    rows = index.select("file", *is_kept).collect()
    return {text: [row["file"] for row in rows if row[text]] for text in filters}


def group(path: str) -> Group:
    """The file group of a base file or a log file."""
    partition, _, name = path.rpartition("/")
    return partition, name.lstrip(".").partition("_")[0]


def test_the_kept_files_hold_all_matching_rows(spark: SparkSession, table_root: Path) -> None:
    spec = TableSpec("rfc28", partitions=("p",))
    table = create(spark.sql(_ROWS).selectExpr("*", "id div 50 AS p"), spec, table_root)
    index = index_table(spark, table.uri).cache()
    assert index.columns[0] == "file"
    assert {"n_minValue", "n_maxValue", "n_num_nulls"} <= set(index.columns)
    assert index.schema["m_minValue"].dataType == table.schema["m"].dataType
    assert index.count() == _FILES
    row = index.where("n_minValue = 33").first()
    assert row is not None
    assert (row.n_maxValue, row.n_num_nulls, row.s_minValue) == (57, 2, "k010")
    expected = groups_with_matches(read(spark, table.uri), _PREDICATES)
    for text, files in kept_files(index, table.uri, _PREDICATES).items():
        assert expected[text] <= set(map(group, files)), text
        assert len(files) <= _PREDICATES[text], text


def test_slices_with_log_files_are_kept(spark: SparkSession, table_root: Path) -> None:
    spec = TableSpec("rfc28_logs", TableType.MOR, ordering="n")
    table = create(spark.sql("SELECT id, int(id) AS n FROM range(0, 40, 1, 4)"), spec, table_root)
    upsert(table, spark.sql("SELECT 5L AS id, 1000 AS n"))
    index = index_table(spark, table.uri, ["n"])
    assert index.columns == ["file", "totalNum", "n_minValue", "n_maxValue", "n_num_nulls"]
    most = {"n = 1000": 2, "n = 5": 2, "n = 35": 3}
    expected = groups_with_matches(read(spark, table.uri), most)
    for text, files in kept_files(index, table.uri, most).items():
        assert expected[text] <= set(map(group, files))
        assert len(files) <= most[text]


@pytest.mark.smoke
def test_files_of_nulls_alone_are_excluded(spark: SparkSession, tmp_path: Path) -> None:
    """95 of 300 files have no value; footers say so, and how many rows there are."""
    files = [
        pa.table({"a": pa.array([(n - 90) % 20 if n >= 95 else None] * 3, pa.int64())})
        for n in range(300)
    ]
    path = written(tmp_path / "nulls", {"": files})
    index = index_table(spark, path, ["a"])
    assert [row.totalNum for row in index.select("totalNum").distinct().collect()] == [3]
    found = kept_files(index, path, ["a = 5", "a IS NULL", "a IS NOT NULL"])
    assert {text: len(files) for text, files in found.items()} == {
        "a = 5": 11,
        "a IS NULL": 95,
        "a IS NOT NULL": 205,
    }


@pytest.mark.smoke
def test_a_column_without_an_order_is_refused(spark: SparkSession, table_root: Path) -> None:
    table = create(spark.sql(_ROWS).limit(1), TableSpec("rfc28_refused"), table_root)
    with pytest.raises(UnknownColumn, match=r"many .* has no order"):
        index_table(spark, table.uri, ["many"])
    with pytest.raises(UnknownColumn, match="nn"):
        index_table(spark, table.uri, ["nn"])
