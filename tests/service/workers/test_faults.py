"""Several workers when one dies, hangs, or is sent what nobody should send."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from thrift.Thrift import TException

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import Column, Comparison, HudiExpression, In, Literal, Op
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import PruneResponse, PruneStatus
from tests.service.running_server import PATIENCE, closed_by_peer, frame
from tests.service.service_process import Process

IN_US = parse_predicate("region = 'us'")
CALLERS = 8


@contextlib.contextmanager
def two_workers(directory: Path, **settings: object) -> Iterator[Process]:
    started = Process(directory, workers=2, **settings)
    try:
        yield started
    finally:
        started.kill()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with two_workers(tmp_path_factory.mktemp("service")) as started:
        yield started


@pytest.fixture
def service(shared: Process) -> Process:
    """Two workers that are ready, whatever the test before did to them."""
    wait_for_workers(shared, 2)
    return shared


@pytest.fixture
def table(golden: Mapping[str, Path]) -> str:
    return str(golden["cow_v9_txns_simple_meta"])


def asked(service: Process, table: str, predicate: HudiExpression = IN_US) -> PruneResponse | None:
    """The answer to a question over a connection of its own; None if it is cut off."""
    with PruningClient(port=service.port, timeout=PATIENCE) as client:
        try:
            return client.prune(table, predicate)
        except (TException, OSError, EOFError):
            return None


class Asking:
    """Callers that ask until the test ends them; each connects again if it is cut off."""

    def __init__(self, service: Process, table: str) -> None:
        self._service = service
        self._table = table
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(CALLERS)
        self.answers: list[PruneResponse] = []
        self.cut_off: list[Exception] = []
        self._running = [self._pool.submit(self._ask) for _ in range(CALLERS)]

    def wait_for(self, number: int) -> None:
        """Wait for so many more answers."""
        end, most = time.monotonic() + PATIENCE, len(self.answers) + number
        while len(self.answers) < most:
            assert time.monotonic() < end
            time.sleep(0.01)

    def end(self) -> None:
        """End the callers, and raise what they met unexpectedly."""
        self._ended.set()
        for one in self._running:
            one.result(PATIENCE)
        self._pool.shutdown()

    def _ask(self) -> None:
        while not self._ended.is_set():
            with PruningClient(port=self._service.port, timeout=PATIENCE) as client:
                try:
                    while not self._ended.is_set():
                        self.answers.append(client.prune(self._table, IN_US))
                except (TException, OSError, EOFError) as error:
                    self.cut_off.append(error)


def test_connections_are_spread_evenly_and_metrics_speak_for_all_workers(
    service: Process, table: str
) -> None:
    clients = [PruningClient(port=service.port, timeout=PATIENCE) for _ in range(10)]
    for client in clients:
        assert client.prune(table, IN_US).status == PruneStatus.OK
    found = service.metrics()
    assert found["pyhudi_requests_total{ok}"] == 10
    assert found["pyhudi_connections{1}"] == found["pyhudi_connections{2}"] == 5
    assert found["pyhudi_cached_tables{1}"] == found["pyhudi_cached_tables{2}"] == 1
    assert found["pyhudi_workers"] == 2
    for client in clients:
        client.close()


def test_a_worker_that_dies_in_the_middle_of_answers_is_replaced(
    service: Process, table: str
) -> None:
    """Its callers are cut off, and read every file; those of the other worker notice nothing."""
    replaced = service.metrics()["pyhudi_workers_replaced_total"]
    first, second = service.worker_pids()
    asking = Asking(service, table)
    asking.wait_for(100)
    os.kill(first, signal.SIGKILL)
    logged = service.wait_for_log("worker replaced", pid=first)
    assert logged["ended"] == "signal SIGKILL"
    asking.wait_for(200)
    asking.end()
    assert {answer.status for answer in asking.answers} == {PruneStatus.OK}
    assert 0 < len(asking.cut_off) <= CALLERS
    wait_for_workers(service, 2)
    pids = service.worker_pids()
    assert len(pids) == 2
    assert second in pids
    assert first not in pids
    assert service.metrics()["pyhudi_workers_replaced_total"] == replaced + 1


def test_callers_of_another_worker_notice_nothing_of_one_that_is_killed_again_and_again(
    tmp_path: Path, table: str
) -> None:
    """A service of its own: after many deaths workers are replaced later, in other tests, too."""
    with two_workers(tmp_path) as service:
        wait_for_workers(service, 2)
        spared = service.worker_pids()[0]
        asking = Asking(service, table)
        for kills in range(1, 5):
            wait_for_workers(service, 2)
            (killed,) = {*service.worker_pids()} - {spared}
            os.kill(killed, signal.SIGKILL)
            service.wait_for_log("worker replaced", pid=killed)
            asking.wait_for(100)
            assert len(asking.cut_off) <= kills * CALLERS
        asking.end()
        assert {answer.status for answer in asking.answers} == {PruneStatus.OK}
        assert spared in service.worker_pids()


def test_counts_of_a_dead_worker_stay_in_the_sums(service: Process, table: str) -> None:
    def answered() -> float:
        return service.metrics()["pyhudi_requests_total{ok}"]

    before = service.metrics().get("pyhudi_requests_total{ok}", 0)
    for _ in range(6):
        assert asked(service, table) is not None
    assert answered() == before + 6
    os.kill(service.worker_pids()[1], signal.SIGKILL)
    service.wait_for_log("worker replaced")
    wait_for_workers(service, 2)
    assert answered() == before + 6
    assert asked(service, table).status == PruneStatus.OK
    assert answered() == before + 7


def test_if_all_workers_die_who_connects_is_answered_by_the_next_ones(
    tmp_path: Path, table: str
) -> None:
    with two_workers(tmp_path) as service:
        dead = service.worker_pids()
        for pid in dead:
            os.kill(pid, signal.SIGKILL)
        for _ in dead:
            assert service.wait_for_log("worker replaced")["wait"] == 0
        answer = asked(service, table)
        assert answer is not None
        assert answer.status == PruneStatus.OK
        assert not set(dead) & set(service.worker_pids())


def test_workers_are_forked_from_a_process_that_runs_nothing_else(service: Process) -> None:
    """A lock that another of its threads held would stay locked in a worker for ever."""
    (template,) = service.template_pids()
    names = [file.read_text() for file in Path(f"/proc/{template}/task").glob("*/comm")]
    assert len(names) == 1
    files = [file.readlink() for file in Path(f"/proc/{template}/fd").iterdir()]
    assert not [file for file in files if file.suffix in (".parquet", ".arrow", ".hfile")]


def test_without_the_process_to_fork_from_workers_go_on_and_are_still_replaced(
    service: Process, table: str
) -> None:
    workers = service.worker_pids()
    (template,) = service.template_pids()
    asking = Asking(service, table)
    asking.wait_for(20)
    os.kill(template, signal.SIGKILL)
    service.wait_for_log("the process that forks workers has ended: the next worker starts another")
    asking.wait_for(50)
    asking.end()
    assert asking.cut_off == []
    os.kill(workers[0], signal.SIGKILL)
    assert service.wait_for_log("worker replaced", pid=workers[0])["ended"] == "exit code unknown"
    wait_for_workers(service, 2)
    assert asked(service, table).status == PruneStatus.OK
    assert len(service.template_pids()) == 1
    os.kill(workers[1], signal.SIGKILL)
    service.wait_for_log("worker replaced", pid=workers[1])
    wait_for_workers(service, 2)
    assert len(service.worker_pids()) == 2


def test_reloading_while_callers_ask_disturbs_none_of_them(service: Process, table: str) -> None:
    asking = Asking(service, table)
    for _ in range(5):
        asking.wait_for(50)
        service.reload()
    service.write(max_nodes=-1)
    service.reload("settings not reloaded")
    asking.wait_for(50)
    asking.end()
    assert asking.cut_off == []
    assert {answer.status for answer in asking.answers} == {PruneStatus.OK}


def test_a_poisoned_request_does_not_take_other_callers_down(service: Process, table: str) -> None:
    workers = service.worker_pids()
    asking = Asking(service, table)
    asking.wait_for(20)
    for payload in (os.urandom(1 << 16), b"\x80\x01\x00\x01" + b"\x0c\x00\x63" * 100_000):
        with service.connect() as caller:
            caller.sendall(frame(payload))
            assert closed_by_peer(caller)
    with service.connect() as caller:
        caller.sendall(struct.pack("!i", 2**31 - 1))
        assert closed_by_peer(caller)
    large = In(Column(("region",)), tuple(Literal(f"v{i}", pa.string()) for i in range(60_000)))
    assert asked(service, table, large).status == PruneStatus.OK
    assert sent(service, table, deeply_nested(5_000)).status == PruneStatus.BAD_REQUEST
    refused = sent(service, table, [ttypes.Node()] * 199_000)
    assert refused.status == PruneStatus.BAD_REQUEST
    asking.wait_for(20)
    asking.end()
    assert asking.cut_off == []
    assert {answer.status for answer in asking.answers} == {PruneStatus.OK}
    assert service.worker_pids() == workers


def test_a_worker_that_starts_later_has_the_settings_that_were_reloaded(
    service: Process, table: str
) -> None:
    service.write(table_roots=["/elsewhere"])
    service.reload()
    os.kill(service.worker_pids()[0], signal.SIGKILL)
    service.wait_for_log("worker replaced")
    wait_for_workers(service, 2)
    statuses = {asked(service, table).status for _ in range(6)}
    assert statuses == {PruneStatus.BAD_REQUEST}
    service.write()
    service.reload()


def test_a_worker_that_starts_during_a_reload_has_the_new_settings(
    service: Process, table: str
) -> None:
    others = set(service.worker_pids())
    os.kill(service.worker_pids()[0], signal.SIGKILL)
    service.wait_for_log("worker replaced")
    end = time.monotonic() + PATIENCE
    while not (new := set(service.worker_pids()) - others):
        assert time.monotonic() < end
    (starting,) = new
    os.kill(starting, signal.SIGSTOP)
    service.write(table_roots=["/elsewhere"])
    service.reload()
    os.kill(starting, signal.SIGCONT)
    wait_for_workers(service, 2)
    assert {asked(service, table).status for _ in range(6)} == {PruneStatus.BAD_REQUEST}
    service.write()
    service.reload()


def test_workers_that_keep_dying_are_replaced_after_a_while_and_callers_are_not_kept_waiting(
    service: Process, table: str
) -> None:
    waits = []
    for _ in range(2):
        wait_for_workers(service, 2)
        for pid in service.worker_pids():
            os.kill(pid, signal.SIGKILL)
        waits += [service.wait_for_log("worker replaced")["wait"] for _ in range(2)]
    assert min(waits[-2:]) >= 0.5
    started_at = time.monotonic()
    assert asked(service, table) is None
    assert time.monotonic() - started_at < 2
    wait_for_workers(service, 2)
    assert asked(service, table).status == PruneStatus.OK


def test_stopping_answers_what_was_taken(service: Process, table: str) -> None:
    logged_before = service.text.count('"event": "prune"')
    asking = Asking(service, table)
    asking.wait_for(100)
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(PATIENCE) == 0
    service.reader.join()
    asking.end()
    # Every question that a worker has answered has reached its caller.
    logged = service.text.count('"event": "prune"') - logged_before
    assert logged == len(asking.answers)


def test_a_request_that_may_take_too_much_memory_is_refused_and_workers_end_with_their_supervisor(
    tmp_path: Path, table: str
) -> None:
    with two_workers(tmp_path, request_bytes=1 << 20) as service:
        refused = sent(service, table, [ttypes.Node()] * 2_000)
        assert refused.status == PruneStatus.NOT_PRUNED
        assert "request_bytes is 1048576" in refused.message
        assert refused.basePath == table
        assert asked(service, table).status == PruneStatus.OK
        assert service.metrics()["pyhudi_unpruned_total{large_request}"] == 1
        pids = service.worker_pids()
        service.kill()
    end = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.02)


def sent(service: Process, table: str, filter_: list[ttypes.Node]) -> PruneResponse:
    """The answer to any nodes as a filter."""
    request = ttypes.PruneRequest(PROTOCOL_VERSION, "1", table, filter_, 1)
    with PruningClient(port=service.port, timeout=PATIENCE) as client:
        return client.send(request)


def deeply_nested(levels: int) -> list[ttypes.Node]:
    """NOT within NOT, which no limit of the list's length refuses."""
    leaf = encode(Comparison(Op.EQ, Column(("amount",)), Literal(1, pa.int64())))
    first = len(leaf) - 1
    nots = [ttypes.Node(ttypes.NodeKind.NOT, [first + level]) for level in range(levels)]
    return [*leaf, *nots]


def wait_for_workers(service: Process, number: int) -> None:
    """Wait until so many workers take requests."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if service.metrics()["pyhudi_workers"] == number:
                return
        except (TimeoutError, OSError):
            pass  # No worker serves pages.
        assert time.monotonic() < end
        time.sleep(0.05)
