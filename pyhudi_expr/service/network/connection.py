"""One caller's connection: frames come in, and each is answered before the next one is taken.

Callbacks of the event loop instead of a coroutine for each connection: those take longer than the
evaluation of most requests.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol, cast

import structlog

from pyhudi_expr.service.access import (
    MAX_PREFACE_BYTES,
    TOKEN_PREFACE,
    Access,
    JobToken,
    seconds_expired,
)
from pyhudi_expr.service.jobs import BusyError, Job
from pyhudi_expr.service.network.frames import (
    HEADER_BYTES,
    GarbageError,
    Head,
    head_of,
    is_about,
    refusal,
)
from pyhudi_expr.service.settings import ServiceSettings

#: Bytes that are taken from a caller who does not wait for the answer.
_AHEAD = 1 << 16
#: Time that a refused caller has to read why.
_REFUSAL_SECONDS = 1.0
_TLS_HANDSHAKE = b"\x16\x03"
NO_TOKEN = "the service needs a token, and the caller shows none: give it that of token_file"
WRONG_TOKEN = (
    "the caller's token is not this service's: compare it with the file of the service's token_file"
)
OLD_TOKEN = (
    "the job's token has expired {} s ago by the service's clock: compare the clocks of HiveServer2"
    " and of the service, or set hudi.pruning.job.token.ms higher"
)
OTHER_TABLE = "the job's token is for another table"

_log: Any = structlog.get_logger()

Answered = Callable[[Job], None]
"""Called in the event loop when a job is done."""


class Host(Protocol):
    """The server of a connection."""

    @property
    def settings(self) -> ServiceSettings:
        """Those in force."""

    @property
    def access(self) -> Access:
        """Who may ask."""

    @property
    def is_stopping(self) -> bool:
        """Whether no more requests are taken."""

    def opened(self, connection: Connection) -> None:
        """Add a connection."""

    def closed(self, connection: Connection) -> None:
        """Remove a connection."""

    def lost(self) -> None:
        """Notice that a caller has gone before there was a connection."""

    def refused(self, reason: str) -> None:
        """Count a connection that is closed for one of a few reasons."""

    def submit(self, head: Head, answered: Answered) -> Job:
        """Evaluate a request; return the job, which fails with BusyError if too many wait."""

    def not_pruned(self, head: Head, reason: str, message: str, answered: Answered) -> Job:
        """Answer a request that nothing is pruned, for one of a few reasons; return the job."""

    def abandon(self, job: Job) -> None:
        """Notice that nobody waits for a job."""


class _State(Enum):
    IDLE = "no byte of the next frame has come"
    RECEIVING = "a part of the next frame has come"
    ANSWERING = "a request is evaluated"
    SENDING = "the caller has not taken the whole answer"
    REFUSED = "the caller gets the reason; what it sends is forgotten"
    CLOSING = "no more is read"


_TAKING = (_State.IDLE, _State.RECEIVING)


class Connection(asyncio.Protocol):
    """A connection, from its beginning to its end. Every state has a time limit."""

    _transport: asyncio.Transport
    is_silent = True
    """Whether the caller has not yet asked anything."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._state = _State.IDLE
        self._trusted = False
        self._job_token: JobToken | None = None
        self._ended = False
        self._paused = False
        self._job: Job | None = None
        self._head = head_of(b"")
        self._end = math.inf
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        # So `pause_writing` says that an answer was not sent at once, `resume_writing` that it is.
        self._transport.set_write_buffer_limits(0)
        self._trusted = not self._host.access.needs_token
        if self._host.is_stopping:
            self._close()
        else:
            self._host.opened(self)
            self._enter(_State.IDLE, self._host.settings.idle_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """End. A request that waits need not be evaluated, and the work on another one ends."""
        self._state = _State.CLOSING
        if self._timer is not None:
            self._timer.cancel()
        if self._job is not None:
            self._host.abandon(self._job)
            self._job = None
        self._host.closed(self)

    def data_received(self, data: bytes) -> None:
        """Take the bytes of the next frame, or keep those that come too early.

        What a refused caller sends is read and forgotten: closed with unread bytes, a connection is
        reset, and the caller may lose the reason.
        """
        if self._state is _State.REFUSED:
            return
        self._buffer += data
        if self._state in _TAKING:
            self._take()
        elif len(self._buffer) > _AHEAD:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Close, but first send the answer to a request. Returns whether the transport stays."""
        self._ended = True
        waits = self._state in (_State.ANSWERING, _State.SENDING)
        return waits and self._transport.get_extra_info("sslcontext") is None

    def pause_writing(self) -> None:
        """Notice that the caller does not take the whole answer."""
        self._paused = True

    def resume_writing(self) -> None:
        """Notice that it has."""
        self._paused = False
        if self._state is _State.SENDING:
            self._continue()

    def stop(self) -> None:
        """Close, unless a request has to be answered first."""
        if self._state is _State.IDLE:
            self._close()

    def abandon(self) -> None:
        """Close at once."""
        self._transport.abort()

    def _take(self) -> None:
        """Take the next frame, if it is whole."""
        while self._state in _TAKING and (frame := self._next_frame()) is not None:
            self._received(frame)

    def _next_frame(self) -> bytes | None:
        buffer = self._buffer
        size = int.from_bytes(buffer[:HEADER_BYTES], "big")
        most = self._host.settings.max_frame_bytes if self._trusted else MAX_PREFACE_BYTES
        if len(buffer) >= HEADER_BYTES and not 0 < size <= most:
            self._refuse_size(size, most)
            return None
        if len(buffer) < HEADER_BYTES + size:
            self._await_more()
            return None
        frame = bytes(memoryview(buffer)[HEADER_BYTES : HEADER_BYTES + size])
        del buffer[: HEADER_BYTES + size]
        return frame

    def _refuse_size(self, size: int, most: int) -> None:
        if self._buffer.startswith(_TLS_HANDSHAKE):
            why = "the caller speaks TLS, and this service has no tls_certificate"
            self._refuse("garbage", why)
        elif self._trusted:
            self._refuse("garbage", f"a frame of {size} bytes; between 1 and {most} are allowed")
        else:
            self._refuse_token(NO_TOKEN)  # a request is larger than a token

    def _await_more(self) -> None:
        if self._ended:
            self._close()
        elif not self._buffer:
            self._enter(_State.IDLE, self._host.settings.idle_seconds)
        elif self._state is _State.IDLE:
            self._enter(_State.RECEIVING, self._host.settings.transfer_seconds)

    def _received(self, frame: bytes) -> None:
        if frame.startswith(TOKEN_PREFACE):
            self._show(frame)
        elif not self._trusted:
            self._refuse_token(NO_TOKEN)
        elif self._job_token is not None and (late := seconds_expired(self._job_token)):
            self._trusted = False
            self._refuse_token(OLD_TOKEN.format(late))
        else:
            self._ask(frame)

    def _show(self, preface: bytes) -> None:
        """Trust the caller as far as its token reaches."""
        access = self._host.access
        is_accepted = access.accepts(preface)
        self._job_token = None if is_accepted else access.job(preface)
        self._trusted = is_accepted or self._job_token is not None
        if not self._trusted:
            self._refuse_token(WRONG_TOKEN)
        elif self._job_token is not None and (late := seconds_expired(self._job_token)):
            self._trusted = False
            self._refuse_token(OLD_TOKEN.format(late))

    def _ask(self, frame: bytes) -> None:
        self.is_silent = False
        self._head = head_of(frame)
        limit, needed = self._host.settings.request_bytes, self._head.memory
        if needed > limit:
            why = (
                f"the request is not read: {len(frame)} bytes with {self._head.nodes} nodes may"
                f" take {needed} bytes of memory, and request_bytes is {limit}"
            )
            if self._head.without_filter is None:
                self._refuse("garbage", why)
            else:
                self._do_not_prune("large_request", why)
        elif self._job_token is not None and not is_about(frame, self._job_token.table):
            self._do_not_prune("other_table", OTHER_TABLE)
        else:
            self._enter(_State.ANSWERING, self._host.settings.request_seconds)
            self._job = self._host.submit(self._head, self._evaluated)

    def _evaluated(self, job: Job) -> None:
        if job is not self._job:
            return  # It is too late.
        size = len(job.reply)
        if isinstance(job.failure, BusyError):
            self._do_not_prune("busy", "the service is busy: too many requests wait")
        elif size > self._host.settings.max_answer_bytes:
            self._do_not_prune("large_answer", f"an answer of {size} bytes is not sent")
        else:
            self._answered(job)

    def _do_not_prune(self, reason: str, message: str) -> None:
        self._enter(_State.ANSWERING, math.inf)
        self._job = self._host.not_pruned(self._head, reason, message, self._answered)

    def _answered(self, job: Job) -> None:
        if job is not self._job:
            return  # It is too late.
        self._job = None
        if isinstance(job.failure, GarbageError):
            self._refuse("garbage", str(job.failure))
        elif job.failure is not None:
            self.abandon()
        else:
            self._enter(_State.SENDING, self._host.settings.transfer_seconds)
            self._transport.write(len(job.reply).to_bytes(HEADER_BYTES, "big") + job.reply)
            if not self._paused:
                self._continue()

    def _continue(self) -> None:
        """Take the next frame, after an answer."""
        if self._host.is_stopping:
            self._close()
            return
        if len(self._buffer) > _AHEAD:
            self._transport.resume_reading()
        self._state = _State.IDLE
        self._take()

    def _refuse(self, reason: str, why: str) -> None:
        self._count_refusal(reason, why)
        self._close()

    def _refuse_token(self, why: str) -> None:
        """Tell the caller why its requests are not answered; it closes the connection then."""
        self._count_refusal("token", why)
        self._enter(_State.REFUSED, _REFUSAL_SECONDS)
        reply = refusal(why)
        self._transport.write(len(reply).to_bytes(HEADER_BYTES, "big") + reply)
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _count_refusal(self, reason: str, why: str) -> None:
        self._host.refused(reason)
        peer = "{}:{}".format(*self._transport.get_extra_info("peername", ("?", 0))[:2])
        _log.warning("connection closed", peer=peer, reason=why)

    def _close(self) -> None:
        """Close when the caller has the whole answer, or does not take it in time."""
        self._enter(_State.CLOSING, self._host.settings.transfer_seconds)
        self._transport.close()

    def _enter(self, state: _State, seconds: float) -> None:
        """Enter a state for so many seconds at most.

        A timer that rings early is kept, and set again when it rings: most answers set none.
        """
        self._state = state
        self._end = self._loop.time() + seconds
        timer = self._timer
        if timer is None or timer.when() > self._end:
            if timer is not None:
                timer.cancel()
            self._set_timer()

    def _set_timer(self) -> None:
        self._timer = None
        if self._end < math.inf:
            self._timer = self._loop.call_at(self._end, self._rang)

    def _rang(self) -> None:
        if self._loop.time() < self._end:
            self._set_timer()
        else:
            self._timer = None
            self._expired()

    def _expired(self) -> None:
        match self._state:
            case _State.IDLE:
                self._close()
            case _State.ANSWERING:
                assert self._job is not None
                self._host.abandon(self._job)
                limit = self._host.settings.request_seconds
                self._do_not_prune("late", f"the service needed more than {limit:g} s")
            case _State.RECEIVING | _State.SENDING:
                self._refuse("slow", "it was too slow")
                self._transport.abort()
            case _State.REFUSED | _State.CLOSING:
                self._transport.abort()
