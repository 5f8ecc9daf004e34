"""Tables as they are when a question is asked: opened once, and checked for each question.

A question gets a snapshot that is equal to a state of the table which was read after the question
had come. Over a network, that reading is one more wait; questions share it, and those that come
while a table is being opened have done it before the table is open.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from pyhudi_expr.index.expected_reads import expect_opening, expect_state
from pyhudi_expr.index.opening import SnapshotOptions
from pyhudi_expr.index.shared_calls import SharedCalls
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.snapshot_cache import SnapshotCache, SnapshotKey
from pyhudi_expr.index.table_state import TableState
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage


class CurrentSnapshots:
    """Snapshots that are kept between questions. Thread safe."""

    def __init__(self, limit: int, storage_options: Mapping[str, str] | None) -> None:
        """Keep none yet.

        Args:
            limit: Memory for snapshots, in bytes.
            storage_options: See `Storage.open`.
        """
        self._kept = SnapshotCache(limit)
        self._storage_options = storage_options
        self._lock = threading.Lock()
        self._opening: dict[SnapshotKey, threading.Lock] = {}
        self._states = SharedCalls[TableState]()

    def current(self, base_path: str, options: SnapshotOptions, asked: float) -> TableSnapshot:
        """Return a table as it is at a moment after it was asked about.

        Args:
            base_path: The table.
            options: What is read of it.
            asked: When it was asked, of `time.monotonic`, before this call.

        Raises:
            HudiError: The table cannot be read.
        """
        key = _key(base_path, options)
        known = self._kept.current(key, asked)
        if known is not None:
            return known
        opening = self._opening_of(key)
        # What another thread opens may be older than this question.
        state = self._state(base_path) if opening.locked() else None
        with self._held(key, opening):
            return self._in_state(key, state, asked) or self._open(base_path, options)

    def recent(self, base_path: str, options: SnapshotOptions) -> TableSnapshot:
        """Return a table as it was opened some time ago, or is now; it may have changed since.

        Raises:
            HudiError: The table cannot be read.
        """
        key = _key(base_path, options)
        known = self._kept.get(key)
        if known is not None:
            return known
        with self._held(key, self._opening_of(key)):
            return self._kept.get(key) or self._open(base_path, options)

    def keeps(self, base_path: str, options: SnapshotOptions) -> bool:
        """Return whether a table is kept, in whatever state."""
        return self._kept.get(_key(base_path, options)) is not None

    def measure(self, snapshot: TableSnapshot) -> None:
        """Consider that a snapshot has grown, see `SnapshotCache`."""
        self._kept.measure(snapshot)

    def held(self) -> tuple[int, int]:
        """Return the number of snapshots, and their memory in bytes."""
        return self._kept.held()

    def _opening_of(self, key: SnapshotKey) -> threading.Lock:
        """Return the lock that is held by who opens a table."""
        with self._lock:
            return self._opening.setdefault(key, threading.Lock())

    @contextmanager
    def _held(self, key: SnapshotKey, opening: threading.Lock) -> Iterator[None]:
        """Hold that lock, which is forgotten afterwards."""
        with opening:
            try:
                yield
            finally:
                with self._lock:
                    self._opening.pop(key, None)

    def _open(self, base_path: str, options: SnapshotOptions) -> TableSnapshot:
        """Open a table, and keep it. The lock for that is held."""
        key, began = _key(base_path, options), time.monotonic()
        with Storage.open(base_path, self._storage_options).reading_ahead() as storage:
            expect_opening(storage)
            opened = TableSnapshot.open(HudiTable.at(storage), options, self._kept.get(key))
        self._kept.keep(key, opened, began)
        return opened

    def _state(self, base_path: str) -> TableState:
        """Return a table's state as it was read after this call began."""
        return self._states.call(base_path, partial(_read_state, base_path, self._storage_options))

    def _in_state(
        self, key: SnapshotKey, state: TableState | None, asked: float
    ) -> TableSnapshot | None:
        """Return the kept snapshot if it is in this state, or in that of now."""
        known = self._kept.get(key)
        if known is None or state is None or not known.is_in(state):
            return self._kept.current(key, asked)
        self._kept.use(key)
        return known


def _key(base_path: str, options: SnapshotOptions) -> SnapshotKey:
    return base_path, options.view, options.as_of


def _read_state(base_path: str, storage_options: Mapping[str, str] | None) -> TableState:
    with Storage.open(base_path, storage_options).reading_ahead() as storage:
        expect_state(storage)
        return TableState.read(storage)
