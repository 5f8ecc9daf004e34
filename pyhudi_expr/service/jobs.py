"""Requests that wait, are evaluated, or are no longer wanted."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

_TURN_SECONDS = 0.5
_thread = threading.local()


class NoLongerWantedError(BaseException):
    """Nobody waits for the answer, so the work on it ends.

    No `Exception`, because handlers of any error must not answer it.
    """


class BusyError(Exception):
    """The request is refused, as too many wait."""


class Job(Future[bytes]):
    """One request; its result is the reply.

    Attributes:
        table: The table that it is about, as the caller writes it.
        tells_cost: Whether its time is that of other requests about the table.
        answered: Called in the event loop when it is done.
        came: When it came, of `time.monotonic`.
        began: When its evaluation began, of `time.monotonic`; 0 before.
        seconds: How long that took; 0 before.
    """

    def __init__(
        self,
        table: bytes,
        evaluate: Callable[[], bytes],
        answered: Callable[[Job], None],
        *,
        tells_cost: bool = True,
    ) -> None:
        super().__init__()
        self.table = table
        self.tells_cost = tells_cost
        self.answered = answered
        self.came = time.monotonic()
        self.began = 0.0
        self.seconds = 0.0
        self._evaluate = evaluate
        self._is_wanted = True

    def abandon(self) -> None:
        """Notice that nobody waits: it does not begin, or ends at the next `check_wanted`."""
        self._is_wanted = False
        self.cancel()

    def run(self) -> None:
        """Evaluate the request in this thread, if it is still wanted."""
        if not self.set_running_or_notify_cancel():
            return
        self.began = time.monotonic()
        _thread.job = self
        try:
            reply, failure = self._evaluate(), None
        except BaseException as error:
            reply, failure = b"", error
        _thread.job = None
        self.seconds = time.monotonic() - self.began
        if failure is None:
            self.set_result(reply)
        else:
            self.set_exception(failure)

    def refuse(self) -> None:
        """End it without evaluation."""
        if self.set_running_or_notify_cancel():
            self.set_exception(BusyError())

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for the answer."""
        return self._is_wanted


def check_wanted() -> None:
    """Raise NoLongerWantedError if this thread evaluates a request for which nobody waits."""
    job: Job | None = getattr(_thread, "job", None)
    if job is not None and not job.is_wanted:
        raise NoLongerWantedError


def asked_at() -> float:
    """Return when the request of this thread came, of `time.monotonic`; now without one."""
    job: Job | None = getattr(_thread, "job", None)
    return time.monotonic() if job is None else job.came


def is_of_this_job(table: str) -> bool:
    """Return whether a table is the one that this thread's request names in its first bytes.

    By these it was admitted. A decoder takes the last of fields that are repeated. Without a job,
    or with one of another form, any table is.
    """
    job: Job | None = getattr(_thread, "job", None)
    return job is None or not job.table or job.table == table.encode()


@contextlib.contextmanager
def taking_turns(turns: threading.Semaphore) -> Iterator[None]:
    """Wait for a turn, as long as somebody waits for the answer. Raises NoLongerWantedError."""
    while not turns.acquire(timeout=_TURN_SECONDS):
        check_wanted()
    try:
        check_wanted()
        yield
    finally:
        turns.release()
