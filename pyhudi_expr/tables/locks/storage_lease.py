"""The lock of Hudi's `StorageBasedLockProvider` (RFC-91): a lease in a file of the object store.

The file says who holds the lock and until when, or that it was released (`expired`). It is created
and replaced by conditional writes only, so of several writers one succeeds. The holder renews its
lease while it works. A lease whose time is over may be taken by anyone, after a tolerance for
different clocks. Fields, times and settings are those of Hudi 1.1 and 1.2. Hudi's optional audit
(`.hoodie/.locks/audit`) is not written.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyhudi_expr.errors import CorruptFile, HudiError
from pyhudi_expr.tables.hudi_names import HOODIE_DIR
from pyhudi_expr.tables.locks.lease import Lease, LockLost, RenewedLease, wait_for
from pyhudi_expr.tables.locks.settings import RENEWAL, RENEWAL_BEFORE, VALIDITY, whole_number
from pyhudi_expr.tables.parsing.budget import parse_json
from pyhudi_expr.tables.storage import Storage

LEASE_FILE = f"{HOODIE_DIR}/.locks/table_lock.json"
_CLOCK_DRIFT_MS = 500  # Hudi's CLOCK_DRIFT_BUFFER_MS


@dataclass(frozen=True)
class LeaseTimes:
    """How long a lease is valid, and how often it is renewed, in seconds."""

    validity: float = 300
    renewal: float = 30

    @staticmethod
    def of(settings: Mapping[str, str]) -> LeaseTimes:
        """Return the times of the writers' settings.

        Raises:
            HudiError: Hudi would refuse them.
        """
        validity = whole_number(settings, VALIDITY, 300)
        key = RENEWAL_BEFORE if RENEWAL_BEFORE in settings and RENEWAL not in settings else RENEWAL
        renewal = whole_number(settings, key, 30)
        if renewal < 1 or validity < max(10, 10 * renewal):
            raise HudiError(
                f"{VALIDITY} is {validity} and {key} is {renewal}; Hudi requires at least 1 s to "
                "renew the lock, and ten times as long until it ends"
            )
        return LeaseTimes(validity, renewal)


@dataclass(frozen=True)
class LeaseRecord:
    """The content of the lock's file.

    Attributes:
        expired: True: released.
        valid_until: When the lease ends, in milliseconds since the epoch.
        owner: The holder; a UUID.
    """

    expired: bool
    valid_until: int
    owner: str

    @staticmethod
    def parse(content: bytes, uri: str) -> LeaseRecord:
        """Parse a file of the table `uri`.

        Raises:
            HudiError: It is not what Hudi writes.
        """
        try:
            fields = parse_json(content, uri)
        except CorruptFile:
            fields = None
        match fields:
            case {"expired": bool(expired), "validUntil": int(until), "owner": str(owner)}:
                return LeaseRecord(expired, until, owner)
        raise HudiError(
            f"{uri}: {LEASE_FILE} should have the fields expired, validUntil and owner, and is "
            f"{content[:100]!r}; if no writer runs, delete it"
        )

    def content(self) -> bytes:
        """Return the file's content, as Hudi writes it."""
        fields = {"expired": self.expired, "validUntil": self.valid_until, "owner": self.owner}
        return json.dumps(fields, separators=(",", ":")).encode()

    def is_held(self) -> bool:
        """Return whether the lock was not released and its time is not surely over."""
        return not self.expired and _now_ms() <= self.valid_until + _CLOCK_DRIFT_MS


@dataclass(frozen=True)
class StorageLock:
    """The lock.

    Attributes:
        storage: The table; it has conditional writes.
        wait: Seconds to wait for it.
    """

    storage: Storage
    wait: float
    times: LeaseTimes = LeaseTimes()

    @contextmanager
    def held(self, purpose: str) -> Iterator[Lease]:
        """Hold the lock in a `with` block.

        Args:
            purpose: Names the thread that renews it; the file has no field for it.

        Raises:
            LockNotAcquired: Another writer holds it.
            LockLost: Another writer has taken it before the end of the block.
        """
        lease = self._taken()
        lease.start_renewing(purpose)
        try:
            yield lease
        finally:
            is_lost = not lease.release()
        if is_lost:
            raise lease.lost()

    def _taken(self) -> StorageLease:
        lease = StorageLease(self.storage, self.times)
        return wait_for(
            lambda: lease if lease.is_taken() else None,
            self.wait,
            lambda: (
                f"{self.storage.uri}: another writer has held {LEASE_FILE} for {self.wait:g} s"
                f"{lease.seen_holder()}; wait for it: if it died, its lease ends by itself"
            ),
        )


class StorageLease(RenewedLease):
    """One attempt to hold the lock, and the lock while it is held."""

    def __init__(self, storage: Storage, times: LeaseTimes):
        super().__init__(times.validity, times.renewal)
        self._storage = storage
        self._owner = str(uuid.uuid4())
        self._seen: LeaseRecord | None = None
        self._version = ""
        self._valid_until = 0  # in milliseconds since the epoch

    def is_taken(self) -> bool:
        """Take the lock if it is free, and return whether that succeeded.

        Raises:
            HudiError: The file is none of Hudi's, or the storage fails.
        """
        found = self._storage.read_versioned(LEASE_FILE)
        if found is None:
            return self._counted(self._create)
        self._seen = LeaseRecord.parse(found.content, self._storage.uri)
        if self._seen.is_held():
            return False
        self._version = found.version
        return self._counted(self._extend)

    def seen_holder(self) -> str:
        """Describe who held the lock at the last attempt."""
        if self._seen is None:
            return ""
        seconds = (self._seen.valid_until - _now_ms()) / 1000
        return f" (owner {self._seen.owner}, its lease ends in {seconds:.0f} s unless renewed)"

    def lost(self) -> LockLost:
        """Return the error that says that the lock is lost."""
        how = "was taken by another writer" if self._is_lost else "could not be renewed in time"
        return LockLost(
            f"{self._storage.uri}: the lock {LEASE_FILE} {how} while it was held here; another "
            "writer may have changed the table meanwhile: check what this command did, and "
            "repeat it"
        )

    def _create(self) -> bool:
        content = self._held_from_now()
        if not self._storage.create(LEASE_FILE, content):
            return False
        found = self._storage.read_versioned(LEASE_FILE)
        if found is None or found.content != content:
            return False
        self._version = found.version
        return True

    def _extend(self) -> bool:
        return self._replace(self._held_from_now())

    def _end(self) -> bool:
        return self._replace(LeaseRecord(True, self._valid_until, self._owner).content())

    def _held_from_now(self) -> bytes:
        self._valid_until = _now_ms() + int(self._validity * 1000)
        return LeaseRecord(False, self._valid_until, self._owner).content()

    def _replace(self, content: bytes) -> bool:
        written = self._storage.replace(LEASE_FILE, content, self._version)
        if written is None:
            return False
        self._version = written
        return True


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
