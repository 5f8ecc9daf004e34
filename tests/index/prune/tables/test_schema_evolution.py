"""Columns renamed, widened, moved, dropped and added by Hudi: pruning and rows agree with Hudi."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from pyhudi_expr import scan
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.spark.query.dataframes import pruned
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable
from pyhudi_expr.tables.listing import TableView
from tests.index.prune.matching_slices import assert_no_row_lost, read

pytestmark = [pytest.mark.spark, pytest.mark.long]

FILES = 6
EVOLVING = {
    "hoodie.schema.on.read.enable": "true",
    # Otherwise a column of another name is a missing column.
    "hoodie.avro.schema.validate": "false",
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
    "spark.sql.parquet.enableVectorizedReader": "false",  # it renames no struct fields
}
CHANGES = (
    "RENAME COLUMN a TO b",
    "ALTER COLUMN w TYPE bigint",
    "ALTER COLUMN f TYPE double",
    "ALTER COLUMN e TYPE decimal(12, 2)",
    "DROP COLUMN x",
    "ADD COLUMNS (x int)",
    "ADD COLUMNS (n int)",
    "ADD COLUMNS (st.o int)",
    "RENAME COLUMN st.u TO v",
    "ALTER COLUMN s AFTER id",
)
PREDICATES = (
    *("b = 203", "b > 400", "b IS NULL", "w = 5003", "w < 1001", "w = 1099511627776"),
    *("x = 3", "x = 77", "x IS NULL", "s = 'n004_1'", "st.v = 301", "st.v IS NULL", "b = 77"),
    *("NOT (b < 500)", "b = 203 AND s = 'n002_3'", "coalesce(x, 0) = 77", "f = 0.1"),
    *("e = 2.03", "e < 0.02", "e = 9999999999.99"),
    *("n = 7", "n > 0", "n IS NOT NULL", "n IS NULL", "st.o = 9", "st.o IS NULL", "NOT n <> 7"),
)
READ = ("b = 203 OR b = 77", "w > 5001", "x IS NULL", "st.v > 300", "f = 0.1", "e > 5")


def evolved(spark: SparkSession, type_: TableType, parent: Path) -> HudiTable:
    """Six files with the old schema, two of which have rows updated under the new one."""
    rows = [
        (n, n, 1000 * k + r, r, f"n{k:03d}_{r}", (n,), 0.1 + k, Decimal(n) / 100)
        for k in range(FILES)
        for r in range(4)
        for n in (100 * k + r,)
    ]
    old = "id long, a int, w int, x int, s string, st struct<u: int>, f float, e decimal(9, 2)"
    name = f"evolved_{type_.name.lower()}"
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, FILES), old)
    table = create(frame, TableSpec(name, type_, extra=EVOLVING), parent)
    spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{table.path}'")
    try:
        for change in CHANGES:
            spark.sql(f"ALTER TABLE {name} {change}")
    finally:
        spark.sql(f"DROP TABLE {name}")
    new = (
        "id long, s string, b int, w long, st struct<v: int, o: int>, f double, e decimal(12, 2), "
        "x int, n int"
    )
    changed = [
        (100, "new", 77, 2**40, (-1, 9), 0.25, Decimal("9999999999.99"), 77, 7),
        (301, "old", None, 1, None, None, None, None, None),
    ]
    upsert(table, spark.createDataFrame(changed, new))
    return table


def rows(frame: DataFrame, *columns: str) -> list[str]:
    return sorted(map(repr, (row.asDict(True) for row in frame.select(*columns).collect())))


def scanned(table: HudiTable, text: str | None, *columns: str, **options: Any) -> list[str]:
    found = scan(str(table.path), text, columns, **options).to_table().to_pylist()
    return sorted(map(repr, found))


@pytest.mark.parametrize("type_", [TableType.COW, TableType.MOR])
def test_rows_equal_hudis_and_files_are_still_pruned(
    spark: SparkSession, tmp_path: Path, type_: TableType
) -> None:
    with session_settings(spark, EVOLVING):
        table = evolved(spark, type_, tmp_path)
        option = {"hoodie__schema__on__read__enable": "true"}
        whole = read(spark, table.path, **option).cache()
        kept = assert_no_row_lost(Pruner(), table.path, whole, PREDICATES)
        columns = [name for name in whole.columns if not name.startswith("_hoodie")]
        for text in READ:
            expected = rows(whole.where(text), *columns)
            assert expected
            assert rows(pruned(spark, str(table.path), text), *columns) == expected, text
            assert scanned(table, text, *columns) == expected, text
        bases = read(spark, table.path, **option, hoodie__datasource__query__type="read_optimized")
        expected = rows(bases, *columns)
        whole.unpersist()
    assert scanned(table, None, *columns, view=TableView.READ_OPTIMIZED) == expected
    written_anew = 2  # under the new schema, for which Hudi's column_stats has the old names
    assert kept["b = 203"] <= 1 + written_anew < FILES
    assert kept["s = 'n004_1'"] <= 1 + written_anew
    assert kept["e = 2.03"] <= 1 + written_anew
    assert kept["x = 3"] >= 1  # no bound of the dropped column is used
    for text in ("n = 7", "n > 0", "n IS NOT NULL", "NOT n <> 7"):
        assert kept[text] <= written_anew, text  # the others lack the column
    assert kept["n IS NULL"] == FILES


@pytest.mark.parametrize("type_", [TableType.COW, TableType.MOR])
def test_a_later_write_makes_columns_wider(
    spark: SparkSession, tmp_path: Path, type_: TableType
) -> None:
    """Without schema evolution on read: all readers keep the digits of old floats."""
    values = [(4 * k + r, k + 0.1 * r) for k in range(3) for r in range(4)]
    written = [(id_, value, id_, (value,)) for id_, value in values]
    old = "id long, f float, i int, st struct<u: float>"
    frame = spark.createDataFrame(spark.sparkContext.parallelize(written, 3), old)
    table = create(frame, TableSpec(f"widened_{type_.name.lower()}", type_), tmp_path)
    changed = [(5, 0.25, 2**40, (0.3,)), (6, None, None, None), (100, 0.7, 1, (None,))]
    new = "id long, f double, i long, st struct<u: double>"
    upsert(table, spark.createDataFrame(changed, new))
    columns = ("id", "f", "i", "st")
    with session_settings(spark, {"spark.sql.parquet.enableVectorizedReader": "false"}):
        whole = read(spark, table.path).cache()
        for text in ("id >= 0", "f = 2.1", "f < 0.3", "i = 1099511627776", "st.u > 2.1"):
            expected = rows(whole.where(text), *columns)
            assert expected
            assert scanned(table, text, *columns) == expected, text
            assert rows(pruned(spark, str(table.path), text), *columns) == expected, text
        whole.unpersist()
    assert scan(str(table.path), "f = 2.1").result.files_kept < 3


@pytest.mark.parametrize("type_", [TableType.COW, TableType.MOR])
def test_a_later_write_adds_columns(spark: SparkSession, tmp_path: Path, type_: TableType) -> None:
    """Without schema evolution on read: the files that lack a column have NULL in it."""
    written = [(4 * k + r, (r,)) for k in range(FILES) for r in range(4)]
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize(written, FILES), "id long, st struct<u: int>"
    )
    name = f"added_{type_.name.lower()}"
    table = create(frame, TableSpec(name, type_), tmp_path)
    new = "id long, st struct<u: int, o: int>, n int, s string"
    changed = [(5, (1, 9), 7, "seven"), (6, None, None, None), (100, (2, None), 8, "eight")]
    upsert(table, spark.createDataFrame(changed, new))
    present = ("n = 7", "n > 7", "n IS NOT NULL", "s = 'seven'", "s LIKE 's%'")
    whole = read(spark, table.path).cache()
    asked = (*present, "n IS NULL", "coalesce(n, 0) = 0", "st.o = 9", "n = 7 OR id = 9")
    kept = assert_no_row_lost(Pruner(), table.path, whole, asked)
    for text in asked:
        expected = rows(whole.where(text), "id", "st", "n", "s")
        assert scanned(table, text, "id", "st", "n", "s") == expected, text
        assert rows(pruned(spark, str(table.path), text), "id", "st", "n", "s") == expected, text
    whole.unpersist()
    assert max(kept[text] for text in present) <= 2 + (type_ is TableType.MOR) < FILES
    assert kept["n = 7 OR id = 9"] < FILES


@pytest.mark.parametrize("type_", [TableType.COW, TableType.MOR])
def test_later_writes_drop_a_column_and_add_it_again(
    spark: SparkSession, tmp_path: Path, type_: TableType
) -> None:
    """Without schema evolution on read: whatever the column's files were written for, by name."""
    dropping = {"hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true"}
    written = [(4 * k + r, 100 * k + r, k) for k in range(FILES) for r in range(4)]
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize(written, FILES), "id long, x int, v int"
    )
    spec = TableSpec(f"dropped_{type_.name.lower()}", type_, extra=dropping)
    table = create(frame, spec, tmp_path)
    upsert(table, spark.createDataFrame([(5, 7), (100, 8)], "id long, v int"))
    assert "x" not in OpenedTable.open(str(table.path)).schema().names
    upsert(table, spark.createDataFrame([(9, 777, 9), (101, 3, 9)], "id long, x int, v int"))
    whole = read(spark, table.path).cache()
    asked = ("x = 203", "x = 777", "x = 3", "x IS NULL", "x > 300", "NOT x < 300", "v = 7")
    kept = assert_no_row_lost(Pruner(), table.path, whole, asked)
    for text in asked:
        expected = rows(whole.where(text), "id", "x", "v")
        assert scanned(table, text, "id", "x", "v") == expected, text
        assert rows(pruned(spark, str(table.path), text), "id", "x", "v") == expected, text
    whole.unpersist()
    assert kept["x = 777"] < FILES


@pytest.mark.parametrize("type_", [TableType.COW, TableType.MOR])
def test_a_column_that_was_only_renamed(
    spark: SparkSession, tmp_path: Path, type_: TableType
) -> None:
    """Only the schema history shows that older files have the column's values."""
    name = f"renamed_{type_.name.lower()}"
    values = [(4 * k + r, 100 * k + r) for k in range(3) for r in range(4)]
    with session_settings(spark, EVOLVING):
        frame = spark.createDataFrame(spark.sparkContext.parallelize(values, 3), "id long, a int")
        table = create(frame, TableSpec(name, type_, extra=EVOLVING), tmp_path)
        spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{table.path}'")
        try:
            spark.sql(f"ALTER TABLE {name} RENAME COLUMN a TO b")
        finally:
            spark.sql(f"DROP TABLE {name}")
        upsert(table, spark.createDataFrame([(5, 777), (100, 102)], "id long, b int"))
        whole = read(spark, table.path, hoodie__schema__on__read__enable="true").cache()
        for text in ("b >= 0", "b = 102", "b = 203", "b IS NULL", "b > 200"):
            expected = rows(whole.where(text), "id", "b")
            assert rows(pruned(spark, str(table.path), text), "id", "b") == expected, text
            assert scanned(table, text, "id", "b") == expected, text
        assert len(rows(whole.where("b >= 0"), "id")) == len(values) + 1
        whole.unpersist()
    result = scan(str(table.path), "b = 203").result
    assert result.files_kept < result.files_total
