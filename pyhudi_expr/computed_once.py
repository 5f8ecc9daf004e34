"""Attributes and large values that are computed once, when they are first asked for.

`computed_once` has no lock. Before Python 3.12 `functools.cached_property` has one for all
instances of a class, so a table whose files are read slowly would stop the questions about all
others. `LazyValue` has its own, and is computed in the background if nobody waits for it.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pyhudi_expr.errors import HudiError

if TYPE_CHECKING:
    from typing_extensions import Self


_T = TypeVar("_T")


class computed_once(Generic[_T]):  # noqa: N801 - a decorator, as `property` is
    """A property whose value is kept in the instance.

    Threads that first ask at the same time may each compute it, and all get the one that was kept
    first. Where that costs reading, the caller has a lock of the instance.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self._name = ""
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any]) -> _T: ...

    def __get__(self, instance: object | None, owner: type[Any]) -> Self | _T:
        """Compute the value; the next time the instance's own attribute is found."""
        if instance is None:
            return self
        value: _T = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value

    if TYPE_CHECKING:

        def __set__(self, instance: object, value: _T) -> None: ...


T = TypeVar("T")

_ONE_AT_A_TIME = threading.Lock()
_ENDING = threading.Event()
_THREADS: set[threading.Thread] = set()


class ProcessEndsError(HudiError):
    """A computation in the background stops, as the process ends."""


def check_running() -> None:
    """Stop a long computation in the background when the process ends; it calls this often.

    Raises:
        ProcessEndsError: The process ends.
    """
    if _ENDING.is_set():
        raise ProcessEndsError("the process ends")


class LazyValue(Generic[T]):
    """A value that is computed at most once. Thread safe; errors are raised to each caller."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making, self._asking = threading.Lock(), threading.Lock()
        self._value: T | None = None
        self._made = False
        self._ended: threading.Event | None = None

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

    def wait(self, patience: float) -> bool:
        """Compute the value in the background, and return whether that ended soon.

        Where it ended with an error, `value` computes anew and raises its own. A process that ends
        does not wait for computations that call `check_running`.

        Args:
            patience: Seconds to wait.
        """
        if self._made:
            return True
        with self._asking:
            if self._ended is None or (self._ended.is_set() and not self._made):
                self._ended = threading.Event()
                thread = threading.Thread(target=self._compute, args=(self._ended,), daemon=True)
                _THREADS.add(thread)
                thread.start()
            ended = self._ended
        return ended.wait(patience)

    def _compute(self, ended: threading.Event) -> None:
        try:
            with _ONE_AT_A_TIME:
                check_running()
                self.value()
        except Exception:
            return
        finally:
            ended.set()
            _THREADS.discard(threading.current_thread())


@atexit.register
def _end() -> None:
    """Stop the threads: what they hold must not be freed while the interpreter is taken down."""
    _ENDING.set()
    for thread in list(_THREADS):
        thread.join()
