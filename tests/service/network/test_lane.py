"""Quick requests: one after another, told of together, and overtaken when one takes long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from pyhudi_expr.service.jobs import Job
from pyhudi_expr.service.network.evaluation import Lane

_PATIENCE = 20.0
_LATE_SECONDS = 0.02


class _Told:
    """The jobs that a lane told of, each time together."""

    def __init__(self) -> None:
        self.together: list[Sequence[Job]] = []
        self._changed = threading.Condition()

    def tell(self, jobs: Sequence[Job]) -> None:
        with self._changed:
            self.together.append(jobs)
            self._changed.notify_all()

    @property
    def jobs(self) -> list[Job]:
        return [job for jobs in self.together for job in jobs]

    def wait_for(self, number: int) -> list[Job]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.jobs) >= number, _PATIENCE)
            return self.jobs


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


def job(evaluate: Callable[[], bytes] = lambda: b"", table: bytes = b"/t") -> Job:
    return Job(table, evaluate, lambda _: None)


def behind_a_gate(gate: threading.Event) -> Job:
    return job(lambda: str(gate.wait(_PATIENCE)).encode(), b"/other")


def _hang(started: threading.Event, end: threading.Event) -> bytes:
    started.set()
    end.wait(_PATIENCE)
    return b""


def test_each_job_is_told_of_once_in_their_order(pool: ThreadPoolExecutor) -> None:
    told = _Told()
    lane, jobs = Lane(pool, told.tell), [job() for _ in range(500)]
    for one in jobs:
        lane.give(one)
    assert told.wait_for(len(jobs)) == jobs
    lane.shutdown()


def test_answers_about_one_table_are_told_together_and_others_at_once(
    pool: ThreadPoolExecutor,
) -> None:
    told, gate = _Told(), threading.Event()
    lane = Lane(pool, told.tell)
    first, last = behind_a_gate(gate), job(table=b"/another")
    same = [job() for _ in range(5)]
    for one in (first, *same, last):
        lane.give(one)
    gate.set()
    told.wait_for(7)
    lane.shutdown()
    assert told.together[0] == [first]
    assert told.together[-1] == [last]
    assert len(told.together) < 7


def test_an_answer_does_not_wait_for_a_job_that_hangs(pool: ThreadPoolExecutor) -> None:
    told, gate, hanging, end = _Told(), threading.Event(), threading.Event(), threading.Event()
    lane = Lane(pool, told.tell)
    first, answered, after = behind_a_gate(gate), job(), job()
    hangs = job(lambda: _hang(hanging, end))
    for one in (first, answered, hangs):
        lane.give(one)
    gate.set()
    assert hanging.wait(_PATIENCE)
    time.sleep(2 * _LATE_SECONDS)
    lane.overtake(_LATE_SECONDS)
    assert told.jobs == [first, answered]
    lane.give(after)
    lane.overtake(_LATE_SECONDS)
    assert told.wait_for(3) == [first, answered, after]
    end.set()
    assert told.wait_for(4) == [first, answered, after, hangs]
    lane.shutdown()
