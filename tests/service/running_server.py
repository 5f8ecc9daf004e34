"""A pruning server in a thread of the test, and raw connections to it."""

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future

from pyhudi_expr.protocol.generated import PruningService, ttypes
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.network.server import PruningServer
from pyhudi_expr.service.settings import ServiceSettings

#: A time-out in seconds, longer than anything that a test waits for.
PATIENCE = 20.0


class RunningServer:
    """A running server. `port` is the port that it listens on, `metrics` what it counts."""

    server: PruningServer

    def __init__(self, handler: PruningService.Iface, settings: ServiceSettings) -> None:
        self._handler = handler
        self._settings = settings
        self.metrics = Metrics()
        self._loop = asyncio.new_event_loop()
        self._address: Future[int] = Future()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self.port = self._address.result(PATIENCE)

    def stop(self) -> None:
        """Tell the server to stop."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.server.stop)

    def reload(self, **settings: object) -> None:
        """Reload the server with other settings. Raises the server's error."""

        async def reload() -> None:
            self.server.reload(self._handler, ServiceSettings(**{"port": 0, **settings}))

        asyncio.run_coroutine_threadsafe(reload(), self._loop).result(PATIENCE)

    def wait_until_stopped(self) -> bool:
        """Wait for the server to end. Returns whether it did."""
        self._thread.join(PATIENCE)
        return not self._thread.is_alive()

    def connect(self) -> socket.socket:
        """A raw connection."""
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def wait_for_connections(self, number: int) -> None:
        """Wait until so many connections are open."""
        end = time.monotonic() + PATIENCE
        while self.server.open_connections != number:
            assert time.monotonic() < end
            time.sleep(0.01)

    def wait_for_refusals(self, reason: str, number: int) -> None:
        """Wait until so many connections were refused for a reason."""
        counted = f'pyhudi_connections_refused_total{{reason="{reason}"}} {number:.1f}'
        end = time.monotonic() + PATIENCE
        while counted not in self.metrics.text().decode():
            assert time.monotonic() < end, self.metrics.text().decode()
            time.sleep(0.01)

    def _run(self) -> None:
        async def run() -> None:
            self.server = PruningServer(self._handler, self._settings, self.metrics)
            await self.server.run(lambda host, port: self._address.set_result(port))

        with contextlib.closing(self._loop):
            self._loop.run_until_complete(run())


@contextlib.contextmanager
def running_server(handler: PruningService.Iface, **settings: object) -> Iterator[RunningServer]:
    """Runs a server for the handler, on a free port unless the settings name one."""
    server = RunningServer(handler, ServiceSettings(**{"port": 0, **settings}))
    try:
        yield server
    finally:
        server.stop()
        assert server.wait_until_stopped()


class GatedHandler(PruningService.Iface):
    """A handler that delays its answers until the test opens the gate."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)

    def info(self) -> ttypes.ServiceInfo:
        return ttypes.ServiceInfo(protocolVersion=PROTOCOL_VERSION, version="test")

    def prune(self, request: ttypes.PruneRequest) -> ttypes.PruneResponse:
        self.entered.release()
        assert self.gate.wait(PATIENCE)
        return ttypes.PruneResponse(
            protocolVersion=PROTOCOL_VERSION,
            requestId=request.requestId,
            basePath=request.basePath,
            status=ttypes.PruneStatus.OK,
        )


def frame(payload: bytes) -> bytes:
    """A frame: the payload's size and its bytes."""
    return struct.pack("!i", len(payload)) + payload


def closed_by_peer(connection: socket.socket) -> bool:
    """Whether the other side closes the connection without sending a byte."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
