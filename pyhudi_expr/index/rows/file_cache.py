"""Files that were evaluated, kept for later questions up to a limit of memory."""

from __future__ import annotations

import threading
from collections import OrderedDict

from pyhudi_expr.index.rows.known_file import KnownFile

_Key = tuple[str, str, int]


class FileCache:
    """Files by their table, path and size. Thread safe.

    Hudi writes another file under another name. If one of the same path and size had another
    content, its reader would see that by the digest of its footer.
    """

    def __init__(self, limit: int) -> None:
        """Create an empty cache of so many bytes."""
        self._limit = limit
        self._lock = threading.Lock()
        self._files: OrderedDict[_Key, tuple[KnownFile, int]] = OrderedDict()
        self._held = 0

    @property
    def nbytes(self) -> int:
        """Memory of the files in bytes (estimated)."""
        return self._held

    def get(self, table: str, path: str, size: int) -> KnownFile | None:
        """Return a file; None if it is not kept."""
        key = table, path, size
        with self._lock:
            known = self._files.get(key)
            if known is None:
                return None
            self._files.move_to_end(key)
            return known[0]

    def keep(self, table: str, file: KnownFile) -> None:
        """Keep a file, with what was read of it so far; the least recently used ones go."""
        key, size = (table, *file.key), file.nbytes
        with self._lock:
            _, before = self._files.pop(key, (file, 0))
            self._files[key] = file, size
            self._held += size - before
            while self._held > self._limit and self._files:
                _, (_, freed) = self._files.popitem(last=False)
                self._held -= freed
