"""A table's directory in any kind of storage. Paths are relative to the base path.

Written files appear whole or not at all. In object stores, and on file systems with an atomic
rename (local, HDFS), readers of a file that is replaced see the old or the new one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import IO, NamedTuple, TypeVar

import pyarrow as pa
from pyarrow import fs

from pyhudi_expr.arrays import READ_ERRORS
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.parsing.budget import in_context
from pyhudi_expr.tables.storage.entries import (
    Backend,
    Expected,
    FileEntry,
    RandomAccess,
    VersionedFile,
)
from pyhudi_expr.tables.storage.locations import locate, split_scheme, store_of, trim
from pyhudi_expr.tables.storage.process_options import (
    block_options,
    joined_options,
    process_options,
)

_REQUESTS_AT_ONCE = 128
_T = TypeVar("_T")
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Storage:
    """A directory of a file system or an object store.

    Attributes:
        uri: As the user gave it.
        backend: Reads and writes the files.
        root: The backend's own path of the directory, without a trailing slash.
        options: Those of the call that opened it, and of its block. They may be secret, so `repr`
            omits them.
    """

    uri: str
    backend: Backend
    root: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def open(uri: str, options: Mapping[str, str] | None = None) -> Storage:
        """Open a path or URI; no request is made.

        Supported are `/a`, `file:/a`, `file:///a`; `hdfs://service/a`, `viewfs://table/a`,
        `webhdfs://host:port/a` and, with TLS, `swebhdfs://host:port/a`;
        `s3://bucket/a` (also s3a, s3n), `gs://bucket/a`,
        `abfss://container@account.dfs.core.windows.net/a` (also abfs, wasb, wasbs) and
        `oss://bucket/a`. A path without a scheme or a leading slash is relative to the working
        directory. hdfs and viewfs need Hadoop's native library, or the option `hdfs_via=webhdfs`,
        by which HDFS's REST interface is used, see `hadoop`.

        Args:
            uri: The path or URI.
            options: Credentials, endpoints and other settings of the storage, see
                `object_options`. They win over those of a block (`using_storage_options`), and
                these over those of the process (`set_storage_options`).

        Raises:
            HudiError: The URI or an option cannot be used.
        """
        given = joined_options(block_options(), options or {})
        location = locate(uri, joined_options(process_options(), given))
        return Storage(uri, location.backend, location.path, given)

    @contextmanager
    def reading_ahead(self) -> Iterator[Storage]:
        """Return this storage for one question: what is announced by `expect` is read at once.

        Local disks are read as always. The storage may be used after the context, too; it then
        reads as usual.
        """
        backend = self.backend.reading_ahead(_pool(os.getpid()))
        try:
            yield Storage(self.uri, backend, self.root, self.options)
        finally:
            backend.drop()

    def expect(self, expected: Expected) -> None:
        """Send the requests for what will be read; does nothing outside of `reading_ahead`."""
        if not self.is_remote:
            return
        self.backend.expect(
            Expected(
                files=[self.full(path) for path in expected.files],
                directories=[self.full(path) for path in expected.directories],
                unchanging=[self.full(path) for path in expected.unchanging],
                inputs=[(self.full(path), size) for path, size in expected.inputs],
            )
        )

    def forget_expected(self) -> None:
        """Drop what was announced and not read: the table has changed since."""
        self.backend.forget()

    @property
    def aws_keys(self) -> Mapping[str, str]:
        """AWS's keys, which are secret, among the options of the storage and the process."""
        from pyhudi_expr.tables.storage.object_options import aws_keys

        return aws_keys(joined_options(process_options(), self.options))

    @property
    def filesystem(self) -> fs.FileSystem:
        """The same files for pyarrow's datasets, by the paths of `full`."""
        return self.backend.filesystem

    @property
    def client_options(self) -> Mapping[str, str]:
        """The settings of an object store by the names of Rust's `object_store`; may be secret."""
        return self.backend.client_options

    @property
    def is_remote(self) -> bool:
        """Whether each call is a request over the network."""
        return self.backend.is_remote

    @property
    def has_conditional_writes(self) -> bool:
        """Whether `replace` compares and writes in one step."""
        return self.backend.has_conditional_writes

    def child(self, path: str) -> Storage:
        """Return the directory `path` below this one as a storage."""
        uri = f"{self.uri.rstrip('/')}/{path}"
        return Storage(uri, self.backend, self.full(path), self.options)

    def parents(self) -> Iterator[Storage]:
        """Return the directories above this one, the nearest first.

        The last one is the root of an object store, or a directory in that of a file system.
        """
        root = self.root
        while "/" in root.lstrip("/") or (root and not root.startswith("/")):
            root = root.rpartition("/")[0]
            yield replace(self, uri=f"{store_of(self.uri)}/{root.lstrip('/')}", root=root)

    def resolve(self, location: str) -> Storage:
        """Return a directory by relative path, absolute path on the same file system, or URI."""
        if split_scheme(location)[0]:
            return Storage.open(location, self.options)
        if location.startswith("/"):
            path = location.strip("/") if self.is_remote else trim(location)
            return replace(self, uri=location, root=path)
        return self.child(location)

    def contains(self, other: Storage) -> bool:
        """Return whether another directory is this one or lies in it, by their names and links."""
        ours, theirs = _place(self), _place(other)
        return ours[0] == theirs[0] and f"{theirs[1]}/".startswith(f"{ours[1].rstrip('/')}/")

    def full(self, path: str) -> str:
        """Return the backend's own path of a relative path.

        Raises:
            HudiError: It has a part `..`. Paths come from a table's files, and stay below it.
        """
        if ".." in path and ".." in path.split("/"):
            raise HudiError(f"{self.uri}: {path!r} has a part '..', which leads out of the table")
        if not path:
            return self.root or ("" if self.is_remote else "/")
        return f"{self.root}/{path}" if self.root or not self.is_remote else path

    def list(self, path: str = "", recursive: bool = False) -> list[FileEntry]:
        """Return the entries of a directory, hidden files included; empty if it does not exist.

        With `recursive`, the directories below it may be left out.
        """
        with _Translated(self.uri, path):
            return [
                self._relative(entry) for entry in self.backend.list(self.full(path), recursive)
            ]

    def names(self, path: str) -> Sequence[str]:
        """Return the names of a directory's files: quicker than `list`; none if it is missing."""
        with _Translated(self.uri, path):
            return self.backend.names(self.full(path))

    def stat(self, path: str) -> FileEntry | None:
        """Return the file or directory; None if it does not exist."""
        with _Translated(self.uri, path):
            found = self.backend.stat(self.full(path))
        return None if found is None else self._relative(found)

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        with _Translated(self.uri, path):
            return self.backend.read(self.full(path))

    def read_versioned(self, path: str) -> VersionedFile | None:
        """Read a whole file, and its version for `replace`; None if it does not exist."""
        with _Translated(self.uri, path):
            return self.backend.read_versioned(self.full(path))

    def read_if_present(self, path: str) -> bytes | None:
        """Read a whole file; None if it does not exist."""
        with _Translated(self.uri, path):
            return self.backend.read_if_present(self.full(path))

    def at_once(self, request: Callable[[_Item], _T], items: Sequence[_Item]) -> Sequence[_T]:
        """Return the results of a request for each item; requests to an object store run at once.

        The request must not call this method.
        """
        if len(items) < 2 or not self.is_remote:
            return [request(item) for item in items]
        return [*_pool(os.getpid()).map(in_context(request), items)]

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a file for random access; the caller closes it.

        Args:
            path: The file.
            size: Its length, if a listing gave it: it saves a request to an object store.
        """
        with _Translated(self.uri, path):
            return self.backend.open_input(self.full(path), size)

    def open_ranges(self, path: str, size: int | None = None) -> RandomAccess:
        """Open a file to read ranges of it; see `open_input`, and `ManyRanges`."""
        with _Translated(self.uri, path):
            return self.backend.open_ranges(self.full(path), size)

    def write(self, path: str, content: bytes) -> None:
        """Write a file, and replace an existing one; missing directories are created."""
        with self.writing(path) as stream:
            stream.write(content)

    @contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        """Open a stream to write a file, which appears if the context ends without an error."""
        with (
            _Translated(self.uri, path, "written"),
            self.backend.writing(self.full(path)) as stream,
        ):
            yield stream

    def create(self, path: str, content: bytes) -> bool:
        """Write a file unless it exists; return False if it does, and leave it unchanged.

        Of several processes that create a file at once one succeeds.
        """
        with _Translated(self.uri, path, "written"):
            return self.backend.create(self.full(path), content)

    def replace(self, path: str, content: bytes, version: str) -> str | None:
        """Write a file if it still has the version that `read_versioned` gave.

        Returns:
            The new version, or None if another process has changed or deleted the file. Where there
            are no conditional writes the caller must hold a lock.
        """
        with _Translated(self.uri, path, "written"):
            return self.backend.replace(self.full(path), content, version)

    def move(self, source: str, target: str) -> None:
        """Rename a file; the target must not exist."""
        with _Translated(self.uri, source, "renamed"):
            self.backend.move(self.full(source), self.full(target))

    def delete(self, path: str) -> None:
        """Delete the file if it exists."""
        with _Translated(self.uri, path, "deleted"):
            self.backend.delete(self.full(path))

    def delete_dir(self, path: str) -> None:
        """Delete the directory with all its contents, if it exists."""
        with _Translated(self.uri, path, "deleted"):
            self.backend.delete_dir(self.full(path))

    def _relative(self, entry: FileEntry) -> FileEntry:
        path = entry.path[len(self.root) :].strip("/")
        return FileEntry(entry.name, path, entry.size, entry.is_file, entry.modified_ns, entry.tag)


class _Translated(NamedTuple):
    """Translates the errors of a backend. A generator would take longer than some calls do."""

    uri: str
    path: str
    purpose: str = "read"

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            return
        where = f"{self.uri}: file {self.path!r}"
        if isinstance(error, FileNotFoundError):
            raise HudiError(f"{where} does not exist") from error
        if isinstance(error, READ_ERRORS):
            raise HudiError(f"{where} cannot be {self.purpose}: {error}") from error


def _place(storage: Storage) -> tuple[str, str]:
    """Return the store, and the path in it; that of a local directory without links."""
    if storage.is_remote:
        return store_of(storage.uri), storage.root
    return "", os.path.realpath(storage.root or "/")


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """Return the threads of this process that wait for requests."""
    return ThreadPoolExecutor(_REQUESTS_AT_ONCE, thread_name_prefix="pyhudi-storage")
