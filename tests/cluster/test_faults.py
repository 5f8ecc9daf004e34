"""Faults of a cluster: each query returns its rows, pruned or not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from devtools.cluster.hadoop import Cluster
from devtools.cluster.service import ClusterService
from tests.cluster.cluster_hive import MASTER, SERVER, ClusterAnswer, ClusterHive

pytestmark = pytest.mark.cluster

QUERY = "SELECT count(*), sum(amount) FROM events WHERE amount > 20500 OR id < 700"
# Tasks of half a dozen files, so that both nodes have some.
SLOW = {"tez.grouping.min-size": "400000", "tez.grouping.max-size": "400000"}


@pytest.fixture(scope="module")
def expected(hive: ClusterHive) -> ClusterAnswer:
    """The rows, with all files read."""
    return hive.ask(QUERY, SERVER, pruning=False)


def test_an_expired_token_keeps_every_file(
    hive: ClusterHive, cluster: Cluster, expected: ClusterAnswer
) -> None:
    # Another question than others ask: an answer may be used again in the same container.
    answer = hive.ask(QUERY, MASTER, settings={"hudi.pruning.job.token.ms": "0"})
    assert answer.rows == expected.rows
    assert answer.scan.outcomes == ("UNREACHABLE",)
    assert answer.files == (40, 40)
    said = cluster.container_logs("syslog*")
    assert "the job's token has expired" in said
    assert "hudi.pruning.job.token.ms" in said


def test_a_loopback_address_is_refused_where_it_means_another_host(
    hive: ClusterHive, cluster: Cluster, service: ClusterService, expected: ClusterAnswer
) -> None:
    own = {"hudi.pruning.service.addresses": f"127.0.0.1:{service.port}"}
    in_server = hive.ask(QUERY, SERVER, settings=own)
    assert in_server.scan.outcomes == ("PRUNED",)
    answer = hive.ask(QUERY, MASTER, settings=own)
    assert answer.rows == in_server.rows == expected.rows
    assert answer.scan.outcomes == ("UNREACHABLE",)
    assert "is this container's own host, not HiveServer2's" in cluster.container_logs("syslog*")


def test_killed_containers_are_started_again(
    hive: ClusterHive, cluster: Cluster, expected: ClusterAnswer
) -> None:
    hive.ask(QUERY, MASTER, settings=SLOW)  # A session whose master runs.
    master = _master(cluster)
    killed: list[int] = []
    with _meanwhile(lambda: killed.append(_kill_tasks(cluster, master))):
        answer = hive.ask(QUERY, MASTER, settings=SLOW)
    assert answer.rows == expected.rows
    assert answer.scan.outcomes == ("PRUNED",)
    assert killed


def test_a_lost_node_is_replaced(
    hive: ClusterHive, cluster: Cluster, expected: ClusterAnswer
) -> None:
    hive.ask(QUERY, MASTER, settings=SLOW)
    lost = 1 - _master(cluster)

    def lose() -> None:
        cluster.nodes[lost].stop(0)
        cluster.kill_containers(lost)

    with _meanwhile(lose):
        answer = hive.ask(QUERY, MASTER, settings=SLOW)
    assert answer.rows == expected.rows
    assert answer.scan.outcomes == ("PRUNED",)


def _master(cluster: Cluster) -> int:
    """The number of the node with the newest master: its container is an application's first."""
    found = cluster.directory.glob("nodemanager*/logs/*/container_*_01_000001")
    newest = max(found, key=lambda directory: directory.stat().st_mtime)
    return int(newest.parts[-4].removeprefix("nodemanager")) - 1


def _kill_tasks(cluster: Cluster, master: int) -> int:
    return cluster.kill_containers(1 - master)


@contextmanager
def _meanwhile(act: Callable[[], object], seconds: float = 2.0) -> Iterator[None]:
    """Act some seconds after the context has begun; its end waits for that."""

    def later() -> None:
        time.sleep(seconds)
        act()

    thread = threading.Thread(target=later)
    thread.start()
    try:
        yield
    finally:
        thread.join()
