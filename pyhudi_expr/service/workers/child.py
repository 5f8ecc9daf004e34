"""A worker process as its supervisor sees it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from enum import Enum
from itertools import count

from pyhudi_expr.service.workers.channel import Channel, Handed, Kind, Message
from pyhudi_expr.service.workers.forking import Fork, Template

_CLOSED_BYTES = 1 << 12


class State(Enum):
    """What a worker does."""

    STARTING = "it takes no connections yet"
    READY = "it takes connections"
    STOPPING = "it answers what it has"
    ENDED = "it is gone"


class Child:
    """A worker.

    Attributes:
        name: Its name in logs and metrics, which its successor takes over.
        state: What it does.
        open: Number of its callers' connections.
        started: Time of its start, of `time.monotonic`.
        heard: Time of its last message.
        last_report: What it reported last, as JSON.
    """

    def __init__(
        self,
        name: str,
        process: Fork,
        channel: Channel,
        connections: socket.socket,
    ) -> None:
        self.name = name
        self.state = State.STARTING
        self.open = 0
        self.started = self.heard = time.monotonic()
        self.last_report: bytes | None = None
        self._process = process
        self._channel = channel
        self._connections = connections
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[bytes | None]] = {}

    @staticmethod
    async def start(name: str, template: Template) -> Child:
        """Start a worker, which waits for its settings."""
        ours, theirs = socket.socketpair()
        connections, handed = socket.socketpair()
        with theirs, handed:
            process = await template.fork(theirs, handed, name)
        connections.setblocking(False)
        child = Child(name, process, await Channel.over(ours), connections)
        asyncio.get_running_loop().add_reader(connections, child._count_closed)
        return child

    @property
    def pid(self) -> int | None:
        """Its process id, if there is a process."""
        return self._process.pid

    def send(self, message: Message) -> None:
        """Send it a message that has no answer."""
        self._channel.send(message)

    async def ask(self, kind: Kind, seconds: float, body: bytes = b"") -> bytes | None:
        """Return its answer; None if it ends before, or needs more time."""
        number = next(self._numbers)
        if self.state is State.ENDED:
            return None
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._channel.send(Message(kind, number, body))
        try:
            return await asyncio.wait_for(answer, seconds)
        except asyncio.TimeoutError:
            return None
        finally:
            self._asked.pop(number, None)

    def hand(self, kind: Handed, caller: socket.socket) -> bool:
        """Hand a connection over, and close it here; return False if the worker takes none."""
        try:
            socket.send_fds(self._connections, [bytes([kind])], [caller.fileno()])
        except OSError:  # It has ended, or hundreds wait for it.
            return False
        caller.close()
        self.open += kind is Handed.PRUNING
        return True

    async def obey(self, take: Callable[[Child, Message], None]) -> str:
        """Take its messages until it ends; return how it ended.

        Args:
            take: Called with each message that answers no question.
        """
        while (message := await self._channel.receive()) is not None:
            self.heard = time.monotonic()
            answer = self._asked.get(message.number) if message.kind in _ANSWERS else None
            if message.kind is Kind.REPORT:
                self.last_report = message.body
            if answer is not None and not answer.done():
                answer.set_result(message.body)
            elif message.kind not in _ANSWERS:
                take(self, message)
        how = await self._process.ended()
        self._end()
        return how

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def _end(self) -> None:
        self.state = State.ENDED
        for answer in self._asked.values():
            if not answer.done():
                answer.set_result(None)
        asyncio.get_running_loop().remove_reader(self._connections)
        self._channel.close()
        self._connections.close()

    def _count_closed(self) -> None:
        try:
            closed = len(self._connections.recv(_CLOSED_BYTES))
        except BlockingIOError:
            return
        except OSError:
            closed = 0
        if not closed:
            asyncio.get_running_loop().remove_reader(self._connections)
        self.open -= closed


_ANSWERS = frozenset({Kind.REPORT, Kind.RELOADED})
