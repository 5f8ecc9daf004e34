"""Parallel reading changes neither the items nor the errors."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.tables.parsing.budget import THREADS, iter_unordered


@given(st.lists(st.lists(st.integers(), max_size=4), max_size=5))
def test_all_items_are_returned_in_the_order_of_their_source(sources: list[list[int]]) -> None:
    numbered = [[(number, item) for item in own] for number, own in enumerate(sources)]
    found = list(iter_unordered(iter(own) for own in numbered))
    assert [[pair for pair in found if pair[0] == n] for n in range(len(sources))] == numbered


def test_sources_are_read_in_parallel() -> None:
    everyone = threading.Barrier(THREADS, timeout=30)

    def meeting() -> Iterator[int]:
        yield everyone.wait()

    assert sorted(iter_unordered(meeting() for _ in range(THREADS))) == list(range(THREADS))


def test_one_thread_is_the_calling_one() -> None:
    def thread() -> Iterator[threading.Thread]:
        yield threading.current_thread()

    found = [*iter_unordered([thread(), thread()], threads=1)]
    assert found == [threading.current_thread()] * 2


def test_errors_are_raised() -> None:
    def failing() -> Iterator[int]:
        yield 2
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        list(iter_unordered([iter([1]), failing(), iter([3])]))


def test_the_number_of_unconsumed_items_is_limited() -> None:
    produced: list[int] = []

    def counting() -> Iterator[int]:
        for number in range(100):
            produced.append(number)
            yield number

    items = iter_unordered([counting()])
    assert next(items) == 0
    items.close()  # type: ignore[attr-defined]
    assert len(produced) <= 2
