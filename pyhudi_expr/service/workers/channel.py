"""Messages between the supervisor and a worker, over a pair of sockets that only they have."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from enum import IntEnum

_HEADER = struct.Struct("!BII")
#: Of a connection that is handed to a worker, beside its descriptor.
HANDED_BYTES = 1


class Kind(IntEnum):
    """What a message means. `number` names the question that a report or reports answer."""

    START = 1
    """To the worker, the first one: the settings as JSON."""
    READY = 2
    """To the supervisor: it takes connections."""
    STOPPING = 3
    """To the supervisor: it takes no more."""
    RELOAD = 4
    """To the worker: new settings as JSON."""
    RELOADED = 5
    """To the supervisor: why the settings are not in force, or nothing."""
    STOP = 6
    """To the worker."""
    REPORT = 7
    """To the worker: what it counts is asked for. To the supervisor: it, as JSON."""
    REPORT_WITH_ACTIVITY = 8
    """To the worker: as `REPORT`, with the requests since the start."""
    GATHER = 9
    """To the supervisor: the reports of all workers are asked for. To the worker: they."""
    GATHER_WITH_ACTIVITY = 10
    """To the supervisor: as `GATHER`, with the requests since the start."""


class Handed(IntEnum):
    """Which address a connection that is handed over came to."""

    PRUNING = 0
    METRICS = 1
    CONSOLE = 2
    CALLBACKS = 3

    @property
    def setting(self) -> str:
        """The setting with the address; of pruning the host's."""
        return _SETTINGS[self]


_SETTINGS = {
    Handed.PRUNING: "host",
    Handed.METRICS: "metrics_address",
    Handed.CONSOLE: "console_address",
    Handed.CALLBACKS: "callback_address",
}


@dataclass(frozen=True)
class Message:
    """A message."""

    kind: Kind
    number: int = 0
    body: bytes = b""


class Channel:
    """One end. Use it in one event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @staticmethod
    async def over(end: socket.socket) -> Channel:
        """Return the channel over one end of a pair of sockets."""
        return Channel(*await asyncio.open_unix_connection(sock=end))

    def send(self, message: Message) -> None:
        """Send a message; to nobody if the other process has ended."""
        header = _HEADER.pack(message.kind, message.number, len(message.body))
        self._writer.write(header + message.body)

    async def receive(self) -> Message | None:
        """Return the next message; None if the other process has ended."""
        try:
            kind, number, size = _HEADER.unpack(await self._reader.readexactly(_HEADER.size))
            return Message(Kind(kind), number, await self._reader.readexactly(size))
        except (EOFError, OSError):
            return None

    def close(self) -> None:
        """Close this end."""
        self._writer.close()
