"""Run quick jobs one after another in one thread; while one takes long, in another thread, too."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from pyhudi_expr.service.jobs import Job


class Lane:
    """Jobs in the order in which they are given. Thread safe."""

    def __init__(self, pool: Executor, run: Callable[[Job], None]) -> None:
        """Take what runs a job, and the threads in which others are overtaken.

        Otherwise it is always the same thread: each one has memory of its own that the allocator
        keeps for it.
        """
        self._own = ThreadPoolExecutor(1, thread_name_prefix="quick")
        self._pool = pool
        self._run_job = run
        self._lock = threading.Lock()
        self._jobs: deque[Job] = deque()
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
        with self._lock:
            is_late = time.monotonic() - self._began > seconds
            if self._jobs and self._runner is not None and is_late:
                self._begin(self._pool)

    def _begin(self, pool: Executor) -> None:
        self._runner = runner = object()
        self._began = time.monotonic()
        pool.submit(self._run, runner)

    def _run(self, runner: object) -> None:
        while True:
            with self._lock:
                if self._runner is not runner:
                    return  # Another thread continues.
                if not self._jobs:
                    self._runner = None
                    return
                job = self._jobs.popleft()
                self._began = time.monotonic()
            self._run_job(job)
