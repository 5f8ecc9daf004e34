"""The supervisor's side of the process from which workers are forked, see `template`.

`multiprocessing` has such a process, too; it needs a writable directory for its socket, which a
container may not have, and a second process to tidy up.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import sys
from enum import IntEnum
from typing import Any

import structlog

#: Variables by which libraries start no threads of their own when they are imported, for what no
#: service uses: a process that has threads cannot be forked safely.
NO_LIBRARY_THREADS = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OPENBLAS_NUM_THREADS": "1",
}
_MODULE = "pyhudi_expr.service.workers.template"
_ENVIRONMENT = {
    # By default each thread has memory that allocators keep for it: a table that is read again
    # after each commit, by 16 threads in turn, takes 313 MB instead of 153.
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    **NO_LIBRARY_THREADS,
}
#: A worker's name. With it go the worker's ends of two pairs of sockets.
REQUEST = struct.Struct("!16s")
WORKER_SOCKETS = 2
_EVENT = struct.Struct("!Bii")
_RECEIVED_BYTES = 1 << 12

_log: Any = structlog.get_logger()


class Event(IntEnum):
    """What has become of a worker's process."""

    FORKED = 1
    ENDED = 2


def encoded(event: Event, pid: int, code: int = 0) -> bytes:
    """Return an event of a process; `code` is its exit code, -N after signal N."""
    return _EVENT.pack(event, pid, code)


class Fork:
    """The process of a worker.

    Attributes:
        pid: Its process id; None if there is no process, because it could not be forked.
    """

    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        self._code: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    async def ended(self) -> str:
        """Wait until it ends; return how."""
        code = await self._code
        if code is None:
            return "exit code unknown"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def kill(self) -> None:
        """End it at once."""
        has_ended = self._code.done() and self._code.result() is not None
        if self.pid is not None and not has_ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def end(self, code: int | None) -> None:
        """Notice that it has ended, or, by None, that nobody will tell how it ends."""
        if not self._code.done():
            self._code.set_result(code)


class Template:
    """The process from which workers are forked; it begins on use, and again if it has ended.

    Use it in one event loop.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._events: socket.socket | None = None
        self._received = b""
        self._asked: asyncio.Future[Fork] | None = None
        self._forks: dict[int, Fork] = {}

    async def fork(self, messages: socket.socket, connections: socket.socket, name: str) -> Fork:
        """Start a worker. Raises OSError if the process to fork from cannot be started.

        Args:
            messages: Its end of the channel.
            connections: Its end of the pair by which it gets connections.
            name: Its name.
        """
        async with self._turn:
            events = self._events or await self._start()
            self._asked = asyncio.get_running_loop().create_future()
            given = [messages.fileno(), connections.fileno()]
            with contextlib.suppress(OSError):  # It has ended, which `_take` notices.
                socket.send_fds(events, [REQUEST.pack(name.encode())], given)
            return await self._asked

    async def close(self) -> None:
        """End the process. Workers do not end with it."""
        if self._events is not None:
            self._forget()
        if self._process is not None:
            await self._process.wait()

    async def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", _MODULE, str(theirs.fileno())),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**_ENVIRONMENT, **os.environ},
            )
        ours.setblocking(False)
        self._events, self._received = ours, b""
        asyncio.get_running_loop().add_reader(ours, self._take)
        return ours

    def _take(self) -> None:
        """Take what it says of the workers, or notice that it has ended."""
        assert self._events is not None
        try:
            content = self._events.recv(_RECEIVED_BYTES)
        except BlockingIOError:
            return
        except OSError:
            content = b""
        if not content:
            _log.error("the process that forks workers has ended: the next worker starts another")
            self._forget()
            return
        self._received += content
        whole = len(self._received) // _EVENT.size * _EVENT.size
        for event, pid, code in _EVENT.iter_unpack(self._received[:whole]):
            self._happened(Event(event), pid, code)
        self._received = self._received[whole:]

    def _happened(self, event: Event, pid: int, code: int) -> None:
        if event is Event.ENDED:
            self._forks.pop(pid).end(code)
            return
        assert self._asked is not None
        fork = self._forks[pid] = Fork(pid)
        self._asked.set_result(fork)

    def _forget(self) -> None:
        """Expect nothing more of the process."""
        assert self._events is not None
        asyncio.get_running_loop().remove_reader(self._events)
        self._events.close()
        self._events = None
        for fork in self._forks.values():
            fork.end(None)
        self._forks.clear()
        if self._asked is not None and not self._asked.done():
            lacking = Fork(None)
            lacking.end(None)
            self._asked.set_result(lacking)


def start_no_library_threads() -> None:
    """Let libraries that this process has not yet imported start none, unless the user says so."""
    for name, value in NO_LIBRARY_THREADS.items():
        os.environ.setdefault(name, value)
