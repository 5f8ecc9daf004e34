"""Which request is evaluated next: each table has its queue, and cheap ones pass expensive ones.

A table's cost is what its latest answers took. By it there are three kinds of tables:

- *quick*: requests of all of them are evaluated one after another, as Python's lock would have them
  take turns anyway; one that takes longer than expected is overtaken.
- *slow*: they wait for storage, or are large. One table gets half of the threads at most.
- *cold*: nothing is known. A few requests find out, and read what the others need.

Slow and cold tables together leave a quarter of the threads to quick ones, and always have one of
their own. If too many requests wait, the table with the most of them loses its newest.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from enum import Enum

from pyhudi_expr.service.jobs import Job

_QUICK_SECONDS = 0.05
#: Quick requests that are given to their thread, so that it need not wait for the event loop.
_QUICK_AHEAD = 4
#: Requests about one cold table: those of one query's planning look for changes while the first one
#: opens it, see `SnapshotCache`.
_COLD_AT_ONCE = 4
#: A quick request that takes longer is overtaken.
OVERTAKEN_SECONDS = 0.02
_MAX_TABLES = 10_000


class Cost(Enum):
    """What a table's requests take."""

    QUICK = "little"
    SLOW = "much"
    COLD = "an unknown time"


class Admission:
    """The requests that wait, and the number of those that run. Use it in one event loop."""

    def __init__(
        self, threads: int, start: Callable[[Job, Cost], None], refuse: Callable[[Job], None]
    ) -> None:
        """Begin without requests.

        Args:
            threads: Requests that run at the same time.
            start: Has a job run in a thread; `ended` has to be called then.
            refuse: Ends one that is not evaluated.
        """
        self._threads = threads
        self._expensive = max(1, threads * 3 // 4)
        self._of_one_table = max(1, threads // 2)
        self._of_cold_table = min(_COLD_AT_ONCE, self._of_one_table)
        self._start = start
        self._refuse = refuse
        self._waiting: OrderedDict[bytes, deque[Job]] = OrderedDict()
        self._running: dict[Job, Cost] = {}
        self._seconds: OrderedDict[bytes, float] = OrderedDict()

    @property
    def unanswered(self) -> int:
        """Number of requests that wait or run."""
        return len(self._running) + sum(map(len, self._waiting.values()))

    def add(self, job: Job, most: int) -> None:
        """Take a request; beyond so many unanswered ones one is refused.

        Args:
            job: The request.
            most: Number of requests that may wait or run.
        """
        if self.unanswered >= most:
            own = len(self._waiting.get(job.table, ()))
            longest = max(self._waiting, key=lambda table: len(self._waiting[table]), default=None)
            if longest is None or len(self._waiting[longest]) <= own:
                self._refuse(job)
                return
            self._refuse(self._waiting[longest].pop())
            self._tidy(longest)
        self._waiting.setdefault(job.table, deque()).append(job)
        self.begin()

    def ended(self, job: Job) -> None:
        """Notice that a request has run, and begin others."""
        self._running.pop(job, None)
        if job.seconds and job.tells_cost:
            self._learn(job.table, job.seconds)
        self.begin()

    def forget(self, job: Job) -> None:
        """Notice that a request which has not started is cancelled."""
        waiting = self._waiting.get(job.table)
        if waiting is not None and job in waiting:
            waiting.remove(job)
            self._tidy(job.table)

    def begin(self) -> None:
        """Begin what may run."""
        while (
            self._waiting
            and len(self._running) < self._threads
            and (table := self._next()) is not None
        ):
            waiting = self._waiting[table]
            job = waiting.popleft()
            self._waiting.move_to_end(table)
            self._tidy(table)
            cost = self._running[job] = self.cost(table)
            self._start(job, cost)

    def cost(self, table: bytes) -> Cost:
        """Return what a table's requests take, as far as is known."""
        seconds = self._seconds.get(table)
        if seconds is None:
            return Cost.COLD
        return Cost.QUICK if seconds < _QUICK_SECONDS else Cost.SLOW

    def _next(self) -> bytes | None:
        """Return the table whose request begins next, if one may."""
        quick, expensive = self._occupied()
        cheap = costly = None
        for table in self._waiting:
            cost = self.cost(table)
            if cost is Cost.QUICK:
                cheap = cheap or (table if quick < _QUICK_AHEAD else None)
            elif costly is None and len(expensive) < self._expensive:
                most = self._of_cold_table if cost is Cost.COLD else self._of_one_table
                costly = table if expensive.count(table) < most else None
        if not expensive and costly is not None:
            return costly
        return costly if cheap is None else cheap

    def _occupied(self) -> tuple[int, list[bytes]]:
        """Return how many quick requests run that are not overtaken, and the others' tables."""
        now, quick, expensive = time.monotonic(), 0, list[bytes]()
        for job, cost in self._running.items():
            if cost is not Cost.QUICK:
                expensive.append(job.table)
            elif not job.began or now - job.began < OVERTAKEN_SECONDS:
                quick += 1
        return quick, expensive

    def _learn(self, table: bytes, seconds: float) -> None:
        """Take the time of an answer: shorter ones count at once, longer ones by half."""
        known = self._seconds.pop(table, seconds)
        self._seconds[table] = min(seconds, (known + seconds) / 2)
        if len(self._seconds) > _MAX_TABLES:
            self._seconds.popitem(last=False)

    def _tidy(self, table: bytes) -> None:
        if not self._waiting[table]:
            del self._waiting[table]
