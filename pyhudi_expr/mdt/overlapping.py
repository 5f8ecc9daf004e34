"""Reading ahead on other cores: bytes are read, uncompressed and decoded without Python's lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
_THREADS = 2


def read_ahead(sources: Sequence[Iterator[_Item]]) -> Iterator[_Item]:
    """All items, one source after the other; what an iterator raises is raised in its place.

    While an item is worked on, the next one of its source and the first one of the source behind it
    are made, so three items at most are in memory.
    """
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="read-ahead") as pool:
        following: Future[_Item | None] | None = None
        for number, source in enumerate(sources):
            waiting = following or pool.submit(next, source, None)
            behind = sources[number + 1 : number + 2]
            following = pool.submit(next, behind[0], None) if behind else None
            while (item := waiting.result()) is not None:
                waiting = pool.submit(next, source, None)
                yield item
