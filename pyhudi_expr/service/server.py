"""The TCP server: framed, strict binary Thrift.

One event loop owns every connection, so idle and slow callers cost no thread; a pool of workers
evaluates requests. Sizes are checked before a byte of a frame is read, each transfer has a time
limit, and a connection over a limit is closed or answered that the service is busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import structlog

from pyhudi_expr.protocol import PruningService
from pyhudi_expr.service.access import MAX_PREFACE_BYTES, TOKEN_PREFACE, Access
from pyhudi_expr.service.frames import HEADER_BYTES, GarbageError, process_frame, refusal
from pyhudi_expr.service.handler import RefusingHandler
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.settings import ServiceSettings, SettingsError

_ABANDON_SECONDS = 1.0
#: Time that a refused caller has to read why.
_REFUSAL_SECONDS = 1.0
_DISCARDED_BYTES = 1 << 16
_TLS_HANDSHAKE = b"\x16\x03"
_NO_TOKEN = "the service needs a token, and the caller shows none: give it that of token_file"
_WRONG_TOKEN = (
    "the caller's token is not this service's: compare it with the file of the service's token_file"
)

_log: Any = structlog.get_logger()


class AddressError(OSError):
    """The address is taken, or not one of this machine."""


class _RefusedError(Exception):
    """The caller has not shown the token; the message is for the caller, too."""


class _SizeError(GarbageError):
    """The frame is larger than allowed, or empty."""


class PruningServer:
    """Serves a handler until it is stopped. Create and use it in one event loop."""

    def __init__(
        self,
        handler: PruningService.Iface,
        settings: ServiceSettings,
        metrics: Metrics | None = None,
    ) -> None:
        """Raises SettingsError for a service that anybody on the network could use."""
        self._metrics = metrics or Metrics()
        self._workers = ThreadPoolExecutor(settings.workers, thread_name_prefix="prune")
        # The answer that the service is busy must not wait for busy workers.
        self._refusals = ThreadPoolExecutor(1, thread_name_prefix="refuse")
        self._unanswered = 0
        self._idle: set[asyncio.Task[None]] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._listening = False
        self._access = Access(settings)
        self.reload(handler, settings)

    def reload(self, handler: PruningService.Iface, settings: ServiceSettings) -> None:
        """Continue with a new handler and settings, except address and workers.

        Certificates are read again; open connections stay open. Raises SettingsError.
        """
        access = Access(settings)
        if (access.tls is None) != (self._access.tls is None):
            raise SettingsError("tls_certificate: TLS begins and ends with a restart only")
        self._access = access
        self._settings = settings
        self._processor = PruningService.Processor(handler)

    @property
    def open_connections(self) -> int:
        """Number of connected callers."""
        return len(self._connections)

    @property
    def unanswered(self) -> int:
        """Number of requests that are evaluated or waiting."""
        return self._unanswered

    def is_ready(self) -> bool:
        """Whether requests are accepted."""
        return self._listening and not self._stopping.is_set()

    def stop(self) -> None:
        """Accept no more requests; `run` returns when all received ones are answered."""
        self._stopping.set()

    async def run(self, listening: Callable[[str, int], None] | None = None) -> None:
        """Listen until `stop`; `listening` is called with the address. Raises AddressError."""
        settings = self._settings
        tls = self._access.tls
        if tls is not None:
            tls.sni_callback = self._renewed
        try:
            server = await asyncio.start_server(
                self._accepted,
                settings.host,
                settings.port,
                backlog=settings.max_connections,
                ssl=tls,
                ssl_handshake_timeout=settings.transfer_seconds if tls else None,
            )
        except OSError as error:
            address = f"{settings.host}:{settings.port}"
            raise AddressError(f"cannot listen on {address}: {error.strerror or error}") from error
        host, port = server.sockets[0].getsockname()[:2]
        _log.info("listening", host=host, port=port, workers=settings.workers)
        self._listening = True
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

    def _renewed(
        self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext
    ) -> None:
        """Use the latest certificates for new handshakes."""
        connection.context = self._access.tls or context

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        peer = "{}:{}".format(*writer.get_extra_info("peername", ("?", 0))[:2])
        try:
            if len(self._connections) >= self._settings.max_connections:
                self._refuse("full", peer, "too many connections are open")
                return
            self._connections.add(task)
            await self._served(reader, writer, task)
        except _RefusedError as error:
            self._refuse("token", peer, str(error))
            await self._explain(reader, writer, str(error))
        except GarbageError as error:
            self._refuse("garbage", peer, str(error))
        except (TimeoutError, asyncio.TimeoutError):
            self._refuse("slow", peer, "it was too slow")
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
            _log.debug("connection closed by the caller, or as the service stops", peer=peer)
        finally:
            await self._closed(writer)
            self._connections.discard(task)

    def _refuse(self, reason: str, peer: str, why: str) -> None:
        self._metrics.refused(reason)
        _log.warning("connection closed", peer=peer, reason=why)

    async def _explain(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reason: str
    ) -> None:
        """Tell the caller why it is refused.

        What it has sent is read and forgotten: closed with unread bytes, a connection is reset, and
        the caller may lose the reason.
        """
        reply = refusal(reason)
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            writer.write(len(reply).to_bytes(HEADER_BYTES, "big") + reply)
            if writer.can_write_eof():
                writer.write_eof()
            await asyncio.wait_for(_until_closed(reader), _REFUSAL_SECONDS)

    async def _served(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        task: asyncio.Task[None],
    ) -> None:
        trusted = not self._access.needs_token
        while not self._stopping.is_set():
            most = self._settings.max_frame_bytes if trusted else MAX_PREFACE_BYTES
            try:
                frame = await self._received(reader, writer, task, most)
            except _SizeError:
                if trusted:
                    raise
                # A request is larger than a token.
                raise _RefusedError(_NO_TOKEN) from None
            if frame is None:
                return
            if frame.startswith(TOKEN_PREFACE):
                if not self._access.accepts(frame):
                    raise _RefusedError(_WRONG_TOKEN)
                trusted = True
                continue
            if not trusted:
                raise _RefusedError(_NO_TOKEN)
            reply = await self._answered(frame)
            writer.write(len(reply).to_bytes(HEADER_BYTES, "big") + reply)
            if writer.transport.get_write_buffer_size():
                with _closing_late(writer, self._settings.transfer_seconds):
                    await writer.drain()

    async def _received(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        task: asyncio.Task[None],
        most: int,
    ) -> bytes | None:
        """Return the next frame; None if the caller is done, or idle for too long."""
        self._idle.add(task)
        try:
            with _closing_late(writer, self._settings.idle_seconds):
                header = await reader.readexactly(HEADER_BYTES)
        except (asyncio.IncompleteReadError, asyncio.TimeoutError):
            return None
        finally:
            self._idle.discard(task)
        size = int.from_bytes(header, "big")
        if not 0 < size <= most:
            if header.startswith(_TLS_HANDSHAKE):
                raise GarbageError("the caller speaks TLS, and this service has no tls_certificate")
            raise _SizeError(f"a frame of {size} bytes; between 1 and {most} are allowed")
        with _closing_late(writer, self._settings.transfer_seconds):
            return await reader.readexactly(size)

    async def _answered(self, frame: bytes) -> bytes:
        settings = self._settings
        if self._unanswered >= settings.workers + settings.max_waiting:
            return await self._not_pruned(
                frame, "busy", "the service is busy: too many requests wait"
            )
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        self._unanswered += 1
        job = self._workers.submit(process_frame, frame, self._processor, settings.max_nodes)

        def tell(_: Future[bytes]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._ended, ended)

        job.add_done_callback(tell)
        done, _ = await asyncio.wait({ended}, timeout=settings.request_seconds)
        if not done:
            # A running job cannot be stopped, and occupies its worker; a waiting one need not run.
            job.cancel()
            return await self._not_pruned(
                frame, "late", f"the service needed more than {settings.request_seconds:g} s"
            )
        reply = job.result()
        if len(reply) > settings.max_answer_bytes:
            return await self._not_pruned(
                frame, "large_answer", f"an answer of {len(reply)} bytes is not sent"
            )
        return reply

    def _ended(self, ended: asyncio.Future[None]) -> None:
        self._unanswered -= 1
        ended.set_result(None)

    async def _not_pruned(self, frame: bytes, reason: str, message: str) -> bytes:
        processor = PruningService.Processor(RefusingHandler(reason, message, self._metrics))
        return await asyncio.get_running_loop().run_in_executor(
            self._refusals, process_frame, frame, processor, self._settings.max_nodes
        )

    async def _closed(self, writer: asyncio.StreamWriter) -> None:
        """Close when the caller has the whole response, or does not take it in time."""
        writer.close()
        try:
            await asyncio.wait_for(writer.wait_closed(), self._settings.transfer_seconds)
        except (OSError, asyncio.TimeoutError, asyncio.CancelledError):
            writer.transport.abort()


async def _until_closed(reader: asyncio.StreamReader) -> None:
    while await reader.read(_DISCARDED_BYTES):
        pass


@contextlib.contextmanager
def _closing_late(writer: asyncio.StreamWriter, seconds: float) -> Iterator[None]:
    """Abort the connection when the transfer in this block takes too long.

    Cheaper than `asyncio.wait_for`, which makes a task each time (until Python 3.12).

    Raises:
        asyncio.TimeoutError: It took too long.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    timer = loop.call_later(seconds, writer.transport.abort)
    try:
        yield
    except (asyncio.IncompleteReadError, OSError):
        if loop.time() < end:
            raise
    finally:
        timer.cancel()
    # Here and not above: an aborted connection ends the wait of `drain` without an error.
    if loop.time() >= end:
        raise asyncio.TimeoutError
