"""Local disks: reads by the system's own calls, of which a warm question makes a dozen.

Whoever may write a table may make links in it, to files that only the reader of the table may read.
A service reads tables with links confined: what is not below the table's directory is an error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.tables.parsing.budget import check_file_size
from pyhudi_expr.tables.storage.entries import FileEntry
from pyhudi_expr.tables.storage.file_system import FileSystemBackend, ThereIsOneError
from pyhudi_expr.tables.storage.local_ranges import LocalRanges, check_place, check_within, opened

_READ_BYTES = 1 << 16


@dataclass(frozen=True)
class LocalBackend(FileSystemBackend):
    """Files of the local disks.

    Attributes:
        within: The directory that no link leads out of, without links in its path; None: links may
            lead anywhere.
    """

    within: str | None = None

    def list(self, path: str, recursive: bool) -> list[FileEntry]:
        """Return the entries of a directory; none if it does not exist."""
        if not recursive:
            return [*self._listed(path)]
        if self.within is None:
            return super().list(path, recursive)
        return [*self._listed_below(path)]

    def names(self, path: str) -> Sequence[str]:
        """Return the names of a directory's files; their sizes would cost a call each."""
        try:
            with self._entries(path) as entries:
                return [entry.name for entry in entries if entry.is_file()]
        except FileNotFoundError:
            return []

    def stat(self, path: str) -> FileEntry | None:
        """Return the file or directory; None if it does not exist."""
        if self.within is not None:
            check_place(os.path.realpath(path), path, self.within)
        return super().stat(path)

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        descriptor, size = opened(path, self.within)
        try:
            check_file_size(path, size)
            return b"".join(iter(lambda: os.read(descriptor, _READ_BYTES), b""))
        finally:
            os.close(descriptor)

    def open_input(self, path: str, size: int | None) -> pa.NativeFile:
        """Open a file for random access."""
        if self.within is None:
            return super().open_input(path, size)
        descriptor, _ = opened(path, self.within)
        try:
            return pa.OSFile(f"/dev/fd/{descriptor}", "r")
        finally:
            os.close(descriptor)

    def open_ranges(self, path: str, size: int | None) -> LocalRanges:
        """Open a file to read ranges of it."""
        return LocalRanges.open(path, self.within)

    def _listed(self, path: str) -> Sequence[FileEntry]:
        try:
            with self._entries(path) as entries:
                return [*self._present(path, entries)]
        except FileNotFoundError:
            return []

    def _listed_below(self, path: str) -> Iterator[FileEntry]:
        for entry in self._listed(path):
            yield entry
            if not entry.is_file:
                yield from self._listed_below(entry.path)

    @contextmanager
    def _entries(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        """Open a directory."""
        if self.within is None:
            with os.scandir(path) as entries:
                yield entries
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            check_within(descriptor, path, self.within)
            with os.scandir(descriptor) as entries:
                yield entries
        finally:
            os.close(descriptor)

    def _present(self, path: str, entries: Iterator[os.DirEntry[str]]) -> Iterator[FileEntry]:
        for entry in entries:
            full = f"{path}/{entry.name}"
            if self.within is not None and entry.is_symlink():
                # Links to directories above would be listed for ever.
                raise OSError(f"{full} is a link: links are not listed here")
            try:
                found = entry.stat()
            except FileNotFoundError:
                continue  # It was deleted meanwhile, or links to nothing.
            is_file = stat.S_ISREG(found.st_mode)
            size = found.st_size if is_file else 0
            yield FileEntry(entry.name, full, size, is_file, found.st_mtime_ns)

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
