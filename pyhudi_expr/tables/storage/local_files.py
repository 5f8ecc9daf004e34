"""Local disks: reads by the system's own calls, of which a warm question makes a dozen."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyhudi_expr.tables.parsing.budget import check_file_size
from pyhudi_expr.tables.storage.entries import FileEntry
from pyhudi_expr.tables.storage.file_system import FileSystemBackend, ThereIsOneError
from pyhudi_expr.tables.storage.local_ranges import LocalRanges, opened

_READ_BYTES = 1 << 16


@dataclass(frozen=True)
class LocalBackend(FileSystemBackend):
    """Files of the local disks."""

    def list(self, path: str, recursive: bool) -> list[FileEntry]:
        """Return the entries of a directory; none if it does not exist."""
        if recursive:
            return super().list(path, recursive)
        try:
            with os.scandir(path) as entries:
                return [*_present(entries)]
        except FileNotFoundError:
            return []

    def names(self, path: str) -> Sequence[str]:
        """Return the names of a directory's files; their sizes would cost a call each."""
        try:
            with os.scandir(path) as entries:
                return [entry.name for entry in entries if entry.is_file()]
        except FileNotFoundError:
            return []

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        descriptor, size = opened(path)
        try:
            check_file_size(path, size)
            return b"".join(iter(lambda: os.read(descriptor, _READ_BYTES), b""))
        finally:
            os.close(descriptor)

    def open_ranges(self, path: str, size: int | None) -> LocalRanges:
        """Open a file to read ranges of it."""
        return LocalRanges.open(path)

    def _replace(self, hidden: str, target: str) -> None:
        self._rename(hidden, target)

    def _link(self, hidden: str, target: str) -> None:
        try:
            os.link(hidden, target)
        except FileExistsError as error:
            raise ThereIsOneError from error

    def _rename(self, source: str, target: str) -> None:
        self.filesystem.move(source, target)

    def _changed(self, path: str) -> None:
        """Delete Hadoop's checksum of a file; a stale one would make reads fail."""
        directory, _, name = path.rpartition("/")
        checksum = f"{directory}/.{name}.crc"
        if self._exists(checksum):
            self.filesystem.delete_file(checksum)


def _present(entries: Iterator[os.DirEntry[str]]) -> Iterator[FileEntry]:
    for entry in entries:
        try:
            found = entry.stat()
        except FileNotFoundError:
            continue  # It was deleted meanwhile, or links to nothing.
        is_file = stat.S_ISREG(found.st_mode)
        size = found.st_size if is_file else 0
        yield FileEntry(entry.name, entry.path, size, is_file, found.st_mtime_ns)
