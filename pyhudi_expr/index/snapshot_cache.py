"""Tables kept between requests, up to a limit of memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TypeAlias

from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.table.listing import TableView

SnapshotKey: TypeAlias = tuple[str, TableView, str | None]
"""A table's base path, what is read of it, and the instant of time travel."""


class SnapshotCache:
    """The most recently used snapshots. Thread safe.

    The newest one stays, whatever its size. Snapshots grow while requests read their indexes, so
    `measure` is called after each.
    """

    def __init__(self, limit: int) -> None:
        """Create an empty cache of so many bytes."""
        self._limit = limit
        self._snapshots: OrderedDict[SnapshotKey, TableSnapshot] = OrderedDict()
        self._sizes: dict[TableSnapshot, int] = {}
        self._held = 0
        self._lock = threading.Lock()

    def get(self, key: SnapshotKey) -> TableSnapshot | None:
        """Return the snapshot of a key, whether it is current or not."""
        with self._lock:
            return self._snapshots.get(key)

    def use(self, key: SnapshotKey) -> None:
        """Make the snapshot of a key the most recently used one, if there is one."""
        with self._lock:
            if key in self._snapshots:
                self._snapshots.move_to_end(key)

    def keep(self, key: SnapshotKey, snapshot: TableSnapshot) -> None:
        """Keep a snapshot, as the most recently used one, in place of that of its key."""
        with self._lock:
            if key in self._snapshots:
                self._forget(self._snapshots.pop(key))
            self._snapshots[key] = snapshot
            self._sizes[snapshot] = 0
        self.measure(snapshot)

    def measure(self, snapshot: TableSnapshot) -> None:
        """Forget the least recently used snapshots beyond the limit; this one has grown."""
        size = snapshot.nbytes
        with self._lock:
            if snapshot in self._sizes:
                self._held += size - self._sizes[snapshot]
                self._sizes[snapshot] = size
            while self._held > self._limit and len(self._snapshots) > 1:
                self._forget(self._snapshots.popitem(last=False)[1])

    def held(self) -> tuple[int, int]:
        """Return the number of snapshots, and their memory in bytes."""
        with self._lock:
            return len(self._snapshots), self._held

    def _forget(self, snapshot: TableSnapshot) -> None:
        self._held -= self._sizes.pop(snapshot)
