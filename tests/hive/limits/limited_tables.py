"""Tables of which a query with a limit needs few files."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert

FILES, ROWS = 24, 2_400
#: Files have ascending ranges of `id`, `ts` and `at`; `day` has the same value in four files, `n`
#: is NULL in every fifth row, `tied` has few values, `mixed` is in no order.
COLUMNS = (
    "id",
    "id * 10 AS ts",
    "timestamp_seconds(1700000000 + id * 60) AS at",
    "cast(date_add(date'2024-01-01', cast(id div 400 AS int)) AS string) AS day",
    "date_add(date'2024-01-01', cast(id div 50 AS int)) AS dt",
    "if(id % 5 = 0, NULL, cast(id AS int)) AS n",
    "if(id < 1200, NULL, concat('t', lpad(cast(id AS string), 6, '0'))) AS late",
    "cast(id div 600 AS int) AS tied",
    "(id * 7919) % 2400 AS mixed",
    "cast(id AS double) AS d",
)


def limited_table(spark: SparkSession, parent: Path) -> HudiTable:
    rows = spark.range(0, ROWS, 1, FILES).selectExpr(*COLUMNS)
    return create(rows, TableSpec("limited"), parent)


def parted_table(spark: SparkSession, parent: Path) -> HudiTable:
    rows = spark.range(0, ROWS, 1, FILES).selectExpr(*COLUMNS)
    return create(rows, TableSpec("limited_parted", partitions=("day",)), parent)


def logged_table(spark: SparkSession, parent: Path) -> HudiTable:
    """Rows of some files are replaced or deleted by log files."""
    rows = spark.range(0, ROWS, 1, FILES).selectExpr(*COLUMNS)
    spec = TableSpec("limited_logged", TableType.MOR)
    written = create(rows, spec, parent)
    changed = rows.where("id >= 2300 AND id % 2 = 0").selectExpr(*_replaced("ts", "ts - 20000"))
    upsert(written, changed)
    upsert(written, rows.where("id BETWEEN 500 AND 520").selectExpr(*_replaced("ts", "ts + 90000")))
    delete(written, rows.where("id BETWEEN 2200 AND 2280 OR id < 90"))
    return written


def _replaced(name: str, value: str) -> list[str]:
    names = [column.rpartition(" ")[2] for column in COLUMNS]
    return [f"{value} AS {name}" if each == name else each for each in names]
