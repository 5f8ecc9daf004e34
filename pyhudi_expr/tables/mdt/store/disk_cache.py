r"""Cache decoded base files of the metadata table on disk, and snapshots on shared storage.

A service that lacks a snapshot on its own disk copies it from there (`DiskCache.find`). What was
copied is checked like every file of a disk cache: its name follows from what it was made of, and it
has a checksum. So a snapshot of another state, another version or another table is not found, and a
damaged one is not used. Errors cost speed only, and are logged.

A base file never changes, so what was decoded from it stays valid as long as it is that file. Which
base file is current, and what the log files add, is read from the table every time. So the cache is
never trusted over the table: a commit, a rollback, a restore, compaction and cleaning only change
which files are requested, and a new instant costs only the reading of its log blocks.

A cache file is a header, the identity of its source (JSON) and one Arrow IPC stream for each table,
each at a multiple of 64 bytes::

    "PYHUDI\0" version, u64 length of the identity, u64 length of the streams, u64 XXH3 of both

It is written under another name, table by table, and renamed. A file that is truncated, damaged, of
another version or of another source is removed and written anew. Processes that map the same file
share its pages.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import xxhash

from pyhudi_expr.arrays import DAMAGE_ERRORS, READ_ERRORS
from pyhudi_expr.errors import HudiError
from pyhudi_expr.installation import version
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.storage.process_options import LINKS_OPTION

_CHUNK_BYTES = 8 << 20

_log = logging.getLogger(__name__)


class SharedSnapshots:
    """A directory of snapshots. Safe for several threads and processes.

    Whoever can write to it decides which files are pruned, so only the jobs that publish should.
    """

    def __init__(self, storage: Storage) -> None:
        """Use the root of a storage."""
        self._storage = storage

    @staticmethod
    def at(uri: str | None, options: Mapping[str, str] | None) -> SharedSnapshots | None:
        """Return the snapshots of a directory; None for None.

        Args:
            uri: The directory.
            options: Settings of its storage, see `Storage.open`.

        Raises:
            HudiError: There is no such storage.
        """
        if uri is None:
            return None
        # The directory is the administrator's, who may link where he likes.
        return SharedSnapshots(Storage.open(uri, {**(options or {}), LINKS_OPTION: ""}))

    def fetch(self, name: str, target: Path) -> bool:
        """Copy a snapshot to a local file, and return whether there is one."""
        try:
            entry = self._storage.stat(name)
            if entry is None:
                return False
            with self._storage.open_input(name, entry.size) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, _CHUNK_BYTES)
            return True
        except (HudiError, *READ_ERRORS) as error:
            _log.warning("the shared snapshot %s cannot be read: %s", name, error)
            return False

    @property
    def storage(self) -> Storage:
        """The directory."""
        return self._storage

    def publish(self, file: Path) -> None:
        """Copy a snapshot, which others see when it is complete.

        Raises:
            HudiError: The storage cannot be written.
        """
        with file.open("rb") as source, self._storage.writing(file.name) as target:
            shutil.copyfileobj(source, target, _CHUNK_BYTES)

    def remove(self, name: str) -> None:
        """Delete a snapshot if it is there. Raises HudiError."""
        self._storage.delete(name)

    def has(self, file: Path) -> bool:
        """Return whether the same bytes are there. Raises HudiError."""
        entry = self._storage.stat(file.name)
        if entry is None or entry.size != file.stat().st_size:
            return False
        with (
            file.open("rb") as source,
            self._storage.open_input(file.name, entry.size) as copy,
        ):
            return all(ours == copy.read(len(ours)) for ours in _chunks(source))

    def lacks(self, name: str) -> bool:
        """Return whether there is no file of this name. Raises HudiError."""
        return self._storage.stat(name) is None


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK_BYTES):
        yield chunk


_HEADER = struct.Struct("<7sBQQQ")
_MAGIC, _VERSION = b"PYHUDI\0", 2
_ALIGNMENT = 64
_SUFFIX = ".arrow"
_NAME = re.compile(r"[0-9a-f]{32}\.arrow(\.\d+\.\d+)?")


def user_directory() -> Path | None:
    """Return the user's cache directory for this package; None without a home directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # Without a home directory nothing is expanded, and nothing is cached.
    return Path(cache) / "pyhudi" if os.path.isabs(cache) else None


@dataclass(frozen=True)
class Identity:
    """The source of tables; tables of equal identity are equal.

    Attributes:
        file: URI.
        size: Bytes.
        modified_ns: Modification time.
        tail: Digest of the file's end, which has its index.
        content: What was read of the file, and its layout.
    """

    file: str
    size: int
    modified_ns: int
    tail: str
    content: str

    def encoded(self) -> bytes:
        """Return the identity as JSON, with the version of the code that made the tables.

        Another version may decode the same bytes in another way, for example trust fewer of them.
        """
        return json.dumps({**asdict(self), "by": version()}, sort_keys=True).encode()


class DiskCache:
    """A directory of tables. Safe for several threads and processes.

    Errors of the directory cost speed only, and are logged.
    """

    def __init__(
        self, directory: Path, max_bytes: int, shared: SharedSnapshots | None = None
    ) -> None:
        """Use a directory with a size limit; the least recently used files are evicted first.

        Args:
            directory: Where the files are.
            max_bytes: The size limit.
            shared: Where `find` looks for what this directory lacks.
        """
        self._directory = directory
        self._max_bytes = max_bytes
        self._shared = shared
        self._lock = threading.Lock()

    def tables(self, identity: Identity, build: Callable[[], Iterable[pa.Table]]) -> list[pa.Table]:
        """Return the tables of an identity; build (and cache) them if they are missing.

        They are views of the mapped file, so only what is accessed is in memory, and one table
        while they are built.

        Args:
            identity: The source of the tables.
            build: Builds tables without extension types; its exceptions are passed on.
        """
        encoded, path = self._place(identity)
        known = self._read(path, encoded)
        if known is None and self._write(path, encoded, build):
            known = self._read(path, encoded)
            self._shrink()
        return list(build()) if known is None else known

    def replace(self, identity: Identity, tables: Iterable[pa.Table]) -> None:
        """Write tables in place of those of an identity that says where they are used only."""
        encoded, path = self._place(identity)
        self._write(path, encoded, lambda: tables)

    def find(self, identity: Identity) -> list[pa.Table] | None:
        """Return the tables of an identity; None if they are missing."""
        encoded, path = self._place(identity)
        known = self._read(path, encoded)
        if known is None and self._shared is not None:
            shared = self._shared
            if self._written(path, lambda fresh: shared.fetch(path.name, fresh)):
                known = self._read(path, encoded)
                self._shrink()
        return known

    def files(self) -> list[Path]:
        """Return the cache files, sorted by name."""
        return sorted(Path(path) for _, _, path in _cache_files(self._directory))

    def _place(self, identity: Identity) -> tuple[bytes, Path]:
        encoded = identity.encoded()
        return encoded, self._directory / f"{xxhash.xxh3_128_hexdigest(encoded)}{_SUFFIX}"

    def _read(self, path: Path, identity: bytes) -> list[pa.Table] | None:
        try:
            with pa.memory_map(str(path)) as source:
                content = source.read_buffer()
            tables = _opened(content, identity)
            _mark_used(path)
            return tables
        except FileNotFoundError:
            return None
        except DAMAGE_ERRORS as error:
            _log.warning("the cache file %s is not used and removed: %s", path, error)
            self._remove(path)
            return None

    def _write(self, path: Path, identity: bytes, build: Callable[[], Iterable[pa.Table]]) -> bool:
        """Write a cache file, and return whether it was written."""

        def write(fresh: Path) -> bool:
            with fresh.open("w+b") as target:
                _write_file(target, identity, build())
            return True

        return self._written(path, write)

    def _written(self, path: Path, write: Callable[[Path], bool]) -> bool:
        """Let a cache file be written under another name; return whether it is there now."""
        fresh = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not write(fresh):
                return False
            fresh.replace(path)
            return True
        except READ_ERRORS as error:
            _log.warning("the cache file %s cannot be written: %s", path, error)
            return False
        finally:
            self._remove(fresh)

    def _shrink(self) -> None:
        """Remove the least recently used files beyond the size limit, and leftovers."""
        with self._lock, contextlib.suppress(OSError):
            found = sorted(_cache_files(self._directory))
            held = sum(size for _, size, _ in found)
            for _, size, path in found:
                if held <= self._max_bytes:
                    return
                self._remove(Path(path))
                held -= size

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("the cache file %s cannot be removed: %s", path, error)


def _mark_used(path: Path) -> None:
    now = time.time_ns()  # finer than the time that the file system sets by itself
    os.utime(path, ns=(now, now))


def _cache_files(directory: Path) -> Iterator[tuple[int, int, str]]:
    """Return when each cache file was last used (ns), its size and its path."""
    for entry in os.scandir(directory):
        if _NAME.fullmatch(entry.name):
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat()
                yield status.st_mtime_ns, status.st_size, entry.path


def _write_file(target: BinaryIO, identity: bytes, tables: Iterable[pa.Table]) -> None:
    """Write a cache file. The header comes last: until then the file is not valid."""
    target.write(_padded(bytes(_HEADER.size)))
    target.write(_padded(identity))
    start = target.tell()
    for table in tables:
        sink = pa.PythonFile(target, mode="w")  # type: ignore[arg-type]
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        target.write(bytes(_aligned(target.tell()) - target.tell()))
    target.flush()
    with pa.memory_map(target.name) as source:
        arrow = source.read_buffer().slice(start)
        checksum = _checksum(identity, arrow)
        header = _HEADER.pack(_MAGIC, _VERSION, len(identity), arrow.size, checksum)
    target.seek(0)
    target.write(header)


def _opened(content: pa.Buffer, identity: bytes) -> list[pa.Table]:
    """Return the tables in a cache file's content. Raises ValueError for anything else."""
    if content.size < _HEADER.size:
        raise ValueError("it has no header")
    magic, version, identity_size, arrow_size, checksum = _HEADER.unpack_from(content)
    if magic != _MAGIC or version != _VERSION:
        raise ValueError("it is not a cache file of this version")
    start = _ALIGNMENT
    arrow = start + _aligned(identity_size)
    if arrow + arrow_size != content.size:
        raise ValueError("it is truncated")
    if content.slice(start, identity_size).to_pybytes() != identity:
        raise ValueError("it was built from another file")
    streams = content.slice(arrow, arrow_size)
    if _checksum(identity, streams) != checksum:
        raise ValueError("it is damaged")
    source, tables = pa.BufferReader(streams), []
    while source.tell() < arrow_size:
        tables.append(pa.ipc.open_stream(source).read_all())
        source.seek(_aligned(source.tell()))
    return tables


def _checksum(identity: bytes, streams: pa.Buffer) -> int:
    digest = xxhash.xxh3_64(identity)
    digest.update(memoryview(streams))
    return digest.intdigest()


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _padded(content: bytes) -> bytes:
    return content.ljust(_aligned(len(content)), b"\0")
