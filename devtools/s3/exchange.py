"""A client's connection to the proxy: each request is passed on, and its answer is returned."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from devtools.s3.faults import Death, FaultPlan, slow_down
from devtools.s3.messages import (
    HEAD_LIMIT,
    Head,
    Message,
    answer_body,
    read_head,
    read_request_body,
)
from devtools.s3.recording import Fault, Request

_GATHERED = 1 << 16
_GONE = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class Writes:
    """The writing requests on their way to the server: one at a time for each object."""

    def __init__(self) -> None:
        # A lock lives as long as a request holds it or waits for it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._under_way = 0
        self._none_under_way = asyncio.Event()
        self._none_under_way.set()

    @asynccontextmanager
    async def turn(self, paths: Iterable[str]) -> AsyncIterator[None]:
        """Wait until no other request changes one of the paths, and keep others waiting."""
        async with AsyncExitStack() as held:
            for path in sorted(paths):  # Always in the same order: no two wait for each other.
                await held.enter_async_context(self._locks.setdefault(path, asyncio.Lock()))
            yield

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a request that the server has not answered yet."""
        self._under_way += 1
        self._none_under_way.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._none_under_way.set()

    async def are_answered(self) -> None:
        """Return when the server has answered all of them."""
        await self._none_under_way.wait()


@dataclass
class Controls:
    """What all connections of a proxy share.

    Attributes:
        record: Takes each request, just before the last bytes of its answer are sent.
        delay: How long each request waits before it is passed on, in seconds.
        faults: Which requests fail; None for none.
        death: When the clients die; None for never.
        lost: How many of the next answers to writing requests are not passed on.
        unconditional: Returns a request without its conditions; None to pass on all of them.
        writes: The writing requests on their way.
    """

    record: Callable[[Request], None]
    delay: float = 0.0
    faults: FaultPlan | None = None
    death: Death | None = None
    lost: int = 0
    unconditional: Callable[[Message], Message] | None = None
    writes: Writes = field(default_factory=Writes)


class Connection:
    """The connection of a client, and one to the server for its requests."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream_port: int,
        controls: Controls,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._upstream = _Upstream(upstream_port)
        self._controls = controls

    async def serve(self) -> None:
        """Answer requests until the client's connection has to be closed, which the caller does."""
        try:
            while (head := await read_head(self._reader)) is not None:
                start = time.monotonic()
                body = await read_request_body(head, self._reader, self._writer)
                if not await self._answer(Message(head, body), start):
                    break
        except _GONE:
            pass
        except asyncio.CancelledError:
            pass  # The proxy stops.
        finally:
            self._upstream.close()

    async def _answer(self, message: Message, start: float) -> bool:
        """Answer a request. Returns whether the connection takes another one."""
        controls = self._controls
        exchange = _Exchange(message, start, self._writer, controls.record)
        if controls.delay > 0:
            await asyncio.sleep(controls.delay)
        fault = controls.faults.draw(message) if controls.faults else None
        if fault is Fault.SLOW_DOWN:
            await exchange.finish(slow_down(message.method), 503, fault)
            return message.head.keeps_connection
        try:
            if message.is_writing:
                return await self._write(exchange)
            if not await self._is_alive(message):
                return await exchange.refuse()
            return await self._read(exchange, fault)
        except _GONE:
            exchange.end(None, None)
            raise

    async def _write(self, exchange: "_Exchange") -> bool:
        message, writes = exchange.message, self._controls.writes
        if self._controls.unconditional is not None:
            message = self._controls.unconditional(message)
        async with writes.turn(message.changed_paths()):
            if not await self._is_alive(message):
                return await exchange.refuse()
            with writes.under_way():
                head = await self._upstream.ask(message)
                body = b"".join([piece async for piece in self._upstream.body(message, head)])
        if self._controls.lost > 0:
            self._controls.lost -= 1
            exchange.end(head.status, Fault.LOST)
            return False
        await exchange.finish(head.raw + body, head.status)
        return self._keeps(message, head)

    async def _read(self, exchange: "_Exchange", fault: Fault | None) -> bool:
        message = exchange.message
        head = await self._upstream.ask(message)
        async with aclosing(self._upstream.body(message, head)) as pieces:
            if fault is Fault.CUT:
                body = b"".join([piece async for piece in pieces])
                if body:
                    await exchange.finish(head.raw + body[: len(body) // 2], head.status, fault)
                    return False
            pending = head.raw
            async for piece in pieces:
                if len(pending) + len(piece) > _GATHERED:
                    self._writer.write(pending)
                    await self._writer.drain()
                    pending = b""
                pending += piece
        await exchange.finish(pending, head.status)
        return self._keeps(message, head)

    async def _is_alive(self, message: Message) -> bool:
        death = self._controls.death
        return death is None or await death.admits(message, self._controls.writes.are_answered)

    def _keeps(self, message: Message, answer: Head) -> bool:
        return message.head.keeps_connection and self._upstream.is_reusable(message, answer)


class _Exchange:
    """A request that is being answered."""

    def __init__(
        self,
        message: Message,
        start: float,
        writer: asyncio.StreamWriter,
        record: Callable[[Request], None],
    ) -> None:
        self.message = message
        self._start = start
        self._writer = writer
        self._record = record

    async def finish(self, data: bytes, status: int, fault: Fault | None = None) -> None:
        """Send the last bytes of the answer. The client sees them after the request is recorded."""
        self.end(status, fault)
        self._writer.write(data)
        await self._writer.drain()

    async def refuse(self) -> bool:
        """Answer nothing. Returns that the connection takes no other request."""
        self.end(None, Fault.REFUSED)
        return False

    def end(self, status: int | None, fault: Fault | None) -> None:
        """Record the request, unless it has been."""
        record, self._record = self._record, _forget
        message = self.message
        record(
            Request(
                method=message.method,
                path=message.path,
                range=message.head.fields.get("range"),
                status=status,
                start=self._start,
                end=time.monotonic(),
                conditional=message.conditional,
                fault=fault,
            )
        )


class _Upstream:
    """A connection to the server, opened when it is needed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, message: Message) -> Head:
        """Send a request and return the head of its answer."""
        if self._streams is not None and self._streams[0].at_eof():
            self.close()  # The server closes a connection that was idle for long.
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=HEAD_LIMIT)
        reader, writer = self._streams
        writer.write(message.head.raw + message.body)
        while (head := await read_head(reader)) is not None:
            if head.status >= 200:  # The client has already been told to continue.
                return head
        raise ConnectionResetError("the server closed the connection without an answer")

    def body(self, message: Message, answer: Head) -> AsyncGenerator[bytes, None]:
        """Return the body of an answer, in pieces."""
        assert self._streams is not None
        return answer_body(message.method, answer, self._streams[0])

    def is_reusable(self, message: Message, answer: Head) -> bool:
        """Return whether the server takes another request after this answer."""
        return answer.keeps_connection and answer.is_delimited(message.method)

    def close(self) -> None:
        """Close the connection if it is open."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def _forget(request: Request) -> None:
    """Record nothing."""
