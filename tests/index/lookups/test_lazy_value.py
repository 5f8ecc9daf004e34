"""A large value is computed once, in the background if that takes long."""

from __future__ import annotations

import itertools
import threading

import pytest

from pyhudi_expr.index.lookups.lazy_value import AT_ONCE_BYTES, LazyValue

LARGE = AT_ONCE_BYTES + 1


def test_a_small_value_is_computed_by_its_first_reader() -> None:
    counter = itertools.count(1)
    once = LazyValue(lambda: next(counter))
    assert once.is_ready(AT_ONCE_BYTES, 0)
    assert once.computed is None
    assert [once.value(), once.value(), once.computed] == [1, 1, 1]


def test_a_large_value_is_returned_once_it_is_computed() -> None:
    go = threading.Event()
    once = LazyValue(lambda: go.wait(60) and "made")
    assert not once.is_ready(LARGE, 0)
    assert not once.is_ready(LARGE, 0.01)
    go.set()
    assert once.is_ready(LARGE, 60)
    assert once.computed == "made"


def test_an_error_is_raised_and_the_computation_retried() -> None:
    tries = []

    def make() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("not yet")
        return "made"

    once = LazyValue(make)
    assert once.is_ready(LARGE, 60)
    with pytest.raises(ValueError, match="not yet"):
        once.value()
    assert once.is_ready(LARGE, 60)
    assert once.value() == "made"
