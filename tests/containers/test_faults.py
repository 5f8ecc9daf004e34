"""Failures of containers and their network cost time and pruning, never rows."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import pytest
from docker.models.images import Image

from tests.containers.cluster import REPLICAS, Answer, Cluster, Rows
from tests.containers.conftest import TRIPS

pytestmark = [pytest.mark.containers, pytest.mark.timeout(300, func_only=True)]

QUERY = "SELECT id, fare, city FROM trips WHERE id BETWEEN 150 AND 349"
FILES = TRIPS // 100
PRUNED = ("PRUNED", (FILES, 3))
TIMEOUT_MS = 2000
UNHURRIED = {"hudi.pruning.timeout.ms": "20000", "hudi.pruning.cache.ms": "0"}

_TOOLS = """
FROM pyhudi/service
USER root
RUN apt-get -q update && apt-get -q install -y --no-install-recommends iproute2 libfaketime
USER pyhudi
"""
_FAKED_TIME = ["LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1", "FAKETIME_DONT_FAKE_MONOTONIC=1"]


@pytest.fixture(scope="module")
def rows(containers: Cluster) -> Rows:
    found = containers.ask(QUERY, enabled=False).rows
    assert len(found) == 200
    return found


@pytest.fixture(scope="module")
def tools(containers: Cluster) -> Image:
    """The service's image, with tools that delay packets and shift clocks."""
    image, _ = containers.engine.images.build(
        fileobj=io.BytesIO(_TOOLS.encode()), network_mode="host", tag="pyhudi/tools"
    )
    return image


@pytest.fixture(autouse=True)
def _wait_for_both_replicas(containers: Cluster) -> Iterator[None]:
    """Waits after each test until the circuit breakers have closed."""
    yield
    for name in REPLICAS:
        containers.wait(partial(_is_healthy, containers, name))
    first = containers.container(REPLICAS[0])
    with temporarily(first.pause, first.unpause):
        containers.wait(lambda: is_pruned(containers.ask(QUERY, timeout_ms=TIMEOUT_MS)))
    containers.wait(lambda: _first_replica_answered(containers))


def _is_healthy(containers: Cluster, name: str) -> bool:
    return containers.health(name) == "healthy"


def _first_replica_answered(containers: Cluster) -> bool:
    """Whether it and no other does: a request from before the pause may be counted only now."""
    first, second = _requests(containers)
    answer = containers.ask(QUERY)
    return _requests(containers) == (first + 1, second) and answer.outcome == "PRUNED"


def _requests(containers: Cluster) -> tuple[float, float]:
    first, second = (containers.metrics(name)["pyhudi_request_seconds_count"] for name in REPLICAS)
    return first, second


@contextmanager
def temporarily(act: Callable[[], object], undo: Callable[[], object]) -> Iterator[None]:
    act()
    try:
        yield
    finally:
        undo()


def is_pruned(answer: Answer) -> bool:
    return (answer.outcome, answer.files) == PRUNED


def test_one_replica_is_killed_while_many_queries_run(containers: Cluster, rows: Rows) -> None:
    first = containers.container(REPLICAS[0])
    earlier_scans = len(containers.scans())
    started = threading.Barrier(9)

    def ask_often(_: int) -> list[Rows]:
        started.wait()
        found = []
        for _ in range(4):
            with containers.session(UNHURRIED) as session:
                found.append(sorted(session.run(QUERY), key=repr))
        return found

    with ThreadPoolExecutor(8) as pool:
        results = pool.map(ask_often, range(8))
        started.wait()
        with temporarily(first.kill, first.start):
            assert [one for some in results for one in some] == [rows] * 32
            # The other replica answers, and the dead one costs nothing.
            answer = containers.ask(QUERY)
    assert is_pruned(answer)
    assert answer.pruning_seconds < TIMEOUT_MS / 1000
    scans = containers.scans()[earlier_scans:]
    assert len(scans) == 33
    assert {scan["outcome"] for scan in scans} == {"PRUNED"}


def test_one_replica_hangs(containers: Cluster, rows: Rows) -> None:
    first = containers.container(REPLICAS[0])
    with temporarily(first.pause, first.unpause):
        answers = [containers.ask(QUERY, timeout_ms=TIMEOUT_MS) for _ in range(5)]
    assert [answer.rows for answer in answers] == [rows] * 5
    assert all(map(is_pruned, answers))
    # Each of the two gets half of the time, until the circuit breaker opens at the third failure.
    assert [has_waited(answer) for answer in answers] == [True, True, True, False, False]


def test_both_replicas_hang_and_the_time_out_holds(containers: Cluster, rows: Rows) -> None:
    both = [containers.container(name) for name in REPLICAS]
    with temporarily(
        lambda: [one.pause() for one in both], lambda: [one.unpause() for one in both]
    ):
        answer = containers.ask(QUERY, timeout_ms=TIMEOUT_MS)
    assert answer.rows == rows
    assert (answer.outcome, answer.files) == ("TIMED_OUT", (FILES, FILES))
    assert answer.pruning_seconds <= TIMEOUT_MS / 1000 * 1.1


def test_no_replica_runs(containers: Cluster, rows: Rows) -> None:
    both = [containers.container(name) for name in REPLICAS]
    with temporarily(lambda: [one.kill() for one in both], lambda: [one.start() for one in both]):
        answer = containers.ask(QUERY)
    assert answer.rows == rows
    assert answer.outcome in ("UNREACHABLE", "TIMED_OUT")
    assert answer.files == (FILES, FILES)


def test_the_network_between_hive_and_the_service_is_cut(containers: Cluster, rows: Rows) -> None:
    network = containers.network
    both = [(name, containers.container(name)) for name in REPLICAS]
    with temporarily(
        lambda: [network.disconnect(one) for _, one in both],
        lambda: [network.connect(one, aliases=[name]) for name, one in both],
    ):
        answers = [containers.ask(QUERY, timeout_ms=1000) for _ in range(2)]
    for answer in answers:
        assert answer.rows == rows
        assert answer.outcome in ("UNREACHABLE", "TIMED_OUT")
        assert answer.pruning_seconds <= 1.1


def test_the_network_to_one_replica_is_slow(containers: Cluster, tools: Image, rows: Rows) -> None:
    first = containers.container(REPLICAS[0])

    def traffic(change: str) -> None:
        containers.engine.containers.run(
            tools,
            # After leaving and rejoining a network, a container has another address.
            entrypoint=["sh", "-c", f"tc qdisc {change % '$(ls /sys/class/net | grep eth)'}"],
            network_mode=f"container:{first.id}",
            cap_add=["NET_ADMIN"],
            user="root",
            remove=True,
        )

    # After the first packets, twelve bytes per second: an answer takes a minute, also on a machine
    # that is so busy that the bucket fills again between two queries.
    with temporarily(
        lambda: traffic("add dev %s root tbf rate 100bit burst 1600 latency 60s"),
        lambda: traffic("del dev %s root"),
    ):
        answers = [containers.ask(QUERY, timeout_ms=TIMEOUT_MS)]
        # Until the circuit breaker has opened. An answer may still arrive before, which closes it
        # again.
        while sum(map(has_waited, answers)) < 3 or has_waited(answers[-1]):
            assert len(answers) < 12, [answer.pruning_seconds for answer in answers]
            answers.append(containers.ask(QUERY, timeout_ms=TIMEOUT_MS))
    assert [answer.rows for answer in answers] == [rows] * len(answers)
    assert all(map(is_pruned, answers))


def has_waited(answer: Answer) -> bool:
    """As long as for a replica that hangs."""
    return answer.pruning_seconds > TIMEOUT_MS / 2000 * 0.9


@pytest.mark.parametrize(
    ("offset", "outcome"),
    [
        ("+30d", "PRUNED"),
        # The clients' certificates are not valid yet: all connections are refused.
        ("-30d", "UNREACHABLE"),
    ],
)
def test_the_clock_of_the_service_differs(
    containers: Cluster, tools: Image, rows: Rows, offset: str, outcome: str
) -> None:
    both = [containers.container(name) for name in REPLICAS]
    volumes = [
        f"{mount.get('Name') or mount['Source']}:{mount['Destination']}:ro"
        for mount in both[0].attrs["Mounts"]
        if mount["Type"] != "tmpfs"
    ]
    network = str(containers.network.name)
    both_names = containers.engine.api.create_endpoint_config(aliases=list(REPLICAS))
    skewed = containers.engine.containers.create(
        tools,
        environment=[*both[0].attrs["Config"]["Env"], *_FAKED_TIME, f"FAKETIME={offset}"],
        volumes=volumes,
        tmpfs={"/tmp": ""},
        network=network,
        networking_config={network: both_names},
    )
    with temporarily(lambda: [one.stop() for one in both], lambda: [one.start() for one in both]):
        try:
            skewed.start()
            containers.wait(lambda: b'"listening"' in skewed.logs())
            containers.wait(lambda: containers.ask(QUERY).outcome == outcome)
            answer = containers.ask(QUERY)
        finally:
            skewed.remove(force=True)
    assert answer.rows == rows
    if outcome == "PRUNED":
        assert is_pruned(answer)


def test_stopping_a_replica_gracefully_leaves_all_queries_pruned(
    containers: Cluster, rows: Rows
) -> None:
    first = containers.container(REPLICAS[0])
    before = len(containers.scans())
    with ThreadPoolExecutor(4) as pool, temporarily(lambda: None, first.start):
        results = [pool.submit(query_rows, containers) for _ in range(12)]
        first.stop(timeout=40)
        assert [one.result() for one in results] == [rows] * 12
    first.reload()
    assert {scan["outcome"] for scan in containers.scans()[before:]} == {"PRUNED"}


def query_rows(containers: Cluster) -> Rows:
    with containers.session(UNHURRIED) as session:
        return sorted(session.run(QUERY), key=repr)
