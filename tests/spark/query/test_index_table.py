"""RFC-28 to the letter: an index table as a DataFrame, and filters over it that Spark evaluates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, TableType, create, upsert
from pyhudi_expr.backend.index_filter import RFC28_COLUMNS, index_filter
from pyhudi_expr.backend.sql import Dialect, to_sql
from pyhudi_expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.spark.query.index_table import index_table
from pyhudi_expr.table.errors import UnknownColumn
from pyhudi_expr.table.hudi_table import HudiTable
from tests.prune.matching_slices import read

pytestmark = pytest.mark.spark

_FILES = 10
_ROWS = f"""
SELECT id, if(id % 7 = 3, null, cast(id * 3 as int)) AS n, cast(id / 4 as decimal(10,2)) AS m,
  if(id div 10 = 6, null, 'k' || lpad(id, 3, '0')) AS s, date_add(date'2024-01-01', int(id)) AS d,
  timestamp_micros(1700000000000000 + id * 1000001) AS ts, id div 10 = 2 AS flag,
  if(id = 55, double('NaN'), id * 0.5D) AS f, cast('b' || id AS binary) AS b, array(id) AS many
FROM range(0, 100, 1, {_FILES})
"""
_PREDICATES: Mapping[str, int] = {
    "n = 33": 1,
    "n < 30 OR n > 290": 2,
    "n IS NULL": _FILES,
    "m BETWEEN 4.00 AND 6.50": 2,
    "s LIKE 'k01%'": 2,
    "s = 'k015' AND n > 10": 2,
    "s IS NULL": 1,
    "s IS NOT NULL": _FILES,
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
}
"""The most files that are kept, of ten; those with NaN, or nulls alone, are always kept."""


def files_of(spark: SparkSession, path: str, condition: str) -> set[str]:
    rows = read(spark, path).where(condition).select("_hoodie_file_name").distinct().collect()
    return {row[0] for row in rows}


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
    schema = HudiTable.open(table.uri).schema()
    for text, most in _PREDICATES.items():
        condition = index_filter(parse_predicate(text, SPARK), schema, RFC28_COLUMNS)
        kept = index.where(to_sql(condition, Dialect.SPARK)).select("file").collect()
        names = {row.file.rpartition("/")[2] for row in kept}
        assert files_of(spark, table.uri, text) <= names, text
        assert len(names) <= most, text


def test_slices_with_log_files_are_kept(spark: SparkSession, table_root: Path) -> None:
    spec = TableSpec("rfc28_logs", TableType.MOR, ordering="n")
    table = create(spark.sql("SELECT id, int(id) AS n FROM range(0, 40, 1, 4)"), spec, table_root)
    upsert(table, spark.sql("SELECT 5L AS id, 1000 AS n"))
    index = index_table(spark, table.uri, ["n"])
    assert index.columns == ["file", "n_minValue", "n_maxValue", "n_num_nulls"]
    schema = HudiTable.open(table.uri).schema()
    for text, most in (("n = 1000", 2), ("n = 5", 2), ("n = 35", 3)):
        condition = index_filter(parse_predicate(text, SPARK), schema, RFC28_COLUMNS)
        kept = index.where(to_sql(condition, Dialect.SPARK)).select("file").collect()
        groups = {row.file.lstrip(".").partition("_")[0] for row in kept}
        matching = files_of(spark, table.uri, text)
        assert {name.partition("_")[0] for name in matching} <= groups
        assert len(kept) <= most


def test_a_column_without_an_order_is_refused(spark: SparkSession, table_root: Path) -> None:
    table = create(spark.sql(_ROWS).limit(1), TableSpec("rfc28_refused"), table_root)
    with pytest.raises(UnknownColumn, match=r"many .* has no order"):
        index_table(spark, table.uri, ["many"])
    with pytest.raises(UnknownColumn, match="nn"):
        index_table(spark, table.uri, ["nn"])
