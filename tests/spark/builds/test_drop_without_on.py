"""RFC-77's DROP INDEX idx_city, which names no table: in the databases of Spark's catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, create
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.manage.indexing.index_plan import InvalidIndex
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable

pytestmark = pytest.mark.spark

_CREATE = "CREATE INDEX {name} ON {table} USING bloom_filters(city) OPTIONS (store = 'extension')"


@pytest.fixture
def database(spark: SparkSession, table_root: Path) -> Iterator[dict[str, str]]:
    """A database with two Hudi tables, one of Parquet, and a view; the base paths by name."""
    spark.sql("CREATE DATABASE rfc77")
    spark.sql("USE rfc77")
    paths = {}
    for name in ("cities", "towns"):
        rows = spark.sql("SELECT id, 'c' || id AS city FROM range(0, 4, 1, 1)")
        paths[name] = create(rows, TableSpec(f"rfc77_{name}", stats_columns=None), table_root).uri
        spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{paths[name]}'")
    spark.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS city")
    spark.sql("CREATE VIEW seen AS SELECT 1 AS city")
    yield paths
    spark.sql("USE default")
    spark.sql("DROP DATABASE rfc77 CASCADE")


def names(path: str) -> set[str]:
    return {one.name for one in index_statuses(HudiTable.open(path))}


@pytest.mark.smoke
def test_the_index_of_the_only_table_is_dropped(
    spark: SparkSession, database: dict[str, str]
) -> None:
    with pytest.raises(HudiError, match=r"no table of the session's catalog has .*'idx_city'.* ON"):
        execute(spark, "DROP INDEX idx_city")
    assert execute(spark, "DROP INDEX IF EXISTS idx_city") is None
    execute(spark, _CREATE.format(name="idx_city", table="cities"))
    execute(spark, "DROP INDEX idx_city;")
    assert "idx_city" not in names(database["cities"])


def test_so_it_is_from_another_database(spark: SparkSession, database: dict[str, str]) -> None:
    execute(spark, _CREATE.format(name="idx_city", table="towns"))
    spark.sql("USE default")
    execute(spark, "DROP INDEX idx_city")
    assert "idx_city" not in names(database["towns"])


def test_an_index_of_several_tables_is_not(spark: SparkSession, database: dict[str, str]) -> None:
    for table in database:
        execute(spark, _CREATE.format(name="idx_city", table=table))
    with pytest.raises(HudiError, match=r"several tables .*rfc77\.cities, rfc77\.towns; name one"):
        execute(spark, "DROP INDEX IF EXISTS idx_city")
    assert all("idx_city" in names(path) for path in database.values())
    execute(spark, "DROP INDEX idx_city ON towns")
    execute(spark, "DROP INDEX idx_city")
    assert not any("idx_city" in names(path) for path in database.values())
    with pytest.raises(InvalidIndex):
        execute(spark, "DROP INDEX idx_city ON towns")
