"""Accept connections for workers.

A worker with a listening socket of its own (SO_REUSEPORT) gets connections by the hash of their
ports: of 8 connections to two workers one got 6 or more in 65 of 200 trials. Here each goes to the
worker with the fewest, for 20 microseconds of both processes.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from pyhudi_expr.service.network.listening import Listener, bound, not_listening
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.service.web import http
from pyhudi_expr.service.workers.channel import Handed
from pyhudi_expr.service.workers.child import Child


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
        self._listening: dict[Handed, Listener] = {}
        self._held: list[tuple[Handed, socket.socket]] = []
        self._most_held = 0

    @contextlib.contextmanager
    def bound(self, settings: ServiceSettings) -> Iterator[tuple[str, int]]:
        """Listen, and return the host and port of callers. Raises SettingsError or AddressError."""
        self._most_held = settings.max_connections
        try:
            for kind in Handed:
                if kind is Handed.PRUNING or getattr(settings, kind.setting):
                    take = partial(self._take, kind)
                    self._listening[kind] = Listener(_bound(kind, settings), take)
            yield self._listening[Handed.PRUNING].address
        finally:
            self.stop()

    def stop(self) -> None:
        """Accept no more."""
        for listener in self._listening.values():
            listener.stop()
        self._listening = {}
        for _, caller in self._held:
            caller.close()
        self._held = []

    def retry(self) -> None:
        """Hand over what waits for a worker, after one has become ready or has ended."""
        held, self._held = self._held, []
        for kind, caller in held:
            self._hand(kind, caller)

    async def _take(self, kind: Handed, caller: socket.socket) -> None:
        self._hand(kind, caller)

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
        return bound(host, port, settings.max_connections)
    except (OSError, OverflowError) as error:
        if kind is Handed.PRUNING and isinstance(error, OSError):
            raise not_listening(settings, error) from error
        raise http.not_listening(kind.setting, f"{host}:{port}", error) from error
