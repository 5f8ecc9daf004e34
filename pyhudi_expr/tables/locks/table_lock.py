"""The lock that a table's writers take, chosen by their settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from pyhudi_expr.tables.locks.dynamodb_lock import DynamodbLock
from pyhudi_expr.tables.locks.file_lock import DEFAULT_DIRECTORIES, FileLock
from pyhudi_expr.tables.locks.lease import Lease, UnknownLock, unknown_lock
from pyhudi_expr.tables.locks.metastore_lock import MetastoreLock
from pyhudi_expr.tables.locks.settings import DIRECTORY, PROVIDER, SETTINGS, WAIT, whole_number
from pyhudi_expr.tables.locks.storage_lease import LEASE_FILE, LeaseTimes, StorageLock
from pyhudi_expr.tables.locks.zookeeper_lock import ZookeeperLock
from pyhudi_expr.tables.properties import hudi_defaults
from pyhudi_expr.tables.storage import Storage

_WAIT_MS = 60_000
_FILE = frozenset({"", "FileSystemBasedLockProvider", "InProcessLockProvider", "NoopLockProvider"})


@dataclass(frozen=True)
class TableLock:
    """The table's lock.

    Attributes:
        directories: Directories of the lock files, relative to the base path, absolute, or URIs.
        wait: Seconds to wait for the lock.
        provider: The class of the writers' lock; empty if unknown.
        settings: The writers' settings of locks.
    """

    storage: Storage
    directories: Sequence[str] = DEFAULT_DIRECTORIES
    wait: float = _WAIT_MS / 1000
    provider: str = ""
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)

    _KEYS: ClassVar[frozenset[str]] = frozenset(SETTINGS)

    @staticmethod
    def of(
        storage: Storage, settings: Mapping[str, str] | None = None, wait: float | None = None
    ) -> TableLock:
        """Return the lock that settings of writers name, else that of the machine's settings.

        Raises:
            HudiError: The settings cannot be read.
        """
        known = {**hudi_defaults(), **(settings or {})}
        known = {key: value for key, value in known.items() if key in TableLock._KEYS}
        directory = known.get(DIRECTORY)
        directories = (directory,) if directory else DEFAULT_DIRECTORIES
        if wait is None:
            wait = whole_number(known, WAIT, _WAIT_MS) / 1000
        return TableLock(storage, directories, wait, known.get(PROVIDER, ""), known)

    def check(self) -> None:
        """Check that the table's writers take this lock.

        Raises:
            UnknownLock: They take another one.
            HudiError: Its settings are wrong.
        """
        self._lock()

    @contextmanager
    def held(self, purpose: str) -> Iterator[Lease]:
        """Hold the lock in a `with` block; `purpose` is shown to others that wait for it.

        The block gets the lease, whose `check` tells whether the lock is still held. In place of a
        lock that is not supported (see `check`) it holds that of files, which excludes the other
        processes of this program; so much the extension needs.

        Raises:
            LockNotAcquired: Another writer holds it.
            LockLost: It was not held until the end of the block.
            HudiError: The lock's settings are wrong, or its service does not answer.
        """
        try:
            lock = self._lock()
        except UnknownLock:
            lock = self._files()
        with lock.held(purpose) as lease:
            yield lease

    def is_abandoned(self) -> bool:
        """Return whether a dead process of this program left the lock; `held` takes it over.

        Only files stay for ever; leases and sessions end by themselves.

        Raises:
            HudiError: The lock's settings are wrong, or the storage fails.
        """
        try:
            lock = self._lock()
        except UnknownLock:
            lock = self._files()
        return isinstance(lock, FileLock) and lock.is_abandoned()

    def _lock(self) -> FileLock | StorageLock | ZookeeperLock | DynamodbLock | MetastoreLock:
        """Return the lock.

        Raises:
            UnknownLock: It is not supported.
            HudiError: Its settings are wrong.
        """
        match self.provider.rpartition(".")[2]:
            case name if name in _FILE:
                return self._unnamed_lock()
            case "StorageBasedLockProvider":
                return self._lease()
            case "ZookeeperBasedLockProvider" | "ZookeeperBasedImplicitBasePathLockProvider":
                return ZookeeperLock.of(self.storage, self.provider, self.settings, self.wait)
            case "DynamoDBBasedLockProvider" | "DynamoDBBasedImplicitPartitionKeyLockProvider":
                return DynamodbLock.of(self.storage, self.provider, self.settings, self.wait)
            case "HiveMetastoreBasedLockProvider":
                return MetastoreLock.of(self.storage, self.provider, self.settings, self.wait)
        raise unknown_lock(self.storage.uri, self.provider, "which cannot be taken from here")

    def _unnamed_lock(self) -> FileLock | StorageLock:
        """Return the lock of writers whose settings name none, or one of files or processes."""
        if self.storage.stat(LEASE_FILE) is None:
            return self._files()
        if not self.provider and self.storage.has_conditional_writes:
            return self._lease()
        raise UnknownLock(
            f"{self.storage.uri}: its writers take the lock of StorageBasedLockProvider "
            f"({LEASE_FILE}); name it ({PROVIDER}) if the table is in an object store; else stop "
            "the writers and delete that file, which they create again; or put the index into the "
            "store 'extension'"
        )

    def _files(self) -> FileLock:
        return FileLock(self.storage, self.directories, self.wait)

    def _lease(self) -> StorageLock:
        if not self.storage.has_conditional_writes:
            why = "which needs an object store with conditional writes"
            raise unknown_lock(self.storage.uri, self.provider, why)
        return StorageLock(self.storage, self.wait, LeaseTimes.of(self.settings))
