"""The lock of Hudi's `HiveMetastoreBasedLockProvider`: an exclusive one of the Hive metastore.

The metastore forgets a lock that its holder does not keep alive (hive.txn.timeout, 5 minutes by
default).
"""

from __future__ import annotations

import getpass
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks.lease import Lease, LockLost, unknown_lock, wait_for
from pyhudi_expr.tables.locks.settings import (
    HEARTBEAT,
    METASTORE_DATABASE,
    METASTORE_TABLE,
    METASTORE_URIS,
    whole_number,
)
from pyhudi_expr.tables.metastore import ACQUIRED, MetastoreClient, NoSuchLock
from pyhudi_expr.tables.process_owner import PROCESS, this_process
from pyhudi_expr.tables.storage import Storage


@dataclass(frozen=True)
class MetastoreLock:
    """The lock.

    Attributes:
        table: The Hudi table, for messages.
        uris: The metastore's addresses.
        database: The database of the locked name.
        name: The locked name; there need be no such table.
        wait: Seconds to wait for the lock.
        heartbeat: Seconds between signs of life.
    """

    table: str
    uris: str
    database: str
    name: str
    wait: float
    heartbeat: float = 60

    @staticmethod
    def of(
        storage: Storage, provider: str, settings: Mapping[str, str], wait: float
    ) -> MetastoreLock:
        """Return the lock of a table; `provider` is the class of the writers' lock.

        Raises:
            UnknownLock: The settings do not say which it is.
        """
        for key in (METASTORE_URIS, METASTORE_DATABASE, METASTORE_TABLE):
            if not settings.get(key):
                why = f"so give the setting {key} that they have (or that of their hive-site.xml)"
                raise unknown_lock(storage.uri, provider, why)
        heartbeat = whole_number(settings, HEARTBEAT, 60_000) / 1000
        database, name = settings[METASTORE_DATABASE], settings[METASTORE_TABLE]
        return MetastoreLock(storage.uri, settings[METASTORE_URIS], database, name, wait, heartbeat)

    @contextmanager
    def held(self, purpose: str) -> Iterator[Lease]:
        """Hold the lock in a `with` block; `purpose` is shown in the metastore's list of locks.

        Raises:
            LockNotAcquired: Another writer holds it.
            LockLost: It was not held until the end of the block.
            HudiError: The metastore does not answer.
        """
        lock = _HeldLock(self)
        try:
            lock.take(purpose)
            yield lock
        finally:
            is_lost = not lock.release()
        if is_lost:
            raise lock.lost()


class _HeldLock:
    """A lock's id, which is kept alive."""

    def __init__(self, lock: MetastoreLock):
        self._lock = lock
        self._client = MetastoreClient(lock.uris)
        self._id: int | None = None
        self._is_lost = False
        self._asking = threading.Lock()
        self._stopping = threading.Event()
        self._beating: threading.Thread | None = None

    def take(self, purpose: str) -> None:
        """Queue for the lock, and return when it is acquired."""
        agent = f"pyhudi {purpose} (process {this_process()[PROCESS]})"
        name = self._lock
        self._id, state = self._client.lock(name.database, name.name, getpass.getuser(), agent)
        if state != ACQUIRED:
            wait_for(self._was_acquired, name.wait, self._refusal)
        self._beating = threading.Thread(
            target=self._beat_always, name=f"pyhudi lock: {purpose}", daemon=True
        )
        self._beating.start()

    def check(self) -> None:
        """Check that the lock is still held.

        Raises:
            LockLost: It is not, or the metastore does not answer.
        """
        if not self._beat():
            raise self.lost()

    def release(self) -> bool:
        """Release the lock, or leave the queue; return whether it was held until now."""
        self._stopping.set()
        if self._beating is not None:
            self._beating.join()
        try:
            if self._id is not None and not self._is_lost:
                self._client.unlock(self._id)
        except (NoSuchLock, HudiError):
            self._is_lost = True
        finally:
            self._client.close()
        return not self._is_lost

    def lost(self) -> LockLost:
        """Return the error that says that the lock is lost."""
        return LockLost(
            f"{self._lock.table}: the Hive metastore at {self._lock.uris} ended the lock "
            f"{self._lock.database}.{self._lock.name} that was held here, or does not answer; "
            "another writer may have changed the table meanwhile: check what this command did, "
            "and repeat it"
        )

    def _was_acquired(self) -> bool | None:
        assert self._id is not None
        try:
            return True if self._client.state(self._id) == ACQUIRED else None
        except NoSuchLock as error:
            raise self.lost() from error

    def _refusal(self) -> str:
        lock = self._lock
        return (
            f"{lock.table}: another writer has held the lock {lock.database}.{lock.name} of the "
            f"Hive metastore at {lock.uris} for {lock.wait:g} s; wait for it (SHOW LOCKS in Hive)"
        )

    def _beat_always(self) -> None:
        pause = self._lock.heartbeat / 2  # as Hudi: the first one after half of the time
        while not self._stopping.wait(pause):
            pause = self._lock.heartbeat
            with suppress(HudiError):  # it may answer the next time
                self._beat_once()

    def _beat(self) -> bool:
        try:
            self._beat_once()
        except HudiError:
            return False
        return not self._is_lost

    def _beat_once(self) -> None:
        with self._asking:
            if self._is_lost or self._id is None:
                return
            try:
                self._client.heartbeat(self._id)
            except NoSuchLock:
                self._is_lost = True
