"""Tables kept between questions, up to a limit of memory.

A question gets a snapshot that is equal to a state of the table which was read after the question
had come. Over a network, that reading is one more wait; questions share it, and those that come
while a table is being opened have done it before the table is open.

Locks: who reads a table holds its turn, of opening or of looking, which no other table needs. The
lock of the cache guards what is known of all tables; nothing is read while it is held. They are
taken in this order: opening, looking, cache. A turn lives as long as somebody has it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakValueDictionary

from pyhudi_expr.index.known_tables import TableState, expect_opening, expect_state
from pyhudi_expr.index.opening import SnapshotOptions
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.storage import Storage

_Key: TypeAlias = tuple[str, TableView, str | None]
"""A table's base path, what is read of it, and the instant of time travel."""


@dataclass(frozen=True)
class _Look:
    """What was found when a table was looked at: its state, or why that cannot be read."""

    began: float
    found: TableState | BaseException

    def state(self) -> TableState:
        """Return the state of a moment after the look began.

        Raises:
            HudiError: The table could not be read.
        """
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


@dataclass(eq=False)
class _Looking:
    """The turn of those who look at a table, and the latest look."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    latest: _Look | None = None


@dataclass
class _Kept:
    """What is known of a snapshot that is kept.

    Attributes:
        seen: When the latest look, or the opening, began that found the table in its state.
        nbytes: Its memory, as it was measured last.
    """

    seen: float
    nbytes: int = 0


class SnapshotCache:
    """The most recently used snapshots of tables. Thread safe.

    The newest one stays, whatever its size. Snapshots grow while questions read their indexes, so
    `measure` is called after each.
    """

    def __init__(self, limit: int, storage_options: Mapping[str, str] | None) -> None:
        """Keep none yet.

        Args:
            limit: Memory for snapshots, in bytes.
            storage_options: See `Storage.open`.
        """
        self._limit = limit
        self._storage_options = storage_options
        self._snapshots: OrderedDict[_Key, TableSnapshot] = OrderedDict()  # the latest used is last
        self._kept: dict[TableSnapshot, _Kept] = {}
        self._held = 0
        self._openings: WeakValueDictionary[_Key, threading.Lock] = WeakValueDictionary()
        self._lookings: WeakValueDictionary[str, _Looking] = WeakValueDictionary()
        self._lock = threading.Lock()

    def current(self, base_path: str, options: SnapshotOptions, asked: float) -> TableSnapshot:
        """Return a table as it is at a moment after it was asked about.

        Args:
            base_path: The table.
            options: What is read of it.
            asked: When it was asked, of `time.monotonic`, before this call.

        Raises:
            HudiError: The table cannot be read.
        """
        key, look = _key(base_path, options), None
        known = self._get(key)
        if known is not None:
            if self._was_seen(known, asked):
                return self._used(key, known)
            look = self._look(base_path, asked, known)
            if self._is_in(known, look):
                return self._used(key, known)
        opening = self._opening(key)
        if look is None and opening.locked():
            # What another thread opens may be older than this question.
            look = self._look(base_path, asked, None)
        with opening:
            opened = self._get(key)
            if opened is not None and opened is not known:
                if self._was_seen(opened, asked) or (look and self._is_in(opened, look)):
                    return self._used(key, opened)
                # It may be of a later state than the look.
                if self._is_in(opened, self._look(base_path, time.monotonic(), opened)):
                    return self._used(key, opened)
            return self._open(key, options)

    def recent(self, base_path: str, options: SnapshotOptions) -> TableSnapshot:
        """Return a table as it was opened some time ago, or is now; it may have changed since.

        Raises:
            HudiError: The table cannot be read.
        """
        key = _key(base_path, options)
        known = self._get(key)
        if known is not None:
            return known
        with self._opening(key):
            return self._get(key) or self._open(key, options)

    def keeps(self, base_path: str, options: SnapshotOptions) -> bool:
        """Return whether a table is kept, in whatever state."""
        return self._get(_key(base_path, options)) is not None

    def measure(self, snapshot: TableSnapshot) -> None:
        """Forget the least recently used snapshots beyond the limit; this one has grown."""
        size = snapshot.nbytes
        with self._lock:
            kept = self._kept.get(snapshot)
            if kept is not None:
                self._held += size - kept.nbytes
                kept.nbytes = size
            while self._held > self._limit and len(self._snapshots) > 1:
                self._forget(self._snapshots.popitem(last=False)[1])

    def held(self) -> tuple[int, int]:
        """Return the number of snapshots, and their memory in bytes."""
        with self._lock:
            return len(self._snapshots), self._held

    def _get(self, key: _Key) -> TableSnapshot | None:
        with self._lock:
            return self._snapshots.get(key)

    def _used(self, key: _Key, snapshot: TableSnapshot) -> TableSnapshot:
        """Return a snapshot, and make that of its key the most recently used one."""
        with self._lock:
            if key in self._snapshots:
                self._snapshots.move_to_end(key)
        return snapshot

    def _was_seen(self, snapshot: TableSnapshot, asked: float) -> bool:
        """Return whether another question has found the table in this state since then."""
        with self._lock:
            kept = self._kept.get(snapshot)
            return kept is not None and kept.seen >= asked

    def _is_in(self, snapshot: TableSnapshot, look: _Look) -> bool:
        """Return whether the look found the table in the snapshot's state.

        Raises:
            HudiError: The table could not be read.
        """
        if not snapshot.is_in(look.state()):
            return False
        with self._lock:
            kept = self._kept.get(snapshot)
            if kept is not None:
                kept.seen = max(kept.seen, look.began)
        return True

    def _look(self, base_path: str, asked: float, known: TableSnapshot | None) -> _Look:
        """Return a look at a table which began after a question: a new one, or another question's.

        A look that was under way when the question came may have read what has changed since.

        Args:
            base_path: The table.
            asked: When the question came.
            known: A snapshot of the table, by which less is read.
        """
        with self._lock:
            looking = self._lookings.setdefault(base_path, _Looking())
        with looking.lock:
            if looking.latest is None or looking.latest.began < asked:
                looking.latest = self._new_look(base_path, known)
            return looking.latest

    def _new_look(self, base_path: str, known: TableSnapshot | None) -> _Look:
        began = time.monotonic()
        try:
            return _Look(began, self._state(base_path, known))
        except BaseException as error:  # raised by all who share the look
            return _Look(began, error)

    def _state(self, base_path: str, known: TableSnapshot | None) -> TableState:
        if known is not None:
            return known.state_now()
        with Storage.open(base_path, self._storage_options).reading_ahead() as storage:
            expect_state(storage)
            return TableState.read(storage)

    def _opening(self, key: _Key) -> threading.Lock:
        """Return the turn of those who open a table."""
        with self._lock:
            return self._openings.setdefault(key, threading.Lock())

    def _open(self, key: _Key, options: SnapshotOptions) -> TableSnapshot:
        """Open a table, and keep it; the turn of opening it is held."""
        began = time.monotonic()
        with Storage.open(key[0], self._storage_options).reading_ahead() as storage:
            expect_opening(storage)
            opened = TableSnapshot.open(HudiTable.at(storage), options, self._get(key))
        with self._lock:
            if key in self._snapshots:
                self._forget(self._snapshots.pop(key))
            self._snapshots[key] = opened
            self._kept[opened] = _Kept(began)
        self.measure(opened)
        return opened

    def _forget(self, snapshot: TableSnapshot) -> None:
        self._held -= self._kept.pop(snapshot).nbytes


def _key(base_path: str, options: SnapshotOptions) -> _Key:
    return base_path, options.view, options.as_of
