"""The TCP server: framed, strict binary Thrift.

One event loop owns every connection, so idle and slow callers cost no thread; requests are judged
in a pool of workers. Sizes are checked before a byte of a frame is read, each transfer has its
time, and what is over a limit is closed or told that the service is busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import structlog

from pyhudi_expr.protocol import PruningService
from pyhudi_expr.service.frames import HEADER_BYTES, GarbageError, answer
from pyhudi_expr.service.handler import BusyHandler
from pyhudi_expr.service.settings import ServiceSettings

_T = TypeVar("_T")
_ABANDON_SECONDS = 1.0

_log: Any = structlog.get_logger()


class AddressError(OSError):
    """The address is taken, or none of this machine's."""


class PruningServer:
    """Serves a handler until it is stopped. Built and used in one event loop."""

    def __init__(self, handler: PruningService.Iface, settings: ServiceSettings) -> None:
        self._settings = settings
        self._processor = PruningService.Processor(handler)
        self._busy = PruningService.Processor(BusyHandler())
        self._workers = ThreadPoolExecutor(settings.workers, thread_name_prefix="prune")
        # Telling that the service is busy must not wait for the workers that are.
        self._refusals = ThreadPoolExecutor(1, thread_name_prefix="refuse")
        self._unanswered = 0
        self._idle: set[asyncio.Task[None]] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()

    @property
    def open_connections(self) -> int:
        """Callers that are connected."""
        return len(self._connections)

    @property
    def unanswered(self) -> int:
        """Requests that are judged or wait for it."""
        return self._unanswered

    def stop(self) -> None:
        """Take no more requests; `run` returns when those that came have been answered."""
        self._stopping.set()

    async def run(self, listening: Callable[[str, int], None] | None = None) -> None:
        """Listen until `stop`; `listening` is told the address. Raises AddressError."""
        settings = self._settings
        try:
            server = await asyncio.start_server(
                self._accepted, settings.host, settings.port, backlog=settings.max_connections
            )
        except OSError as error:
            address = f"{settings.host}:{settings.port}"
            raise AddressError(f"cannot listen on {address}: {error.strerror or error}") from error
        host, port = server.sockets[0].getsockname()[:2]
        _log.info("listening", host=host, port=port, workers=settings.workers)
        if listening is not None:
            listening(host, port)
        try:
            await self._stopping.wait()
        finally:
            server.close()
            await self._drain()
            self._workers.shutdown(wait=False, cancel_futures=True)
            self._refusals.shutdown(wait=False, cancel_futures=True)
        _log.info("stopped")

    async def _drain(self) -> None:
        for task in tuple(self._idle):
            task.cancel()
        if self._connections:
            _, late = await asyncio.wait(self._connections, timeout=self._settings.stop_seconds)
            for task in late:
                _log.warning("request abandoned: the service stops")
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=_ABANDON_SECONDS)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        peer = "{}:{}".format(*writer.get_extra_info("peername", ("?", 0))[:2])
        try:
            if len(self._connections) >= self._settings.max_connections:
                _log.warning("connection refused: too many are open", peer=peer)
                return
            self._connections.add(task)
            while not self._stopping.is_set():
                frame = await self._received(reader, task)
                if frame is None:
                    return
                reply = await self._answered(frame)
                writer.write(len(reply).to_bytes(HEADER_BYTES, "big") + reply)
                await self._in_time(writer.drain())
        except (GarbageError, TimeoutError, asyncio.TimeoutError) as error:
            _log.warning("connection closed", peer=peer, reason=str(error) or "it was too slow")
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
            _log.debug("connection closed by the caller, or as the service stops", peer=peer)
        finally:
            await self._closed(writer)
            self._connections.discard(task)

    async def _received(
        self, reader: asyncio.StreamReader, task: asyncio.Task[None]
    ) -> bytes | None:
        """The next frame; None when the caller has nothing more, or stays silent for too long."""
        self._idle.add(task)
        try:
            header = await asyncio.wait_for(
                reader.readexactly(HEADER_BYTES), self._settings.idle_seconds
            )
        except (asyncio.IncompleteReadError, asyncio.TimeoutError):
            return None
        finally:
            self._idle.discard(task)
        size = int.from_bytes(header, "big")
        most = self._settings.max_frame_bytes
        if not 0 < size <= most:
            raise GarbageError(f"a frame of {size} bytes; between 1 and {most} are allowed")
        return await self._in_time(reader.readexactly(size))

    async def _answered(self, frame: bytes) -> bytes:
        settings = self._settings
        busy = self._unanswered >= settings.workers + settings.max_waiting
        self._unanswered += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._refusals if busy else self._workers,
                answer,
                frame,
                self._busy if busy else self._processor,
            )
        finally:
            self._unanswered -= 1

    async def _in_time(self, transfer: Coroutine[Any, Any, _T]) -> _T:
        return await asyncio.wait_for(transfer, self._settings.transfer_seconds)

    async def _closed(self, writer: asyncio.StreamWriter) -> None:
        """Close when the caller has the whole answer, or does not take it in time."""
        writer.close()
        try:
            await self._in_time(writer.wait_closed())
        except (OSError, asyncio.TimeoutError, asyncio.CancelledError):
            writer.transport.abort()


def serve(handler: PruningService.Iface, settings: ServiceSettings) -> None:
    """Serve until SIGTERM or SIGINT, then finish what runs. Raises AddressError."""
    asyncio.run(_serve(handler, settings))


async def _serve(handler: PruningService.Iface, settings: ServiceSettings) -> None:
    server = PruningServer(handler, settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, server.stop)
    await server.run()
