"""Fixtures of a Hadoop cluster with HiveServer2 and a pruning service, all of them real."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from devtools.cluster import tables
from devtools.cluster.hadoop import Cluster, running_cluster
from devtools.cluster.hive import hive_server
from devtools.cluster.service import ClusterService
from devtools.hiveserver import HiveServer
from tests.cluster.cluster_hive import ClusterHive
from tests.cluster.secrets import settings_with_hidden_token


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with the tables `events` and `returns` in `/warehouse`."""
    log = tmp_path_factory.mktemp("spark") / "tables.log"
    with ThreadPoolExecutor(1) as aside:
        written = aside.submit(tables.ensure_written, log)
        with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
            written.result()
            running.shell("-put", str(tables.EVENTS), str(tables.RETURNS), "/warehouse")
            yield running


@pytest.fixture(scope="session")
def service(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterService]:
    """A pruning service with a token, which containers reach by the machine's name."""
    running = ClusterService(cluster, tmp_path_factory.mktemp("service"))
    with running:
        yield running


@pytest.fixture(scope="session")
def server(
    cluster: Cluster, service: ClusterService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HiveServer]:
    """HiveServer2 on the cluster. Its token is a file that only its own process finds."""
    run_dir = tmp_path_factory.mktemp("hive")
    settings = settings_with_hidden_token(service, run_dir)
    with hive_server(cluster, run_dir, settings) as running:
        yield running


@pytest.fixture(scope="session")
def hive(
    cluster: Cluster,
    server: HiveServer,
    service: ClusterService,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ClusterHive]:
    """Sessions of HiveServer2, with both tables registered by the storage handler."""
    running = ClusterHive(server, service, tmp_path_factory.mktemp("scans"))
    with running:
        running.register_at(cluster)
        yield running
