"""The supervisor of workers: it accepts connections, hands them over, and replaces who dies.

It reads no table and no byte of a caller. Each connection goes to the worker with the fewest; pages
are served by the first worker, which asks for the reports of all.

A worker with a listening socket of its own (SO_REUSEPORT) gets connections by the hash of their
ports: of 8 connections to two workers one got 6 or more in 65 of 200 trials. Here each goes to the
worker with the fewest, for 20 microseconds of both processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any

import structlog

from pyhudi_expr.service.access import Access
from pyhudi_expr.service.network.listening import Listener, bound, not_listening
from pyhudi_expr.service.running.reloading import InForce, log_reloaded, log_start
from pyhudi_expr.service.running.supervised import SHORT_LIFE_SECONDS, restart_delay
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.service.web import http
from pyhudi_expr.service.workers.channel import Handed, Kind, Message
from pyhudi_expr.service.workers.child import Child, State
from pyhudi_expr.service.workers.forking import Template
from pyhudi_expr.service.workers.reports import Gathering


class Acceptor:
    """The listening sockets of a service. Use it in one event loop."""

    def __init__(self, workers: Callable[[], Sequence[Child]], waits: Callable[[], bool]) -> None:
        """Prepare; nothing listens yet.

        Args:
            workers: Returns those that take connections.
            waits: Returns whether one is about to do so, if there is none.
        """
        self._workers = workers
        self._waits = waits
        self._listening: dict[Handed, Listener] = {}
        self._held: list[tuple[Handed, socket.socket]] = []
        self._most_held = 0

    @contextlib.contextmanager
    def bound(self, settings: ServiceSettings) -> Iterator[tuple[str, int]]:
        """Listen, and return the host and port of callers. Raises SettingsError or AddressError."""
        self._most_held = settings.max_connections
        try:
            for kind in Handed:
                if kind is Handed.PRUNING or getattr(settings, kind.setting):
                    take = partial(self._take, kind)
                    self._listening[kind] = Listener(_bound(kind, settings), take)
            yield self._listening[Handed.PRUNING].address
        finally:
            self.stop()

    def stop(self) -> None:
        """Accept no more."""
        for listener in self._listening.values():
            listener.stop()
        self._listening = {}
        for _, caller in self._held:
            caller.close()
        self._held = []

    def retry(self) -> None:
        """Hand over what waits for a worker, after one has become ready or has ended."""
        held, self._held = self._held, []
        for kind, caller in held:
            self._hand(kind, caller)

    async def _take(self, kind: Handed, caller: socket.socket) -> None:
        self._hand(kind, caller)

    def _hand(self, kind: Handed, caller: socket.socket) -> None:
        ready = self._workers()
        if kind is Handed.PRUNING:
            ready = sorted(ready, key=lambda one: one.open)
        if any(worker.hand(kind, caller) for worker in ready):
            return
        if self._waits() and len(self._held) < self._most_held:
            self._held.append((kind, caller))
        else:
            caller.close()


def _bound(kind: Handed, settings: ServiceSettings) -> socket.socket:
    """Return a listening socket. Raises SettingsError or AddressError."""
    host, port = settings.host, settings.port
    if kind is not Handed.PRUNING:
        host, port = http.host_and_port(kind.setting, getattr(settings, kind.setting))
    try:
        return bound(host, port, settings.max_connections)
    except (OSError, OverflowError) as error:
        if kind is Handed.PRUNING and isinstance(error, OSError):
            raise not_listening(settings, error) from error
        raise http.not_listening(kind.setting, f"{host}:{port}", error) from error


#: A worker that lived for a shorter time is replaced after a while, which doubles each time.
_WATCH_SECONDS = 5.0
#: A worker that has said nothing for so long hangs.
_SILENT_SECONDS = 60.0
_RELOAD_SECONDS = 30.0
#: Time beyond `stop_seconds` that workers have to end.
_END_SECONDS = 5.0

_log: Any = structlog.get_logger()


class Supervisor:
    """Serves by several workers. Create and run it in one event loop."""

    def __init__(self, in_force: InForce, read_again: Callable[[], ServiceSettings]) -> None:
        self._in_force = in_force
        self._read_again = read_again
        self._template = Template()
        self._children: dict[str, Child] = {}
        #: Workers whose process is being started.
        self._launched: set[str] = set()
        #: What each worker was started with.
        self._given: dict[str, ServiceSettings] = {}
        self._gathering = Gathering()
        self._acceptor = Acceptor(self._ready, self._is_starting)
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._reloading = asyncio.Lock()
        self._has_listened = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Raises SettingsError and AddressError."""
        Access(self._settings)
        log_start(self._settings)
        loop = asyncio.get_running_loop()
        with self._acceptor.bound(self._settings) as (host, port):
            loop.add_signal_handler(signal.SIGTERM, self._stop)
            loop.add_signal_handler(signal.SIGINT, self._stop)
            loop.add_signal_handler(signal.SIGHUP, lambda: self._begin(self._reload()))
            async with self._workers():
                await self._all_ready()
                settings = self._settings
                _log.info(
                    "listening",
                    host=host,
                    port=port,
                    workers=settings.workers,
                    threads=settings.threads,
                )
                await self._stopping.wait()
                self._acceptor.stop()
        _log.info("stopped")

    @property
    def _settings(self) -> ServiceSettings:
        return self._in_force.settings

    def _stop(self) -> None:
        self._stopping.set()
        self._changed.set()

    @contextlib.asynccontextmanager
    async def _workers(self) -> AsyncIterator[None]:
        """Keep all workers running; in the end they answer what they have taken."""
        names = [str(number + 1) for number in range(self._settings.workers)]
        kept = [asyncio.create_task(self._keep(name)) for name in names]
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            self._stop()
            for child in self._children.values():
                child.send(Message(Kind.STOP))
            await asyncio.wait(kept, timeout=self._settings.stop_seconds + _END_SECONDS)
            for child in self._children.values():
                _log.warning("worker killed: it does not stop", worker=child.name)
                child.kill()
            await asyncio.gather(*kept, return_exceptions=True)
            await self._template.close()

    async def _all_ready(self) -> None:
        """Wait until every worker takes connections. Raises SettingsError if one cannot."""
        while not self._stopping.is_set() and len(self._ready()) < self._settings.workers:
            await self._changed.wait()
            self._changed.clear()
            if any(child.state is State.ENDED for child in self._children.values()):
                raise SettingsError("a worker does not start; the line before says why")
        self._has_listened = True

    async def _keep(self, name: str) -> None:
        """Run one worker after another, until the service stops."""
        short_lives = 0
        while not self._stopping.is_set():
            self._launched.add(name)
            try:
                child = await Child.start(name, self._template)
                self._children[name] = child
            finally:
                self._launched.discard(name)
            self._given[name] = self._settings
            child.send(Message(Kind.START, body=_share(self._settings)))
            if self._stopping.is_set():
                child.send(Message(Kind.STOP))
            ended = await child.obey(self._take)
            self._changed.set()
            if not self._has_listened:
                return
            del self._children[name]
            if self._stopping.is_set():
                return
            is_short = time.monotonic() - child.started < SHORT_LIFE_SECONDS
            short_lives = short_lives + 1 if is_short else 0
            await self._mourn(child, ended, restart_delay(short_lives))

    async def _mourn(self, child: Child, ended: str, delay: float) -> None:
        """Log and count a dead worker, and wait before it is replaced."""
        _log.error("worker replaced", worker=child.name, pid=child.pid, ended=ended, wait=delay)
        self._gathering.replaced(child)
        if delay:
            self._acceptor.retry()  # which closes what nobody will take soon
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay)

    def _ready(self) -> Sequence[Child]:
        return [child for child in self._children.values() if child.state is State.READY]

    def _is_starting(self) -> bool:
        starting = (child.state is State.STARTING for child in self._children.values())
        return bool(self._launched) or any(starting)

    def _take(self, child: Child, message: Message) -> None:
        """Take a worker's message."""
        match message.kind:
            case Kind.READY:
                self._begin(self._take_in(child))
            case Kind.STOPPING:
                child.state = State.STOPPING
            case Kind.GATHER:
                self._begin(self._gather(child, message, Kind.REPORT))
            case Kind.GATHER_WITH_ACTIVITY:
                self._begin(self._gather(child, message, Kind.REPORT_WITH_ACTIVITY))
            case other:
                raise AssertionError(other)

    async def _take_in(self, child: Child) -> None:
        """Let a started worker take connections, once it has the settings in force."""
        async with self._reloading:
            if self._given[child.name] is not self._settings:
                refusal = await _reloaded(child, self._settings)
                if refusal:
                    _log.error("worker killed: it takes no settings", reason=refusal.decode())
                    child.kill()
                    return
            if child.state is not State.STARTING:
                return
            child.state = State.READY
            self._children = dict(sorted(self._children.items()))
            self._changed.set()
            self._acceptor.retry()

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _gather(self, child: Child, message: Message, kind: Kind) -> None:
        found = await self._gathering.gather(self._ready(), kind)
        child.send(Message(Kind.GATHER, message.number, found))

    async def _watch(self) -> None:
        """Have workers report from time to time, and kill those that hang."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            await self._gathering.gather(self._ready(), Kind.REPORT)
            for child in self._ready():
                if time.monotonic() - child.heard > _SILENT_SECONDS:
                    _log.error("worker killed: it hangs", worker=child.name, pid=child.pid)
                    child.kill()

    async def _reload(self) -> None:
        """Reload the settings in all workers; invalid new settings leave the old ones in force."""
        async with self._reloading:
            try:
                fresh = self._in_force.reread(self._read_again)
                Access(fresh.settings)
            except ValueError as error:
                _log.error("settings not reloaded", reason=str(error))
                return
            asked = self._ready()
            answers = await asyncio.gather(*(_reloaded(child, fresh.settings) for child in asked))
            refusals = [answer for answer in answers if answer]
            if refusals:
                _log.error("settings not reloaded", reason=refusals[0].decode())
                await asyncio.gather(*(_reloaded(child, self._settings) for child in asked))
                return
            log_reloaded(self._in_force, fresh)
            self._in_force = fresh


async def _reloaded(child: Child, settings: ServiceSettings) -> bytes | None:
    """Have a worker take settings; return why it does not."""
    return await child.ask(Kind.RELOAD, _RELOAD_SECONDS, _share(settings))


def _share(settings: ServiceSettings) -> bytes:
    """Return the settings of one worker as JSON: its share of the connections."""
    share = -(-settings.max_connections // settings.workers)
    return settings.model_copy(update={"max_connections": share}).model_dump_json().encode()
