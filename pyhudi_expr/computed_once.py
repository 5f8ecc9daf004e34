"""Attributes that are computed when they are first asked for, without a lock.

Before Python 3.12 `functools.cached_property` has one lock for all instances of a class, so a table
whose files are read slowly would stop the questions about all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

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
