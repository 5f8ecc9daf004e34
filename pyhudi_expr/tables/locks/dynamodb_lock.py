"""The lock of Hudi's DynamoDB providers: an item that AWS's lock client for Java takes and renews.

The item says who holds the lock and how long its lease is, and has a version that changes with each
renewal. Clocks are never compared: who waits reads the item again and again, and replaces it when
its version has stayed the same for as long as the lease; all writes are conditional. Fields, times
and settings are those of Hudi 1.2 with `dynamodb-lock-client` 1.3: the lease is as long as the
writers' waiting time, and is renewed three times in that. Hudi's writers create DynamoDB's table if
it is missing. Here that is an error: a table that no writer has made is not the one of their lock.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

from pyhudi_expr.tables.locks.dynamodb_items import LockAddress, LockItem, LockRequests
from pyhudi_expr.tables.locks.errors import LockLost
from pyhudi_expr.tables.locks.lease import Lease, wait_for
from pyhudi_expr.tables.locks.renewed_lease import RenewedLease
from pyhudi_expr.tables.locks.settings import (
    DYNAMODB_ENDPOINT,
    DYNAMODB_KEY,
    DYNAMODB_REGION,
    DYNAMODB_TABLE,
    WAIT,
    whole_number,
)
from pyhudi_expr.tables.locks.table_path import path_hash
from pyhudi_expr.tables.process_owner import HOST, PROCESS, this_process
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage

_IMPLICIT = "DynamoDBBasedImplicitPartitionKeyLockProvider"
_DEFAULT_TABLE, _DEFAULT_REGION = "hudi_locks", "us-east-1"
_LEASE_MS, _SHORTEST_LEASE = 60_000, 10.0
_RENEWALS = 3  # in a lease


@dataclass(frozen=True)
class DynamodbLock:
    """The lock.

    Attributes:
        address: Its item.
        wait: Seconds to wait for it. A holder that has shown no sign of life is waited for until
            its lease is over.
        validity: Seconds that a lease lasts without a renewal.
        renewal: Seconds between renewals.
    """

    address: LockAddress
    wait: float
    validity: float = 60
    renewal: float = 20

    @staticmethod
    def of(
        storage: Storage, provider: str, settings: Mapping[str, str], wait: float
    ) -> DynamodbLock:
        """Return the lock of a table; `provider` is the class of the writers' lock.

        Raises:
            UnknownLock: The settings do not say which it is.
        """
        if provider.endswith(_IMPLICIT):
            key = path_hash(storage, provider, settings)
        else:
            key = settings.get(DYNAMODB_KEY) or TableProperties.read(storage).name
        endpoint = settings.get(DYNAMODB_ENDPOINT) or None
        if endpoint and "://" not in endpoint:
            endpoint = f"https://{endpoint}"
        address = LockAddress(
            hudi_table=storage.uri,
            table=settings.get(DYNAMODB_TABLE) or _DEFAULT_TABLE,
            key=key,
            # Only what Hudi's writers look at: in another region is another lock.
            region=settings.get(DYNAMODB_REGION) or os.environ.get("AWS_REGION") or _DEFAULT_REGION,
            endpoint=endpoint,
            keys=storage.aws_keys,
        )
        validity = max(whole_number(settings, WAIT, _LEASE_MS) / 1000, _SHORTEST_LEASE)
        return DynamodbLock(address, wait, validity, validity / _RENEWALS)

    @contextmanager
    def held(self, purpose: str) -> Iterator[Lease]:
        """Hold the lock in a `with` block; `purpose` is shown in the item.

        Raises:
            LockNotAcquired: Another writer holds it.
            LockLost: Another writer has taken it before the end of the block.
            HudiError: DynamoDB does not answer, or has no such table.
        """
        with closing(LockRequests(self.address)) as requests:
            lease = self._taken(DynamodbLease(self, requests, purpose))
            lease.start_renewing(purpose)
            try:
                yield lease
            finally:
                is_lost = not lease.release()
            if is_lost:
                raise lease.lost()

    def _taken(self, lease: DynamodbLease) -> DynamodbLease:
        return wait_for(
            lambda: lease if lease.is_taken() else None,
            self.wait,
            lease.refusal,
            lease.has_silent_holder,
        )


class DynamodbLease(RenewedLease):
    """One attempt to hold the lock, and the lock while it is held."""

    def __init__(self, lock: DynamodbLock, requests: LockRequests, purpose: str):
        super().__init__(lock.validity, lock.renewal)
        self._lock = lock
        self._requests = requests
        self._owner = _new_owner(purpose)
        self._begun = time.monotonic()
        self._holder: LockItem | None = None
        self._holder_seen = 0.0
        self._versions_seen = 0

    def is_taken(self) -> bool:
        """Take the lock if it is free, and return whether that succeeded.

        Raises:
            HudiError: The item is none of a lock, or a request fails.
        """
        found = self._requests.read()
        if found is not None and self._is_held(found):
            return False
        item = self._new_item()
        return self._counted(lambda: self._requests.put(item, found))

    def has_silent_holder(self) -> bool:
        """Return whether all attempts have seen one holder, who has not renewed the lease."""
        return self._versions_seen == 1

    def refusal(self) -> str:
        """Return the message that says who holds the lock."""
        holder = self._holder
        shown = f" ({holder.owner}, a lease of {holder.lease:g} s)" if holder else ""
        seconds = time.monotonic() - self._begun
        return (
            f"{self._lock.address.hudi_table}: another writer{shown} has held the lock "
            f"{self._lock.address} for {seconds:.1f} s; wait for it: if it died, its lease ends by "
            "itself"
        )

    def lost(self) -> LockLost:
        """Return the error that says that the lock is lost."""
        how = "was taken by another writer" if self._is_lost else "could not be renewed in time"
        return LockLost(
            f"{self._lock.address.hudi_table}: the lock {self._lock.address} {how}, or its item "
            "was deleted, while it was held here; another writer may have changed the table "
            "meanwhile: check what this command did, and repeat it"
        )

    def _is_held(self, found: LockItem) -> bool:
        """Return whether the item's lease may last; it is counted from when it was first seen."""
        if self._holder is None or found.version != self._holder.version:
            self._holder, self._holder_seen = found, time.monotonic()
            self._versions_seen += 1
        return not found.is_released and time.monotonic() <= self._holder_seen + found.lease

    def _extend(self) -> bool:
        return self._requests.renew(self._new_item())

    def _end(self) -> bool:
        return self._requests.release(self._owner)

    def _new_item(self) -> LockItem:
        return LockItem(self._owner, str(uuid.uuid4()), self._validity)


def _new_owner(purpose: str) -> str:
    """Return a name that no other holder has, and that says who it is."""
    owner = this_process()
    return f"pyhudi {purpose} (process {owner[PROCESS]} on {owner[HOST]}) {uuid.uuid4()}"
