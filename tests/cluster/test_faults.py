"""Faults of a cluster: each query returns its rows, pruned or not."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import MASTER, MR, SERVER
from devtools.cluster.one_sided import WayTo
from devtools.cluster.service import ClusterService, ServiceWithOtherClock
from tests.cluster.cluster_hive import ClusterAnswer, ClusterHive

pytestmark = pytest.mark.cluster

QUERY = "SELECT count(*), sum(amount) FROM events WHERE amount > 20500 OR id < 700"
_PATIENCE = 180.0
_SECOND_ATTEMPT = re.compile(r"attempt_\w+_m_\d+_1 TaskAttempt Transitioned from NEW")
_LOG_OF_TASK = re.compile(r"-Dyarn\.app\.container\.log\.dir=([^\0]+)")
# The same master asks for one query after another.
NOTHING_KEPT = {"hudi.pruning.cache.ms": "0", "hudi.pruning.breaker.ms": "0"}
# Tasks of half a dozen files, so that both nodes have some.
SLOW = {"tez.grouping.min-size": "400000", "tez.grouping.max-size": "400000"}


@pytest.fixture(scope="module")
def expected(hive: ClusterHive) -> ClusterAnswer:
    """The rows, with all files read."""
    return hive.ask(QUERY, SERVER, pruning=False)


def test_an_expired_token_keeps_every_file(
    hive: ClusterHive, cluster: Cluster, expected: ClusterAnswer
) -> None:
    settings = {"hudi.pruning.job.token.ms": "0", **NOTHING_KEPT}
    answer = hive.ask(QUERY, MASTER, settings=settings)
    assert answer.rows == expected.rows
    assert answer.scan.outcomes == ("UNREACHABLE",)
    assert answer.files == (40, 40)
    said = cluster.container_logs("syslog*")
    assert "the job's token has expired" in said
    assert "hudi.pruning.job.token.ms" in said


def test_a_loopback_address_is_refused_where_it_means_another_host(
    hive: ClusterHive, cluster: Cluster, service: ClusterService, expected: ClusterAnswer
) -> None:
    own = {"hudi.pruning.service.addresses": f"127.0.0.1:{service.port}", **NOTHING_KEPT}
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


def test_a_node_that_does_not_reach_the_service_keeps_every_file(
    hive: ClusterHive, cluster: Cluster, service: ClusterService, expected: ClusterAnswer
) -> None:
    host = service.address.rpartition(":")[0]
    with WayTo(service.port) as way:
        settings = {"hudi.pruning.service.addresses": f"{host}:{way.port}", **NOTHING_KEPT}
        reached = hive.ask(QUERY, MASTER, settings=settings)
        master = _master(cluster)
        way.cut_off(cluster.containers(1 - master))
        elsewhere = hive.ask(QUERY, MASTER, settings=settings)
        way.cut_off(cluster.containers(master))
        cut = hive.ask(QUERY, MASTER, settings=settings)
    assert reached.scan.outcomes == elsewhere.scan.outcomes == ("PRUNED",)
    assert cut.scan.outcomes == ("UNREACHABLE",)
    assert cut.files == (40, 40)
    assert reached.rows == elsewhere.rows == cut.rows == expected.rows


@pytest.mark.parametrize(("ahead", "outcome"), [(7200, "UNREACHABLE"), (-7200, "PRUNED")])
def test_a_wrong_clock_costs_pruning_only(
    hive: ClusterHive,
    cluster: Cluster,
    service: ClusterService,
    expected: ClusterAnswer,
    tmp_path: Path,
    ahead: float,
    outcome: str,
) -> None:
    """A job's token is good for an hour, by the clocks of HiveServer2 and of the service."""
    token = service.token_file.read_text()
    with ServiceWithOtherClock(cluster, tmp_path, token, ahead) as other:
        settings = {"hudi.pruning.service.addresses": other.address, **NOTHING_KEPT}
        in_server = hive.ask(QUERY, SERVER, settings=settings)
        answer = hive.ask(QUERY, MASTER, settings=settings)
    assert in_server.scan.outcomes == ("PRUNED",)  # by the token of the file
    assert answer.scan.outcomes == (outcome,)
    assert answer.rows == in_server.rows == expected.rows


def test_a_map_that_is_killed_runs_again_and_gives_its_rows_once(
    hive: ClusterHive, cluster: Cluster
) -> None:
    """Hive 4 does not let MapReduce run a slow map twice (HIVE-23354)."""
    query = "SELECT count(*), max(score), sum(amount) FROM returns WHERE score > 0.5"
    settings = {"mapreduce.input.fileinputformat.split.maxsize": "2000000"}
    expected = hive.ask_unpruned(query, MR)
    before = len(_SECOND_ATTEMPT.findall(cluster.container_logs("syslog")))
    with _meanwhile(lambda: _kill_a_map(cluster)):
        answer = hive.ask(query, MR, settings=settings)
    assert answer.rows == expected.rows
    assert answer.scan.outcomes == ("PRUNED",)
    assert len(_SECOND_ATTEMPT.findall(cluster.container_logs("syslog"))) > before


def test_a_lost_node_is_replaced(
    hive: ClusterHive, cluster: Cluster, expected: ClusterAnswer
) -> None:
    hive.ask(QUERY, MASTER, settings=SLOW)
    lost = 1 - _master(cluster)

    def lose() -> None:
        cluster.nodes[lost].lose()
        cluster.kill_containers(lost)

    try:
        with _meanwhile(lose):
            answer = hive.ask(QUERY, MASTER, settings=SLOW)
    finally:
        cluster.start_node(lost)
    assert answer.rows == expected.rows
    assert answer.scan.outcomes == ("PRUNED",)


def _kill_a_map(cluster: Cluster) -> None:
    """Kill the first map that reads."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        for process in (one for node in (0, 1) for one in cluster.containers(node)):
            if _reads_as_map(process):
                os.kill(process, signal.SIGKILL)
                return
        time.sleep(0.05)


def _reads_as_map(process: int) -> bool:
    try:
        command = Path(f"/proc/{process}/cmdline").read_text()
        log = Path(_LOG_OF_TASK.findall(command)[0]) / "syslog"
        # Not the shell that has started it.
        is_task = "YarnChild" in command and command.partition("\0")[0].endswith("java")
        return is_task and "MapTask: Processing split" in log.read_text()
    except (OSError, LookupError):
        return False


def _master(cluster: Cluster) -> int:
    """The number of the node with the newest master: its container is an application's first.

    By the number of the application: a master that ends writes to its directory, too. The number of
    a first container is not always 1: a reservation on a full node takes a number as well.
    """
    found = list(cluster.directory.glob("nodemanager*/logs/application_*/container_*"))
    newest = max(directory.parent.name for directory in found)
    first = min((one for one in found if one.parent.name == newest), key=lambda one: one.name)
    return int(first.parts[-4].removeprefix("nodemanager")) - 1


def _kill_tasks(cluster: Cluster, master: int) -> int:
    return cluster.kill_containers(1 - master)


@contextmanager
def _meanwhile(act: Callable[[], object], seconds: float = 2.0) -> Iterator[None]:
    """Act some seconds after the context has started; its end waits for that."""

    def later() -> None:
        time.sleep(seconds)
        act()

    thread = threading.Thread(target=later)
    thread.start()
    try:
        yield
    finally:
        thread.join()
