"""HDFS, and what local disks have in common with it, by pyarrow's file systems.

A written file gets its name when it is whole: it is written under a hidden name, and renamed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, cast

import pyarrow as pa
from pyarrow import fs

from pyhudi_expr.tables.storage.entries import (
    Backend,
    DirectBackend,
    FileEntry,
    RandomAccess,
    VersionedFile,
    replace_under_lock,
)

UNFINISHED = ".tmp"
"""The end of the names of files that are being written."""


def is_unfinished(name: str) -> bool:
    """Return whether this is the name of a file that is being written, or whose writer died."""
    return name.startswith(".") and name.endswith(UNFINISHED)


@dataclass(frozen=True)
class FileSystemBackend(DirectBackend):
    """Files of a file system of pyarrow."""

    filesystem: fs.FileSystem

    @property
    def is_remote(self) -> bool:
        """False: a local call costs less than the thread that would make it."""
        return False

    @property
    def has_conditional_writes(self) -> bool:
        """False: writers hold the table's lock."""
        return False

    @property
    def client_options(self) -> Mapping[str, str]:
        """None."""
        return {}

    def reading_ahead(self, pool: ThreadPoolExecutor) -> Backend:
        """Return the files themselves: a request costs little."""
        return self

    def list(self, path: str, recursive: bool) -> list[FileEntry]:
        """Return the entries of a directory; none if it does not exist."""
        selector = fs.FileSelector(path, allow_not_found=True, recursive=recursive)
        return [_entry(info) for info in self.filesystem.get_file_info(selector)]

    def stat(self, path: str) -> FileEntry | None:
        """Return the file or directory; None if it does not exist."""
        info = self.filesystem.get_file_info(path)
        return None if info.type == fs.FileType.NotFound else _entry(info)

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        with self.filesystem.open_input_stream(path) as stream:
            return bytes(stream.read())

    def read_versioned(self, path: str) -> VersionedFile | None:
        """Read a whole file; its version is a digest of the content."""
        try:
            content = self.read(path)
        except FileNotFoundError:
            return None
        return VersionedFile.of(content)

    def read_if_present(self, path: str) -> bytes | None:
        """Read a whole file; None if it does not exist."""
        try:
            return self.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def open_input(self, path: str, size: int | None) -> pa.NativeFile:
        """Open a file for random access."""
        return self.filesystem.open_input_file(path)

    def open_ranges(self, path: str, size: int | None) -> RandomAccess:
        """Open a file to read ranges of it."""
        return self.open_input(path, size)

    @contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        """Open a stream to a file, which appears if the context ends without an error."""
        with self._publishing(path, self._replace) as stream:
            yield stream

    def create(self, path: str, content: bytes) -> bool:
        """Write a file unless it exists: one of several processes succeeds."""
        try:
            with self._publishing(path, self._link) as stream:
                stream.write(content)
        except ThereIsOneError:
            return False
        return True

    def replace(self, path: str, content: bytes, version: str) -> str | None:
        """Write a file if it has this version, in two steps: the caller holds a lock."""
        return replace_under_lock(self, path, content, version)

    def move(self, source: str, target: str) -> None:
        """Rename a file; the target must not exist."""
        self._create_dir(_parent(target))
        self._rename(source, target)

    def delete(self, path: str) -> None:
        """Delete the file if it exists."""
        if self._exists(path):
            self.filesystem.delete_file(path)
        self._changed(path)

    def delete_dir(self, path: str) -> None:
        """Delete the directory with all its contents, if it exists."""
        if self._exists(path):
            self.filesystem.delete_dir(path)

    @contextmanager
    def _publishing(self, target: str, publish: Callable[[str, str], None]) -> Iterator[IO[bytes]]:
        parent = _parent(target)
        hidden = f"{parent}/.{target.rpartition('/')[2]}.{uuid.uuid4().hex}{UNFINISHED}"
        self._create_dir(parent)
        try:
            with self.filesystem.open_output_stream(hidden) as stream:
                yield cast("IO[bytes]", stream)
            publish(hidden, target)
        finally:
            if self._exists(hidden):
                self.filesystem.delete_file(hidden)
        self._changed(target)

    def _replace(self, hidden: str, target: str) -> None:
        if self._exists(target):
            self.filesystem.delete_file(target)  # HDFS renames to new names only
        self._rename(hidden, target)

    def _link(self, hidden: str, target: str) -> None:
        if self._exists(target):
            raise ThereIsOneError
        try:
            self._rename(hidden, target)
        except OSError as error:
            if self._exists(target):  # another process was faster
                raise ThereIsOneError from error
            raise

    def _create_dir(self, path: str) -> None:
        self.filesystem.create_dir(path, recursive=True)

    def _rename(self, source: str, target: str) -> None:
        self.filesystem.move(source, target)
        # WebHDFS answers false, which its client does not report.
        if self._exists(source):
            raise FileExistsError(f"{source} could not be renamed to {target}")

    def _changed(self, path: str) -> None:
        """Notice that a file was written or deleted."""

    def _exists(self, path: str) -> bool:
        found = self.filesystem.get_file_info(path).type != fs.FileType.NotFound
        return bool(found)


class ThereIsOneError(Exception):
    """A file of this name exists; `create` returns False."""


def _entry(info: fs.FileInfo) -> FileEntry:
    is_file = info.type == fs.FileType.File
    size = int(info.size or 0) if is_file else 0
    return FileEntry(info.base_name, info.path, size, is_file, int(info.mtime_ns or 0))


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
