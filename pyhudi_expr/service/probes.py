"""Three pages over HTTP/1.1 for those who watch the service: /metrics, /health and /ready.

They are served by the event loop that serves the callers, so an answer shows that it runs. Nobody
has to show a token here, and nothing but numbers is told.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from http import HTTPStatus

from pyhudi_expr.service.metrics import CONTENT_TYPE, Metrics
from pyhudi_expr.service.settings import SettingsError

_MAX_HEAD_BYTES = 8192
_SECONDS = 5.0
_PLAIN = "text/plain; charset=utf-8"

_Page = tuple[HTTPStatus, str, bytes]


class Probes:
    """The pages, until the event loop ends."""

    def __init__(self, metrics: Metrics, is_ready: Callable[[], bool]) -> None:
        self._metrics = metrics
        self._is_ready = is_ready

    async def listen(self, address: str) -> asyncio.Server:
        """Serve at host:port. Raises SettingsError where that is not possible."""
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise SettingsError(f"metrics_address: {address!r} is not of the form host:port")
        try:
            return await asyncio.start_server(
                self._accepted, host.strip("[]"), int(port), limit=_MAX_HEAD_BYTES
            )
        except (OSError, OverflowError) as error:
            raise SettingsError(f"metrics_address: cannot listen on {address}: {error}") from error

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            OSError, ValueError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError
        ):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
            writer.write(_response(*self._page(head)))
            await asyncio.wait_for(writer.drain(), _SECONDS)
        writer.close()

    def _page(self, head: bytes) -> _Page:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method != b"GET":
            return HTTPStatus.METHOD_NOT_ALLOWED, _PLAIN, b"GET only\n"
        if path == b"/metrics":
            return HTTPStatus.OK, CONTENT_TYPE, self._metrics.text()
        if path == b"/health":
            return HTTPStatus.OK, _PLAIN, b"ok\n"
        if path == b"/ready":
            ready = self._is_ready()
            status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
            return status, _PLAIN, b"ready\n" if ready else b"stopping\n"
        return HTTPStatus.NOT_FOUND, _PLAIN, b"/metrics, /health and /ready\n"


def _response(status: HTTPStatus, content_type: str, body: bytes) -> bytes:
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    ).encode() + body
