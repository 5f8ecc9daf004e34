"""What the client does with a service that answers wrongly, slowly, endlessly or not at all."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException, TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from pyhudi_expr.protocol.client import PruningClient, WrongAnswerError, check_answer, check_whose
from pyhudi_expr.protocol.generated import PruningService
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import (
    KeptSlices,
    MetadataRequest,
    MetadataResponse,
    PartitionVerdict,
    PruneRequest,
    PruneResponse,
    PruneStatus,
    SelectedRows,
    VerdictKind,
)

_SECONDS, _PATIENCE = 0.3, 60.0
REQUEST = PruneRequest(PROTOCOL_VERSION, "id", "/t", [], 1)


def answer(**changed: object) -> PruneResponse:
    fields = {"requestId": "id", "basePath": "/t", "status": PruneStatus.OK, "instant": "2"}
    return PruneResponse(**{"protocolVersion": PROTOCOL_VERSION, **fields, **changed})


def framed(content: bytes) -> bytes:
    return struct.pack("!i", len(content)) + content


def reply(response: PruneResponse) -> bytes:
    target = TMemoryBuffer()
    protocol = TBinaryProtocolAccelerated(target)
    protocol.writeMessageBegin("prune", TMessageType.REPLY, 0)
    PruningService.prune_result(success=response).write(protocol)
    protocol.writeMessageEnd()
    return framed(target.getvalue())


#: Up to the list of verdicts in a reply.
_VERDICTS = (
    struct.pack("!Ii5si", 0x80010002, 5, b"prune", 0)
    + struct.pack("!bh", 12, 0)
    + struct.pack("!bh", 15, 6)
)


@contextmanager
def service(behave: Callable[[socket.socket, threading.Event], None]) -> Iterator[int]:
    """Run a service that reads one request, and then behaves like this; yields its port."""
    ended = threading.Event()

    def run() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1 << 16)
            with suppress(OSError):  # The client has closed the connection.
                behave(connection, ended)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            ended.set()
            thread.join(_PATIENCE)
            assert not thread.is_alive()


def drip(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(struct.pack("!i", 60_000_000))
    while not ended.wait(_SECONDS / 10):
        connection.sendall(b"\x80")


def endless(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(struct.pack("!i", 2**31 - 1))
    while not ended.is_set():
        connection.sendall(bytes(1 << 16))


def silent(_connection: socket.socket, ended: threading.Event) -> None:
    ended.wait(_PATIENCE)


def sending(content: bytes) -> Callable[[socket.socket, threading.Event], None]:
    def behave(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(content)
        ended.wait(_PATIENCE)

    return behave


@pytest.mark.parametrize(
    "behave",
    [
        drip,
        endless,
        silent,
        sending(framed(_VERDICTS + struct.pack("!bi", 12, 2**31 - 1))),
        sending(framed(_VERDICTS + struct.pack("!bi", 12, 400_000) + bytes(400_002))),
        sending(framed(struct.pack("!Ii", 0x80010002, 2**31 - 1))),
        sending(framed(_VERDICTS[:-3] + struct.pack("!bh", 12, 99) * 100_000)),
        sending(framed(b"\0")),
        sending(b"HTTP/1.1 200 OK\r\n\r\n" * 100),
        sending(reply(answer(requestId="other"))),
        sending(reply(answer(basePath="/else"))),
    ],
    ids=[
        *("drip", "endless", "silent", "a list of 2 billion", "many empty structs"),
        *("a long name", "deep", "nothing", "HTTP", "another request", "another table"),
    ],
)
def test_no_service_keeps_a_caller_beyond_its_time(
    behave: Callable[[socket.socket, threading.Event], None],
) -> None:
    with service(behave) as port, PruningClient(port=port, timeout=_SECONDS) as client:
        started = time.monotonic()
        with pytest.raises((TException, OSError)):
            client.send(REQUEST)
        # These services never end by themselves; the machine may be busy.
        assert time.monotonic() - started < _PATIENCE / 2


@pytest.mark.parametrize(
    "changed",
    [
        {"requestId": "other"},
        {"basePath": "/t/else"},
        {"basePath": None},
        {"protocolVersion": PROTOCOL_VERSION + 1},
        {"instant": "1"},
        {"instant": None},
        {"verdicts": [PartitionVerdict("../other", VerdictKind.DROP_PARTITION)]},
        {"verdicts": [PartitionVerdict("/etc", VerdictKind.DROP_PARTITION)]},
        {"verdicts": [PartitionVerdict("p", VerdictKind.KEEP_TOKENS, ["a/../../b"])]},
        {"kept": KeptSlices(b"", ["a/.."], [], [], [], [], [], [], [])},
        {"kept": KeptSlices(b"", ["p"], [1], ["id"], ["1"], [True], [0], ["../x"], [1])},
        {"selectedRows": [SelectedRows("p", "../x", 1, b"", [], [], [], [], [])]},
    ],
)
def test_an_answer_about_something_else_is_refused(changed: dict[str, object]) -> None:
    request = PruneRequest(PROTOCOL_VERSION, "id", "/t", [], 1, newestInstant="2")
    check_answer(request, answer())
    with pytest.raises(WrongAnswerError):
        check_answer(request, answer(**changed))


def test_an_answer_of_a_later_state_than_asked_about_is_refused() -> None:
    request = PruneRequest(PROTOCOL_VERSION, "id", "/t", [], 1, asOfInstant="2", newestInstant="3")
    check_answer(request, answer(instant="1"))
    with pytest.raises(WrongAnswerError, match="after 2"):
        check_answer(request, answer(instant="3"))


def test_a_refusal_says_nothing_of_a_state() -> None:
    request = PruneRequest(PROTOCOL_VERSION, "id", "/t", [], 1, newestInstant="2")
    check_answer(request, answer(status=PruneStatus.NOT_PRUNED, instant=None))
    check_answer(request, answer(status=PruneStatus.UNSUPPORTED_VERSION, protocolVersion=9))


def test_a_description_of_another_table_is_refused() -> None:
    request = MetadataRequest(PROTOCOL_VERSION, "id", "/t", "files", [])
    check_whose(request, MetadataResponse(PROTOCOL_VERSION, "id", "/t", PruneStatus.OK))
    with pytest.raises(WrongAnswerError, match="/u"):
        check_whose(request, MetadataResponse(PROTOCOL_VERSION, "id", "/u", PruneStatus.OK))
