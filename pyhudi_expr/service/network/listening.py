"""Listening sockets, the callers that they accept, and addresses that cannot be listened on.

asyncio's own servers hide a caller's socket until its transport exists, which with TLS is after the
handshake, and write a traceback for each of up to `backlog` tries where the process has no file
descriptors left.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from pyhudi_expr.service.settings import ServiceSettings


class AddressError(OSError):
    """The address is taken, or not one of this machine."""


def not_listening(settings: ServiceSettings, error: OSError) -> AddressError:
    """Return the error for the address of callers."""
    address = f"{settings.host}:{settings.port}"
    return AddressError(f"cannot listen on {address}: {error.strerror or error}")


_MOST_AT_ONCE = 64
_PAUSE_SECONDS = 1.0
_OWN_DESCRIPTORS = 32
"""Standard streams, listening sockets, pipes of other processes, and the event loop's."""
_DESCRIPTORS_OF_THREAD = 2
"""A thread has a file of a table open, or a connection to its store, and may open another one."""

_log: Any = structlog.get_logger()


def bound(host: str, port: int, backlog: int) -> socket.socket:
    """Return a listening socket. Raises OSError and OverflowError."""
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.create_server(address[:2], family=family, backlog=backlog)
    listening.setblocking(False)
    return listening


def most_connections(settings: ServiceSettings) -> int:
    """Return how many connections a process may have open: `max_connections` at most.

    A connection that takes the last descriptor would leave none for the files of tables, so there
    are fewer where the process may have few (`ulimit -n`); a quarter of them at least.
    """
    try:
        import resource
    except ImportError:  # no Unix
        return settings.max_connections
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return settings.max_connections
    own = _OWN_DESCRIPTORS + _DESCRIPTORS_OF_THREAD * settings.threads
    most = min(settings.max_connections, max(descriptors - own, descriptors // 4, 1))
    if most < settings.max_connections:
        _log.warning(
            "fewer connections than max_connections: the process may open few files (ulimit -n)",
            connections=most,
            max_connections=settings.max_connections,
            descriptors=descriptors,
        )
    return most


class Listener:
    """Accepts callers at one socket, from now until it is stopped. Use it in one event loop."""

    def __init__(
        self, listening: socket.socket, take: Callable[[socket.socket], Coroutine[Any, Any, None]]
    ) -> None:
        """Begin to accept.

        Args:
            listening: The socket, which is closed in the end.
            take: Begins to serve a caller's socket, which does not block. The next caller is
                accepted when it returns, so that few are neither served nor refused.
        """
        self._listening = listening
        self._take = take
        self._accepting = asyncio.get_running_loop().create_task(self._accept())
        self._accepting.add_done_callback(lambda _: listening.close())

    @property
    def address(self) -> tuple[str, int]:
        """Its host and port."""
        host, port = self._listening.getsockname()[:2]
        return host, port

    def stop(self) -> None:
        """Accept no more."""
        self._accepting.cancel()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            for _ in range(_MOST_AT_ONCE):
                try:
                    caller, _ = await loop.sock_accept(self._listening)
                except (ConnectionAbortedError, InterruptedError):
                    continue
                except OSError as error:
                    # The process has too many open files, say.
                    _log.error("connections are not accepted for a second", reason=str(error))
                    await asyncio.sleep(_PAUSE_SECONDS)
                    continue
                caller.setblocking(False)
                await self._take(caller)
            await asyncio.sleep(0)  # A burst of callers must not keep others waiting.
