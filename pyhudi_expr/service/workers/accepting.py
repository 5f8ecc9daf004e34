"""Accept connections for workers.

A worker with a listening socket of its own (SO_REUSEPORT) gets connections by the hash of their
ports: of 8 connections to two workers one got 6 or more in 65 of 200 trials. Here each goes to the
worker with the fewest, for 20 microseconds of both processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import structlog

from pyhudi_expr.service.network.addresses import not_listening
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.service.web import http
from pyhudi_expr.service.workers.channel import Handed
from pyhudi_expr.service.workers.child import Child

_MOST_AT_ONCE = 64
_PAUSE_SECONDS = 1.0

_log: Any = structlog.get_logger()


class Acceptor:
    """The listening sockets of a service. Use it in one event loop."""

    def __init__(self, workers: Callable[[], Sequence[Child]], waits: Callable[[], bool]) -> None:
        """Prepare; nothing listens yet.

        Args:
            workers: Returns those that take connections.
            waits: Returns whether one is about to do so, if there is none.
        """
        self._workers = workers
        self._waits = waits
        self._listening: dict[Handed, socket.socket] = {}
        self._held: list[tuple[Handed, socket.socket]] = []
        self._most_held = 0

    @contextlib.contextmanager
    def bound(self, settings: ServiceSettings) -> Iterator[tuple[str, int]]:
        """Listen, and return the host and port of callers. Raises SettingsError or AddressError."""
        self._most_held = settings.max_connections
        loop = asyncio.get_running_loop()
        try:
            for kind in Handed:
                if kind is Handed.PRUNING or getattr(settings, kind.setting):
                    self._listening[kind] = _bound(kind, settings)
            for kind, listening in self._listening.items():
                loop.add_reader(listening, self._accept, kind)
            host, port = self._listening[Handed.PRUNING].getsockname()[:2]
            yield host, port
        finally:
            self.stop()

    def stop(self) -> None:
        """Accept no more."""
        for listening in self._listening.values():
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        self._listening = {}
        for _, caller in self._held:
            caller.close()
        self._held = []

    def retry(self) -> None:
        """Hand over what waits for a worker, after one has become ready or has ended."""
        held, self._held = self._held, []
        for kind, caller in held:
            self._hand(kind, caller)

    def _accept(self, kind: Handed) -> None:
        listening = self._listening[kind]
        for _ in range(_MOST_AT_ONCE):
            try:
                caller, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _log.error("connections are not accepted for a second", reason=str(error))
                self._pause(kind)
                return
            self._hand(kind, caller)

    def _pause(self, kind: Handed) -> None:
        """Accept none for a while: the process has too many open files."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listening[kind])

        def again() -> None:
            if kind in self._listening:
                loop.add_reader(self._listening[kind], self._accept, kind)

        loop.call_later(_PAUSE_SECONDS, again)

    def _hand(self, kind: Handed, caller: socket.socket) -> None:
        ready = self._workers()
        if kind is Handed.PRUNING:
            ready = sorted(ready, key=lambda one: one.open)
        if any(worker.hand(kind, caller) for worker in ready):
            return
        if self._waits() and len(self._held) < self._most_held:
            self._held.append((kind, caller))
        else:
            caller.close()


def _bound(kind: Handed, settings: ServiceSettings) -> socket.socket:
    """Return a listening socket. Raises SettingsError or AddressError."""
    host, port = settings.host, settings.port
    if kind is not Handed.PRUNING:
        host, port = http.host_and_port(kind.setting, getattr(settings, kind.setting))
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(
            address[:2], family=family, backlog=settings.max_connections
        )
    except (OSError, OverflowError) as error:
        if kind is Handed.PRUNING and isinstance(error, OSError):
            raise not_listening(settings, error) from error
        raise http.not_listening(kind.setting, f"{host}:{port}", error) from error
    listening.setblocking(False)
    return listening
