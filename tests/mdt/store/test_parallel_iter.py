"""Reading at once changes neither the items nor what goes wrong."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.mdt.store.parallel_iter import THREADS, iter_unordered


@given(st.lists(st.lists(st.integers(), max_size=4), max_size=5))
def test_all_items_come_and_each_source_keeps_its_order(sources: list[list[int]]) -> None:
    numbered = [[(number, item) for item in own] for number, own in enumerate(sources)]
    found = list(iter_unordered(iter(own) for own in numbered))
    assert [[pair for pair in found if pair[0] == n] for n in range(len(sources))] == numbered


def test_sources_are_read_at_once() -> None:
    everyone = threading.Barrier(THREADS, timeout=30)

    def meeting() -> Iterator[int]:
        yield everyone.wait()

    assert sorted(iter_unordered(meeting() for _ in range(THREADS))) == list(range(THREADS))


def test_trouble_is_raised() -> None:
    def failing() -> Iterator[int]:
        yield 2
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        list(iter_unordered([iter([1]), failing(), iter([3])]))


def test_no_more_is_made_than_can_be_worked_on() -> None:
    made: list[int] = []

    def counting() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    items = iter_unordered([counting()])
    assert next(items) == 0
    items.close()
    assert len(made) <= 2
