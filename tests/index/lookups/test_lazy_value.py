"""A large value is computed once, in the background if that takes long."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading

import pytest

from pyhudi_expr.computed_once import LazyValue


def test_a_value_is_computed_once_by_its_first_reader() -> None:
    counter = itertools.count(1)
    once = LazyValue(lambda: next(counter))
    assert once.computed is None
    assert [once.value(), once.value(), once.computed] == [1, 1, 1]


def test_a_value_of_the_background_is_returned_once_it_is_computed() -> None:
    go = threading.Event()
    once = LazyValue(lambda: go.wait(60) and "made")
    assert not once.wait(0)
    assert not once.wait(0.01)
    go.set()
    assert once.wait(60)
    assert once.computed == "made"


def test_an_error_is_raised_and_the_computation_retried() -> None:
    tries = []

    def make() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("not yet")
        return "made"

    once = LazyValue(make)
    assert once.wait(60)
    with pytest.raises(ValueError, match="not yet"):
        once.value()
    assert once.wait(60)
    assert once.value() == "made"


def test_a_process_that_ends_stops_what_is_computed_in_the_background() -> None:
    code = """
import time
from pyhudi_expr.computed_once import LazyValue
from pyhudi_expr.computed_once import check_running

def endless():
    while True:
        check_running()
        time.sleep(0.01)

assert not LazyValue(endless).wait(0.1)
print("ends")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")
