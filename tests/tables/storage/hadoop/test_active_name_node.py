"""Only the active NameNode is trusted, also if threads go on to another one at the same time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pyhudi_expr.tables.storage.hadoop import client as client_module
from pyhudi_expr.tables.storage.hadoop.client import WebHdfsClient
from pyhudi_expr.tables.storage.hadoop.name_nodes import NameNodes

_SECONDS = 20.0


class NameNode(ThreadingHTTPServer):
    """Says of itself what it has to, once it may, and lists an empty directory."""

    def __init__(self, state: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.state = state
        self.may_say = threading.Event()
        self.is_asked = threading.Event()
        self.listings = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _Answers(BaseHTTPRequestHandler):
    server: NameNode

    def do_GET(self) -> None:
        if self.path.startswith("/jmx"):
            self.server.is_asked.set()
            self.server.may_say.wait(_SECONDS)
            content = json.dumps({"beans": [{"State": self.server.state}]})
        else:
            self.server.listings += 1
            content = json.dumps({"FileStatuses": {"FileStatus": []}})
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@contextmanager
def running(state: str) -> Iterator[NameNode]:
    with NameNode(state) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_what_one_name_node_says_is_not_believed_of_the_next() -> None:
    with running("active") as first, running("observer") as second, ThreadPoolExecutor(1) as pool:
        second.may_say.set()
        client = WebHdfsClient(NameNodes((first.address, second.address), False, "me"))
        listing = pool.submit(client.ask, "LISTSTATUS", "/t")
        assert first.is_asked.wait(_SECONDS)
        client._go_on_from(0)  # as another thread does that has lost its connection
        first.may_say.set()
        assert listing.result(_SECONDS)
        assert client.ask("LISTSTATUS", "/t")
    assert (first.listings, second.listings) == (2, 0)


def test_a_name_node_that_has_become_an_observer_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "_ACTIVE_SECONDS", 0.0)
    with running("active") as first, running("observer") as second:
        first.may_say.set()
        second.may_say.set()
        client = WebHdfsClient(NameNodes((first.address, second.address), False, "me"))
        assert client.ask("LISTSTATUS", "/t")
        first.state, second.state = second.state, first.state
        assert client.ask("LISTSTATUS", "/t")
    assert (first.listings, second.listings) == (1, 1)
