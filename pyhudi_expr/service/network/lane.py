"""Run quick jobs one after another in one thread; while one takes long, in another thread, too."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from pyhudi_expr.service.jobs import Job

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
