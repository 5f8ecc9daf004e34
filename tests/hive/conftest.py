"""Fixtures for the tests with a real HiveServer2."""

from collections.abc import Iterator

import pytest

from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
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
