"""Concurrent calls share an execution that began after each of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pyhudi_expr.index.shared_calls import SharedCalls


class SlowCounter:
    """Counts its executions; each waits until it is released."""

    def __init__(self) -> None:
        self.started = 0
        self.go = threading.Semaphore(0)
        self.begun = threading.Semaphore(0)

    def __call__(self) -> int:
        self.started += 1
        number = self.started
        self.begun.release()
        assert self.go.acquire(timeout=20)
        return number


def wait_for_turn(calls: SharedCalls[int], key: str) -> None:
    """Wait until a caller waits for the next execution."""
    while key not in calls._next:
        pass


def test_a_caller_gets_no_result_of_an_execution_that_was_under_way() -> None:
    calls, counter = SharedCalls[int](), SlowCounter()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(calls.call, "t", counter)
        assert counter.begun.acquire(timeout=20)
        second = pool.submit(calls.call, "t", counter)
        wait_for_turn(calls, "t")
        counter.go.release(2)
        assert (first.result(20), second.result(20)) == (1, 2)


def test_callers_that_wait_share_the_next_execution() -> None:
    calls, counter = SharedCalls[int](), SlowCounter()
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(calls.call, "t", counter)
        assert counter.begun.acquire(timeout=20)
        others = [pool.submit(calls.call, "t", counter) for _ in range(8)]
        wait_for_turn(calls, "t")
        while any(not other.running() for other in others):
            pass
        counter.go.release(9)
        assert first.result(20) == 1
        assert {other.result(20) for other in others} <= {2, 3}
    assert counter.started <= 3


def test_other_keys_do_not_wait() -> None:
    calls, counter = SharedCalls[int](), SlowCounter()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(calls.call, "t", counter)
        assert counter.begun.acquire(timeout=20)
        assert calls.call("u", lambda: 7) == 7
        counter.go.release()
        assert first.result(20) == 1


def test_an_exception_reaches_every_caller_and_is_not_kept() -> None:
    calls = SharedCalls[int]()
    with pytest.raises(ZeroDivisionError):
        calls.call("t", lambda: 1 // 0)
    assert calls.call("t", lambda: 5) == 5
    assert not calls._next
    assert not calls._running
