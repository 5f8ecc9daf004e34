"""The tables of these tests, each written at its first use. Read only."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.hive.limits.limited_tables import limited_table, logged_table, parted_table
from tests.hive.query_results import Hive


@pytest.fixture(scope="session")
def table(hive: Hive, spark: SparkSession, table_root: Path) -> str:
    return hive.register(limited_table(spark, table_root))


@pytest.fixture(scope="session")
def parted(hive: Hive, spark: SparkSession, table_root: Path) -> str:
    """The same rows, partitioned by `day`."""
    return hive.register(parted_table(spark, table_root))


@pytest.fixture(scope="session")
def logged(hive: Hive, spark: SparkSession, table_root: Path) -> str:
    """Rows of some files are replaced or deleted by log files."""
    return hive.register(logged_table(spark, table_root))
