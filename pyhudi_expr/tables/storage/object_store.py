"""Object stores, by obstore: one request for each call, retried with backoff and jitter.

There are no directories: a directory is a common prefix of names, and is never written. Every
write is one conditional or unconditional PUT (a multipart upload for large files), so an object is
there whole or not at all, and readers of an object that is replaced see the old or the new one.

Some servers with S3's protocol take `If-None-Match` and `If-Match`, and write whatever they say. To
a client this looks as if it had won, so the conditions are tried out: once in each process and
bucket, with the first write that needs them. Readers never ask.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timezone
from enum import Enum
from itertools import chain
from typing import IO, TypeVar, cast

import obstore
import pyarrow as pa
from obstore import exceptions
from pyarrow import fs

from pyhudi_expr.tables.parsing.budget import check_file_size
from pyhudi_expr.tables.storage.entries import (
    Backend,
    DirectBackend,
    FileEntry,
    VersionedFile,
)
from pyhudi_expr.tables.storage.object_clients import (
    NOT_FOUND,
    S3,
    ObjectStoreClient,
    StoreAddress,
    as_os_error,
    client,
    is_missing,
    rust_options,
)
from pyhudi_expr.tables.storage.object_file_system import TAIL_BYTES, ObjectRanges, native_file
from pyhudi_expr.tables.storage.read_ahead import ReadAheadBackend


class Condition(Enum):
    """What a write may depend on, by the name of HTTP's header."""

    IS_MISSING = "If-None-Match"
    HAS_VERSION = "If-Match"


_obeyed: dict[tuple[StoreAddress, Condition], bool] = {}


def is_proved(address: StoreAddress, condition: Condition) -> bool:
    """Return whether a store is known to obey a condition; only servers of S3's protocol differ.

    Raises:
        OSError: It is known to ignore it.
    """
    obeyed = _obeyed.get((address, condition))
    if obeyed is False:
        raise refusal(address, condition)
    return address.kind != S3 or obeyed is True


def note(address: StoreAddress, condition: Condition, obeyed: bool) -> None:
    """Note whether a store obeys a condition, for this process."""
    _obeyed[address, condition] = obeyed


def refusal(address: StoreAddress, condition: Condition) -> OSError:
    """Return the error for a store that ignores a condition."""
    known = dict(address.settings)
    place = f"{known.get('endpoint', 'S3')} (bucket {known.get('bucket')})"
    return OSError(
        f"the object store {place} ignores the header {condition.value} of a PUT, so two writers "
        "can hold the same lock; queries work there, but index builds, clustering and key switches "
        "are refused: upgrade the server to a version with conditional writes "
        "(docs/object-stores.md, What is exclusive)"
    )


_SPOOLED_BYTES = 16 * 1024 * 1024
_PART_BYTES, _PARTS_AT_ONCE = 5 * 1024 * 1024, 3
"""The parts on their way have to be sent within the time limit of one request."""
_OLD_MARKER = "_$folder$"
_CUT = "response body error"
_PAUSES = (0.05, 0.2, 0.8)  # seconds before each repetition
_T = TypeVar("_T")
_NO_TAG = f'"{"0" * 32}"'
"""The tag of no object."""
_WRITER = "pyhudi-write"
"""The metadata field that names the write that made an object."""


@dataclass(frozen=True)
class ObjectStoreBackend(DirectBackend):
    """The objects of one bucket or container."""

    address: StoreAddress

    @property
    def is_remote(self) -> bool:
        """True: each call is a request."""
        return True

    @property
    def has_conditional_writes(self) -> bool:
        """Whether the store takes If-Match and If-None-Match: OSS does not, others do."""
        return ("conditional_put", "disabled") not in self.address.settings

    @property
    def filesystem(self) -> fs.FileSystem:
        """The same objects for pyarrow's datasets."""
        from pyhudi_expr.tables.storage.object_file_system import ObjectFileSystem

        return fs.PyFileSystem(ObjectFileSystem(self))

    @property
    def client_options(self) -> Mapping[str, str]:
        """The settings by the names of Rust's `object_store`; there may be secrets among them."""
        return rust_options(self.address)

    @property
    def _client(self) -> ObjectStoreClient:
        return client(self.address)

    def reading_ahead(self, pool: ThreadPoolExecutor) -> Backend:
        """Return the objects during one question."""
        return ReadAheadBackend(self, pool)

    def list(self, path: str, recursive: bool) -> Sequence[FileEntry]:
        """Return the objects below a prefix, and without `recursive` the prefixes below it."""
        prefix = f"{path}/" if path else None
        with _translated(path):
            if recursive:
                objects = _whole(lambda: [*chain(*obstore.list(self._client, prefix))])
                folders, known = [], _parents(objects)
            else:
                found = _whole(lambda: obstore.list_with_delimiter(self._client, prefix))
                objects, folders = list(found["objects"]), [*found["common_prefixes"]]
                known = {folder.rstrip("/") for folder in folders}
        files = [_entry(entry) for entry in objects if not _is_marker(entry, {path, *known})]
        return [*map(_directory, folders), *files]

    def stat(self, path: str) -> FileEntry | None:
        """Return the object, or a directory if objects are below it; None if there is nothing."""
        if path:
            with _translated(path):
                try:
                    return _entry(obstore.head(self._client, path))
                except NOT_FOUND as error:
                    if not is_missing(error):
                        raise
        return _directory(path) if self.list(path, recursive=False) else None

    def read(self, path: str) -> bytes:
        """Read a whole object."""
        with _translated(path):
            return _whole(lambda: bytes(obstore.get(self._client, path).bytes()))

    def read_versioned(self, path: str) -> VersionedFile | None:
        """Read a whole object with its version."""
        with _translated(path):
            try:
                return _whole(lambda: _versioned(obstore.get(self._client, path)))
            except NOT_FOUND as error:
                if not is_missing(error):
                    raise
                return None

    def read_if_present(self, path: str) -> bytes | None:
        """Read a whole object; None if it does not exist."""
        found = self.read_versioned(path)
        return None if found is None else found.content

    def open_input(self, path: str, size: int | None) -> pa.NativeFile:
        """Open an object for random access, without a request if the size is known."""
        return native_file(self.open_ranges(path, size))

    def open_ranges(self, path: str, size: int | None) -> ObjectRanges:
        """Open an object to read ranges of its bytes."""
        if size is not None:
            return ObjectRanges(self, path, size)
        with _translated(path):
            return _whole(lambda: self._opened(path))

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Read bytes of an object."""
        with _translated(path):
            return _whole(
                lambda: bytes(obstore.get_range(self._client, path, start=start, length=length))
            )

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        """Read several ranges of an object (start, length) at once; near ones are one request."""
        starts, lengths = [start for start, _ in ranges], [length for _, length in ranges]
        with _translated(path):
            found = _whole(
                lambda: obstore.get_ranges(self._client, path, starts=starts, lengths=lengths)
            )
        return [bytes(content) for content in found]

    @contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        """Open a stream to an object, which appears if the context ends without an error."""
        with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as spool:
            yield cast("IO[bytes]", spool)
            spool.seek(0)
            with _translated(path):
                obstore.put(
                    self._client,
                    path,
                    cast("IO[bytes]", spool),
                    chunk_size=_PART_BYTES,
                    max_concurrency=_PARTS_AT_ONCE,
                )

    def create(self, path: str, content: bytes) -> bool:
        """Write an object unless it exists, by If-None-Match: one of several processes succeeds."""
        self._require(Condition.IS_MISSING)
        write = uuid.uuid4().hex
        with _translated(path):
            is_created = self._is_created(path, content, write)
            if is_created and not is_proved(self.address, Condition.IS_MISSING):
                self._prove_creation(path, content, write)
        return is_created

    def replace(self, path: str, content: bytes, version: str) -> str | None:
        """Write an object if it has this version, by If-Match."""
        is_proved = self._require(Condition.HAS_VERSION)
        write = uuid.uuid4().hex
        known: obstore.UpdateVersion = json.loads(version)
        with _translated(path):
            if not is_proved:
                self._prove_replacement(path, content, write)
            try:
                return _version(self._put(path, content, write, known))
            except (exceptions.PreconditionError, *NOT_FOUND) as error:
                if isinstance(error, NOT_FOUND) and not is_missing(error):
                    raise
                return self._version_by(path, write)
            except exceptions.BaseError:
                with suppress(exceptions.BaseError):
                    written = self._version_by(path, write)
                    if written is not None:
                        return written
                raise

    def move(self, source: str, target: str) -> None:
        """Copy an object and delete the old one; if this ends in between, both are there."""
        with _translated(source):
            obstore.copy(self._client, source, target, overwrite=True)
            obstore.delete(self._client, source)

    def delete(self, path: str) -> None:
        """Delete the object if it exists."""
        with _translated(path):
            try:
                obstore.delete(self._client, path)
            except NOT_FOUND as error:
                if not is_missing(error):
                    raise

    def delete_dir(self, path: str) -> None:
        """Delete all objects below a prefix."""
        names = [entry.path for entry in self.list(path, recursive=True)]
        if names:
            with _translated(path):
                obstore.delete(self._client, names)

    def _require(self, condition: Condition) -> bool:
        """Return whether the store has proved to obey a condition; raise if it does not."""
        if not self.has_conditional_writes:
            raise OSError(
                "the object store has no conditional writes, so other processes cannot be kept from"
                " writing the same file"
            )
        return is_proved(self.address, condition)

    def _is_created(self, path: str, content: bytes, write: str) -> bool:
        try:
            self._put(path, content, write, "create")
        except exceptions.AlreadyExistsError:
            note(self.address, Condition.IS_MISSING, True)
            return self._is_by(path, write)
        except exceptions.BaseError:
            with suppress(exceptions.BaseError):
                if self._is_by(path, write):
                    return True
            raise
        return True

    def _prove_creation(self, path: str, content: bytes, write: str) -> None:
        """Create an object that this write has created once more: the store has to refuse that.

        If it does not, the object is deleted, as if it had not been created.
        """
        try:
            self._put(path, content, write, "create")
        except exceptions.AlreadyExistsError:
            note(self.address, Condition.IS_MISSING, True)
            return
        except exceptions.BaseError:
            self._withdraw(path)
            raise
        note(self.address, Condition.IS_MISSING, False)
        self._withdraw(path)
        raise refusal(self.address, Condition.IS_MISSING)

    def _prove_replacement(self, path: str, content: bytes, write: str) -> None:
        """Replace a version that the object does not have: the store has to refuse that."""
        try:
            self._put(path, content, write, {"e_tag": _NO_TAG})
        except exceptions.PreconditionError:
            note(self.address, Condition.HAS_VERSION, True)
        except NOT_FOUND:
            return  # it has no version at all
        else:
            note(self.address, Condition.HAS_VERSION, False)
            raise refusal(self.address, Condition.HAS_VERSION)

    def _withdraw(self, path: str) -> None:
        with suppress(exceptions.BaseError, *NOT_FOUND):
            obstore.delete(self._client, path)

    def _opened(self, path: str) -> ObjectRanges:
        """Open an object of unknown length by a request for its end."""
        end: obstore.GetOptions = {"range": {"suffix": TAIL_BYTES}}
        try:
            found = obstore.get(self._client, path, options=end)
        except NOT_FOUND:
            raise
        except exceptions.BaseError:  # an empty object has no range, and Azure none by its length
            return ObjectRanges(self, path, int(obstore.head(self._client, path)["size"]))
        return ObjectRanges(self, path, int(found.meta["size"]), bytes(found.bytes()))

    def _put(
        self, path: str, content: bytes, write: str, mode: obstore.PutMode
    ) -> obstore.PutResult:
        return obstore.put(
            self._client,
            path,
            content,
            attributes={_WRITER: write},
            mode=mode,
            use_multipart=False,
        )

    def _is_by(self, path: str, write: str) -> bool:
        return self._version_by(path, write) is not None

    def _version_by(self, path: str, write: str) -> str | None:
        """Return the object's version if this write made it.

        A conditional request may have succeeded though its answer says that it did not: the answer
        to the first attempt was lost, and the second one met its result.
        """
        try:
            found = obstore.get(self._client, path, options={"head": True})
        except NOT_FOUND:
            return None
        return _version(found.meta) if found.attributes.get(_WRITER) == write else None


def _versioned(found: obstore.GetResult) -> VersionedFile:
    check_file_size(found.meta["path"], found.meta["size"])
    return VersionedFile(bytes(found.bytes()), _version(found.meta))


def _whole(reading: Callable[[], _T]) -> _T:
    """Repeat a request whose answer was cut.

    obstore repeats requests without an answer itself; of cut answers, some of objects, and none of
    listings.
    """
    for pause in _PAUSES:
        try:
            return reading()
        except exceptions.BaseError as error:
            if _CUT not in str(error):
                raise
        time.sleep(random.uniform(pause / 2, pause))
    return reading()


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Raise OSError for obstore's errors, in one line and without secrets, see `object_clients`."""
    try:
        yield
    except (exceptions.BaseError, *NOT_FOUND) as error:
        # Not chained: a traceback would show what the server was sent.
        raise as_os_error(error, path) from None


def _version(meta: obstore.ObjectMeta | obstore.PutResult) -> str:
    known = {"e_tag": meta["e_tag"], "version": meta["version"]}
    return json.dumps({name: value for name, value in known.items() if value is not None})


def _entry(meta: obstore.ObjectMeta) -> FileEntry:
    path = meta["path"]
    modified = meta["last_modified"].astimezone(timezone.utc)
    nanoseconds = int(modified.timestamp() * 1_000_000) * 1000
    name = path.rpartition("/")[2]
    return FileEntry(name, path, int(meta["size"]), True, nanoseconds, meta["e_tag"] or "")


def _directory(path: str) -> FileEntry:
    path = path.rstrip("/")
    return FileEntry(path.rpartition("/")[2], path, 0, False, 0)


def _parents(objects: Sequence[obstore.ObjectMeta]) -> set[str]:
    """Return the directories of objects, if there are empty objects that may stand for them."""
    found: set[str] = set()
    if all(meta["size"] for meta in objects):
        return found
    level = {meta["path"] for meta in objects}
    while level := {path.rpartition("/")[0] for path in level} - found:
        found |= level
    return found


def _is_marker(meta: obstore.ObjectMeta, folders: Collection[str]) -> bool:
    """Whether an empty object stands for a directory, as other programs write them.

    obstore gives the name `a/` as `a`.
    """
    path = meta["path"]
    return meta["size"] == 0 and (path in folders or path.endswith(_OLD_MARKER))
