"""Services over the golden tables, shared by all tests that only send requests."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
from tests.service.running_server import RunningServer, running_server
from tests.service.service_process import Process

#: Small ones.
_LIMITS = {"max_frame_bytes": 1 << 20, "transfer_seconds": 1.0}


@contextlib.contextmanager
def _in_this_process(directory: Path) -> Iterator[RunningServer]:
    with running_server(PruningHandler(Pruner(), ServiceSettings()), **_LIMITS) as started:
        yield started


@contextlib.contextmanager
def _two_workers(directory: Path) -> Iterator[Process]:
    started = Process(directory, workers=2, **_LIMITS)
    try:
        yield started
        assert started.stop() == 0
    finally:
        started.kill()


@pytest.fixture(scope="session", params=[_in_this_process, _two_workers])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer | Process]:
    """The real handler, with small limits: in a thread of the test, or as two workers."""
    with request.param(tmp_path_factory.mktemp("service")) as started:
        yield started


@pytest.fixture
def client(server: RunningServer | Process) -> Iterator[PruningClient]:
    """A connection to `server`."""
    with PruningClient(port=server.port, timeout=20) as connected:
        yield connected
