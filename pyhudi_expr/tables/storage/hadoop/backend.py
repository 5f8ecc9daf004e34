"""HDFS by WebHDFS. A written file gets its name when it is whole: it is renamed in one step."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import IO, Any, cast

import pyarrow as pa
from pyarrow import fs

from pyhudi_expr.tables.storage.entries import (
    Backend,
    DirectBackend,
    FileEntry,
    VersionedFile,
    replace_under_lock,
)
from pyhudi_expr.tables.storage.file_system import UNFINISHED
from pyhudi_expr.tables.storage.hadoop.client import WebHdfsClient, client
from pyhudi_expr.tables.storage.hadoop.connections import Body
from pyhudi_expr.tables.storage.hadoop.name_nodes import NameNodes
from pyhudi_expr.tables.storage.object_file_system import ObjectRanges, native_file
from pyhudi_expr.tables.storage.read_ahead import ReadAheadBackend

_SPOOLED_BYTES = 16 << 20
_RANGES_AT_ONCE = 16
_MS = 1_000_000


@dataclass(frozen=True)
class WebHdfsBackend(DirectBackend):
    """The files of one HDFS, by paths without a leading slash."""

    name_nodes: NameNodes

    @property
    def is_remote(self) -> bool:
        """True: each call is a request to a NameNode, and often one to a DataNode."""
        return True

    @property
    def has_conditional_writes(self) -> bool:
        """False: writers hold the table's lock."""
        return False

    @property
    def filesystem(self) -> fs.FileSystem:
        """The same files for pyarrow's datasets."""
        from pyhudi_expr.tables.storage.object_file_system import ObjectFileSystem

        return fs.PyFileSystem(ObjectFileSystem(self))

    @property
    def client_options(self) -> Mapping[str, str]:
        """None: Rust's `object_store` does not read HDFS."""
        return {}

    @property
    def _client(self) -> WebHdfsClient:
        return client(self.name_nodes)

    def reading_ahead(self, pool: ThreadPoolExecutor) -> Backend:
        """Return the files during one question."""
        return ReadAheadBackend(self, pool)

    def list(self, path: str, recursive: bool) -> Sequence[FileEntry]:
        """Return the entries of a directory; none if it does not exist."""
        try:
            found = self._client.ask("LISTSTATUS", f"/{path}")
        except FileNotFoundError:
            return []
        entries = [_entry(path, status) for status in found["FileStatuses"]["FileStatus"]]
        if len(entries) == 1 and entries[0].path == path and entries[0].is_file:
            raise NotADirectoryError(path)
        if recursive:
            for directory in [entry for entry in entries if not entry.is_file]:
                entries += self.list(directory.path, recursive)
        return entries

    def stat(self, path: str) -> FileEntry | None:
        """Return the file or directory; None if it does not exist."""
        try:
            found = self._client.ask("GETFILESTATUS", f"/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _entry(path, found["FileStatus"])

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        return self._client.read(f"/{path}")

    def read_if_present(self, path: str) -> bytes | None:
        """Read a whole file; None if it does not exist."""
        try:
            return self.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read_versioned(self, path: str) -> VersionedFile | None:
        """Read a whole file; its version is a digest of the content."""
        content = self.read_if_present(path)
        return None if content is None else VersionedFile.of(content)

    def open_input(self, path: str, size: int | None) -> pa.NativeFile:
        """Open a file for random access, without a request if the size is known."""
        return native_file(self.open_ranges(path, size))

    def open_ranges(self, path: str, size: int | None) -> ObjectRanges:
        """Open a file to read ranges of it."""
        if size is not None:
            return ObjectRanges(self, path, size)
        found = self.stat(path)
        if found is None:
            raise FileNotFoundError(path)
        return ObjectRanges(self, path, found.size)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Read bytes of a file."""
        return self._client.read(f"/{path}", offset=str(start), length=str(length))

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        """Read several ranges of a file (start, length) at once."""
        starts, lengths = zip(*ranges, strict=True)
        paths = [path] * len(ranges)
        return [*_pool(os.getpid()).map(self.read_range, paths, starts, lengths)]

    @contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        """Open a stream to a file, which appears if the context ends without an error."""
        with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as spool:
            yield cast("IO[bytes]", spool)
            self._publish(cast("IO[bytes]", spool), path, "OVERWRITE")

    def create(self, path: str, content: bytes) -> bool:
        """Write a file unless it exists: one of several processes succeeds."""
        with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as spool:
            spool.write(content)
            try:
                self._publish(cast("IO[bytes]", spool), path, "NONE")
            except FileExistsError:
                return False
        return True

    def replace(self, path: str, content: bytes, version: str) -> str | None:
        """Write a file if it has this version, in two steps: the caller holds a lock."""
        return replace_under_lock(self, path, content, version)

    def move(self, source: str, target: str) -> None:
        """Rename a file; the target must not exist."""
        self._client.ask("MKDIRS", f"/{target.rpartition('/')[0]}")
        self._client.rename(f"/{source}", f"/{target}", "NONE")

    def delete(self, path: str) -> None:
        """Delete the file if it exists."""
        self._client.ask("DELETE", f"/{path}", recursive="false")

    def delete_dir(self, path: str) -> None:
        """Delete the directory with all its contents, if it exists."""
        self._client.ask("DELETE", f"/{path}", recursive="true")

    def _publish(self, content: IO[bytes], path: str, how: str) -> None:
        """Write a hidden file, and rename it."""
        directory, _, name = path.rpartition("/")
        hidden = f"{directory}/.{name}.{uuid.uuid4().hex}{UNFINISHED}".lstrip("/")
        try:
            self._client.write(f"/{hidden}", Body(content, content.seek(0, 2)))
            self._client.rename(f"/{hidden}", f"/{path}", how)
        except BaseException:
            with suppress(OSError):
                self.delete(hidden)
            raise


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_RANGES_AT_ONCE, thread_name_prefix="pyhudi-ranges")


def _entry(path: str, status: Mapping[str, Any]) -> FileEntry:
    """Return an entry of WebHDFS's JSON: `path` itself, or one with a suffix below it."""
    suffix = status["pathSuffix"]
    full = f"{path}/{suffix}".strip("/") if suffix else path
    is_file = status["type"] == "FILE"
    size = int(status["length"]) if is_file else 0
    modified_ns = int(status["modificationTime"]) * _MS
    return FileEntry(full.rpartition("/")[2], full, size, is_file, modified_ns)
