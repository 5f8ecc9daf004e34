"""Clients of the pruning service, all in one thread: each has one open request at any time.

The machine's processors are shared with the service, so the clients spend little: the requests are
encoded beforehand, and one thread waits for all connections. Threads of one Python process would
take turns, and be the limit themselves.
"""

import selectors
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from bench.clients.answers import Answers, processor_seconds
from devtools.service import ServiceProcess
from pyhudi_expr.expr.nodes import Column, Comparison, HudiExpression, Literal, Op
from pyhudi_expr.expr.semantics import Engine, here
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.conversion.semantics import encode_semantics
from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import PruneResponse, PruneStatus

_TIMEOUT = 60.0
_QUESTIONS = 2_000
_STEP = 7919
_RECEIVED_BYTES = 1 << 18
_HEADER = struct.Struct("!i")
#: That of a session of Hive, with the rules of its zone.
_SEMANTICS = encode_semantics(here("Europe/Stockholm", Engine.HIVE))


@dataclass(frozen=True)
class ServiceTable:
    """A table that `bench.tables.synthetic` wrote.

    Attributes:
        location: Its path or URI.
        files: Its number of files.
        rows_per_file: The rows of each file.
    """

    location: str
    files: int
    rows_per_file: int

    def predicate(self, number: int) -> HudiExpression:
        """Return a predicate of one row, which may be in any partition: all have bounds around."""
        rows = self.files * self.rows_per_file
        value = rows // 4 + number * _STEP % (rows // 2)
        return Comparison(Op.EQ, Column(("spread",)), Literal(value, pa.int64()))

    def check(self, answer: PruneResponse) -> None:
        """Raises ValueError if an answer does not drop all files but one."""
        if answer.status != PruneStatus.OK or answer.counts.filesDropped != self.files - 1:
            raise ValueError(f"{self.location}: {answer.message or answer.counts}")


@dataclass
class _Client:
    connection: socket.socket
    next: int
    sent_at: float = 0.0
    received: bytearray = field(default_factory=bytearray)

    def ask(self, questions: Sequence[bytes]) -> None:
        question = questions[self.next % len(questions)]
        self.next += 1
        self.sent_at = time.perf_counter()
        self.connection.sendall(question)

    def answer(self) -> bytes | None:
        """Receive what has come; return the answer if it is whole."""
        received = self.received
        content = self.connection.recv(_RECEIVED_BYTES)
        if not content:
            raise ConnectionError("the service has closed the connection")
        received += content
        if len(received) < _HEADER.size or len(received) < _HEADER.size + self._size:
            return None
        whole = bytes(received[_HEADER.size :])
        received.clear()
        return whole

    @property
    def _size(self) -> int:
        size: int = _HEADER.unpack_from(self.received)[0]
        return size


def ask_service(
    service: ServiceProcess,
    table: ServiceTable,
    clients: int,
    seconds: float,
    checked: int = 1,
) -> Answers:
    """Let clients ask for some seconds.

    Args:
        service: The service.
        table: What they ask about.
        clients: Their number.
        seconds: How long they ask.
        checked: One of so many answers is decoded and checked. Decoding them all takes a third of
            the time that the service needs for them, of the same processors.
    """
    questions = [_question(table, number) for number in range(_QUESTIONS)]
    connected = [_connected(service, number * _STEP) for number in range(clients)]
    millis: list[float] = []
    with selectors.DefaultSelector() as waiting:
        for client in connected:
            waiting.register(client.connection, selectors.EVENT_READ, client)
        before, started = processor_seconds(service.pid), time.monotonic()
        own = time.process_time()
        for client in connected:
            client.ask(questions)
        end = started + seconds
        while time.monotonic() < end:
            for key, _ in waiting.select(_TIMEOUT):
                answer = key.data.answer()
                if answer is not None:
                    millis.append((time.perf_counter() - key.data.sent_at) * 1e3)
                    if len(millis) % checked == 0:
                        table.check(_decoded(answer))
                    key.data.ask(questions)
        elapsed = time.monotonic() - started
        spent = processor_seconds(service.pid) - before
        own = time.process_time() - own
    for client in connected:
        client.connection.close()
    return Answers(millis, elapsed, spent, own)


def _connected(service: ServiceProcess, first: int) -> _Client:
    connection = socket.create_connection(("127.0.0.1", service.port), _TIMEOUT)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return _Client(connection, first)


def _question(table: ServiceTable, number: int) -> bytes:
    request = ttypes.PruneRequest(
        protocolVersion=PROTOCOL_VERSION,
        requestId=f"question {number}",
        basePath=table.location,
        filter=encode(table.predicate(number)),
        view=ttypes.TableView.SNAPSHOT,
        semantics=_SEMANTICS,
    )
    buffer = TMemoryBuffer()
    PruningService.Client(TBinaryProtocolAccelerated(buffer)).send_prune(request)
    content = buffer.getvalue()
    return _HEADER.pack(len(content)) + content


def _decoded(answer: bytes) -> PruneResponse:
    protocol = TBinaryProtocolAccelerated(TMemoryBuffer(answer))
    return PruningService.Client(protocol).recv_prune()
