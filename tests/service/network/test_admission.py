"""Which request is evaluated next, and which is refused."""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi_expr.service.jobs import Job
from pyhudi_expr.service.network.admission import Admission, Cost

THREADS = 8
MOST = 1000
QUICK, SLOW = 0.001, 1.0


class Admitted:
    """An admission whose jobs run until the test ends them."""

    def __init__(self, threads: int = THREADS) -> None:
        self.running: list[Job] = []
        self.refused: list[Job] = []
        self.admission = Admission(threads, lambda job, _: self.running.append(job), self._refuse)

    def add(self, table: str, number: int = 1, most: int = MOST) -> Sequence[Job]:
        """Ask about a table so many times."""
        jobs = [Job(table.encode(), bytes, lambda _: None) for _ in range(number)]
        for job in jobs:
            self.admission.add(job, most)
        return jobs

    def end(self, job: Job, seconds: float) -> None:
        """Have a job end after so many seconds."""
        job.seconds = seconds
        self.running.remove(job)
        self.admission.ended(job)

    def know(self, table: str, seconds: float) -> None:
        """Let a table's answers have taken so long."""
        (job,) = self.add(table)
        self.end(job, seconds)

    def tables(self) -> list[str]:
        """The tables of what runs, in the order of its begin."""
        return [job.table.decode() for job in self.running]

    def _refuse(self, job: Job) -> None:
        job.refuse()
        self.refused.append(job)


def test_a_few_requests_read_a_cold_table_and_the_others_wait_for_them() -> None:
    admitted = Admitted()
    first, second, third, fourth, *others = admitted.add("/cold", 20)
    assert admitted.running == [first, second, third, fourth]
    admitted.end(first, QUICK)
    assert admitted.running == [second, third, fourth, *others[:4]]  # what one thread will do next


def test_an_announcement_says_nothing_of_what_questions_take() -> None:
    admitted = Admitted()
    announced = Job(b"/cold", bytes, lambda _: None, tells_cost=False)
    admitted.admission.add(announced, MOST)
    admitted.end(announced, QUICK)
    assert admitted.admission.cost(b"/cold") is Cost.COLD


def test_a_slow_table_gets_half_of_the_threads() -> None:
    admitted = Admitted()
    admitted.know("/slow", SLOW)
    admitted.add("/slow", 20)
    assert admitted.tables() == ["/slow"] * 4


def test_slow_and_cold_tables_leave_threads_to_quick_ones() -> None:
    admitted = Admitted()
    for name in ("/slow", "/slower"):
        admitted.know(name, SLOW)
    admitted.know("/quick", QUICK)
    for name in ("/slow", "/slower", *(f"/cold{number}" for number in range(9))):
        admitted.add(name, 9)
    assert len(admitted.running) == 6
    admitted.add("/quick", 3)
    assert admitted.tables().count("/quick") == 2  # all threads


def test_quick_tables_pass_slow_ones_but_one_slow_request_always_runs() -> None:
    admitted = Admitted(threads=4)
    admitted.know("/slow", SLOW)
    admitted.know("/quick", QUICK)
    admitted.add("/slow", 9)
    admitted.add("/quick", 9)
    assert admitted.tables() == ["/slow", "/slow", "/quick", "/quick"]
    for _ in range(5):
        admitted.end(admitted.running[-1], QUICK)
        assert admitted.tables()[-1] == "/quick"
    for job in [job for job in admitted.running if job.table == b"/slow"]:
        admitted.end(job, SLOW)
    assert "/slow" in admitted.tables()


def test_tables_of_one_kind_take_turns() -> None:
    admitted = Admitted(threads=1)
    for name in ("/a", "/b", "/c"):
        admitted.know(name, SLOW)
    for name in ("/a", "/b", "/c"):
        admitted.add(name, 3)
    (first,) = admitted.running
    admitted.end(first, SLOW)
    seen = []
    while admitted.running:
        seen += admitted.tables()
        admitted.end(admitted.running[0], SLOW)
    assert seen == ["/a", "/b", "/c", "/a", "/b", "/c", "/b", "/c"]


def test_a_table_that_slows_down_for_once_stays_quick() -> None:
    admitted = Admitted()
    for seconds in (QUICK, 0.06):
        admitted.know("/t", seconds)
    assert admitted.admission.cost(b"/t") is Cost.QUICK
    for _ in range(3):
        admitted.know("/t", SLOW)
    assert admitted.admission.cost(b"/t") is Cost.SLOW
    admitted.know("/t", QUICK)
    assert admitted.admission.cost(b"/t") is Cost.QUICK


def test_beyond_the_limit_the_table_with_the_most_requests_loses_its_newest() -> None:
    admitted = Admitted()
    *_, newest = admitted.add("/many", 10)
    (other,) = admitted.add("/other", most=10)
    assert admitted.refused == [newest]
    assert other in admitted.running
    (one_more,) = admitted.add("/many", most=10)
    assert admitted.refused == [newest, one_more]


def test_a_request_that_is_no_longer_wanted_does_not_begin() -> None:
    admitted = Admitted()
    first, *_, second, third = admitted.add("/cold", 6)
    second.abandon()
    admitted.admission.forget(second)
    admitted.end(first, SLOW)
    assert admitted.running[-1] is third
    assert admitted.admission.unanswered == 4
