"""Something large that is read once, by the query that needs it or in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

T = TypeVar("T")

#: What a query reads by itself, in bytes of the index: at most some seconds.
AT_ONCE_BYTES = 16 << 20

_READER = ThreadPoolExecutor(1, thread_name_prefix="indexes")


class LazyValue(Generic[T]):
    """A value that is made at most once. Thread safe; what making it raises, asking raises."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making, self._asking = threading.Lock(), threading.Lock()
        self._value: T | None = None
        self._made = False
        self._future: Future[T] | None = None

    @property
    def made(self) -> T | None:
        """The value if it was made."""
        return self._value

    def value(self) -> T:
        """The value, made here if nobody has made it."""
        with self._making:
            if not self._made:
                self._value, self._made = self._make(), True
        return self._value  # type: ignore[return-value]

    def is_ready(self, read_bytes: int, patience: float) -> bool:
        """Whether the value is there, or quickly made; otherwise it is on its way.

        read_bytes: what making it reads. patience: seconds to wait for it.
        """
        if self._made or read_bytes <= AT_ONCE_BYTES:
            return True
        with self._asking:
            if self._future is None or (self._future.done() and not self._made):
                self._future = _READER.submit(self.value)
            future = self._future
        wait([future], timeout=patience)
        return future.done()
