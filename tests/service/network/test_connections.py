"""Connections that ask nothing: however many there are, callers that ask are answered."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import resource
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from pyhudi_expr.expr.nodes import Constant, Truth
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.network.listening import Listener, bound
from tests.service.certificates import make, service_tls, tls
from tests.service.running_server import (
    PATIENCE,
    GatedHandler,
    RunningServer,
    closed_by_peer,
    running_server,
)

_MOST, _SILENT = 8, 24
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
    # Not `select`, which takes no descriptor beyond 1,023: a process of many tests has some.
    with selectors.DefaultSelector() as waiting:
        for caller in callers:
            waiting.register(caller, selectors.EVENT_READ)
        return len(callers) - len(waiting.select(0.2))


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


@pytest.mark.slow
@pytest.mark.parametrize("with_tls", [False, True], ids=["plain", "TLS"])
def test_callers_are_answered_where_a_process_may_open_few_files(
    with_tls: bool, secrets: Path, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """More connections than descriptors: some stay free for the files of tables."""
    given = service_tls(secrets) if with_tls else {}
    settings = tmp_path / "service.toml"
    lines = [*(f'{name} = "{value}"' for name, value in given.items()), 'log_format = "json"']
    settings.write_text("\n".join(["port = 0", *lines, ""]))
    command = [sys.executable, "-m", "pyhudi_expr.cli", "serve", "--config", str(settings)]
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (128, 128))
    log = tmp_path / "log"
    with log.open("wb") as written, contextlib.ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, stderr=written, preexec_fn=few))
        stack.callback(process.kill)  # which waits for its end, also after a failure
        port = int(re.findall(r'"port": (\d+)', written_line(log, '"event": "listening"'))[0])
        for _ in range(300):
            stack.enter_context(socket.create_connection(("localhost", port), PATIENCE))
        context = tls(secrets) if with_tls else None
        client = PruningClient("localhost", port, timeout=PATIENCE, tls=context)
        with client:
            answer = client.prune(str(golden["cow_v9_txns_simple_meta"]), Constant(Truth.NO))
            assert answer.status == PruneStatus.OK
    said = log.read_text()
    assert said.count("fewer connections than max_connections") == 1
    assert "Traceback" not in said


def written_line(log: Path, text: str) -> str:
    """The first line of a log with a text, once it is there."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines(keepends=True):
            if text in line and line.endswith("\n"):
                return line
        time.sleep(0.05)
    raise AssertionError(log.read_text())


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
