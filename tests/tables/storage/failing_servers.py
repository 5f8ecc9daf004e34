"""Servers that refuse what they are sent, and that never answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Repeating(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length).decode(errors="replace")
        token = self.headers.get("x-amz-security-token", "")
        answer = (
            "<?xml version='1.0'?><Error><Code>ExpiredToken</Code>"
            f"<Message>The token has expired</Message><Token-0>{token}</Token-0>"
            f"<CanonicalRequest>{self.path} {self.headers} {sent}</CanonicalRequest></Error>"
        ).encode()
        self.send_response(400)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - names of the base class

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def repeating_server() -> Iterator[str]:
    """A server that refuses all requests, and repeats them in its answers, as AWS does.

    Returns:
        Its URL.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Repeating)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def silent_server() -> Iterator[str]:
    """A socket that accepts connections, and never answers.

    Returns:
        Its URL.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def refusing_port() -> Iterator[str]:
    """The URL of a port that nobody listens on, and nobody else can take."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
