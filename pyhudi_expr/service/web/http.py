"""The subset of HTTP/1.1 that the service needs: one request for each connection, GET or POST."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import structlog

from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.service.network.handshakes import Door, Handshakes
from pyhudi_expr.service.network.listening import Listener, bound
from pyhudi_expr.service.settings import SettingsError

PLAIN = "text/plain; charset=utf-8"
MAX_BODY_BYTES = 64 << 20
_PIECE_BYTES = 1 << 16
_MAX_HEAD_BYTES = 8192
_SECONDS = 5.0
_BACKLOG = 100

_log: Any = structlog.get_logger()


async def _no_body(most: int) -> bytes:
    return b""


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        query: The first value of each parameter.
        headers: By their names in lower case.
        begin: Receives the body, and returns so many bytes of its beginning. Raises ValueError if
            the sender does not say its size, or it is larger than `MAX_BODY_BYTES`.
    """

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    begin: Callable[[int], Awaitable[bytes]] = _no_body


@dataclass(frozen=True)
class Response:
    """A response.

    Attributes:
        refusal: Why the caller is refused, to count, by one of a few words; empty: it is not.
        reason: The same in words, for the log.
    """

    status: HTTPStatus
    content_type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""
    reason: str = ""


Answer = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Site:
    """What is served at one address.

    Attributes:
        setting: The setting with the address, for errors.
        address: host:port.
        answer: Returns the response to a request.
        door: Encrypts connections and counts who is refused; None: no one is.
        method: The only method.
    """

    setting: str
    address: str
    answer: Answer
    door: Door | None = None
    method: Literal["GET", "POST"] = "GET"

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Serve at the address. Raises SettingsError if that is not possible."""
        host, port = host_and_port(self.setting, self.address)
        try:
            listener = Listener(bound(host, port, _BACKLOG), self.take)
        except (OSError, OverflowError) as error:
            raise not_listening(self.setting, self.address, error) from error
        try:
            yield
        finally:
            listener.stop()

    async def take(self, caller: socket.socket) -> None:
        """Serve a connection that another process has accepted."""
        caller.setblocking(False)
        if self._handshakes is not None:
            self._handshakes.begin(caller)
            return
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._connected, caller)
        except OSError:
            caller.close()  # It has hung up.

    @computed_once
    def _handshakes(self) -> Handshakes | None:
        door = self.door
        if door is None or door.access.tls is None:
            return None
        return Handshakes(door, self._connected, {"setting": self.setting})

    def _connected(self) -> asyncio.BaseProtocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(_MAX_HEAD_BYTES), self._serve)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        with contextlib.suppress(
            OSError, ValueError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError
        ):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
            request = _parsed(head.decode("latin-1"), self.method)
            if request is None:
                only = f"{self.method} only\n".encode()
                response = Response(HTTPStatus.METHOD_NOT_ALLOWED, PLAIN, only)
            else:
                begin = partial(_begin, reader, request)
                response = await self.answer(replace(request, begin=begin))
            if response.refusal:
                self._refused(response, writer)
            writer.write(_bytes(response))
            await asyncio.wait_for(writer.drain(), _SECONDS)
        writer.close()

    def _refused(self, response: Response, writer: asyncio.StreamWriter) -> None:
        if self.door is not None:
            self.door.refused(response.refusal)
        peer = "{}:{}".format(*writer.get_extra_info("peername", ("?", 0))[:2])
        _log.warning("connection closed", peer=peer, reason=response.reason, setting=self.setting)


def not_listening(setting: str, address: str, error: Exception) -> SettingsError:
    """Return the error for an address that cannot be used."""
    return SettingsError(f"{setting}: cannot listen on {address}: {error}")


def host_and_port(setting: str, address: str) -> tuple[str, int]:
    """Return the parts of an address. Raises SettingsError."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise SettingsError(f"{setting}: {address!r} is not of the form host:port")
    return host.strip("[]"), int(port)


async def _begin(reader: asyncio.StreamReader, request: Request, most: int) -> bytes:
    """Receive a body, see `Request.begin`. It is never held as a whole."""
    size = request.headers.get("content-length", "")
    if not size.isdecimal() or int(size) > MAX_BODY_BYTES:
        raise ValueError(f"a body of {size or 'unknown'} bytes")
    begin, left = b"", int(size)
    while left:
        piece = await asyncio.wait_for(reader.read(min(left, _PIECE_BYTES)), _SECONDS)
        if not piece:
            raise EOFError
        left -= len(piece)
        begin += piece[: most - len(begin)]
    return begin


def _parsed(head: str, expected: str) -> Request | None:
    """Parse a request; None for another method. Raises ValueError if it is not HTTP."""
    lines = head.split("\r\n")
    method, target, _ = lines[0].split(" ", 2)
    if method != expected:
        return None
    parts = urlsplit(target)
    headers = dict(_header(line) for line in lines[1:] if line)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return Request(unquote(parts.path), query, headers)


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def _bytes(response: Response) -> bytes:
    headers = {
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
        "Connection": "close",
        **response.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    status = response.status
    return f"HTTP/1.1 {status.value} {status.phrase}\r\n{lines}\r\n".encode() + response.body
