"""Requests that are sent before their results are asked for, so that they wait at the same time.

Code that reads a table needs one file after another. Over a network it would wait for each. A
caller that knows what will be read announces it (`Storage.expect`): the requests are sent at once,
and each read takes the result of its own. Announcements change no result: what was not announced is
read as usual, what was announced is used by one read at most, and what was not used is dropped at
the end. So a read never gets what was there before the question began.

A result may be older than what was read after its request was sent. Who needs one that is not
announces it then, and who finds in between that the table has changed drops all announcements
(`Storage.forget_expected`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import IO, Any, Protocol, TypeVar

import pyarrow as pa
from pyarrow import fs

from pyhudi_expr.tables.storage.entries import Backend, Expected, FileEntry, VersionedFile
from pyhudi_expr.tables.storage.object_file_system import (
    ObjectRanges,
    Ranges,
    native_file,
    tail_start,
)

_T = TypeVar("_T")
_RANGE = "range"


class RemoteBackend(Backend, Ranges, Protocol):
    """A backend whose calls are requests over the network."""

    def open_ranges(self, path: str, size: int | None) -> ObjectRanges:
        """Open a file to read ranges of it."""


@dataclass(frozen=True, eq=False)
class ReadAheadBackend:
    """A remote storage during one question. Thread safe."""

    store: RemoteBackend
    pool: ThreadPoolExecutor
    _sent: dict[tuple[object, ...], Future[Any]] = field(default_factory=dict, repr=False)
    _unchanging: set[tuple[object, ...]] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __reduce__(self) -> tuple[Callable[[Backend], Backend], tuple[Backend]]:
        """Pickle as the store itself."""
        return _itself, (self.store,)

    def reading_ahead(self, pool: ThreadPoolExecutor) -> Backend:
        """Return the store during another question."""
        return ReadAheadBackend(self.store, pool)

    def expect(self, expected: Expected) -> None:
        """Send the requests for what will be read; paths are the store's own."""
        with self._lock:
            self._unchanging.update(("file", path) for path in expected.unchanging)
        for path in (*expected.files, *expected.unchanging):
            self._send(("file", path), self.store.read_versioned, path)
        for path in expected.directories:
            self._send(("list", path), self.store.list, path, False)
        for path, size in expected.inputs:
            start = tail_start(size)
            if size > start:
                key = (_RANGE, path, start, size - start)
                self._send(key, self.store.read_range, path, start, size - start)

    def forget(self) -> None:
        """See `Backend`."""
        with self._lock:
            self._cancel(list(self._sent))

    def drop(self) -> None:
        """See `Backend`."""
        with self._lock:
            self._cancel(
                [key for key in self._sent if key[0] != _RANGE and key not in self._unchanging]
            )

    def _cancel(self, keys: Sequence[tuple[object, ...]]) -> None:
        for key in keys:
            self._sent.pop(key).cancel()

    @property
    def is_remote(self) -> bool:
        """True, see `Backend`."""
        return True

    @property
    def has_conditional_writes(self) -> bool:
        """See `Backend`."""
        return self.store.has_conditional_writes

    @property
    def filesystem(self) -> fs.FileSystem:
        """See `Backend`."""
        return self.store.filesystem

    @property
    def client_options(self) -> Mapping[str, str]:
        """See `Backend`."""
        return self.store.client_options

    def list(self, path: str, recursive: bool) -> Sequence[FileEntry]:
        """See `Backend`."""
        if recursive:
            return self.store.list(path, recursive)
        return self._take(("list", path), self.store.list, path, False)

    def names(self, path: str) -> Sequence[str]:
        """See `Backend`."""
        return [entry.name for entry in self.list(path, recursive=False) if entry.is_file]

    def stat(self, path: str) -> FileEntry | None:
        """See `Backend`."""
        return self.store.stat(path)

    def read(self, path: str) -> bytes:
        """See `Backend`."""
        found = self.read_versioned(path)
        if found is None:
            raise FileNotFoundError(path)
        return found.content

    def read_versioned(self, path: str) -> VersionedFile | None:
        """See `Backend`."""
        return self._take(("file", path), self.store.read_versioned, path)

    def read_if_present(self, path: str) -> bytes | None:
        """Read a whole object; None if it does not exist."""
        found = self.read_versioned(path)
        return None if found is None else found.content

    def open_input(self, path: str, size: int | None) -> pa.NativeFile:
        """See `Backend`."""
        return native_file(self.open_ranges(path, size))

    def open_ranges(self, path: str, size: int | None) -> ObjectRanges:
        """See `Backend`."""
        return replace(self.store.open_ranges(path, size), backend=self)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Read bytes of an object."""
        key = (_RANGE, path, start, length)
        return self._take(key, self.store.read_range, path, start, length)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        """Read several ranges of an object (start, length) at once."""
        return self.store.read_ranges(path, ranges)

    def writing(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """See `Backend`."""
        return self.store.writing(path)

    def create(self, path: str, content: bytes) -> bool:
        """See `Backend`."""
        return self.store.create(path, content)

    def replace(self, path: str, content: bytes, version: str) -> str | None:
        """See `Backend`."""
        return self.store.replace(path, content, version)

    def move(self, source: str, target: str) -> None:
        """See `Backend`."""
        self.store.move(source, target)

    def delete(self, path: str) -> None:
        """See `Backend`."""
        self.store.delete(path)

    def delete_dir(self, path: str) -> None:
        """See `Backend`."""
        self.store.delete_dir(path)

    def _send(self, key: tuple[object, ...], request: Callable[..., Any], *args: object) -> None:
        with self._lock:
            if key not in self._sent:
                self._sent[key] = self.pool.submit(request, *args)

    def _take(self, key: tuple[object, ...], request: Callable[..., _T], *args: object) -> _T:
        with self._lock:
            sent: Future[_T] | None = self._sent.pop(key, None)
        return request(*args) if sent is None else sent.result()


def _itself(store: Backend) -> Backend:
    return store
