"""A server over the golden tables, shared by all tests that only send requests."""

from collections.abc import Iterator

import pytest

from pyhudi_expr.prune import Pruner
from pyhudi_expr.service.client import PruningClient
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
from tests.service.running_server import RunningServer, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    """The real handler, with small limits."""
    limits = {"max_frame_bytes": 1 << 20, "transfer_seconds": 1.0}
    with running_server(PruningHandler(Pruner(), ServiceSettings()), **limits) as started:
        yield started


@pytest.fixture
def client(server: RunningServer) -> Iterator[PruningClient]:
    """A connection to `server`."""
    with PruningClient(port=server.port, timeout=20) as connected:
        yield connected
