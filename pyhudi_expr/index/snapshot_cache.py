"""Tables kept between requests, up to a limit of memory."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from typing import TypeAlias

from pyhudi_expr.index.shared_calls import SharedCalls
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.listing import TableView

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
        self._seen: dict[TableSnapshot, float] = {}
        self._looks = SharedCalls[bool]()
        self._held = 0
        self._lock = threading.Lock()

    def get(self, key: SnapshotKey) -> TableSnapshot | None:
        """Return the snapshot of a key, whether it is current or not."""
        with self._lock:
            return self._snapshots.get(key)

    def current(self, key: SnapshotKey, asked: float) -> TableSnapshot | None:
        """Return the snapshot of a key, as the most recently used one, if it is current.

        It is if neither the table nor its extension has changed when they are looked at, which is
        now, or was for another question at `asked` or later.

        Args:
            key: What is asked about.
            asked: When it was asked, of `time.monotonic`.

        Raises:
            HudiError: The table cannot be read.
        """
        known = self.get(key)
        if known is None or not self._was_current(known, asked):
            return None
        self.use(key)
        return known

    def use(self, key: SnapshotKey) -> None:
        """Make the snapshot of a key the most recently used one, if there is one."""
        with self._lock:
            if key in self._snapshots:
                self._snapshots.move_to_end(key)

    def _was_current(self, snapshot: TableSnapshot, asked: float) -> bool:
        with self._lock:
            if self._seen.get(snapshot, -math.inf) >= asked:
                return True
        began = time.monotonic()
        # Over a network questions that come while the table is looked at wait for one more look.
        is_remote = snapshot.table.storage.is_remote
        look = snapshot.is_current
        if not (self._looks.call(snapshot, look) if is_remote else look()):
            return False
        with self._lock:
            if snapshot in self._seen:
                self._seen[snapshot] = max(began, self._seen[snapshot])
        return True

    def keep(self, key: SnapshotKey, snapshot: TableSnapshot, seen: float) -> None:
        """Keep a snapshot, as the most recently used one, in place of that of its key.

        Args:
            key: What was opened.
            snapshot: The snapshot.
            seen: When its opening began, of `time.monotonic`.
        """
        with self._lock:
            if key in self._snapshots:
                self._forget(self._snapshots.pop(key))
            self._snapshots[key] = snapshot
            self._sizes[snapshot] = 0
            self._seen[snapshot] = seen
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
        del self._seen[snapshot]
