"""Fixtures for the tests with a real HiveServer2."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
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
def histories(hive: Hive, spark: SparkSession, shared_root: Path) -> HistoriesInHive:
    """Tables with a history of commits, each written and registered at its first use. Read only."""
    return HistoriesInHive(hive, spark, shared_root / "histories")
