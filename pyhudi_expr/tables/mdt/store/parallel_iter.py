"""Read on several cores: reading, uncompressing and decoding release Python's lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from pyhudi_expr.tables.parsing.budget import in_context

_Item = TypeVar("_Item")
THREADS = 2
_ALONE = 2
REMOTE_THREADS = 16
"""For sources that mostly wait for a network."""


def iter_unordered(sources: Iterable[Iterator[_Item]], threads: int = THREADS) -> Iterator[_Item]:
    """Return all items of all sources (none is None), as they come; raise their exceptions.

    `threads` sources are read at a time, each by one thread. The next item of a source is prepared
    while the current one is processed, and no further ones: as many items as threads, and one, are
    in memory. A single source is read by the calling thread for two items: most that
    are read again after a commit have fewer, and to start a thread takes longer than they do.
    One thread is the calling one.
    """
    if threads == 1:
        for source in sources:
            yield from source
        return
    idle = deque(sources)
    if len(idle) == 1:
        for _ in range(_ALONE):
            item = next(idle[0], None)
            if item is None:
                return
            yield item
    following = in_context(next)
    making: dict[Future[_Item | None], Iterator[_Item]] = {}
    with ThreadPoolExecutor(threads, thread_name_prefix="reading") as pool:
        while idle or making:
            while idle and len(making) < threads:
                source = idle.popleft()
                making[pool.submit(following, source, None)] = source
            for made in wait(making, return_when=FIRST_COMPLETED).done:
                source = making.pop(made)
                item = made.result()
                if item is not None:
                    making[pool.submit(following, source, None)] = source
                    yield item
