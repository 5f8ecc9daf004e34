"""Fixtures for the tests with a real HiveServer2."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.hive_versions import HIVE_4_LINES
from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from tests.hive.adoption.hudi_sync import metastore_uri
from tests.hive.history_tables import HistoriesInHive
from tests.hive.query_results import Hive


@pytest.fixture(scope="session")
def hive(
    hive_server: HiveServer,
    pruning_service: ServiceProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Hive]:
    """The session's HiveServer2 and pruning service."""
    with Hive(hive_server, pruning_service, tmp_path_factory.mktemp("scans")) as running:
        yield running


@pytest.fixture(scope="session")
def metastore(
    hive: Hive, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The URI at which the metastore of the session's HiveServer2 listens."""
    lib = HIVE_4_LINES[pytestconfig.getoption("--hive")].lib
    return metastore_uri(hive.server, lib, tmp_path_factory.mktemp("metastore-port"))


@pytest.fixture(scope="session")
def histories(hive: Hive, spark: SparkSession, shared_root: Path) -> HistoriesInHive:
    """Tables with a history of commits, each written and registered at its first use. Read only."""
    return HistoriesInHive(hive, spark, shared_root / "histories")
