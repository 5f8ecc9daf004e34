"""Whether work is linear in its input: measured, on inputs that are doubled."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from pyhudi_expr.errors import CorruptFile

#: Twice the input takes a linear parser twice the time, a quadratic one four times. Three doublings
#: tell them apart on a busy machine, too: 8 or 64.
_TIMES, _AT_MOST = 8, 24
_LARGE = 16 << 20


def assert_linear(parse: Callable[[bytes], object], content: bytes, least: float = 0.01) -> None:
    """Check that a parser's time grows as its input, `content` repeated.

    Args:
        parse: The parser, which may refuse the content.
        content: What is repeated.
        least: Seconds of the smaller input, to be measurable.
    """
    times = 1
    while (before := _seconds(parse, content * times)) < least:
        if times * len(content) > _LARGE:
            return  # It does not look at all of it.
        times *= 2
    after = _seconds(parse, content * times * _TIMES)
    assert after < before * _AT_MOST, f"{times} times {before:.3f} s, {_TIMES} as many {after:.3f}"


def _seconds(parse: Callable[[bytes], object], content: bytes) -> float:
    """Return the least processor time of three tries."""
    return min(_once(parse, content) for _ in range(3))


def _once(parse: Callable[[bytes], object], content: bytes) -> float:
    began = time.thread_time()
    with contextlib.suppress(CorruptFile, ValueError):
        parse(content)
    return time.thread_time() - began
