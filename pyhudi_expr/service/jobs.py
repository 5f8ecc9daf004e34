"""Requests that wait, are evaluated, or are no longer wanted."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

_TURN_SECONDS = 0.5
_thread = threading.local()


class NoLongerWantedError(BaseException):
    """Nobody waits for the answer, so the work on it ends.

    No `Exception`, because handlers of any error must not answer it.
    """


class BusyError(Exception):
    """The request is refused, as too many wait."""


class Job:
    """One request. Thread safe.

    A `concurrent.futures.Future` has a condition on which threads can wait, which nobody does here,
    and to make and use it takes longer than many evaluations.

    Attributes:
        table: The table that it is about, as the caller writes it.
        tells_cost: Whether its time is that of other requests about the table.
        answered: Called in the event loop when it is done.
        came: When it came, of `time.monotonic`.
        began: When its evaluation began, of `time.monotonic`; 0 before.
        seconds: How long that took; 0 before.
        is_wanted: Whether somebody waits for the answer.
        reply: The answer, once it is done without `failure`.
        failure: Why there is no answer.
    """

    def __init__(
        self,
        table: bytes,
        evaluate: Callable[[], bytes],
        answered: Callable[[Job], None],
        *,
        tells_cost: bool = True,
    ) -> None:
        self.table = table
        self.tells_cost = tells_cost
        self.answered = answered
        self.came = time.monotonic()
        self.began = 0.0
        self.seconds = 0.0
        self.is_wanted = True
        self.reply = b""
        self.failure: BaseException | None = None
        self._evaluate = evaluate

    def abandon(self) -> None:
        """Notice that nobody waits: it does not begin, or ends at the next `check_wanted`."""
        self.is_wanted = False

    def run(self) -> None:
        """Evaluate the request in this thread, if it is still wanted."""
        if not self.is_wanted:
            self.failure = NoLongerWantedError()
            return
        self.began = time.monotonic()
        _thread.job = self
        try:
            self.reply = self._evaluate()
        except BaseException as error:
            self.failure = error
        _thread.job = None
        self.seconds = time.monotonic() - self.began

    def refuse(self) -> None:
        """End it without evaluation."""
        self.failure = BusyError()


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
