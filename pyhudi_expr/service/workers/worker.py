"""A worker, with its ends of two pairs of sockets: one for messages, one for connections to serve.

If the supervisor ends, so does the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog

from pyhudi_expr.service import logs
from pyhudi_expr.service.running.answering import Answering
from pyhudi_expr.service.running.single import watched
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.service.workers.channel import HANDED_BYTES, Channel, Handed, Kind, Message
from pyhudi_expr.service.workers.reports import GatheredOverview, Report, encoded, families

#: Connections that are taken at once.
_MOST_AT_ONCE = 64
_FAILED = 1

_log: Any = structlog.get_logger()


def serve(messages: socket.socket, connections: socket.socket, name: str) -> int:
    """Serve until the supervisor says so; return the exit code."""
    # A terminal sends these to every process of its group; the supervisor decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with messages, connections:
        return asyncio.run(_run(messages, connections, name))


async def _run(ours: socket.socket, handed: socket.socket, name: str) -> int:
    channel = await Channel.over(ours)
    start = await channel.receive()
    if start is None:
        return _FAILED
    settings = ServiceSettings.model_validate_json(start.body)
    logs.configure(settings.log_format, settings.log_level, worker=name)
    try:
        async with watched(), contextlib.AsyncExitStack() as stack:
            worker = _Worker(Answering(settings), channel, handed, name)
            await worker.run(stack)
    except SettingsError as error:
        _log.error("worker not started", reason=str(error))
        return _FAILED
    finally:
        channel.close()
    return 0


class _Worker:
    def __init__(
        self, answering: Answering, channel: Channel, handed: socket.socket, name: str
    ) -> None:
        self._answering = answering
        self._channel = channel
        self._handed = handed
        self._name = name
        self._overview = GatheredOverview(channel)
        self._take: Mapping[Handed, Callable[[socket.socket], Awaitable[None]]] = {}
        self._taking: set[asyncio.Task[None]] = set()

    async def run(self, stack: contextlib.AsyncExitStack) -> None:
        server = self._answering.server
        sites = await self._answering.sites(self._overview, stack)
        pages = {one: sites[one.setting].take for one in Handed if one.setting in sites}
        self._take = {Handed.PRUNING: server.take, **pages}
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, server.stop)
        self._handed.setblocking(False)
        loop.add_reader(self._handed, self._take_handed)
        server.on_closed(self._tell_closed)
        obeying = asyncio.create_task(self._obey())
        self._channel.send(Message(Kind.READY))
        try:
            await server.answer(lambda: self._channel.send(Message(Kind.STOPPING)))
        finally:
            loop.remove_reader(self._handed)
            obeying.cancel()

    async def _obey(self) -> None:
        """Follow the supervisor's messages, until there is none any more."""
        while (message := await self._channel.receive()) is not None:
            match message.kind:
                case Kind.STOP:
                    self._answering.server.stop()
                case Kind.RELOAD:
                    refusal = self._reloaded(message.body)
                    self._channel.send(Message(Kind.RELOADED, message.number, refusal))
                case Kind.REPORT | Kind.REPORT_WITH_ACTIVITY:
                    report = self._report(message.kind is Kind.REPORT_WITH_ACTIVITY)
                    self._channel.send(Message(Kind.REPORT, message.number, encoded(report)))
                case Kind.GATHER:
                    self._overview.gathered(message)
                case other:
                    raise AssertionError(other)
        _log.warning("the supervisor has ended: the worker stops")
        self._answering.server.stop()

    def _reloaded(self, body: bytes) -> bytes:
        """Take new settings; return why not, or nothing."""
        try:
            self._answering.reload(ServiceSettings.model_validate_json(body))
        except ValueError as error:
            return str(error).encode()
        return b""

    def _report(self, with_activity: bool) -> Report:
        metrics = self._answering.metrics
        own, process = metrics.collected()
        activity = metrics.activity() if with_activity else None
        return Report(self._name, families(own), families(process), activity)

    def _take_handed(self) -> None:
        """Take the connections that the supervisor has handed over."""
        for _ in range(_MOST_AT_ONCE):
            try:
                content, descriptors, _, _ = socket.recv_fds(self._handed, HANDED_BYTES, 1)
            except BlockingIOError:
                return
            if not content:  # The supervisor has ended, which `_obey` notices.
                asyncio.get_running_loop().remove_reader(self._handed)
                return
            for descriptor in descriptors:
                self._begin(Handed(content[0]), socket.socket(fileno=descriptor))

    def _begin(self, kind: Handed, caller: socket.socket) -> None:
        task = asyncio.get_running_loop().create_task(_ignoring_hangups(self._take[kind](caller)))
        self._taking.add(task)
        task.add_done_callback(self._taking.discard)

    def _tell_closed(self) -> None:
        """Tell the supervisor that a connection of a caller is closed, for its balance."""
        with contextlib.suppress(OSError):
            self._handed.send(b"\0")


async def _ignoring_hangups(taking: Awaitable[None]) -> None:
    with contextlib.suppress(OSError):
        await taking
