"""The TCP server: framed, strict binary Thrift.

One event loop owns every connection, so idle and slow callers cost no thread; a pool of threads
evaluates requests. Sizes are checked before a byte of a frame is read, each transfer has a time
limit, and a connection over a limit is closed or answered that the service is busy.

One limit holds for all connections, before TLS as well. At the limit the oldest one that has asked
nothing makes room: callers ask at once, and who holds connections open must not keep them away.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog

from pyhudi_expr.protocol.generated import PruningService
from pyhudi_expr.service.access import Access
from pyhudi_expr.service.handler import RefusingHandler
from pyhudi_expr.service.jobs import Job
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.network.connection import Answered, Connection
from pyhudi_expr.service.network.evaluation import Evaluate, Evaluation
from pyhudi_expr.service.network.frames import Head, process_frame
from pyhudi_expr.service.network.handshakes import Handshakes
from pyhudi_expr.service.network.listening import (
    Listener,
    bound,
    most_connections,
    not_listening,
)
from pyhudi_expr.service.settings import ServiceSettings, SettingsError

_ABANDON_SECONDS = 1.0
_NOTED_SECONDS = 1.0

_log: Any = structlog.get_logger()


class PruningServer:
    """Serves a handler until it is stopped. Create and use it in one event loop."""

    def __init__(
        self,
        handler: PruningService.Iface,
        settings: ServiceSettings,
        metrics: Metrics | None = None,
    ) -> None:
        """Raises SettingsError for a service that anybody on the network could use."""
        self._metrics = metrics or Metrics()
        self._evaluation = Evaluation(settings.threads)
        self._connections: dict[Connection, None] = {}
        self._opening = asyncio.Lock()
        self._full_noted = -math.inf
        self._tell_closed: Callable[[], None] = lambda: None
        self._stopping = asyncio.Event()
        self._all_closed = asyncio.Event()
        self._answering = False
        self._access = Access(settings)
        self._handshakes = (
            None if self._access.tls is None else Handshakes(self, lambda: Connection(self))
        )
        self.reload(handler, settings)

    def reload(self, handler: PruningService.Iface, settings: ServiceSettings) -> None:
        """Continue with a new handler and settings, except address, workers and threads.

        Certificates are read again; open connections stay open. Raises SettingsError.
        """
        access = Access(settings)
        if (access.tls is None) != (self._access.tls is None):
            raise SettingsError("tls_certificate: TLS begins and ends with a restart only")
        self._access = access
        self._settings = settings
        self._most_connections = most_connections(settings)
        self._processor = PruningService.Processor(handler)

    @property
    def open_connections(self) -> int:
        """Number of connected callers, before TLS as well."""
        shaken = 0 if self._handshakes is None else self._handshakes.running
        return len(self._connections) + shaken

    @property
    def unanswered(self) -> int:
        """Number of requests that are evaluated or waiting."""
        return self._evaluation.unanswered

    def is_ready(self) -> bool:
        """Whether requests are accepted."""
        return self._answering and not self._stopping.is_set()

    def stop(self) -> None:
        """Accept no more requests; `run` returns when all received ones are answered."""
        self._stopping.set()

    async def run(self, listening: Callable[[str, int], None] | None = None) -> None:
        """Listen until `stop`; `listening` is called with the address. Raises AddressError."""
        settings = self._settings
        try:
            listened = bound(settings.host, settings.port, settings.max_connections)
        except OSError as error:
            raise not_listening(settings, error) from error
        listener = Listener(listened, self.take)
        host, port = listener.address
        if listening is not None:
            listening(host, port)
        _log.info("listening", host=host, port=port, workers=1, threads=settings.threads)
        await self.answer(listener.stop)
        _log.info("stopped")

    async def answer(self, stop_listening: Callable[[], None] = lambda: None) -> None:
        """Answer connections, also those that `take` is given, until `stop`.

        Args:
            stop_listening: Called then, before the requests that were received are answered.
        """
        self._answering = True
        try:
            await self._stopping.wait()
        finally:
            stop_listening()
            if self._handshakes is not None:
                await self._handshakes.stop()
            await self._drain()
            self._evaluation.shutdown()

    async def take(self, caller: socket.socket) -> None:
        """Serve a connection that was accepted."""
        caller.setblocking(False)
        # One after the other: one that is not open yet could not make room for the next.
        async with self._opening:
            if not self._has_room():
                caller.close()
                self.lost()
                return
            if self._handshakes is not None:
                self._handshakes.begin(caller)
                return
            try:
                loop = asyncio.get_running_loop()
                await loop.connect_accepted_socket(lambda: Connection(self), caller)
            except OSError:
                caller.close()  # It has hung up.
                self.lost()

    def _has_room(self) -> bool:
        """Return whether one more connection may be open, if need be instead of a silent one."""
        if self.open_connections < self._most_connections:
            return True
        self._note_full()
        if self._handshakes is not None and self._handshakes.running:
            self._handshakes.drop_oldest()
            return True
        silent = next((one for one in self._connections if one.is_silent), None)
        if silent is None:
            return False
        del self._connections[silent]
        silent.abandon()
        return True

    def _note_full(self) -> None:
        """Count a connection that is closed since too many are open; log it once a second."""
        self._metrics.refused("full")
        now = asyncio.get_running_loop().time()
        if now >= self._full_noted + _NOTED_SECONDS:
            self._full_noted = now
            most = self._most_connections
            _log.warning("connections are closed: too many are open", connections=most)

    def on_closed(self, tell: Callable[[], None]) -> None:
        """Call a function at the end of each connection from now on."""
        self._tell_closed = tell

    async def _drain(self) -> None:
        for connection in tuple(self._connections):
            connection.stop()
        if not await self._closes_all(self._settings.stop_seconds):
            for connection in tuple(self._connections):
                _log.warning("request abandoned: the service stops")
                connection.abandon()
            await self._closes_all(_ABANDON_SECONDS)

    async def _closes_all(self, seconds: float) -> bool:
        """Return whether all connections are closed within a time."""
        with contextlib.suppress(asyncio.TimeoutError):
            if self._connections:
                await asyncio.wait_for(self._all_closed.wait(), seconds)
        return not self._connections

    @property
    def settings(self) -> ServiceSettings:
        """See `Host`."""
        return self._settings

    @property
    def access(self) -> Access:
        """See `Host`."""
        return self._access

    @property
    def is_stopping(self) -> bool:
        """See `Host`."""
        return self._stopping.is_set()

    def opened(self, connection: Connection) -> None:
        """See `Host`."""
        self._connections[connection] = None

    def closed(self, connection: Connection) -> None:
        """See `Host`."""
        self._connections.pop(connection, None)
        self._tell_closed()
        if self.is_stopping and not self._connections:
            self._all_closed.set()

    def lost(self) -> None:
        """See `Host`."""
        self._tell_closed()

    def refused(self, reason: str) -> None:
        """See `Host`."""
        self._metrics.refused(reason)

    def submit(self, head: Head, answered: Answered) -> Job:
        """See `Host`."""
        settings = self._settings
        most = settings.threads + settings.max_waiting
        return self._evaluation.submit(head, self._evaluate(self._processor), most, answered)

    def not_pruned(self, head: Head, reason: str, message: str, answered: Answered) -> Job:
        """See `Host`."""
        processor = PruningService.Processor(RefusingHandler(reason, message, self._metrics))
        return self._evaluation.refuse(head, self._evaluate(processor), answered)

    def abandon(self, job: Job) -> None:
        """See `Host`."""
        self._evaluation.abandon(job)

    def _evaluate(self, processor: PruningService.Processor) -> Evaluate:
        return partial(process_frame, processor=processor, most_items=self._settings.max_nodes)
