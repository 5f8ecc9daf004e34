"""The server with clients that are many, slow, large or malformed."""

import contextlib
import signal
import socket
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TTransport import TMemoryBuffer

from devtools.runtime import ROOT
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.protocol.client import PruningClient, services_for
from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.access import TOKEN_PREFACE
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.network.frames import GarbageError, process_frame
from pyhudi_expr.service.settings import ServiceSettings
from tests.service.running_server import (
    PATIENCE,
    GatedHandler,
    closed_by_peer,
    frame,
    running_server,
)

PREDICATE = parse_predicate("region = 'us' AND amount > 100")
STRUCT, I32, LIST = b"\x0c", b"\x08", b"\x0f"
CALL_PRUNE = struct.pack("!Ii5si", 0x80010001, 5, b"prune", 0)


@pytest.mark.slow
def test_many_clients_at_once_get_the_same_answer(server, golden):
    table = str(golden["cow_v9_txns_simple_meta"])

    def ask(_: int) -> list[object]:
        with PruningClient(port=server.port, timeout=PATIENCE) as client:
            answers = [client.prune(table, PREDICATE) for _ in range(10)]
        assert {one.status for one in answers} == {PruneStatus.OK}
        return [one.verdicts for one in answers]

    with ThreadPoolExecutor(40) as pool:
        found = [verdicts for some in pool.map(ask, range(40)) for verdicts in some]
    assert len(found) == 400
    assert all(verdicts == found[0] for verdicts in found)


@pytest.mark.parametrize("size", [0, -1, -(2**31), (1 << 20) + 1, 2**31 - 1])
def test_a_frame_of_a_wrong_size_is_not_read(server, client, size):
    with server.connect() as caller:
        caller.sendall(struct.pack("!i", size))
        assert closed_by_peer(caller)
    assert client.info()


@pytest.mark.parametrize(
    "payload",
    [
        b"\0" * 100,
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x80\x01\x00\x01",
        b"\x80\x02" + CALL_PRUNE[2:],
        CALL_PRUNE,
        CALL_PRUNE + STRUCT + b"\0\1" + b"\xff" * 50,
        struct.pack("!Ii", 0x80010001, 2**31 - 1),
        struct.pack("!Ii", 0x80010001, -5),
        # filter: a list of two billion nodes
        CALL_PRUNE + STRUCT + b"\0\1" + LIST + b"\0\4" + STRUCT + struct.pack("!i", 2**31 - 1),
        # an unknown field: structs in structs, a hundred thousand deep
        CALL_PRUNE + (STRUCT + b"\0\x63") * 100_000,
        CALL_PRUNE + LIST + b"\0\x63" + (LIST + struct.pack("!i", 1)) * 100_000,
    ],
    ids=lambda payload: payload[:24].hex(),
)
def test_garbage_closes_the_connection_and_nothing_else(server, client, payload):
    with server.connect() as caller:
        caller.sendall(frame(payload))
        assert closed_by_peer(caller)
    assert client.info()


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_answered_or_refused(payload, like_a_call):
    handler = PruningHandler(Pruner(), ServiceSettings())
    frame = CALL_PRUNE + payload if like_a_call else payload
    with contextlib.suppress(GarbageError):
        assert isinstance(process_frame(frame, PruningService.Processor(handler)), bytes)


def test_a_frame_may_arrive_in_pieces(server):
    with server.connect() as caller:
        for byte in frame(_info_call(7)):
            caller.sendall(bytes([byte]))
        assert _answered_number(caller) == 7


def test_requests_that_are_sent_at_once_are_answered_in_their_order(server):
    with server.connect() as caller:
        caller.sendall(b"".join(frame(_info_call(number)) for number in range(100)))
        assert [_answered_number(caller) for _ in range(100)] == [*range(100)]


def test_tokens_before_a_request_do_not_disturb_it(server):
    with server.connect() as caller:
        caller.sendall(frame(TOKEN_PREFACE) * 10_000 + frame(_info_call(7)))
        assert _answered_number(caller) == 7


def test_a_caller_that_sends_no_more_still_gets_its_answer():
    handler = GatedHandler()
    with running_server(handler) as server, server.connect() as caller:
        caller.sendall(frame(_prune_call()))
        caller.shutdown(socket.SHUT_WR)
        assert handler.entered.acquire(timeout=PATIENCE)
        handler.gate.set()
        assert _answered_number(caller) == 0
        assert closed_by_peer(caller)


def test_a_waiting_request_of_a_caller_that_resets_its_connection_is_not_evaluated():
    handler = GatedHandler()
    with running_server(handler, threads=1) as server, ThreadPoolExecutor(1) as pool:
        pending_answer = pool.submit(_ask, server.port)
        assert handler.entered.acquire(timeout=PATIENCE)
        with server.connect() as caller:
            caller.sendall(frame(_prune_call()))
            while server.server.unanswered < 2:
                time.sleep(0.01)
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        while server.server.unanswered > 1:
            time.sleep(0.01)
        handler.gate.set()
        assert pending_answer.result(PATIENCE).status == PruneStatus.OK
        assert not handler.entered.acquire(blocking=False)


def test_a_client_that_stalls_is_disconnected_and_delays_nobody(server, client):
    callers = [server.connect() for _ in range(50)]
    for caller in callers:
        caller.sendall(struct.pack("!i", 1000) + b"\x80\x01")
    started_at = time.monotonic()
    assert client.info()
    assert time.monotonic() - started_at < 5
    for caller in callers:
        assert closed_by_peer(caller)
        caller.close()


@pytest.mark.slow
def test_a_client_that_does_not_read_its_answer_is_disconnected():
    class Huge(GatedHandler):
        def prune(self, request):
            response = super().prune(request)
            response.message = "x" * (32 << 20)
            return response

    handler = Huge()
    handler.gate.set()
    with (
        running_server(handler, transfer_seconds=0.5) as server,
        PruningClient(port=server.port) as slow_client,
    ):
        started_at = time.monotonic()
        with server.connect() as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            caller.sendall(frame(_prune_call()))
            assert slow_client.info()
            # Reads nothing until the server gives up; then only the buffered bytes are left.
            while server.server.open_connections > 1:
                assert time.monotonic() - started_at < PATIENCE
                time.sleep(0.05)


def test_an_idle_connection_is_closed():
    with running_server(GatedHandler(), idle_seconds=0.2) as server, server.connect() as caller:
        assert closed_by_peer(caller)


def test_connections_beyond_the_limit_are_closed_at_once():
    with running_server(GatedHandler(), max_connections=2) as server:
        with PruningClient(port=server.port) as one, PruningClient(port=server.port) as two:
            assert one.info()
            assert two.info()
            with server.connect() as third:
                assert closed_by_peer(third)
            assert one.info()
        with PruningClient(port=server.port) as later:
            assert later.wait_until_ready(PATIENCE)


def test_requests_that_would_wait_too_long_are_not_pruned():
    handler = GatedHandler()
    with running_server(handler, threads=1, max_waiting=1) as server, ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(_ask, server.port), pool.submit(_ask, server.port)
        assert handler.entered.acquire(timeout=PATIENCE)
        while server.server.unanswered < 2:
            time.sleep(0.01)
        third = _ask(server.port)
        assert third.status == PruneStatus.NOT_PRUNED
        assert "busy" in third.message
        handler.gate.set()
        assert first.result(PATIENCE).status == PruneStatus.OK
        assert second.result(PATIENCE).status == PruneStatus.OK


def test_a_request_that_takes_too_long_is_not_pruned_and_occupies_its_worker():
    handler = GatedHandler()
    limits = {"threads": 1, "max_waiting": 1, "request_seconds": 0.2}
    with running_server(handler, **limits) as server, ThreadPoolExecutor(2) as pool:
        late = [pool.submit(_ask, server.port) for _ in range(2)]
        for one in late:
            assert one.result(PATIENCE).status == PruneStatus.NOT_PRUNED
            assert "more than 0.2 s" in one.result().message
        # The waiting request is refused; the running one cannot be stopped.
        while server.server.unanswered > 1:
            time.sleep(0.01)
        assert handler.entered.acquire(timeout=PATIENCE)
        handler.gate.set()
        while server.server.unanswered:
            time.sleep(0.01)
        assert not handler.entered.acquire(blocking=False)
        assert _ask(server.port).status == PruneStatus.OK


def test_an_answer_that_is_too_large_is_not_sent():
    class Huge(GatedHandler):
        def prune(self, request):
            response = super().prune(request)
            response.message = "x" * 5000
            return response

    handler = Huge()
    handler.gate.set()
    with running_server(handler, max_answer_bytes=4096) as server:
        response = _ask(server.port)
        assert response.status == PruneStatus.NOT_PRUNED
        assert "is not sent" in response.message


def test_a_list_longer_than_the_node_limit_is_not_decoded():
    with running_server(GatedHandler(), max_nodes=10) as server, server.connect() as caller:
        request = ttypes.PruneRequest(PROTOCOL_VERSION, "1", "/t", [ttypes.Node(1)] * 11, 1)
        buffer = TMemoryBuffer()
        PruningService.Client(TBinaryProtocol(buffer)).send_prune(request)
        caller.sendall(frame(buffer.getvalue()))
        assert closed_by_peer(caller)


def test_stopping_waits_for_running_requests_and_closes_idle_connections():
    handler = GatedHandler()
    with running_server(handler) as server, ThreadPoolExecutor(1) as pool:
        idle = server.connect()
        pending_answer = pool.submit(_ask, server.port)
        assert handler.entered.acquire(timeout=PATIENCE)
        server.stop()
        assert closed_by_peer(idle)
        idle.close()
        with pytest.raises((TException, OSError)):
            _ask(server.port)
        assert not pending_answer.done()
        handler.gate.set()
        assert pending_answer.result(PATIENCE).status == PruneStatus.OK
        assert server.wait_until_stopped()


def test_stopping_does_not_wait_forever():
    handler = GatedHandler()
    with running_server(handler, stop_seconds=0.2) as server, ThreadPoolExecutor(1) as pool:
        pending_answer = pool.submit(_ask, server.port)
        assert handler.entered.acquire(timeout=PATIENCE)
        server.stop()
        assert server.wait_until_stopped()
        with pytest.raises((TException, OSError, EOFError)):
            pending_answer.result(PATIENCE)
        handler.gate.set()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_gracefully(golden, number, tmp_path):
    settings = tmp_path / "service.toml"
    settings.write_text('port = 0\nlog_format = "json"\n')
    command = [sys.executable, "-m", "pyhudi_expr.cli", "serve", "--config", str(settings)]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
        contextlib.ExitStack() as ending,
    ):
        ending.callback(process.kill)  # which waits for its end, also after a failure
        listening = next(line for line in process.stderr if '"event": "listening"' in line)
        port = int(listening.split('"port": ')[1].split(",")[0])
        with PruningClient(port=port, timeout=PATIENCE) as client:
            table = str(golden["cow_v9_txns_simple_meta"])
            assert client.prune(table, PREDICATE).status == PruneStatus.OK
            process.send_signal(number)
            assert process.wait(PATIENCE) == 0
        lines = process.stderr.read().splitlines()
    assert '"event": "prune"' in lines[0]
    assert '"status": "OK"' in lines[0]
    assert '"event": "stopped"' in lines[-1]


def _ask(port: int) -> ttypes.PruneResponse:
    with PruningClient(port=port, timeout=PATIENCE) as client:
        return client.prune("/t", PREDICATE)


def _prune_call() -> bytes:
    request = ttypes.PruneRequest(
        protocolVersion=PROTOCOL_VERSION, requestId="1", basePath="/t", filter=[], view=1
    )
    buffer = TMemoryBuffer()
    PruningService.Client(TBinaryProtocol(buffer)).send_prune(request)
    return buffer.getvalue()


def _info_call(number: int) -> bytes:
    return struct.pack("!Ii4si", 0x80010001, 4, b"info", number) + b"\0"


def _answered_number(caller: socket.socket) -> int:
    """Receive an answer; return the number of its call."""
    size = struct.unpack("!i", caller.recv(4, socket.MSG_WAITALL))[0]
    _, length = struct.unpack_from("!Ii", answer := caller.recv(size, socket.MSG_WAITALL))
    return struct.unpack_from("!i", answer, 8 + length)[0]


def test_services_are_in_the_storage_handlers_order():
    """Its test `ServiceOrderTest` reads the same file."""
    lines = (ROOT / "handler-java/src/test/resources/service-orders.txt").read_text().splitlines()
    for line in lines:
        base_path, listed, expected = line.split("\t")
        assert services_for(base_path, listed.split(",")) == expected.split(","), line
    assert len(lines) > 10


def test_a_service_more_moves_its_share_of_the_tables_and_no_other():
    services = [f"pruning-{number}:9099" for number in range(5)]
    tables = [f"/warehouse/t{number}" for number in range(2_000)]
    moved = 0
    for table in tables:
        fewer, more = services_for(table, services[:4]), services_for(table, services)
        assert [one for one in more if one != services[4]] == fewer
        moved += more[0] == services[4]
    assert abs(moved - len(tables) / 5) < len(tables) / 20
