"""The pruning service and HiveServer2 under load: answers a second, latencies, and resources held.

The clients are on the machine of the servers. Each has its own connection and always one open
request. Those of the service are in one thread (`bench.clients.service_clients`), those of
HiveServer2 in threads of this process. ENDURANCE_SECONDS is the duration of the endurance runs:
1800 for half an hour.

One worker and two are measured in turns, and the best turn of each counts: what else the machine
does comes and goes. The clients need a part of the same cores; they decode one answer of sixteen,
and their share is a result as well.
"""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.clients.answers import Answers, processor_seconds, with_children
from bench.clients.service_clients import ServiceTable, ask_service
from bench.reporting.measuring import Measurement, benchmark
from bench.tables import event_table, synthetic
from devtools.ddl import create_with_handler
from devtools.hiveserver import ENGINES, HiveServer
from devtools.runtime import WORK, java
from devtools.service import ServiceProcess

_RUN_DIR = WORK / "bench" / "load"
_CLIENTS = (1, 8, 64)
_FILES, _PARTITIONS = 2_000, 20
_TIMEOUT = 60.0
_SECONDS, _WARM_UP_SECONDS = 15.0, 5.0
_ENDURANCE_SECONDS = float(os.environ.get("ENDURANCE_SECONDS", "60"))
_IDLE_SECONDS = 120.0
_MOST_WARM_UPS, _STEADY_TURNS, _STEADY = 24, 2, 1.01
_PRIME = 7919
_WORKERS, _ROUNDS, _ROUND_SECONDS, _MANY_CLIENTS = 2, 5, 4.0, 64
_CHECKED = 16
_COMMIT_SECONDS, _FIRST, _KEPT_COMMITS = 1.0, 200, 10

Ask = Callable[[int], None]
"""Asks the question of a number, and checks the answer."""

Client = Callable[[], AbstractContextManager[Ask]]
"""Connects a client."""


@dataclass(frozen=True)
class Held:
    """The resources of a process: memory in bytes, open files, threads."""

    memory: int
    files: int
    threads: int


@dataclass(frozen=True)
class Loaded:
    """A server under load; `asked` lets clients ask for some seconds."""

    name: str
    asked: Callable[[int, float], Answers]
    held: Callable[[], Held]


@benchmark("load")
def load() -> Iterator[Measurement]:
    """The pruning service with 1, 8 and 64 clients: answers a second, p50, p99."""
    with _service() as server:
        yield from _rates(server, {8: ">= 1000"})


@benchmark("workers")
def workers() -> Iterator[Measurement]:
    """The service with one worker and with two, 64 clients: answers a second, processor time."""
    table = _synthetic_table(synthetic.ensure_written(_FILES, _PARTITIONS))
    rounds: dict[int, list[Answers]] = {1: [], _WORKERS: []}
    with (
        ServiceProcess(_RUN_DIR / "one") as one,
        ServiceProcess(_RUN_DIR / "more", "--workers", str(_WORKERS)) as more,
    ):
        for service in (one, more):
            ask_service(service, table, _MANY_CLIENTS, _WARM_UP_SECONDS, _CHECKED)
        for _ in range(_ROUNDS):
            for number, service in ((1, one), (_WORKERS, more)):
                found = ask_service(service, table, _MANY_CLIENTS, _ROUND_SECONDS, _CHECKED)
                rounds[number].append(found)
    best = {
        number: max(found, key=lambda answers: answers.per_second)
        for number, found in rounds.items()
    }
    for number, found in best.items():
        case = f"workers: {number}, {_MANY_CLIENTS} clients"
        yield Measurement(f"{case}, answers a second", found.per_second, "1/s")
        yield Measurement(f"{case}, processor time of an answer", found.processor_millis, "ms")
        yield Measurement(f"{case}, the clients' share", found.own_millis, "ms")
        cores = found.processor_seconds / found.seconds
        yield Measurement(f"{case}, cores that the service got", cores, "cores")
    ratio = best[_WORKERS].per_second / best[1].per_second
    yield Measurement(f"workers: {_WORKERS} against 1, answers a second", ratio, "x", ">= 1.7")


@benchmark("endurance")
def endurance() -> Iterator[Measurement]:
    """The pruning service under load for ENDURANCE_SECONDS: memory, files and threads after it."""
    with _service() as server:
        yield from _left_behind(server)


@benchmark("workers-endurance")
def workers_endurance() -> Iterator[Measurement]:
    """Two workers, 64 clients and a writer for ENDURANCE_SECONDS: memory, files, threads."""
    path = WORK / "bench" / "endurance-table"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(synthetic.ensure_written(_FILES, _PARTITIONS), path)
    table = _synthetic_table(path)
    with ServiceProcess(_RUN_DIR, "--workers", str(_WORKERS)) as server, _commits(path) as commits:

        def asked(clients: int, seconds: float) -> Answers:
            return ask_service(server, table, clients, seconds, _CHECKED)

        loaded = Loaded(f"{_WORKERS} workers", asked, lambda: _held(server.pid))
        yield from _left_behind(loaded, (_MANY_CLIENTS,))
        title = f"endurance: {_WORKERS} workers, commits meanwhile"
        yield Measurement(title, len(commits), "commits")


@contextmanager
def _commits(table: Path) -> Iterator[list[int]]:
    """Commit to a table each second, and archive old commits; yield the numbers of the commits.

    The first ones are quicker, so that caches of a limited size are full before the beginning.
    """
    ended, numbers = threading.Event(), list[int]()

    def write() -> None:
        while not ended.wait(_COMMIT_SECONDS if len(numbers) > _FIRST else _COMMIT_SECONDS / 20):
            number = len(numbers)
            synthetic.add_commit(table, files=_FILES, number=number)
            if number >= _KEPT_COMMITS:
                synthetic.remove_commit(table, number - _KEPT_COMMITS)
            numbers.append(number)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            yield numbers
        finally:
            ended.set()
            writing.result()


@benchmark("hive-load")
def hive_load() -> Iterator[Measurement]:
    """HiveServer2 and the service with 1, 8 and 64 PyHive clients, each for 1 of 2,000 files."""
    with _hive() as server:
        yield from _rates(server, {})


@benchmark("hive-endurance")
def hive_endurance() -> Iterator[Measurement]:
    """HiveServer2 under load for ENDURANCE_SECONDS: memory, files and threads after it."""
    with _hive() as server:
        yield from _left_behind(server)


@contextmanager
def _service() -> Iterator[Loaded]:
    table = _synthetic_table(synthetic.ensure_written(_FILES, _PARTITIONS))
    with ServiceProcess(_RUN_DIR) as server:

        def asked(clients: int, seconds: float) -> Answers:
            return ask_service(server, table, clients, seconds)

        yield Loaded("service", asked, lambda: _held(server.pid))


def _synthetic_table(path: Path) -> ServiceTable:
    return ServiceTable(str(path), _FILES, synthetic.ROWS_PER_FILE)


@contextmanager
def _hive() -> Iterator[Loaded]:
    table = event_table.ensure_written()
    rows = event_table.FILES * event_table.ROWS_PER_FILE
    with (
        ServiceProcess(_RUN_DIR) as service,
        HiveServer(_RUN_DIR / "server", jvm_options=()) as server,
    ):
        settings = {**ENGINES["fetch"], "hudi.pruning.service.addresses": service.address}
        settings["hudi.pruning.cache.ms"] = "0"
        with server.session() as session:
            session.run(create_with_handler("events", table.path))

        @contextmanager
        def connected() -> Iterator[Ask]:
            with server.session(settings) as session:

                def ask(number: int) -> None:
                    found = session.run(f"SELECT id FROM events WHERE id = {number % rows}")
                    assert found == [(number % rows,)], found

                yield ask

        def held() -> Held:
            # First, because the JVM opens a socket for the first process that attaches.
            heap = _live_heap(server.pid)
            now = _held(server.pid)
            return Held(heap, now.files, now.threads)

        def asked(clients: int, seconds: float) -> Answers:
            return _ask_in_threads(connected, server.pid, clients, seconds)

        yield Loaded("HiveServer2", asked, held)


def _rates(server: Loaded, bars: Mapping[int, str]) -> Iterator[Measurement]:
    """Measure each number of clients; `bars` are those of the answers a second."""
    _in_turn(server, _WARM_UP_SECONDS, 1)
    for clients in _CLIENTS:
        found = server.asked(clients, _SECONDS)
        case = f"load: {server.name}, {clients} client{'s' if clients > 1 else ''}"
        bar = bars.get(clients)
        yield Measurement(f"{case}, answers a second", found.per_second, "1/s", bar)
        yield Measurement(f"{case}, median", found.percentile(50), "ms")
        yield Measurement(f"{case}, 99th percentile", found.percentile(99), "ms")
        name = f"{case}, processor time of an answer"
        yield Measurement(name, found.processor_millis, "ms")


def _left_behind(server: Loaded, clients: Sequence[int] = _CLIENTS) -> Iterator[Measurement]:
    """Measure what load leaves behind; `clients` are the numbers of them, in turn."""
    before = _warm(server, clients)
    turns = max(1, round(_ENDURANCE_SECONDS / (_SECONDS * len(clients))))
    answers = _in_turn(server, _ENDURANCE_SECONDS / turns / len(clients), turns, clients)
    after = _at_rest(server, before)
    title = f"endurance: {server.name}"
    yield Measurement(f"{title}, seconds under load", _ENDURANCE_SECONDS, "s")
    yield Measurement(f"{title}, answers", answers, "answers")
    yield Measurement(f"{title}, memory at the end", after.memory / 1e6, "MB")
    growth = after.memory / before.memory
    yield Measurement(f"{title}, memory, end against beginning", growth, "x", "<= 1.05")
    yield Measurement(f"{title}, more open files", after.files - before.files, "files", "<= 0")
    yield Measurement(f"{title}, more threads", after.threads - before.threads, "threads", "<= 0")


def _warm(server: Loaded, clients: Sequence[int]) -> Held:
    """Ask until all workers have started, and have what they allocate once; return that.

    A leak would never be steady, so there is a limit of turns.
    """
    held, steady = server.held(), 0
    for _ in range(_MOST_WARM_UPS):
        _in_turn(server, _WARM_UP_SECONDS, 1, clients)
        before, held = held, server.held()
        is_steady = held.threads <= before.threads and held.memory <= before.memory * _STEADY
        steady = steady + 1 if is_steady else 0
        if steady == _STEADY_TURNS:
            break
    return held


def _at_rest(server: Loaded, before: Held) -> Held:
    """Return the resources once idle threads have ended, as pools end them after a while."""
    end = time.monotonic() + _IDLE_SECONDS
    held = server.held()
    while (held.files > before.files or held.threads > before.threads) and time.monotonic() < end:
        time.sleep(1)
        held = server.held()
    return held


def _in_turn(server: Loaded, seconds: float, times: int, clients: Sequence[int] = _CLIENTS) -> int:
    """Run each number of clients for some seconds, some times; return the number of answers."""
    return sum(
        len(server.asked(number, seconds).millis) for _ in range(times) for number in clients
    )


def _ask_in_threads(connected: Client, pid: int, clients: int, seconds: float) -> Answers:
    """Let clients in threads ask the server with this process id for some seconds."""
    results: list[list[float]] = [[] for _ in range(clients)]
    together = threading.Barrier(clients + 1)

    def client(number: int) -> None:
        with connected() as ask:
            together.wait(_TIMEOUT)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                started = time.perf_counter()
                ask(number * _PRIME + len(results[number]))
                results[number].append((time.perf_counter() - started) * 1e3)

    with ThreadPoolExecutor(clients) as pool:
        running = [pool.submit(client, number) for number in range(clients)]
        together.wait(_TIMEOUT)
        before, started = processor_seconds(pid), time.monotonic()
        for one in running:
            one.result()
        elapsed = time.monotonic() - started
    millis = [one for some in results for one in some]
    return Answers(millis, elapsed, processor_seconds(pid) - before)


def _held(pid: int) -> Held:
    """Return what Linux reports about a process and its workers; memory is the resident set."""
    memory = files = threads = 0
    for one in with_children(pid):
        process = Path(f"/proc/{one}")
        lines = (process / "status").read_text().splitlines()
        status = dict(line.split(":\t", 1) for line in lines)
        memory += int(status["VmRSS"].split()[0]) * 1024
        files += len(list((process / "fd").iterdir()))
        threads += int(status["Threads"])
    return Held(memory, files, threads)


def _live_heap(pid: int) -> int:
    """Return the bytes of a JVM's live objects, after a collection."""
    jcmd = java().resolve().with_name("jcmd")
    listed = subprocess.run(
        [jcmd, str(pid), "GC.class_histogram"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    total = next(line for line in reversed(listed.splitlines()) if line.startswith("Total"))
    return int(total.split()[-1])
