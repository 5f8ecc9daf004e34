"""Tables in an object store: an S3 server that delays each request, in a process of its own.

The service and the command line on a table of many files, and Hive on one of 250.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

from bench.clients.service_clients import ServiceTable, ask_service
from bench.reporting.measuring import Measurement, benchmark, median_seconds, seconds
from bench.tables import synthetic
from devtools import demo_tables
from devtools.ddl import create_with_handler
from devtools.hiveserver import ENGINES
from devtools.runtime import ROOT, WORK
from devtools.s3.__main__ import BUCKET
from devtools.s3.hadoop import hive_server, upload
from devtools.s3.proxy import RecordingProxy
from devtools.scan_reports import ScanReports
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.protocol.client import PruningClient

_RUN_DIR = WORK / "bench" / "object-store"
_DELAYS = (0, 30, 60)
"""Of each request, in milliseconds."""

_FILES, _FEWER_FILES = 100_000, 2_000
_COLD_RUNS, _WARM_RUNS = 3, 31
_TIMEOUT = 60.0
_CLIENTS, _SECONDS, _WARM_UP_SECONDS = 32, 10.0, 2.0
_HIVE_RUNS = 9
_PRIME = 7919
_COMMAND = (
    "import sys; from bench.cold import without_pandas; without_pandas();"
    " from pyhudi_expr.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


class _Counted(NamedTuple):
    requests: int
    waves: int


class _Server:
    """`python -m devtools.s3`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "devtools.s3", str(_RUN_DIR)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.environment = {name: str(value) for name, value in self._answer().items()}

    @property
    def port(self) -> int:
        """Where it listens, on this machine."""
        port = urlsplit(self.environment["AWS_ENDPOINT_URL"]).port
        assert port is not None
        return port

    def delay(self, millis: int) -> None:
        """Let each request wait, and forget those until now."""
        self._tell(f"delay {millis / 1000}")
        self.counted()

    def counted(self) -> _Counted:
        """Return the number of requests since the last call, and of their waves."""
        self._tell("requests")
        answer = self._answer()
        return _Counted(int(answer["requests"]), int(answer["waves"]))

    def stop(self) -> None:
        """End the process."""
        self._process.communicate(timeout=_TIMEOUT)

    def _tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, int | str]:
        assert self._process.stdout is not None
        found: dict[str, int | str] = json.loads(self._process.stdout.readline())
        return found


@benchmark("object-store")
def object_store() -> Iterator[Measurement]:
    """100,000 files on an S3 server that answers after 0, 30, 60 ms: cold, warm, load, and Hive."""
    with _serving() as server:
        tables = {
            files: _uploaded(files, partitions)
            for files, partitions in ((_FILES, 100), (_FEWER_FILES, 20))
        }
        for delay in _DELAYS:
            server.delay(delay)
            title = f"object-store: {_FILES:,} files, {delay} ms"
            yield from _in_service(title, server, tables, delay)
            yield from _as_command(title, server, tables[_FILES].location, delay)
        server.delay(30)
        for table in tables.values():
            yield from _under_load(table)
        yield from _in_hive(server)


@contextmanager
def _serving() -> Iterator[_Server]:
    """Start the server, and let this process and those that it starts find it."""
    _RUN_DIR.mkdir(parents=True, exist_ok=True)
    server, before = _Server(), dict(os.environ)
    try:
        os.environ.update(server.environment)
        yield server
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.stop()


def _in_service(
    title: str, server: _Server, tables: dict[int, ServiceTable], delay: int
) -> Iterator[Measurement]:
    """Measure first questions: to a new service, and to one that knows another table; and later."""
    first, cold = [], []
    for _ in range(_COLD_RUNS):
        with ServiceProcess(_RUN_DIR) as service:
            first.append(_seconds_of_question(service, tables[_FILES]))
        with ServiceProcess(_RUN_DIR) as service:
            _seconds_of_question(service, tables[_FEWER_FILES])
            server.counted()
            cold.append(_seconds_of_question(service, tables[_FILES]))
            counted = server.counted()
    with ServiceProcess(_RUN_DIR) as service, service.client(_TIMEOUT) as client:
        ask = partial(_ask, client, tables[_FILES])
        ask(0)
        server.counted()
        ask(1)
        counted_warm = server.counted()
        warm = median_seconds(partial(ask, 2), _WARM_RUNS)
    yield _measured(f"{title}, new service: first answer", first, "< 2" if delay == 60 else None)
    yield _measured(f"{title}, cold in a service", cold, "< 0.5" if delay == 30 else None)
    yield from _counts(f"{title}, cold in a service", counted, "<= 5", delay)
    bar = "< 50" if delay == 30 else None
    yield Measurement(f"{title}, warm", warm * 1e3, "ms", bar)
    yield from _counts(f"{title}, warm", counted_warm, "<= 1", delay)


def _as_command(title: str, server: _Server, table: str, delay: int) -> Iterator[Measurement]:
    predicate = f"spread = {_FILES * synthetic.ROWS_PER_FILE // 3}"
    command = [sys.executable, "-c", _COMMAND, "prune", table, predicate]

    def run() -> None:
        ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        if len(ran.stdout.splitlines()) != 1:
            raise ValueError(f"1 file matches: {ran.stdout}")

    run()  # Byte code is compiled.
    found = []
    for _ in range(_COLD_RUNS):
        server.counted()
        found.append(seconds(run))
        counted = server.counted()
    yield _measured(f"{title}, pyhudi prune", found, "< 1.5" if delay == 30 else None)
    yield from _counts(f"{title}, pyhudi prune", counted, "<= 5", delay)


def _under_load(table: ServiceTable) -> Iterator[Measurement]:
    """Measure clients with a connection each."""
    with ServiceProcess(_RUN_DIR) as service:
        ask_service(service, table, _CLIENTS, _WARM_UP_SECONDS)
        found = ask_service(service, table, _CLIENTS, _SECONDS)
    title = f"object-store: {table.files:,} files, 30 ms, {_CLIENTS} clients"
    yield Measurement(f"{title}: answers a second", found.per_second, "1/s", ">= 300")
    yield Measurement(f"{title}: median", found.percentile(50), "ms")
    yield Measurement(f"{title}: 99th percentile", found.percentile(99), "ms")
    yield Measurement(f"{title}: processor time of an answer", found.processor_millis, "ms")


def _in_hive(server: _Server) -> Iterator[Measurement]:
    """Measure Hive's fetch of one file, which reads its rows by S3A, with pruning and without.

    Hive's requests are counted by a proxy of their own: the service's are not among them.
    """
    demo_tables.ensure_written(_RUN_DIR / "spark.log")
    server.delay(0)
    location = upload(demo_tables.EVENTS, BUCKET)
    server.delay(30)
    with ExitStack() as running:
        proxy = running.enter_context(RecordingProxy(server.port))
        hive = hive_server(_RUN_DIR / "hive", server.environment, proxy.endpoint, jvm_options=())
        service = running.enter_context(ServiceProcess(_RUN_DIR))
        running.enter_context(hive)
        reports = ScanReports(_RUN_DIR / "scans")
        session = running.enter_context(hive.session({**ENGINES["fetch"], **reports.settings()}))
        session.set({"hudi.pruning.service.addresses": service.address})
        session.set({"hudi.pruning.cache.ms": "0"})
        session.run(create_with_handler("events", location))
        pruned, requests = _fetched(session, proxy, reports, _HIVE_RUNS, 1)
        session.set({"hudi.pruning.enabled": "false"})
        unpruned, _ = _fetched(session, proxy, reports, 1, demo_tables.EVENT_FILES)
    title = f"object-store: 1 of {demo_tables.EVENT_FILES} files, 30 ms, Hive's fetch"
    yield _measured(f"{title}, pruned", pruned, "< 1")
    yield Measurement(f"{title}, pruned: requests", requests, "requests", "<= 16")
    yield _measured(f"{title}, unpruned", unpruned, None)


def _fetched(
    session: HiveSession, proxy: RecordingProxy, reports: ScanReports, runs: int, files: int
) -> tuple[list[float], int]:
    """Return the times of a query, and the most requests. Raises ValueError if it is not right.

    Its first run loads classes, and has Hive learn the table's size.
    """
    times, requests = [], 0
    for run in range(runs + 1):
        reports.take()
        with proxy.recording() as recording:
            times.append(seconds(partial(_fetch, session)))
        read = reports.take().files_kept
        if read != files:
            raise ValueError(f"Hive read {read} files, not {files}")
        if run:
            requests = max(requests, len(recording.requests))
    return times[1:], requests


def _fetch(session: HiveSession) -> None:
    key = demo_tables.EVENT_FILES * demo_tables.EVENT_ROWS_PER_FILE // 2
    rows = session.run(f"SELECT id, ts, city, amount FROM events WHERE id = {key}")
    if [row[0] for row in rows] != [key]:
        raise ValueError(f"the row of id {key} is asked for: {rows}")


def _measured(name: str, found: list[float], bar: str | None) -> Measurement:
    return Measurement(name, statistics.median(found), "s", bar)


def _counts(title: str, counted: _Counted, bar: str, delay: int) -> Iterator[Measurement]:
    yield Measurement(f"{title}: requests", counted.requests, "requests")
    if delay:  # Without one, requests that are sent at once do not overlap.
        yield Measurement(f"{title}: waves", counted.waves, "waves", bar)


def _seconds_of_question(service: ServiceProcess, table: ServiceTable) -> float:
    with service.client(_TIMEOUT) as client:
        return seconds(partial(_ask, client, table, 0))


def _uploaded(files: int, partitions: int) -> ServiceTable:
    location = upload(synthetic.ensure_written(files, partitions), BUCKET)
    return ServiceTable(location, files, synthetic.ROWS_PER_FILE)


def _ask(client: PruningClient, table: ServiceTable, number: int) -> None:
    """Ask for one file. Raises ValueError if the answer is not right."""
    table.check(client.prune(table.location, table.predicate(number)))
