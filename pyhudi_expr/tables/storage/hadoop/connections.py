"""HTTP requests over connections that are kept open."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO
from urllib.parse import urlsplit

CONNECT_SECONDS = 5.0
_IDLE_CONNECTIONS = 16
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Body:
    """What a request sends: a seekable stream, and its length in bytes."""

    stream: IO[bytes]
    size: int


@dataclass(frozen=True)
class Answer:
    """A response, read to its end; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Connections:
    """Connections to any servers. Thread safe: each request has one for itself."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        """Create them; `tls` checks the servers of `https` URLs."""
        self._tls = tls
        self._idle = defaultdict[tuple[str, str], list[http.client.HTTPConnection]](list)
        self._lock = threading.Lock()

    def request(
        self,
        method: str,
        url: str,
        seconds: float,
        headers: Mapping[str, str],
        body: Body | None = None,
    ) -> Answer:
        """Send a request, and return its answer, whatever its status.

        Args:
            method: GET, PUT or DELETE.
            url: With the scheme `http` or `https`.
            seconds: Time to wait for the next bytes.
            headers: Further headers.
            body: What to send; it is sent from its start.

        Raises:
            OSError: There is no connection, or it broke off.
            http.client.HTTPException: It broke off within the answer, or speaks no HTTP.
        """
        parts = urlsplit(url)
        place = (parts.scheme, parts.netloc)
        target = f"{parts.path}?{parts.query}"
        kept = self._kept(place)
        if kept is not None:
            try:
                return self._exchanged(kept, place, seconds, (method, target, headers, body))
            except (ConnectionError, http.client.BadStatusLine):
                kept.close()  # the server had closed it since
        connection = self._opened(place)
        return self._exchanged(connection, place, seconds, (method, target, headers, body))

    def _kept(self, place: tuple[str, str]) -> http.client.HTTPConnection | None:
        with self._lock:
            idle = self._idle[place]
            return idle.pop() if idle else None

    def _opened(self, place: tuple[str, str]) -> http.client.HTTPConnection:
        scheme, address = place
        if scheme == "https":
            return http.client.HTTPSConnection(
                address, timeout=CONNECT_SECONDS, context=self._tls, blocksize=_BLOCK_BYTES
            )
        return http.client.HTTPConnection(address, timeout=CONNECT_SECONDS, blocksize=_BLOCK_BYTES)

    def _exchanged(
        self,
        connection: http.client.HTTPConnection,
        place: tuple[str, str],
        seconds: float,
        request: tuple[str, str, Mapping[str, str], Body | None],
    ) -> Answer:
        method, target, headers, body = request
        try:
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(seconds)
            if body is None:
                length = {"Content-Length": "0"} if method == "PUT" else {}
                connection.request(method, target, headers={**length, **headers})
            else:
                body.stream.seek(0)
                length = {"Content-Length": str(body.size)}
                connection.request(method, target, body.stream, headers={**length, **headers})
            response = connection.getresponse()
            headers_of = {name.lower(): value for name, value in response.getheaders()}
            answer = Answer(response.status, headers_of, response.read())
        except BaseException:
            connection.close()
            raise
        with self._lock:
            idle = self._idle[place]
            if not response.will_close and len(idle) < _IDLE_CONNECTIONS:
                idle.append(connection)
                return answer
        connection.close()
        return answer
