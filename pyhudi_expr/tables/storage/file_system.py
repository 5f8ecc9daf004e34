"""Local disks and HDFS: what they have in common by pyarrow's file systems, and what they have not.

A written file gets its name when it is whole: it is written under a hidden name, and renamed.

Local disks are read by the system's own calls, of which a warm question makes a dozen. Whoever may
write a table may make links in it, to files that only the reader of the table may read. A service
reads tables with links confined: what is not below the table's directory is an error.
"""

from __future__ import annotations

import os
import stat
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import IO, cast

import pyarrow as pa
from pyarrow import fs

from pyhudi_expr.tables.parsing.budget import check_file_size
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


#: Windows has no such flag.
_DO_NOT_WAIT = getattr(os, "O_NONBLOCK", 0)


def opened(path: str, within: str | None = None) -> tuple[int, int]:
    """Open a regular file; return its descriptor, which the caller closes, and its size in bytes.

    To open a named pipe would wait for its writer, and a device has no end.

    Args:
        path: The file.
        within: See `check_within`.

    Raises:
        OSError: There is none, it is no regular file, or it is elsewhere.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | _DO_NOT_WAIT)
    try:
        check_within(descriptor, path, within)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no regular file")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, status.st_size


def check_within(descriptor: int, path: str, within: str | None) -> None:
    """Check that what was opened is below a directory.

    The open file is asked, and not its name, which may have become a link since.

    Args:
        descriptor: The open file or directory.
        path: The name by which it was opened.
        within: The directory, without links in its path; None: all are right.

    Raises:
        OSError: It is elsewhere.
    """
    if within is None:
        return
    try:
        place = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # There is no /proc but in Linux.
        place = os.path.realpath(path)
    check_place(place, path, within)


def check_place(place: str, path: str, within: str) -> None:
    """Check that a path without links is below a directory. Raises OSError."""
    if not f"{place}/".startswith(f"{within}/"):
        raise OSError(f"{path} leads out of the table by a link, or by '..': it is not read")


@dataclass(frozen=True)
class LocalRanges:
    """A local file as ranges of bytes. Thread safe; it is closed with its last reference.

    Attributes:
        descriptor: The open file.
        length: Its length in bytes.
    """

    descriptor: int
    length: int

    @staticmethod
    def open(path: str, within: str | None = None) -> LocalRanges:
        """Open a file. Arguments and errors are those of `opened`."""
        ranges = LocalRanges(*opened(path, within))
        descriptor = ranges.descriptor
        weakref.finalize(ranges, os.close, descriptor)
        return ranges

    def size(self) -> int:
        """Return the length in bytes."""
        return self.length

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Read bytes at an offset; fewer at the file's end."""
        return os.pread(self.descriptor, nbytes, offset)

    def will_need(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Ask the system to read ranges (offset, length) from the disk, where it can be asked."""
        if hasattr(os, "posix_fadvise"):
            for offset, length in ranges:
                os.posix_fadvise(self.descriptor, offset, length, os.POSIX_FADV_WILLNEED)


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
            content = os.read(descriptor, size + 1)
            if len(content) == size:
                return content
            # It has changed since, or is longer than the system reads at once.
            rest = iter(lambda: os.read(descriptor, _READ_BYTES), b"")
            return b"".join((content, *rest))
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

    def _entries(self, path: str) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """Open a directory."""
        return os.scandir(path) if self.within is None else self._entries_within(path)

    @contextmanager
    def _entries_within(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
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
