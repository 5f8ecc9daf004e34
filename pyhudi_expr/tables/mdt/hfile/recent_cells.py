"""The cells that look-ups read last.

After a commit the same blocks of a base file are asked for again, for the keys of one commit more.
To read and to uncompress them takes longer than all else that such a look-up does.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, TypeAlias

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.tables.mdt.hfile.cells import Cells

#: Numbers of data blocks, and the cells of these blocks.
Chunk: TypeAlias = tuple[Int64Array, Cells]


class RecentCells:
    """Chunks by look-up, those used last, up to a limit of bytes. It is thread safe."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes: Final = most_bytes
        self._held: OrderedDict[Hashable, tuple[Chunk, ...]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def num_bytes(self) -> int:
        """Size of all chunks that are held."""
        return self._bytes

    def get(self, lookup: Hashable) -> tuple[Chunk, ...] | None:
        """Return the chunks of a look-up; None if they are not held (any more)."""
        with self._lock:
            found = self._held.get(lookup)
            if found is not None:
                self._held.move_to_end(lookup)
            return found

    def put(self, lookup: Hashable, chunks: tuple[Chunk, ...]) -> None:
        """Hold the chunks of a look-up, instead of those that were used longest ago."""
        with self._lock:
            self._bytes += _size(chunks) - _size(self._held.pop(lookup, ()))
            self._held[lookup] = chunks
            while self._bytes > self._most_bytes:
                self._bytes -= _size(self._held.popitem(last=False)[1])


def _size(chunks: tuple[Chunk, ...]) -> int:
    return sum(cells.num_bytes for _, cells in chunks)
