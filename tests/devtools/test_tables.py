"""Generated tables are as specified: every row, and the file it is in."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import partition_paths
from devtools.events import change_events, events_spec, write_events
from devtools.matrix import FILES, ROWS, Matrices, Partitioning
from devtools.tables import HudiTable, TableType

pytestmark = pytest.mark.spark


def read(spark: SparkSession, table: HudiTable) -> list[tuple[object, ...]]:
    frame = spark.read.format("hudi").load(str(table.path))
    return [tuple(row) for row in frame.select("id", "s", "i", "dec38", "dt", "n").collect()]


@pytest.mark.parametrize(
    ("type", "version", "partitioning", "partitions"),
    [
        (TableType.COW, 9, Partitioning.NONE, 0),
        (TableType.MOR, 9, Partitioning.HIVE, 4),
        (TableType.COW, 9, Partitioning.SPECIAL, 8),
    ],
)
def test_a_matrix_table_contains_its_specified_rows(
    spark: SparkSession,
    matrices: Matrices,
    type: TableType,
    version: int,
    partitioning: Partitioning,
    partitions: int,
) -> None:
    matrix = matrices.get(type, version, partitioning)
    expected = [
        tuple(row[name] for name in ("id", "s", "i", "dec38", "dt", "n")) for row in matrix.rows
    ]
    assert sorted(read(spark, matrix.table)) == expected
    assert len(partition_paths(matrix.table)) == partitions

    files = matrix.table.data_files()
    changed = FILES // 4 * 2
    assert len(files) == FILES + changed
    assert sum(".log." in file.name for file in files) == (changed if type is TableType.MOR else 0)


def test_each_file_of_a_matrix_table_has_one_thousand_of_ids(
    spark: SparkSession, matrices: Matrices
) -> None:
    table = matrices.get(TableType.MOR).table
    bases = spark.read.parquet(
        *(str(table.path / file) for file in table.data_files() if file.suffix == ".parquet")
    )
    files = bases.groupBy("_hoodie_file_name").agg({"id": "min", "*": "count"}).collect()
    assert sorted(row["min(id)"] for row in files) == [1000 * k for k in range(FILES)]
    assert {row["count(1)"] for row in files} == {ROWS}


def test_an_events_table_has_the_requested_number_of_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = write_events(
        spark,
        tmp_path,
        events_spec("events", TableType.MOR),
        files=12,
        rows_per_file=100,
        days=4,
    )
    change_events(spark, table, rows_per_file=100, every=6)

    rows = spark.read.format("hudi").load(str(table.path))
    assert rows.count() == 12 * 100 - 2 * 10
    assert rows.where("amount >= 1000000").count() == 2 * 10
    assert rows.where("date(ts) <> date(day)").count() == 0
    names = [file.name for file in table.data_files()]
    assert sum(name.endswith(".parquet") for name in names) == 12
    assert sum(".log." in name for name in names) == 4
