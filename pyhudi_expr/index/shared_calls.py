"""Calls of one kind that are made at the same time share their result, as long as it is new."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass
class _Turn(Generic[_T]):
    """The calls that wait for the next execution of a function."""

    running: threading.Lock
    result: Future[_T] = field(default_factory=Future)


class SharedCalls(Generic[_T]):
    """Executes a function once for all callers that wait for it. Thread safe.

    A caller gets the result of an execution that began after its call: never that of one which was
    under way, as that may have read what has changed since. So many callers cost one execution at a
    time, and each waits for two of them at most.
    """

    def __init__(self) -> None:
        self._next: dict[Hashable, _Turn[_T]] = {}
        self._running: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def call(self, key: Hashable, function: Callable[[], _T]) -> _T:
        """Return the function's result, or raise its exception.

        Args:
            key: Calls of equal keys share their results.
            function: Called without arguments, by one of the callers.
        """
        with self._lock:
            turn = self._next.get(key)
            is_first = turn is None
            if turn is None:
                running = self._running.setdefault(key, threading.Lock())
                turn = self._next[key] = _Turn(running)
        if is_first:
            with turn.running:
                self._execute(key, turn, function)
        return turn.result.result()

    def _execute(self, key: Hashable, turn: _Turn[_T], function: Callable[[], _T]) -> None:
        with self._lock:
            # Who calls from now on needs a later execution.
            del self._next[key]
        try:
            turn.result.set_result(function())
        except BaseException as error:
            turn.result.set_exception(error)
        with self._lock:
            if key not in self._next:
                self._running.pop(key, None)
