"""The lock that Hudi's writers take while they change a table: `FileSystemBasedLockProvider`'s.

A file `lock` that exists while somebody holds it, created only if there is none. Where a writer's
settings name no directory, Hudi's versions differ in the one they take, so both are taken here.

Locks that only one process knows (`InProcessLockProvider`), or that need a service of their own,
cannot be honoured from outside, and leave no trace either. `StorageBasedLockProvider` leaves one: a
file that it replaces by conditional writes (RFC-91). Hudi has it for object stores only, and their
conditional writes are not to be had through the file systems that are used here, so
`refuse_unknown_locks` refuses tables with such a file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.owners import HOST, PROCESS, is_gone, this_process
from pyhudi_expr.table.properties import HOODIE_DIR
from pyhudi_expr.table.storage import Storage

_DEFAULT_DIRECTORIES = (HOODIE_DIR, f"{HOODIE_DIR}/.aux")
_FILE = "lock"
_CONDITIONAL = f"{HOODIE_DIR}/.locks/table_lock.json"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0  # seconds


class LockNotAcquired(HudiError):  # noqa: N818 - names the finding
    """Another writer holds the table's lock."""


class UnknownLock(HudiError):  # noqa: N818 - names the finding
    """The table's writers take a lock that cannot be taken from here."""


@dataclass(frozen=True)
class TableLock:
    """The table's lock. directories: from the base path; wait: seconds before giving up."""

    storage: Storage
    directories: Sequence[str] = _DEFAULT_DIRECTORIES
    wait: float = 60.0

    @contextmanager
    def held(self, purpose: str) -> Iterator[None]:
        """Holds the lock for a while. Raises LockNotAcquired. purpose: told to who waits for it."""
        taken: list[str] = []
        try:
            for directory in self.directories:
                path = f"{directory}/{_FILE}"
                self._take(path, purpose)
                taken.append(path)
            yield
        finally:
            for path in reversed(taken):
                self.storage.delete(path)

    def _take(self, path: str, purpose: str) -> None:
        give_up, pause = time.monotonic() + self.wait, _FIRST_PAUSE
        while not self.storage.create(path, _owner(purpose)):
            if self._is_left_behind(path):
                self.storage.delete(path)
                continue
            if time.monotonic() + pause > give_up:
                raise LockNotAcquired(
                    f"{self.storage.uri}: another writer has held {path} for {self.wait:g} s; wait "
                    "for it, or delete that file if no writer runs any more"
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _is_left_behind(self, path: str) -> bool:
        """Whether a process of ours took the lock, and died."""
        try:
            owner = json.loads(self.storage.read(path))
        except (HudiError, ValueError):
            return False
        return isinstance(owner, dict) and is_gone(owner)


def refuse_unknown_locks(storage: Storage) -> None:
    """Raises UnknownLock where the table's writers take a lock that this module does not."""
    if storage.stat(_CONDITIONAL) is not None:
        raise UnknownLock(
            f"{storage.uri}: its writers take the lock of StorageBasedLockProvider "
            f"({_CONDITIONAL}), which cannot be taken from here; stop them and delete that file, "
            "which they make anew, or put the index into the store 'extension'"
        )


def _owner(purpose: str) -> bytes:
    """What Hudi's writers show of the lock's owner, and what `owners` needs."""
    now = datetime.now().isoformat(sep=" ", timespec="milliseconds")
    owner = this_process()
    thread = f"pyhudi {purpose} (process {owner[PROCESS]} on {owner[HOST]})"
    return json.dumps({"lockCreateTime": now, "lockThreadName": thread, **owner}).encode()
