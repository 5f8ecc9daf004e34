"""The threads that evaluate requests, and the order in which they get them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial

from pyhudi_expr.service.jobs import Job
from pyhudi_expr.service.network.admission import OVERTAKEN_SECONDS, Admission, Cost
from pyhudi_expr.service.network.frames import Head

#: Answers about one table that follow each other within this time are sent together: to wake the
#: event loop for each of them has both threads wait for Python's lock in turn.
_TOGETHER_SECONDS = 0.002


class Lane:
    """Jobs in the order in which they are given. Thread safe."""

    def __init__(self, pool: Executor, tell: Callable[[Sequence[Job]], None]) -> None:
        """Begin without jobs.

        Args:
            pool: The threads in which others are overtaken. Otherwise it is always the same thread:
                each one has memory of its own that the allocator keeps for it.
            tell: Called with the jobs that have run, in a thread of these.
        """
        self._own = ThreadPoolExecutor(1, thread_name_prefix="quick")
        self._pool = pool
        self._tell = tell
        self._lock = threading.Lock()
        self._jobs: deque[Job] = deque()
        self._done: list[Job] = []
        self._told = 0.0
        self._runner: object | None = None
        self._began = 0.0

    def give(self, job: Job) -> None:
        """Have a job run after the others."""
        with self._lock:
            self._jobs.append(job)
            if self._runner is None:
                self._begin(self._own)

    def shutdown(self) -> None:
        """Begin no more jobs."""
        self._own.shutdown(wait=False, cancel_futures=True)

    def overtake(self, seconds: float) -> None:
        """Continue in another thread if a job has been running for so long, and others wait."""
        done: Sequence[Job] = ()
        with self._lock:
            now = time.monotonic()
            if self._runner is not None and now - self._began > seconds:
                done = self._to_tell(now)
                if self._jobs:
                    self._begin(self._pool)
        if done:
            self._tell(done)

    def _begin(self, pool: Executor) -> None:
        self._runner = runner = object()
        self._began = time.monotonic()
        pool.submit(self._run, runner)

    def _run(self, runner: object) -> None:
        ran = None
        while True:
            ran, done = self._next(runner, ran)
            if done:
                self._tell(done)
            if ran is None:
                return
            ran.run()

    def _next(self, runner: object, ran: Job | None) -> tuple[Job | None, Sequence[Job]]:
        """Return the next job of a runner, if it has one, and those to tell of; `ran` has run."""
        with self._lock:
            now, job = time.monotonic(), None
            if ran is not None:
                self._done.append(ran)
            if self._runner is runner:  # else another thread continues
                job = self._jobs.popleft() if self._jobs else None
                self._runner = None if job is None else runner
                self._began = now
            if job is not None and self._may_wait(job, now):
                return job, ()
            return job, self._to_tell(now)

    def _may_wait(self, following: Job, now: float) -> bool:
        """Return whether to tell of jobs that have run together with the following one."""
        about_one_table = bool(self._done) and self._done[-1].table == following.table
        return about_one_table and now - self._told < _TOGETHER_SECONDS

    def _to_tell(self, now: float) -> Sequence[Job]:
        done, self._done, self._told = self._done, [], now
        return done


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
