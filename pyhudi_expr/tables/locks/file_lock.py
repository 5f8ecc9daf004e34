"""The lock of Hudi's `FileSystemBasedLockProvider`: a file `lock` that exists while it is held.

It is created only if it does not exist. If a writer's settings name no directory, Hudi's versions
use different ones, so both are locked. Hudi's writers delete a file that is older than
`hoodie.write.lock.filesystem.expire`, and a person may, so only the own file is deleted here.
"""

from __future__ import annotations

import hashlib
import json
import socket
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime

from pyhudi_expr.errors import CorruptFile, HudiError
from pyhudi_expr.tables.hudi_names import HOODIE_DIR
from pyhudi_expr.tables.locks.lease import Lease, LockLost, wait_for
from pyhudi_expr.tables.parsing.budget import parse_json
from pyhudi_expr.tables.process_owner import HOST, PROCESS, is_gone, this_process
from pyhudi_expr.tables.storage import Storage

DEFAULT_DIRECTORIES = (HOODIE_DIR, f"{HOODIE_DIR}/.aux")
_FILE = "lock"


@dataclass(frozen=True)
class FileLock:
    """The lock.

    Attributes:
        storage: The table.
        directories: Directories of the lock files, relative to the base path, absolute, or URIs.
        wait: Seconds to wait for each file.
    """

    storage: Storage
    directories: Sequence[str]
    wait: float

    @contextmanager
    def held(self, purpose: str) -> Iterator[Lease]:
        """Hold the lock in a `with` block; `purpose` is shown to others that wait for it.

        Raises:
            LockNotAcquired: Another writer holds it.
            LockLost: It was not held until the end of the block.
        """
        taken: list[_HeldFile] = []
        lost: list[str] = []
        with ExitStack() as stack:
            for directory in self.directories:
                taken.append(self._take(directory, purpose))
                stack.callback(taken[-1].release, lost)
            yield _HeldFiles(self.storage.uri, taken)
        if lost:
            raise _lost(self.storage.uri, lost)

    def is_abandoned(self) -> bool:
        """Return whether a process of this program ended without releasing it."""
        places = (self.storage.resolve(directory) for directory in self.directories)
        return any(_is_abandoned(_read(place)) for place in places)

    def _take(self, directory: str, purpose: str) -> _HeldFile:
        file = _HeldFile(
            self.storage.resolve(directory), f"{directory}/{_FILE}", _new_content(purpose)
        )
        return wait_for(
            lambda: file if file.is_taken() else None,
            self.wait,
            lambda: (
                f"{self.storage.uri}: another writer has held {file.label} for {self.wait:g} s; "
                "wait for it, or delete that file if no writer runs any more"
            ),
        )


@dataclass(frozen=True)
class _HeldFile:
    """A lock file with this process's own content."""

    place: Storage
    label: str
    content: bytes

    def is_taken(self) -> bool:
        """Create the file, and return whether that succeeded."""
        if self.place.create(_FILE, self.content):
            return True
        return _is_abandoned(_read(self.place)) and self._has_been_taken_over()

    def is_there(self) -> bool:
        """Return whether the file exists and is this process's."""
        try:
            return self.place.read(_FILE) == self.content
        except HudiError:
            if self.place.stat(_FILE) is None:
                return False
            raise

    def release(self, lost: list[str]) -> None:
        """Delete the file if it is this process's; else add its label to `lost`."""
        if self.is_there():
            self.place.delete(_FILE)
        else:
            lost.append(self.label)

    def _has_been_taken_over(self) -> bool:
        """Take the file of a process of this program that ended without releasing it.

        Of several processes that try, one succeeds, and none takes the file of another that did.
        """
        if self.place.has_conditional_writes:
            found = self.place.read_versioned(_FILE)
            if found is None or not _is_abandoned(found.content):
                return False
            return self.place.replace(_FILE, self.content, found.version) is not None
        # The ended process ran on this machine, so all that may take over its file run here, too.
        name = hashlib.sha256(self.place.full(_FILE).encode()).hexdigest()
        with socket.socket(socket.AF_UNIX) as mutex:
            try:
                mutex.bind(f"\0pyhudi-lock-{name[:32]}")  # freed when this process ends
            except OSError:
                return False  # another process is at it
            if _is_abandoned(_read(self.place)):
                self.place.delete(_FILE)
            return self.place.create(_FILE, self.content)


@dataclass(frozen=True)
class _HeldFiles:
    """The lock's files while they are held."""

    uri: str
    files: Sequence[_HeldFile]

    def check(self) -> None:
        if lost := [file.label for file in self.files if not file.is_there()]:
            raise _lost(self.uri, lost)


def _lost(uri: str, labels: Sequence[str]) -> LockLost:
    return LockLost(
        f"{uri}: {' and '.join(labels)} was deleted or replaced while it was held, by hand or "
        "after hoodie.write.lock.filesystem.expire; another writer may have changed the table "
        "meanwhile: check what this command did, and repeat it"
    )


def _read(place: Storage) -> bytes:
    """Return the lock file's content; empty if it cannot be read, as while it is deleted."""
    try:
        return place.read(_FILE)
    except HudiError:
        return b""


def _is_abandoned(content: bytes) -> bool:
    """Return whether a process of this program took the lock, and ended without releasing it."""
    try:
        owner = parse_json(content, _FILE)
    except CorruptFile:
        return False
    return isinstance(owner, dict) and is_gone(owner)


def _new_content(purpose: str) -> bytes:
    """Return the lock file's content: what Hudi's writers show, and what `process_owner` needs."""
    now = datetime.now().isoformat(sep=" ", timespec="milliseconds")
    owner = this_process()
    thread = f"pyhudi {purpose} (process {owner[PROCESS]} on {owner[HOST]})"
    shown = {"lockCreateTime": now, "lockThreadName": thread}
    return json.dumps({**shown, **owner, "id": uuid.uuid4().hex}).encode()
