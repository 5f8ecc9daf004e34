"""The threads that evaluate requests, and the order in which they get them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pyhudi_expr.service.jobs import Job
from pyhudi_expr.service.network.admission import OVERTAKEN_SECONDS, Admission, Cost
from pyhudi_expr.service.network.frames import Head
from pyhudi_expr.service.network.lane import Lane

Evaluate = Callable[[bytes], bytes]
"""Returns the reply to a frame."""


def _started(threads: int, name: str) -> ThreadPoolExecutor:
    """Return a pool all of whose threads run from the beginning, so that load adds none."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
    all_run = threading.Barrier(threads)
    for _ in range(threads):
        pool.submit(all_run.wait)
    return pool


class Evaluation:
    """Evaluates requests. Use it in the event loop in which it was created.

    Callbacks get their job in that loop, never within the call that submits it.
    """

    def __init__(self, threads: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._threads = _started(threads, "prune")
        # The answer that the service is busy must not wait for busy threads.
        self._refusals = _started(1, "refuse")
        self._lane = Lane(self._threads, self._have_run)
        self._admission = Admission(threads, self._start, self._refuse)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def unanswered(self) -> int:
        """Number of requests that are evaluated or waiting."""
        return self._admission.unanswered

    def submit(
        self, head: Head, evaluate: Evaluate, most: int, answered: Callable[[Job], None]
    ) -> Job:
        """Evaluate a request; beyond `most` unanswered ones, one of them fails with BusyError."""
        work = partial(evaluate, head.frame)
        job = Job(head.table, work, answered, tells_cost=not head.is_announcement)
        self._admission.add(job, most)
        self._set_timer()
        return job

    def refuse(self, head: Head, evaluate: Evaluate, answered: Callable[[Job], None]) -> Job:
        """Evaluate a request without its filter, apart from the others."""
        job = Job(head.table, partial(evaluate, head.without_filter or head.frame), answered)
        self._refusals.submit(self._run, job, self._tell)
        return job

    def abandon(self, job: Job) -> None:
        """Notice that nobody waits for a request."""
        job.abandon()
        self._admission.forget(job)

    def shutdown(self) -> None:
        """Begin no more requests."""
        self._lane.shutdown()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._refusals.shutdown(wait=False, cancel_futures=True)
        if self._timer is not None:
            self._timer.cancel()

    def _start(self, job: Job, cost: Cost) -> None:
        if cost is Cost.QUICK:
            self._lane.give(job)
        else:
            self._threads.submit(self._run, job)

    def _refuse(self, job: Job) -> None:
        job.refuse()
        self._loop.call_soon(job.answered, job)

    def _run(self, job: Job, then: Callable[[Job], None] | None = None) -> None:
        job.run()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(then or self._ended, job)

    def _have_run(self, jobs: Sequence[Job]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._all_ended, jobs)

    def _all_ended(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._ended(job)

    def _ended(self, job: Job) -> None:
        self._admission.ended(job)
        self._tell(job)

    def _tell(self, job: Job) -> None:
        job.answered(job)

    def _set_timer(self) -> None:
        """Look after quick requests that take long, as long as there are any requests."""
        if self._timer is None and self._admission.unanswered:
            self._timer = self._loop.call_later(OVERTAKEN_SECONDS, self._look_after)

    def _look_after(self) -> None:
        self._timer = None
        self._lane.overtake(OVERTAKEN_SECONDS)
        self._admission.begin()
        self._set_timer()
