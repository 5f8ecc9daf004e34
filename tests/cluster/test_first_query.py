"""The first query about a table of 250 files, which the service has never been asked about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.cluster import tables
from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import FETCH, MASTER, SERVER
from devtools.cluster.service import ClusterService
from devtools.ddl import create_with_handler
from tests.cluster.cluster_hive import ClusterHive

pytestmark = pytest.mark.cluster

_LAST = tables.MANY_FILES * tables.ROWS_OF_MANY - 1
_QUERY = f"SELECT id, city, amount FROM {tables.MANY.name} WHERE id IN (17, {_LAST // 2}, {_LAST})"
_DEFAULT_TIMEOUT = {"hudi.pruning.timeout.ms": "2000"}


@pytest.fixture(scope="session", autouse=True)
def many_events(cluster: Cluster, hive: ClusterHive) -> None:
    cluster.shell("-put", str(tables.MANY), "/warehouse")
    hive.run(create_with_handler(tables.MANY.name, f"{cluster.root}/warehouse/{tables.MANY.name}"))


@pytest.fixture
def new_service(
    cluster: Cluster, service: ClusterService, tmp_path: Path
) -> Iterator[ClusterService]:
    """A service that has just been started."""
    started = ClusterService(cluster, tmp_path, token=service.token_file.read_text())
    with started:
        yield started


@pytest.mark.parametrize("place", [FETCH, MASTER, SERVER], ids=["fetch", "master", "server"])
def test_it_is_pruned_within_the_default_timeout(
    hive: ClusterHive, new_service: ClusterService, place: str
) -> None:
    settings = {**_DEFAULT_TIMEOUT, "hudi.pruning.service.addresses": new_service.address}
    first = hive.ask(_QUERY, place, settings=settings)
    assert first.scan.outcomes == ("PRUNED",)
    assert first.files == (tables.MANY_FILES, 3)
    unpruned = hive.ask(_QUERY, place, pruning=False, settings=settings)
    assert repr(first.rows) == repr(unpruned.rows)
    assert len(first.rows) == 3
