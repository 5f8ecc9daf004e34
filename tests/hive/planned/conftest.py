"""A fact of many files, and small tables whose keys restrict it while a query is planned."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from tests.hive.query_results import Hive

FILES, ROWS = 24, 2_400
#: Each file has an ascending range of them.
_FACT = (
    "id",
    "cast(id AS int) AS stop",
    "concat('s', lpad(cast(id AS string), 6, '0')) AS code",
    "date_add(date'2024-01-01', cast(id AS int)) AS day",
    "timestamp_seconds(1700000000 + id * 60) AS at",
    "id * 7 AS amount",
)
#: Ten stops for each of six lines, of which two are no part of the fact. Line 5 has no code.
_STOPS = (
    "id",
    "cast(id * 40 AS int) AS k",
    "if(id >= 50, NULL, concat('s', lpad(cast(id * 40 AS string), 6, '0'))) AS k_code",
    "date_add(date'2024-01-01', cast(id * 40 AS int)) AS k_day",
    "timestamp_seconds(1700000000 + id * 40 * 60) AS k_at",
    "cast(id div 10 AS int) AS line",
    "concat('line ', cast(id div 10 AS string)) AS name",
    "cast(id AS decimal(9,2)) AS price",
)
#: Each line has a colour, and a twin, which is another line.
_LINES = (
    "id",
    "cast(id AS int) AS line",
    "cast((id + 3) % 8 AS int) AS twin",
    "concat('line ', cast(id AS string)) AS name",
    "element_at(array('red', 'green', 'blue', 'red', NULL, 'green', 'blue', 'grey'),"
    " cast(id + 1 AS int)) AS colour",
    "if(id = 4, NULL, concat('s', lpad(cast(id * 400 AS string), 6, '0'))) AS first_code",
)


@pytest.fixture(scope="session")
def fact_table(spark: SparkSession, table_root: Path) -> HudiTable:
    rows = spark.range(0, ROWS, 1, FILES).selectExpr(*_FACT)
    return create(rows, TableSpec("planned_fact"), table_root)


@pytest.fixture(scope="session")
def fact(hive: Hive, fact_table: HudiTable) -> str:
    """The name of the fact in Hive."""
    return hive.register(fact_table)


def stops_table(spark: SparkSession, parent: Path, name: str, type_: TableType) -> HudiTable:
    rows = spark.range(0, 62, 1, 2).selectExpr(*_STOPS)
    return create(rows, TableSpec(name, type_), parent)


@pytest.fixture(scope="session")
def stops(hive: Hive, spark: SparkSession, table_root: Path) -> str:
    """The name of the small table in Hive."""
    return hive.register(stops_table(spark, table_root, "planned_stops", TableType.COW))


@pytest.fixture(scope="session")
def logged_stops(hive: Hive, spark: SparkSession, table_root: Path) -> str:
    """The same with log files: the stops of line 0 are now those of line 7."""
    table = stops_table(spark, table_root, "planned_logged_stops", TableType.MOR)
    move_line(spark, table, 0, 7)
    return hive.register(table)


@pytest.fixture(scope="session")
def lines(hive: Hive, spark: SparkSession, table_root: Path) -> str:
    """The name of a table in Hive with a row for each line."""
    rows = spark.range(0, 8, 1, 1).selectExpr(*_LINES)
    return hive.register(create(rows, TableSpec("planned_lines"), table_root))


def move_line(spark: SparkSession, table: HudiTable, old: int, new: int) -> None:
    """Give the stops of a line to another one."""
    moved = [
        f"cast({new} AS int) AS line" if each.endswith(" AS line") else each for each in _STOPS
    ]
    rows = spark.range(0, 62, 1, 1).where(f"id div 10 = {old}").selectExpr(*moved)
    upsert(table, rows)
