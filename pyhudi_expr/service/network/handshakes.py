"""TLS handshakes of accepted connections, each failed one with a line in the log and counted.

A server of asyncio with an SSL context closes such a connection without telling anybody, and knows
of none before its handshake has ended.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

import structlog

from pyhudi_expr.service.access import Access
from pyhudi_expr.service.settings import ServiceSettings

_NO_CERTIFICATE = "the caller shows no certificate; this service wants one of its tls_client_ca"
_NO_TLS = "the caller does not speak TLS, and this service has a tls_certificate"
_REASONS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": _NO_CERTIFICATE,
    "HTTP_REQUEST": _NO_TLS,
    "PACKET_LENGTH_TOO_LONG": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "UNKNOWN_PROTOCOL": _NO_TLS,
    "WRONG_VERSION_NUMBER": _NO_TLS,
}

_log: Any = structlog.get_logger()


class Door(Protocol):
    """Who decides about the callers of one address."""

    @property
    def settings(self) -> ServiceSettings:
        """Those in force."""

    @property
    def access(self) -> Access:
        """Who may connect, by the settings in force."""

    def refused(self, reason: str) -> None:
        """Count a refused caller, by one of a few words."""

    def lost(self) -> None:
        """Take note of a connection that ended before its handshake did."""


class Handshakes:
    """The handshakes of one address. Use it in one event loop.

    Each is made with the certificates in force when it begins.
    """

    def __init__(
        self,
        door: Door,
        connected: Callable[[], asyncio.BaseProtocol],
        where: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Take the address's door, the protocol inside TLS, and what log lines say beside it."""
        self._door = door
        self._connected = connected
        self._where = where
        self._running: dict[asyncio.Task[None], None] = {}

    @property
    def running(self) -> int:
        """Number of handshakes that have not ended."""
        return len(self._running)

    def drop_oldest(self) -> None:
        """Close the connection whose handshake has run for the longest time."""
        task = next(iter(self._running))
        del self._running[task]
        task.cancel()

    def begin(self, caller: socket.socket) -> None:
        """Begin the handshake with a caller."""

        def ended(task: asyncio.Task[None]) -> None:
            self._running.pop(task, None)
            if task.cancelled():
                caller.close()
                self._door.lost()

        task = asyncio.get_running_loop().create_task(self._shaken(caller))
        self._running[task] = None
        task.add_done_callback(ended)

    async def stop(self) -> None:
        """Close the connections whose handshake has not ended."""
        for task in tuple(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _shaken(self, caller: socket.socket) -> None:
        try:
            peer = "{}:{}".format(*caller.getpeername()[:2])
            await asyncio.get_running_loop().connect_accepted_socket(
                self._connected,
                caller,
                ssl=self._door.access.tls,
                ssl_handshake_timeout=self._door.settings.transfer_seconds,
            )
        except ssl.SSLError as error:
            self._refused("tls", peer, _why(error))
        except ConnectionAbortedError:
            self._refused("slow", peer, "the TLS handshake was too slow")
        except OSError:
            caller.close()  # It has hung up, which is no refusal.
            self._door.lost()

    def _refused(self, reason: str, peer: str, why: str) -> None:
        self._door.refused(reason)
        self._door.lost()
        _log.warning("connection closed", peer=peer, reason=why, **self._where)


def _why(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message
        return f"the caller's certificate is of no authority of tls_client_ca, or invalid: {why}"
    reason = error.reason or str(error)
    return _REASONS.get(reason, f"the TLS handshake failed: {reason.lower().replace('_', ' ')}")
