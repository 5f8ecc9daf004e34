"""The messages of HTTP/1.1 on asyncio's streams, as bytes that are passed on unchanged."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import unescape

HEAD_LIMIT = 1 << 20
"""The largest head in bytes; the limit of a stream's buffer."""
_PIECE = 1 << 16
_WRITING = ("PUT", "POST", "DELETE")
_FRAMING = ("host", "connection", "content-length", "transfer-encoding")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_NO_BODY = (204, 304)
_KEY = re.compile(rb"<Key>(.*?)</Key>", re.DOTALL)


@dataclass(frozen=True)
class Head:
    """The first line and the headers of a message.

    Attributes:
        raw: The bytes, with the empty line.
        words: The first line's words: method, target, version; or version, status, reason.
        fields: The headers' values by their names in lower case.
    """

    raw: bytes
    words: tuple[str, ...]
    fields: Mapping[str, str]

    @property
    def status(self) -> int:
        """The status of an answer."""
        return int(self.words[1])

    @property
    def is_chunked(self) -> bool:
        """Whether the body comes in chunks, the last of which is empty."""
        return "chunked" in self.fields.get("transfer-encoding", "").lower()

    @property
    def length(self) -> int | None:
        """The length of the body in bytes, if the message names it."""
        value = self.fields.get("content-length")
        return None if value is None else int(value)

    @property
    def keeps_connection(self) -> bool:
        """Whether the sender takes another request, or sends one, on the same connection."""
        return "close" not in self.fields.get("connection", "").lower()

    def has_body(self, method: str) -> bool:
        """Return whether this answer to a request of such a method has a body, be it empty."""
        return method != "HEAD" and self.status not in _NO_BODY

    def is_delimited(self, method: str) -> bool:
        """Return whether this answer to such a request ends before its connection does."""
        return not self.has_body(method) or self.is_chunked or self.length is not None


@dataclass(frozen=True)
class Message:
    """A whole request: its head, and its body with the framing of chunks."""

    head: Head
    body: bytes

    @property
    def method(self) -> str:
        """The method."""
        return self.head.words[0]

    @property
    def path(self) -> str:
        """The target, with the query."""
        return self.head.words[1]

    @property
    def is_writing(self) -> bool:
        """Whether it may change something."""
        return self.method in _WRITING

    @property
    def conditional(self) -> str | None:
        """Its conditions, for example "if-none-match: *"."""
        found = [f"{k}: {v}" for k, v in self.head.fields.items() if k.startswith("if-")]
        return ", ".join(found) or None

    def with_headers(self, headers: Mapping[str, str]) -> "Message":
        """Return the request with other headers than those of the connection and the body."""
        kept = {name: self.head.fields[name] for name in _FRAMING if name in self.head.fields}
        fields = {**kept, **{name.lower(): value for name, value in headers.items()}}
        lines = [" ".join(self.head.words), *(f"{name}: {value}" for name, value in fields.items())]
        raw = "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1")
        return Message(Head(raw, self.head.words, fields), self.body)

    def changed_paths(self) -> frozenset[str]:
        """Return the decoded paths that it may change; many if it deletes many objects."""
        if not self.is_writing:
            return frozenset()
        target = urlsplit(self.path)
        path = unquote(target.path)
        if self.method == "POST" and target.query.partition("=")[0] == "delete":
            bucket = path.strip("/")
            keys = (unescape(key.decode()) for key in _KEY.findall(self.body))
            return frozenset(f"/{bucket}/{key}" for key in keys)
        return frozenset({path})


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """Read the head of the next message; None if the connection ended before it.

    Raises:
        asyncio.IncompleteReadError: The connection ended within the head.
        asyncio.LimitOverrunError: The head is longer than `HEAD_LIMIT`.
    """
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = raw[:-4].decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Head(raw, tuple(first.split(" ", 2)), fields)


async def read_request_body(
    head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bytes:
    """Read a request's body; a client that waits for it is told to continue.

    Raises:
        asyncio.IncompleteReadError: The connection ended within the body.
    """
    if head.fields.get("expect", "").lower() == "100-continue":
        writer.write(_CONTINUE)
    if head.is_chunked:
        return b"".join([chunk async for chunk in _chunks(reader)])
    return await reader.readexactly(head.length or 0)


async def answer_body(
    method: str, head: Head, reader: asyncio.StreamReader
) -> AsyncGenerator[bytes, None]:
    """Yield the body of the answer to a request of this method, in pieces.

    Raises:
        asyncio.IncompleteReadError: The connection ended within the body.
    """
    if not head.has_body(method):
        return
    if head.is_chunked:
        async for chunk in _chunks(reader):
            yield chunk
        return
    # Without a length the body lasts until the connection ends.
    left = head.length
    while left is None or left > 0:
        piece = await reader.read(_PIECE if left is None else min(left, _PIECE))
        if not piece:
            if left is None:
                return
            raise asyncio.IncompleteReadError(b"", left)
        if left is not None:
            left -= len(piece)
        yield piece


async def _chunks(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    """Yield each chunk with its framing; the last one comes with the trailing headers."""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if size == 0:
            break
        yield line + await reader.readexactly(size + 2)
    end = line
    while line != b"\r\n":
        line = await reader.readuntil(b"\r\n")
        end += line
    yield end
