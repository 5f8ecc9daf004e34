"""A large value that is loaded once, by the query that needs it or in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

T = TypeVar("T")

#: Bytes of an index that a query reads in the foreground: at most some seconds.
AT_ONCE_BYTES = 16 << 20

_READER = ThreadPoolExecutor(1, thread_name_prefix="indexes")


class LazyValue(Generic[T]):
    """A value that is computed at most once. Thread safe; errors are raised to each caller."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making, self._asking = threading.Lock(), threading.Lock()
        self._value: T | None = None
        self._made = False
        self._future: Future[T] | None = None

    @property
    def computed(self) -> T | None:
        """The value if it has been computed."""
        return self._value

    def value(self) -> T:
        """Return the value, and compute it if necessary."""
        with self._making:
            if not self._made:
                self._value, self._made = self._make(), True
        return self._value  # type: ignore[return-value]

    def is_ready(self, read_bytes: int, patience: float) -> bool:
        """Return whether the value is available soon; otherwise compute it in the background.

        Args:
            read_bytes: Bytes that the computation reads.
            patience: Seconds to wait for it.
        """
        if self._made or read_bytes <= AT_ONCE_BYTES:
            return True
        with self._asking:
            if self._future is None or (self._future.done() and not self._made):
                self._future = _READER.submit(self.value)
            future = self._future
        wait([future], timeout=patience)
        return future.done()
