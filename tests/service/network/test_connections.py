"""Connections that ask nothing: however many there are, callers that ask are answered."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.service.network.listening import Listener, bound
from tests.service.certificates import make, service_tls, tls
from tests.service.running_server import (
    PATIENCE,
    GatedHandler,
    RunningServer,
    closed_by_peer,
    running_server,
)

_MOST, _SILENT = 8, 60
_BEGINNINGS = {
    "silent": b"",
    "half a size": b"\0\0",
    "half a frame": b"\0\0\x01\0x",
    "half a handshake": b"\x16\x03\x01\x02\0\x01",
}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("secrets"))


@contextlib.contextmanager
def half_open(server: RunningServer, beginning: bytes) -> Iterator[list[socket.socket]]:
    """Hold connections open that have sent no whole request."""
    with contextlib.ExitStack() as stack:
        callers = [stack.enter_context(server.connect()) for _ in range(_SILENT)]
        for caller in callers:
            with contextlib.suppress(OSError):  # It is closed already.
                caller.sendall(beginning)
        yield callers


def open_ones(callers: list[socket.socket]) -> int:
    closed, _, _ = select.select(callers, [], [], 0.2)
    return len(callers) - len(closed)


@pytest.mark.parametrize("beginning", _BEGINNINGS.values(), ids=[*_BEGINNINGS])
def test_callers_are_answered_beside_half_open_connections_before_tls(
    secrets: Path, beginning: bytes
) -> None:
    given = service_tls(secrets) | {"max_connections": _MOST}
    with (
        running_server(GatedHandler(), **given) as server,
        half_open(server, beginning) as callers,
        PruningClient("localhost", server.port, tls=tls(secrets)) as client,
    ):
        assert client.info()
        assert server.server.open_connections <= _MOST
        assert open_ones(callers) < _MOST


@pytest.mark.parametrize("beginning", [b"", b"\0\0", b"\0\0\x01\0x"])
def test_callers_are_answered_beside_half_open_connections(beginning: bytes) -> None:
    with (
        running_server(GatedHandler(), max_connections=_MOST) as server,
        half_open(server, beginning) as callers,
        PruningClient(port=server.port) as client,
    ):
        assert client.info()
        assert server.server.open_connections <= _MOST
        assert open_ones(callers) < _MOST


def test_a_connection_that_has_asked_stays(secrets: Path) -> None:
    given = service_tls(secrets) | {"max_connections": _MOST}
    with (
        running_server(GatedHandler(), **given) as server,
        PruningClient("localhost", server.port, tls=tls(secrets)) as client,
    ):
        assert client.info()
        with half_open(server, b""):
            assert client.info()


def test_a_full_service_says_so_once_a_second() -> None:
    with (
        capture_logs() as lines,
        running_server(GatedHandler(), max_connections=1) as server,
        PruningClient(port=server.port) as client,
    ):
        assert client.info()
        for _ in range(10):
            with server.connect() as late:
                assert closed_by_peer(late)
        server.wait_for_refusals("full", 10)
    said = [line for line in lines if "too many are open" in line["event"]]
    assert 1 <= len(said) < 10


def test_without_file_descriptors_one_line_is_logged_and_callers_are_taken_later() -> None:
    async def run() -> list[str]:
        taken = asyncio.Event()

        async def take(caller: socket.socket) -> None:
            caller.close()
            taken.set()

        listener = Listener(bound("127.0.0.1", 0, 100), take)
        with capture_logs() as lines, socket.socket() as caller:
            with no_descriptors_left():
                caller.setblocking(False)
                await asyncio.get_running_loop().sock_connect(caller, listener.address)
                await asyncio.sleep(0.5)
                assert not taken.is_set()
            await asyncio.wait_for(taken.wait(), PATIENCE)
        listener.stop()
        return [line["event"] for line in lines]

    assert asyncio.run(run()) == ["connections are not accepted for a second"]


@contextlib.contextmanager
def no_descriptors_left() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 10, hard))
    held = []
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.dup(0))
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
