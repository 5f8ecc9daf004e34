"""A table's files on any file system of pyarrow. Paths are relative to the base path.

Written files appear whole or not at all, on file systems with an atomic rename (local, HDFS).
"""

from __future__ import annotations

import getpass
import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import fs

from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.optional_dependencies import require_extra

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):(.*)$", re.DOTALL)
_S3_SCHEMES = frozenset({"s3a", "s3n"})
_WEBHDFS_SCHEMES = frozenset({"webhdfs", "swebhdfs"})


@dataclass(frozen=True)
class FileEntry:
    """A file or directory: its name within its parent, and its path relative to the base path."""

    name: str
    path: str
    size: int
    is_file: bool
    modified_ns: int


@dataclass(frozen=True)
class Storage:
    """A directory of a file system.

    `uri` is as the user gave it, `root` is the file system's own path without a trailing slash.
    """

    uri: str
    filesystem: fs.FileSystem
    root: str

    @staticmethod
    def open(uri: str) -> Storage:
        """Open a path or URI.

        Supported are `/a`, `file:/a`, `file:///a`, `hdfs://host/a`, `s3://bucket/a`,
        `s3a://bucket/a`, `webhdfs://host:port/a` and, with TLS, `swebhdfs://host:port/a`. A path
        without a scheme or a leading slash is relative to the working directory. hdfs needs
        Hadoop's native library; webhdfs, its REST interface, needs the packages of the extra
        `webhdfs`.
        """
        scheme, rest = _split_scheme(uri)
        try:
            if scheme in ("", "file"):
                path = rest if scheme else os.path.join(os.getcwd(), rest)
                return Storage(uri, fs.LocalFileSystem(), _trim(re.sub(r"^/*", "/", path)))
            if scheme in _WEBHDFS_SCHEMES:
                return Storage(uri, *_webhdfs(scheme, rest))
            normal = "s3" if scheme in _S3_SCHEMES else scheme
            filesystem, path = fs.FileSystem.from_uri(f"{normal}:{rest}")
        except (OSError, ValueError, pa.ArrowException) as error:
            raise HudiError(f"{uri}: the file system cannot be used: {error}") from error
        return Storage(uri, filesystem, _trim(path))

    def child(self, path: str) -> Storage:
        """Return the directory `path` below this one as a storage."""
        return Storage(f"{self.uri.rstrip('/')}/{path}", self.filesystem, self.full(path))

    def resolve(self, location: str) -> Storage:
        """Return a directory by relative path, absolute path on the same file system, or URI."""
        if _split_scheme(location)[0]:
            return Storage.open(location)
        if location.startswith("/"):
            return Storage(location, self.filesystem, _trim(location))
        return self.child(location)

    def full(self, path: str) -> str:
        """Return the file system's own path of a relative path."""
        return f"{self.root}/{path}" if path else (self.root or "/")

    def list(self, path: str = "", recursive: bool = False) -> list[FileEntry]:
        """Return the entries of a directory, hidden files included; empty if it does not exist."""
        selector = fs.FileSelector(self.full(path), allow_not_found=True, recursive=recursive)
        with self._translated(path):
            infos = self.filesystem.get_file_info(selector)
        return [self._entry(info) for info in infos]

    def stat(self, path: str) -> FileEntry | None:
        """Return the file or directory; None if it does not exist."""
        with self._translated(path):
            info = self.filesystem.get_file_info(self.full(path))
        return None if info.type == fs.FileType.NotFound else self._entry(info)

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        with self._translated(path), self.filesystem.open_input_stream(self.full(path)) as stream:
            return bytes(stream.read())

    def open_input(self, path: str) -> pa.NativeFile:
        """Open a file for random access; the caller closes it."""
        with self._translated(path):
            return self.filesystem.open_input_file(self.full(path))

    def write(self, path: str, content: bytes) -> None:
        """Write a file, and replace an existing one; missing directories are created."""
        with self.writing(path) as stream:
            stream.write(content)

    def writing(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        """Open a stream to write a file, which appears if the context ends without an error."""
        return self._publishing(path, self._replace)

    def create(self, path: str, content: bytes) -> bool:
        """Write a file unless it exists; return False if it does, and leave it unchanged.

        Of two processes that create a file at once one succeeds, on local file systems and HDFS.
        """
        try:
            with self._publishing(path, self._link) as stream:
                stream.write(content)
        except _ThereIsOneError:
            return False
        return True

    def move(self, source: str, target: str) -> None:
        """Rename a file; the target must not exist."""
        with self._translated(source, "renamed"):
            self.filesystem.create_dir(self._parent(target), recursive=True)
            self._rename(self.full(source), self.full(target))

    def delete(self, path: str) -> None:
        """Delete the file if it exists."""
        with self._translated(path, "deleted"):
            if self._exists(self.full(path)):
                self.filesystem.delete_file(self.full(path))
            self._forget_checksum(path)

    def delete_dir(self, path: str) -> None:
        """Delete the directory with all its contents, if it exists."""
        with self._translated(path, "deleted"):
            if self._exists(self.full(path)):
                self.filesystem.delete_dir(self.full(path))

    @contextmanager
    def _publishing(
        self, path: str, publish: Callable[[str, str], None]
    ) -> Iterator[pa.NativeFile]:
        parent, target = self._parent(path), self.full(path)
        hidden = f"{parent}/.{target.rpartition('/')[2]}.{uuid.uuid4().hex}.tmp"
        with self._translated(path, "written"):
            self.filesystem.create_dir(parent, recursive=True)
            try:
                with self.filesystem.open_output_stream(hidden) as stream:
                    yield stream
                publish(hidden, target)
            finally:
                if self._exists(hidden):
                    self.filesystem.delete_file(hidden)
            self._forget_checksum(path)

    def _replace(self, hidden: str, target: str) -> None:
        if not self._is_local and self._exists(target):
            self.filesystem.delete_file(target)  # HDFS renames to new names only
        self._rename(hidden, target)

    def _link(self, hidden: str, target: str) -> None:
        if self._is_local:
            try:
                os.link(hidden, target)
            except FileExistsError as error:
                raise _ThereIsOneError from error
            return
        if self._exists(target):
            raise _ThereIsOneError
        try:
            self._rename(hidden, target)
        except OSError as error:
            if self._exists(target):  # another process was faster
                raise _ThereIsOneError from error
            raise

    def _rename(self, source: str, target: str) -> None:
        self.filesystem.move(source, target)
        # WebHDFS answers false, which its client does not report.
        if not self._is_local and self._exists(source):
            raise FileExistsError(f"{source} could not be renamed to {target}")

    def _forget_checksum(self, path: str) -> None:
        """Delete Hadoop's checksum of a local file; a stale one would make reads fail."""
        directory, _, name = self.full(path).rpartition("/")
        checksum = f"{directory}/.{name}.crc"
        if self._is_local and self._exists(checksum):
            self.filesystem.delete_file(checksum)

    @property
    def _is_local(self) -> bool:
        return isinstance(self.filesystem, fs.LocalFileSystem)

    def _exists(self, full_path: str) -> bool:
        found = self.filesystem.get_file_info(full_path).type != fs.FileType.NotFound
        return bool(found)

    def _parent(self, path: str) -> str:
        return self.full(path).rpartition("/")[0]

    def _entry(self, info: fs.FileInfo) -> FileEntry:
        is_file = info.type == fs.FileType.File
        relative = info.path[len(self.root) :].strip("/")
        size = int(info.size or 0) if is_file else 0
        return FileEntry(info.base_name, relative, size, is_file, int(info.mtime_ns or 0))

    @contextmanager
    def _translated(self, path: str, purpose: str = "read") -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise HudiError(f"{self.uri}: file {path!r} does not exist") from error
        except (OSError, pa.ArrowException) as error:
            raise HudiError(f"{self.uri}: file {path!r} cannot be {purpose}: {error}") from error


class _ThereIsOneError(Exception):
    """A file of this name exists."""


def _webhdfs(scheme: str, rest: str) -> tuple[fs.FileSystem, str]:
    """Return the file system and the path of `//host:port/path`."""
    with require_extra("webhdfs"):
        from fsspec.implementations.webhdfs import WebHDFS
    address, _, path = rest.removeprefix("//").partition("/")
    host, _, port = address.partition(":")
    if not port.isdigit():
        raise HudiError(f"{scheme}:{rest}: name the NameNode's host and HTTP port")
    user = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    client = WebHDFS(host, int(port), user=user, use_https=scheme == "swebhdfs")
    return fs.PyFileSystem(fs.FSSpecHandler(client)), _trim(f"/{path}")  # type: ignore[abstract]


def _split_scheme(uri: str) -> tuple[str, str]:
    match = _SCHEME.match(uri)
    return (match.group(1).lower(), match.group(2)) if match else ("", uri)


def _trim(path: str) -> str:
    return path.rstrip("/")
