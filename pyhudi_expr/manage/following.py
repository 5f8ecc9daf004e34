"""Repeat a step at intervals, and at once when Hudi's writer reports a commit, by HTTP.

With `hoodie.write.commit.callback.on=true` a writer posts a JSON object to
`hoodie.write.commit.callback.http.url` after each commit: the commit's time, the table's name and
base path, then a description of each written file. That may be megabytes; the base path is in its
first bytes.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

from pyhudi_expr.errors import HudiError

#: So much of a message is kept.
HEAD_BYTES = 1 << 16
#: Larger messages are refused: a commit of 100,000 files has less.
MAX_BYTES = 64 << 20

# In JSON, quotes within a text have a backslash before them: this can only be the name of a field.
_BASE_PATH = re.compile(rb'"basePath"\s*:\s*("(?:[^"\\]|\\.)*")')


def committed_table(head: bytes) -> str | None:
    """Return the base path in a message; None if it has none.

    Args:
        head: The first bytes of the message, up to `HEAD_BYTES`.
    """
    found = _BASE_PATH.search(head)
    if found is None:
        return None
    try:
        path = json.loads(found[1])
    except ValueError:  # not UTF-8, or not an escape of JSON's
        return None
    return path if isinstance(path, str) and path else None


_PATIENCE = 10.0


class CommitCalls(AbstractContextManager["CommitCalls"]):
    """A port that writers call after a commit; open in a `with` block.

    What a call says is not read: it only ends a `wait`, so anyone who reaches the port may cause a
    step, and nothing else.
    """

    def __init__(self, host: str, port: int) -> None:
        """Listen on a port; 0 takes a free one. Raises HudiError if it is taken."""
        self._called = threading.Event()
        try:
            self._server = _Server((host, port), _Handler)
        except OSError as error:
            raise HudiError(f"{host}:{port} cannot be listened on: {error}") from error
        self._server.called = self._called
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="commit-calls", daemon=True
        )

    @property
    def port(self) -> int:
        """The port."""
        return self._server.server_address[1]

    def wait(self, seconds: float) -> None:
        """Return at the next call, or after so many seconds. Calls before it count."""
        self._called.wait(seconds)
        self._called.clear()

    def __enter__(self) -> CommitCalls:
        """Take calls."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def repeat(step: Callable[[], None], wait: Callable[[float], None], seconds: float) -> None:
    """Run a step again and again, each time after a wait; it ends only by an exception.

    Args:
        step: What to do.
        wait: Waits for so many seconds, or less.
        seconds: The interval.
    """
    while True:
        step()
        wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    called: threading.Event


class _Handler(BaseHTTPRequestHandler):
    timeout = _PATIENCE

    def do_POST(self) -> None:
        """Take a call."""
        size = self.headers.get("Content-Length", "0")
        if not size.isdecimal() or int(size) > MAX_BYTES:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        left = int(size)
        while left and (read := len(self.rfile.read(min(left, HEAD_BYTES)))):
            left -= read
        cast(_Server, self.server).called.set()
        self.send_response(HTTPStatus.NO_CONTENT)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: what follows a call is reported."""
