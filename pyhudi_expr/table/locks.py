"""The lock that Hudi's writers take to change a table: `FileSystemBasedLockProvider`'s.

It is a file `lock` that exists while it is held, and is created only if it does not exist. If a
writer's settings name no directory, Hudi's versions use different ones, so both are locked here.

A table does not say which lock its writers take. That is in their settings: `TableLock.of` takes
given settings, else those of the machine (`writer_settings`). Locks within one process
(`InProcessLockProvider`, Hudi's default) cannot be taken from outside; a table whose only writer is
that process has no other lock. Locks of other services are refused (`TableLock.check`). So is the
lock of `StorageBasedLockProvider`, which leaves a trace in the table: a file that it replaces by
conditional writes (RFC-91). Hudi has it for object stores only, and the file systems that are used
here have no conditional writes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import HOODIE_DIR
from pyhudi_expr.table.process_owner import HOST, PROCESS, is_gone, this_process
from pyhudi_expr.table.storage import Storage
from pyhudi_expr.table.writer_settings import hudi_defaults

PROVIDER = "hoodie.write.lock.provider"
DIRECTORY = "hoodie.write.lock.filesystem.path"
WAIT = "hoodie.write.lock.wait_time_ms"
SETTINGS = (PROVIDER, DIRECTORY, WAIT)
"""The settings of writers that configure the lock."""

_DEFAULT_DIRECTORIES = (HOODIE_DIR, f"{HOODIE_DIR}/.aux")
_HONOURED = frozenset({"FileSystemBasedLockProvider", "InProcessLockProvider", "NoopLockProvider"})
_WAIT_MS = "60000"
_FILE = "lock"
_CONDITIONAL = f"{HOODIE_DIR}/.locks/table_lock.json"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0  # seconds


class LockNotAcquired(HudiError):  # noqa: N818 - names the finding
    """Another writer holds the table's lock."""


class UnknownLock(HudiError):  # noqa: N818 - names the finding
    """The table's writers take a lock that is not supported here."""


@dataclass(frozen=True)
class TableLock:
    """The table's lock.

    Attributes:
        directories: Directories of the lock files, relative to the base path, absolute, or URIs.
        wait: Seconds to wait for the lock.
        provider: The class of the writers' lock; empty if unknown.
    """

    storage: Storage
    directories: Sequence[str] = _DEFAULT_DIRECTORIES
    wait: float = int(_WAIT_MS) / 1000
    provider: str = ""

    @staticmethod
    def of(
        storage: Storage, settings: Mapping[str, str] | None = None, wait: float | None = None
    ) -> TableLock:
        """Return the lock that settings of writers name, else that of the machine's settings.

        Raises:
            HudiError: The settings cannot be read.
        """
        known = {**hudi_defaults(), **(settings or {})}
        directory = known.get(DIRECTORY)
        directories = (directory,) if directory else _DEFAULT_DIRECTORIES
        if wait is None:
            wait = _seconds(known.get(WAIT, _WAIT_MS))
        return TableLock(storage, directories, wait, known.get(PROVIDER, ""))

    def check(self) -> None:
        """Check that the table's writers take this lock.

        Raises:
            UnknownLock: They take another one.
        """
        name = self.provider.rpartition(".")[2]
        if name and name not in _HONOURED:
            raise UnknownLock(
                f"{self.storage.uri}: its writers take the lock of {self.provider}, which cannot "
                "be taken from here; stop the writers, then confirm that by"
                f" FileSystemBasedLockProvider ({PROVIDER}, or --lock-provider); or put the index"
                " into the store 'extension'"
            )
        if self.storage.stat(_CONDITIONAL) is not None:
            raise UnknownLock(
                f"{self.storage.uri}: its writers take the lock of StorageBasedLockProvider "
                f"({_CONDITIONAL}), which cannot be taken from here; stop them and delete that "
                "file, which the writers create again; or put the index into the store 'extension'"
            )

    @contextmanager
    def held(self, purpose: str) -> Iterator[None]:
        """Hold the lock in a `with` block; `purpose` is shown to others that wait for it.

        Raises:
            LockNotAcquired: Another writer holds it.
        """
        taken: list[Storage] = []
        try:
            for directory in self.directories:
                place = self.storage.resolve(directory)
                self._take(place, f"{directory}/{_FILE}", purpose)
                taken.append(place)
            yield
        finally:
            for place in reversed(taken):
                place.delete(_FILE)

    def _take(self, place: Storage, label: str, purpose: str) -> None:
        give_up, pause = time.monotonic() + self.wait, _FIRST_PAUSE
        while not place.create(_FILE, _owner(purpose)):
            if _is_abandoned(place):
                place.delete(_FILE)
                continue
            if time.monotonic() + pause > give_up:
                raise LockNotAcquired(
                    f"{self.storage.uri}: another writer has held {label} for {self.wait:g} s; "
                    "wait for it, or delete that file if no writer runs any more"
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _seconds(millis: str) -> float:
    try:
        return int(millis) / 1000
    except ValueError as error:
        raise HudiError(f"{WAIT} is {millis!r}, which is not a number of milliseconds") from error


def _is_abandoned(place: Storage) -> bool:
    """Return whether a process of this program took the lock, and ended without releasing it."""
    try:
        owner = json.loads(place.read(_FILE))
    except (HudiError, ValueError):
        return False
    return isinstance(owner, dict) and is_gone(owner)


def _owner(purpose: str) -> bytes:
    """Return the lock file's content: what Hudi's writers show, and what `process_owner` needs."""
    now = datetime.now().isoformat(sep=" ", timespec="milliseconds")
    owner = this_process()
    thread = f"pyhudi {purpose} (process {owner[PROCESS]} on {owner[HOST]})"
    return json.dumps({"lockCreateTime": now, "lockThreadName": thread, **owner}).encode()
