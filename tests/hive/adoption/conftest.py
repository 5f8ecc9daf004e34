"""Fixtures for tables that Hudi's sync has registered."""

import pytest
from pyspark.sql import SparkSession

from tests.hive.adoption.adopt_command import Adopt, adopt_in
from tests.hive.adoption.hudi_sync import HudiSync
from tests.hive.query_results import Hive


@pytest.fixture(scope="session")
def hudi_sync(hive: Hive, spark: SparkSession, metastore: str) -> HudiSync:
    """Hudi's sync tool, which writes to the metastore of the session's HiveServer2."""
    return HudiSync(spark, hive.server, metastore, "jdbc")


@pytest.fixture(scope="session")
def lake(hive: Hive) -> str:
    """A database."""
    hive.run("CREATE DATABASE lake")
    return "lake"


@pytest.fixture
def adopt(hive: Hive, capsys: pytest.CaptureFixture[str]) -> Adopt:
    """`pyhudi hive adopt` with the session's HiveServer2."""
    return adopt_in(hive, capsys)
