"""Remote files as a file system of pyarrow: random access by range requests."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa
from pyarrow import fs

if TYPE_CHECKING:
    from pyhudi_expr.tables.storage.entries import Backend, FileEntry


TAIL_BYTES = 64 * 1024
_WHOLE_BYTES = 1024 * 1024
"""A request for so many bytes takes about as long as one for a few."""


class Ranges(Protocol):
    """Reads bytes of objects by their paths."""

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Read bytes of an object."""

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        """Read several ranges of an object (start, length) at once."""


def tail_start(size: int) -> int:
    """Return where the first request for an object of this size starts; it reaches to the end."""
    return 0 if size <= _WHOLE_BYTES else size - TAIL_BYTES


@dataclass
class ObjectRanges:
    """An object as ranges of bytes. Thread safe.

    Small objects are fetched whole, others first by their tail: readers of Parquet files and HFiles
    begin there.

    Attributes:
        backend: Reads the ranges.
        path: The object.
        length: Its length in bytes.
        tail: Its last bytes, if they have been read.
    """

    backend: Ranges
    path: str
    length: int
    tail: bytes | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def size(self) -> int:
        """Return the object's length in bytes."""
        return self.length

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Read bytes at an offset; fewer at the object's end."""
        nbytes = max(min(nbytes, self.length - offset), 0)
        if not nbytes:
            return b""
        if offset >= self._tail_start:
            start = offset - self._tail_start
            return self._read_tail()[start : start + nbytes]
        return self.backend.read_range(self.path, offset, nbytes)

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        """Read several ranges (offset, length) at once."""
        if len(ranges) == 1 or ranges[-1][0] >= self._tail_start:
            return [self.read_at(length, offset) for offset, length in ranges]
        return self.backend.read_ranges(self.path, ranges)

    def close(self) -> None:
        """Do nothing: there is no connection of its own."""

    @property
    def _tail_start(self) -> int:
        return tail_start(self.length) if self.tail is None else self.length - len(self.tail)

    def _read_tail(self) -> bytes:
        with self._lock:
            if self.tail is None:
                start = self._tail_start
                self.tail = self.backend.read_range(self.path, start, self.length - start)
            return self.tail


def native_file(ranges: ObjectRanges) -> pa.NativeFile:
    """Return an object for pyarrow's readers."""
    return pa.PythonFile(cast("io.IOBase", _Stream(ranges)), mode="r")


class _Stream(io.RawIOBase):
    """The position that Python's files have, over ranges."""

    def __init__(self, ranges: ObjectRanges) -> None:
        self._ranges = ranges
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._ranges.length}
        self._position = origin[whence] + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        left = self._ranges.length - self._position
        content = self._ranges.read_at(left if size is None or size < 0 else size, self._position)
        self._position += len(content)
        return content


class ObjectFileSystem(fs.FileSystemHandler):
    """pyarrow's interface to the files of a backend. Reading only: `Storage` writes."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectFileSystem) and other._backend == self._backend

    def __hash__(self) -> int:
        return hash(self._backend)

    def __reduce__(self) -> tuple[type[ObjectFileSystem], tuple[Backend]]:
        return ObjectFileSystem, (self._backend,)

    def get_type_name(self) -> str:
        """Return the name in pyarrow's messages."""
        return "object-store"

    def normalize_path(self, path: str) -> str:
        """Return the path as it is: no character of it has a meaning."""
        return path

    def get_file_info(self, paths: str | list[str]) -> list[fs.FileInfo]:
        """Return what is there of each path."""
        wanted = [paths] if isinstance(paths, str) else paths
        return [_info(path, self._backend.stat(path)) for path in wanted]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        """Return the entries of a directory."""
        found = self._backend.list(selector.base_dir, selector.recursive)
        return [_info(entry.path, entry) for entry in found]

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open a file for random access."""
        return self._backend.open_input(path, None)

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open a file to read it from its start."""
        return self._backend.open_input(path, None)

    def create_dir(self, path: str, recursive: bool) -> None:
        """Do nothing: there are no directories."""

    def delete_dir(self, path: str) -> Any:  # noqa: ANN401, D102 - see _refuse
        return _refuse()

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def delete_root_dir_contents(self) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def delete_file(self, path: str) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def move(self, src: str, dest: str) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def copy_file(self, src: str, dest: str) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def open_output_stream(self, path: str, metadata: Any) -> Any:  # noqa: ANN401, D102
        return _refuse()

    def open_append_stream(self, path: str, metadata: Any) -> Any:  # noqa: ANN401, D102
        return _refuse()


def _refuse() -> None:
    raise NotImplementedError("this file system is for reading; write through Storage")


def _info(path: str, entry: FileEntry | None) -> fs.FileInfo:
    if entry is None:
        return fs.FileInfo(path, fs.FileType.NotFound)
    if not entry.is_file:
        return fs.FileInfo(path, fs.FileType.Directory)
    return fs.FileInfo(path, fs.FileType.File, size=entry.size, mtime_ns=entry.modified_ns)
