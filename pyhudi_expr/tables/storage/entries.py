"""What a storage says of a file, and the interface of the backends."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, NamedTuple, Protocol, runtime_checkable

import pyarrow as pa
from pyarrow import fs


class FileEntry(NamedTuple):
    """A file or directory. A tuple, as a directory may have a million, and is listed often.

    Attributes:
        name: Its name within its parent.
        path: Its path; relative to the base path in what `Storage` returns.
        size: Its length in bytes; 0 for a directory.
        is_file: Whether it is a file.
        modified_ns: Its modification time, in nanoseconds since 1970.
        tag: Its version in an object store (ETag); empty elsewhere.
    """

    name: str
    path: str
    size: int
    is_file: bool
    modified_ns: int
    tag: str = ""


@dataclass(frozen=True)
class VersionedFile:
    """A file's content, and the version that a conditional write names."""

    content: bytes
    version: str

    @staticmethod
    def of(content: bytes) -> VersionedFile:
        """Return a file of a storage without versions: its version is a digest of the content."""
        return VersionedFile(content, hashlib.sha256(content).hexdigest())


@dataclass(frozen=True)
class Expected:
    """What will be read.

    Attributes:
        files: Files that are read whole.
        directories: Directories that are listed.
        unchanging: The same of files whose content may be used after the question, too: those that
            are written once, or only have to be as new as what was read before.
        inputs: Files that are opened, with their lengths: their ends are read first.
    """

    files: Sequence[str] = ()
    directories: Sequence[str] = ()
    unchanging: Sequence[str] = ()
    inputs: Sequence[tuple[str, int]] = ()


class RandomAccess(Protocol):
    """The interface of a pyarrow NativeFile, for reading."""

    @property
    def read_at(self) -> Callable[..., bytes]:
        """`read_at(nbytes, offset)` reads so many bytes at an offset."""


@runtime_checkable
class Announced(Protocol):
    """A file whose next ranges can be announced, so that they are read from the disk at once."""

    def will_need(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Announce ranges (offset, length) that `read_at` will ask for."""


@runtime_checkable
class ManyRanges(Protocol):
    """A file of which several ranges can be read at once."""

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        """Read ranges (offset, length), ascending."""


class Backend(Protocol):
    """Files by the backend's own full paths, without a trailing slash.

    Methods raise FileNotFoundError, another OSError or an ArrowException. A backend is a value: it
    can be pickled, and opens its connections on use.
    """

    @property
    def is_remote(self) -> bool:
        """Whether each call is a request over the network, so that calls are worth joining."""

    @property
    def has_conditional_writes(self) -> bool:
        """Whether `replace` compares and writes in one step."""

    @property
    def filesystem(self) -> fs.FileSystem:
        """The same files for pyarrow's datasets."""

    @property
    def client_options(self) -> Mapping[str, str]:
        """The settings of an object store by the names of Rust's `object_store`; may be secret."""

    def reading_ahead(self, pool: ThreadPoolExecutor) -> Backend:
        """Return the files during one question, in which `expect` sends requests to the pool."""

    def expect(self, expected: Expected) -> None:
        """Send the requests for what will be read, see `reading_ahead`; else do nothing."""

    def forget(self) -> None:
        """Drop all that was sent and not used: it may be older than what was read since."""

    def drop(self) -> None:
        """End the question, and drop what was sent and not used, unless it does not change."""

    def list(self, path: str, recursive: bool) -> Sequence[FileEntry]:
        """Return the entries of a directory; none if it does not exist."""

    def names(self, path: str) -> Sequence[str]:
        """Return the names of a directory's files; none if it does not exist."""

    def stat(self, path: str) -> FileEntry | None:
        """Return the file or directory; None if it does not exist."""

    def read(self, path: str) -> bytes:
        """Read a whole file."""

    def read_if_present(self, path: str) -> bytes | None:
        """Read a whole file; None if it does not exist."""

    def read_versioned(self, path: str) -> VersionedFile | None:
        """Read a whole file with its version; None if it does not exist."""

    def open_input(self, path: str, size: int | None) -> pa.NativeFile:
        """Open a file for random access; `size` is its length if the caller knows it."""

    def open_ranges(self, path: str, size: int | None) -> RandomAccess:
        """Open a file to read ranges of it; `ManyRanges` if they can be read at once."""

    def writing(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """Open a stream to a file, which appears if the context ends without an error."""

    def create(self, path: str, content: bytes) -> bool:
        """Write a file unless it exists; return whether this call created it."""

    def replace(self, path: str, content: bytes, version: str) -> str | None:
        """Write a file if it has this version; return its new one, or None if it has another."""

    def move(self, source: str, target: str) -> None:
        """Rename a file; the target must not exist."""

    def delete(self, path: str) -> None:
        """Delete the file if it exists."""

    def delete_dir(self, path: str) -> None:
        """Delete the directory with all its contents, if it exists."""


class DirectBackend(ABC):
    """What is common to the backends that send a request when it is asked for, and not before."""

    @abstractmethod
    def list(self, path: str, recursive: bool) -> Sequence[FileEntry]:
        """See `Backend`."""

    def names(self, path: str) -> Sequence[str]:
        """See `Backend`."""
        return [entry.name for entry in self.list(path, recursive=False) if entry.is_file]

    def expect(self, expected: Expected) -> None:  # noqa: B027 - not to be overridden
        """Do nothing, see `Backend`."""

    def forget(self) -> None:  # noqa: B027 - not to be overridden
        """Do nothing, see `Backend`."""

    def drop(self) -> None:  # noqa: B027 - not to be overridden
        """Do nothing, see `Backend`."""


def replace_under_lock(backend: Backend, path: str, content: bytes, version: str) -> str | None:
    """Write a file if it has this version, in two steps: the caller holds a lock.

    Returns the new version; None if the file has another one, or is missing. Versions are those of
    `VersionedFile.of`.
    """
    known = backend.read_versioned(path)
    if known is None or known.version != version:
        return None
    with backend.writing(path) as stream:
        stream.write(content)
    return VersionedFile.of(content).version
