"""Whether work is linear in its input: counted, on inputs that are doubled."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.parsing.budget import Budget, Limits, spending

Parse: TypeAlias = Callable[[bytes], object]
"""A parser, which may refuse its input."""
Written: TypeAlias = Callable[[int], bytes]
"""Returns the input of so many units."""

#: Units of the smallest input.
_TIMES = 64
#: What a doubled input may add, by what the one before has added: 2 for a linear parser, 4 for a
#: quadratic one, and between them for one that does both.
_AT_MOST = 2.1


def assert_linear(parse: Parse, written: Written) -> None:
    """Check that a parser's work grows as its input.

    Counted are lines of Python, calls, bytes that are cut out of the input, and what is drawn on
    the budget: bytes read, decompressed and decoded. So the result is the same on any machine. What
    one call in C does is not seen: `assert_linear_in_time`.
    """
    _work(parse, written(_TIMES * 4))  # The first one may import modules, and fill caches.
    least, middle, most = (_work(parse, written(_TIMES * n)) for n in (1, 2, 4))
    assert most - middle <= (middle - least) * _AT_MOST, f"work: {least}, {middle}, {most}"


class _Work(Budget):
    """Counts steps and bytes; without limits."""

    def __init__(self) -> None:
        super().__init__(Limits())
        self.done = 0

    def read(self, file: str, nbytes: int) -> None:
        self.done += nbytes

    def inflated(self, file: str, nbytes: int) -> None:
        self.done += nbytes

    def decoded(self, file: str, nbytes: int) -> None:
        self.done += nbytes

    def step(self, _frame: FrameType, _event: str, _argument: object) -> Any:
        self.done += 1
        return self.step


class _Content(bytes):
    """Bytes that count what is cut out of them."""

    work: _Work

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(key, slice):
            self.work.done += len(found)
        return found


def _work(parse: Parse, content: bytes) -> int:
    counted = _Content(content)
    counted.work = work = _Work()
    before = sys.gettrace(), sys.getprofile()
    with spending(work), contextlib.suppress(CorruptFile, ValueError):
        sys.settrace(work.step)
        sys.setprofile(work.step)
        try:
            parse(counted)
        finally:
            sys.settrace(before[0])
            sys.setprofile(before[1])
    return work.done


#: Twice the input takes a linear parser twice the time, a quadratic one four times. Three doublings
#: tell them apart on a busy machine, too: 8 or 64.
_MORE, _MORE_TIME = 8, 24
_TRIES, _LEAST_SECONDS, _LARGE = 3, 0.01, 16 << 20


def assert_linear_in_time(
    parse: Callable[[bytes], object], written: Callable[[int], bytes]
) -> None:
    """Check that the time of a parser whose work is done in C grows as its input.

    A disturbed measurement is repeated: a parser that is not linear passes none.
    """
    times = 1
    while _seconds(parse, written(times)) < _LEAST_SECONDS:
        if len(written(times)) > _LARGE:
            return  # It does not look at all of it.
        times *= 2
    measured = []
    for _ in range(_TRIES):
        before, after = (_seconds(parse, written(n)) for n in (times, times * _MORE))
        measured.append(after / before)
        if measured[-1] < _MORE_TIME:
            return
    raise AssertionError(f"{_MORE} times {times} units take {measured} times as long")


def _seconds(parse: Parse, content: bytes) -> float:
    began = time.thread_time()
    with contextlib.suppress(CorruptFile, ValueError):
        parse(content)
    return time.thread_time() - began
