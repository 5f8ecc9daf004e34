"""Fixtures for tables that Hudi's sync has registered."""

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import HIVE_LIB
from tests.hive.adoption.adopt_command import Adopt, adopt_in
from tests.hive.adoption.hudi_sync import HudiSync, metastore_uri
from tests.hive.query_results import Hive


@pytest.fixture(scope="session")
def hudi_sync(
    hive: Hive, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> HudiSync:
    """Hudi's sync tool, which writes to the metastore of the session's HiveServer2."""
    uri = metastore_uri(hive.server, HIVE_LIB, tmp_path_factory.mktemp("metastore-port"))
    return HudiSync(spark, hive.server, uri, "jdbc")


@pytest.fixture(scope="session")
def lake(hive: Hive) -> str:
    """A database."""
    hive.run("CREATE DATABASE lake")
    return "lake"


@pytest.fixture
def adopt(hive: Hive, capsys: pytest.CaptureFixture[str]) -> Adopt:
    """`pyhudi hive adopt` with the session's HiveServer2."""
    return adopt_in(hive, capsys)
