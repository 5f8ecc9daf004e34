"""Whatever the pruning service does, a query returns the right rows in time and reports why."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import pytest

from devtools.matrix import Matrices, Partitioning
from devtools.runtime import free_port
from devtools.scan_reports import ScanTotals
from devtools.service import ServiceProcess
from devtools.tables import TableType
from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from tests.hive.query_results import FETCH, MR, TEZ, Hive, Rows
from tests.service.running_server import running_server

pytestmark = [pytest.mark.spark, pytest.mark.hive]

TIMEOUT_MS = 400
SLACK_MS = 1500
"""The delay after a time-out until a thread runs again, on a busy machine."""

QUERY = "SELECT id, s, ts FROM {} WHERE ti BETWEEN 3 AND 4 AND s < 'v'"
SLICES_READ = 2

Response: TypeAlias = ttypes.PruneResponse
Answering = Callable[[ttypes.PruneRequest], Response]


@pytest.fixture(scope="module")
def table(hive: Hive, matrices: Matrices) -> str:
    return hive.register(matrices.get(TableType.COW, 8, Partitioning.LEVELS).table)


@pytest.fixture(scope="module")
def rows(hive: Hive, table: str) -> Rows:
    return hive.query(QUERY.format(table), pruning=False).rows


def query_with_services(
    hive: Hive, table: str, *addresses: str, engine: str = FETCH, **settings: object
) -> tuple[Rows, ScanTotals, list[str]]:
    """Rows, scans, and the logged warnings of one query with these services."""
    own = {f"hudi.pruning.{key.replace('_', '.')}": str(value) for key, value in settings.items()}
    log_start = len(hive.server.log())
    answer = hive.query(
        QUERY.format(table),
        engine,
        settings={
            "hudi.pruning.service.addresses": ",".join(addresses),
            "hudi.pruning.service.order": "listed",
            "hudi.pruning.timeout.ms": str(TIMEOUT_MS),
            "hudi.pruning.cache.ms": "0",
            **own,
        },
    )
    logged = hive.server.log()[log_start:].splitlines()
    return answer.rows, answer.scan, [line for line in logged if " WARN " in line]


def assert_unpruned(
    result: tuple[Rows, ScanTotals, list[str]], rows: Rows, outcome: str, reason: str = ""
) -> None:
    found, scan, warnings = result
    assert found == rows
    assert scan.outcomes == (outcome,)
    assert (scan.scans, scan.files_considered, scan.files_kept) == (1, 32, 32)
    assert len(warnings) == 1
    assert outcome in warnings[0]
    assert reason in warnings[0]


class _Raw(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextmanager
def raw_service(reply: bytes | None) -> Iterator[tuple[str, list[float]]]:
    """A listener that sends `reply` to each client, or nothing (None) until the test ends.

    Yields its address and the times of connections.
    """
    connections: list[float] = []
    done = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connections.append(time.monotonic())
            self.request.recv(1 << 16)
            if reply is None:
                done.wait(60)
            else:
                self.request.sendall(reply)

    with _Raw(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", connections
        finally:
            done.set()
            server.shutdown()
            thread.join()


class _Handler(PruningService.Iface):
    def __init__(self, answering: Answering) -> None:
        self._answering = answering

    def prune(self, request: ttypes.PruneRequest) -> Response:
        return self._answering(request)

    def info(self) -> ttypes.ServiceInfo:
        return ttypes.ServiceInfo(PROTOCOL_VERSION, "fake")


def true_answer(service: ServiceProcess, request: ttypes.PruneRequest) -> Response:
    """The answer of the real service."""
    with service.client() as client:
        return client.send(request)


def test_no_service_listens(hive: Hive, table: str, rows: Rows) -> None:
    address = f"127.0.0.1:{free_port()}"
    assert_unpruned(query_with_services(hive, table, address), rows, "UNREACHABLE", address)


@pytest.mark.parametrize("address", ["", "nonsense", "host.invalid:9099", "127.0.0.1:0"])
def test_an_invalid_address(hive: Hive, table: str, rows: Rows, address: str) -> None:
    assert_unpruned(
        query_with_services(hive, table, address, timeout_ms=10_000), rows, "UNREACHABLE"
    )


@pytest.mark.parametrize("timeout_ms", [TIMEOUT_MS, 2000])
def test_a_hung_service_costs_no_more_than_the_time_out(
    hive: Hive, table: str, rows: Rows, timeout_ms: int
) -> None:
    with raw_service(None) as (address, _):
        result = query_with_services(hive, table, address, timeout_ms=timeout_ms)
    assert_unpruned(result, rows, "TIMED_OUT", address)
    # Time-outs of sockets are whole milliseconds.
    assert timeout_ms - 10 <= result[1].pruning_micros / 1000 < timeout_ms + SLACK_MS


def test_the_time_out_holds_for_all_addresses_together(hive: Hive, table: str, rows: Rows) -> None:
    with raw_service(None) as (first, _), raw_service(None) as (second, _):
        result = query_with_services(hive, table, first, second, timeout_ms=1000)
    assert_unpruned(result, rows, "TIMED_OUT")
    assert result[1].pruning_micros / 1000 < 1000 + SLACK_MS


@pytest.mark.smoke("cut off")
@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "WRONG_ANSWER"),
        (b"\x00\x00\x00\x05hello", "WRONG_ANSWER"),
        (b"\x7f\xff\xff\xff" + bytes(100), "WRONG_ANSWER"),
        (b"\x00\x00\x00\x00", "UNREACHABLE"),
        (b"\x80", "UNREACHABLE"),
        (b"", "UNREACHABLE"),
    ],
    ids=["http", "text", "endless", "empty frame", "cut off", "hung up"],
)
def test_a_garbled_reply_leaves_the_query_unpruned(
    hive: Hive, table: str, rows: Rows, reply: bytes, outcome: str
) -> None:
    with raw_service(reply) as (address, _):
        result = query_with_services(hive, table, address)
    assert_unpruned(result, rows, outcome, address)


def drop_everything(request: ttypes.PruneRequest, **changes: object) -> Response:
    """An answer that would exclude all rows if it were trusted."""
    partitions = [f"p=p{k // 2}/q={k % 2}" for k in range(8)]
    verdicts = [
        ttypes.PartitionVerdict(path, ttypes.VerdictKind.DROP_PARTITION) for path in partitions
    ]
    fields: dict[str, object] = {
        "protocolVersion": PROTOCOL_VERSION,
        "requestId": request.requestId,
        "basePath": request.basePath,
        "status": ttypes.PruneStatus.OK,
        "verdicts": verdicts,
        **changes,
    }
    return Response(**fields)


WRONG: Mapping[str, tuple[dict[str, object], str]] = {
    "another version": ({"protocolVersion": PROTOCOL_VERSION + 1}, "OTHER_VERSION"),
    "version unsupported": ({"status": ttypes.PruneStatus.UNSUPPORTED_VERSION}, "OTHER_VERSION"),
    "another table": ({"basePath": "/some/other/table"}, "WRONG_ANSWER"),
    "another request": ({"requestId": "of another query"}, "WRONG_ANSWER"),
    "failed": ({"status": ttypes.PruneStatus.FAILED}, "SERVICE_FAILED"),
    "request refused": ({"status": ttypes.PruneStatus.BAD_REQUEST}, "REFUSED"),
}


@pytest.mark.parametrize("change", WRONG)
def test_an_invalid_answer_is_not_trusted(hive: Hive, table: str, rows: Rows, change: str) -> None:
    changes, outcome = WRONG[change]
    with running_server(_Handler(lambda request: drop_everything(request, **changes))) as fake:
        result = query_with_services(hive, table, f"127.0.0.1:{fake.port}")
    assert_unpruned(result, rows, outcome)


def test_an_answer_that_proves_nothing_is_no_failure(hive: Hive, table: str, rows: Rows) -> None:
    status = ttypes.PruneStatus.NOT_PRUNED
    with running_server(_Handler(lambda request: drop_everything(request, status=status))) as fake:
        found, scan, warnings = query_with_services(hive, table, f"127.0.0.1:{fake.port}")
    assert (found, warnings) == (rows, [])
    assert (scan.outcomes, scan.files_kept) == (("NOTHING_PROVED",), 32)


@pytest.mark.parametrize("kind", ["DROP_LISTED", "KEEP_TOKENS", "DROP_TOKENS"])
def test_verdicts_on_another_state_of_the_files_drop_nothing(
    hive: Hive, table: str, rows: Rows, kind: str
) -> None:
    """As from a service whose listing is older, or newer, than the query's."""

    def answer(request: ttypes.PruneRequest) -> Response:
        response = drop_everything(request)
        for verdict in response.verdicts:
            verdict.kind = ttypes.VerdictKind._NAMES_TO_VALUES[kind]
            verdict.tokens = None if kind == "DROP_LISTED" else ["older_0-1-2_3.parquet"]
            verdict.digest = bytes(32)
        return response

    with running_server(_Handler(answer)) as fake:
        found, scan, _ = query_with_services(hive, table, f"127.0.0.1:{fake.port}")
    assert found == rows
    assert scan.files_kept == 32


def test_a_service_that_is_slow_but_in_time(
    hive: Hive, table: str, rows: Rows, pruning_service: ServiceProcess
) -> None:
    def answer(request: ttypes.PruneRequest) -> Response:
        time.sleep(0.3)
        return true_answer(pruning_service, request)

    with running_server(_Handler(answer)) as slow:
        found, scan, warnings = query_with_services(
            hive, table, f"127.0.0.1:{slow.port}", timeout_ms=10_000
        )
    assert (found, warnings) == (rows, [])
    assert (scan.outcomes, scan.files_kept) == (("PRUNED",), SLICES_READ)
    assert scan.pruning_micros >= 300_000


def test_a_service_that_is_too_slow(
    hive: Hive, table: str, rows: Rows, pruning_service: ServiceProcess
) -> None:
    late = threading.Event()

    def answer(request: ttypes.PruneRequest) -> Response:
        late.wait(30)
        return true_answer(pruning_service, request)

    with running_server(_Handler(answer)) as slow:
        try:
            result = query_with_services(hive, table, f"127.0.0.1:{slow.port}")
        finally:
            late.set()
    assert_unpruned(result, rows, "TIMED_OUT")


def test_the_next_service_answers_when_the_first_is_down(
    hive: Hive, table: str, rows: Rows, pruning_service: ServiceProcess
) -> None:
    down = f"127.0.0.1:{free_port()}"
    found, scan, _ = query_with_services(
        hive, table, down, pruning_service.address, timeout_ms=10_000
    )
    assert found == rows
    assert (scan.outcomes, scan.files_kept) == (("PRUNED",), SLICES_READ)


@pytest.mark.smoke
def test_a_service_that_keeps_failing_is_not_called_for_a_while(
    hive: Hive, table: str, rows: Rows
) -> None:
    with raw_service(None) as (address, connections):
        for _ in range(3):
            assert_unpruned(
                query_with_services(hive, table, address, breaker_ms=600_000), rows, "TIMED_OUT"
            )
        results = [query_with_services(hive, table, address, breaker_ms=600_000) for _ in range(2)]
        # Scans stop at the third failure, the planner's row counts at the first.
        # Each call opens a second one, to ask whether the service is alive.
        assert len(connections) == 2 * (3 + 1)
    for each in results:
        assert_unpruned(each, rows, "UNREACHABLE", "skipped after recent failures")
        assert each[1].pruning_micros < TIMEOUT_MS * 1000


def test_a_restarted_service_is_found_again(
    hive: Hive, table: str, rows: Rows, pruning_service: ServiceProcess
) -> None:
    handler = _Handler(lambda request: true_answer(pruning_service, request))
    with running_server(handler) as first:
        port = first.port
        assert (
            query_with_services(hive, table, f"127.0.0.1:{port}", timeout_ms=10_000)[1].files_kept
            == SLICES_READ
        )
    assert_unpruned(query_with_services(hive, table, f"127.0.0.1:{port}"), rows, "UNREACHABLE")
    with running_server(handler, port=port):
        assert (
            query_with_services(hive, table, f"127.0.0.1:{port}", timeout_ms=10_000)[1].files_kept
            == SLICES_READ
        )


@pytest.mark.parametrize("engine", [MR, TEZ])
def test_every_engine_works_without_the_service(
    hive: Hive, table: str, rows: Rows, engine: str
) -> None:
    address = f"127.0.0.1:{free_port()}"
    found, scan, warnings = query_with_services(hive, table, address, engine=engine)
    assert found == rows
    assert (scan.outcomes, scan.files_kept) == (("UNREACHABLE",), 32)
    assert len([line for line in warnings if "UNREACHABLE" in line]) == 1
