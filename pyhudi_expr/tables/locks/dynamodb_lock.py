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
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from pyhudi_expr.errors import HudiError
from pyhudi_expr.installation import require_extra
from pyhudi_expr.tables.locks.lease import Lease, LockLost, RenewedLease, wait_for
from pyhudi_expr.tables.locks.settings import (
    DYNAMODB_ENDPOINT,
    DYNAMODB_KEY,
    DYNAMODB_REGION,
    DYNAMODB_TABLE,
    WAIT,
    path_hash,
    whole_number,
)
from pyhudi_expr.tables.process_owner import HOST, PROCESS, this_process
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage

_KEY = "key"
_OWNER, _LEASE, _VERSION = "ownerName", "leaseDuration", "recordVersionNumber"
_RELEASED, _RELEASED_VALUE = "isReleased", "1"
_NAMES = {
    "#key": _KEY,
    "#owner": _OWNER,
    "#lease": _LEASE,
    "#version": _VERSION,
    "#released": _RELEASED,
}
_CONNECT_SECONDS, _ANSWER_SECONDS, _ATTEMPTS = 3, 5, 3
_LONGEST_MESSAGE = 300


@dataclass(frozen=True)
class LockAddress:
    """Where the item of a table's lock is.

    Attributes:
        hudi_table: The Hudi table, for messages.
        table: The name of DynamoDB's table.
        key: The item's partition key.
        region: AWS's region.
        endpoint: The URL of another server than AWS's of the region; None for that.
        keys: AWS's keys: `access_key_id`, `secret_access_key`, `session_token`; without them,
            those of the environment, the profile or the machine's role are taken.
    """

    hudi_table: str
    table: str
    key: str
    region: str
    endpoint: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    def __str__(self) -> str:
        return f"{self.key} of the DynamoDB table {self.table} ({self.endpoint or self.region})"


@dataclass(frozen=True)
class LockItem:
    """The content of the item.

    Attributes:
        owner: The holder.
        version: Another one after each renewal.
        lease: For how many seconds the lock is held after the item was written or renewed.
        is_released: The holder has released it.
    """

    owner: str
    version: str
    lease: float
    is_released: bool = False


class LockRequests:
    """A client of DynamoDB for one item. Thread safe.

    Each holder has a name of its own, by which a request that is sent again, because the answer to
    the first one was lost, succeeds as that did.
    """

    def __init__(self, address: LockAddress):
        """Prepare the client; no request is made.

        Raises:
            HudiError: The package is missing, or a setting cannot be used.
        """
        self._address = address
        with require_extra("dynamodb"):
            import botocore.exceptions
            import botocore.session
            from botocore.config import Config
        self._errors = (
            botocore.exceptions.BotoCoreError,
            botocore.exceptions.ClientError,
            ValueError,  # of an endpoint that is no URL
        )
        config = Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_ANSWER_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            ignore_configured_endpoint_urls=True,  # AWS_ENDPOINT_URL is often that of S3 alone
        )
        with self._translated():
            self._client: Any = botocore.session.Session().create_client(
                "dynamodb",
                region_name=address.region,
                endpoint_url=address.endpoint,
                aws_access_key_id=address.keys.get("access_key_id"),
                aws_secret_access_key=address.keys.get("secret_access_key"),
                aws_session_token=address.keys.get("session_token"),
                config=config,
            )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def read(self) -> LockItem | None:
        """Read the item; None if there is none.

        Raises:
            HudiError: It is not a lock, or the request fails.
        """
        with self._translated():
            found = self._client.get_item(**self._place(), ConsistentRead=True).get("Item")
        return None if found is None else _parsed(found, self._address)

    def put(self, item: LockItem, seen: LockItem | None) -> bool:
        """Write the item in place of what was seen (None: nothing); return whether that succeeded.

        It does if that has neither been renewed nor replaced since. What was seen as released may
        have been taken and released once more.

        Raises:
            HudiError: The request fails.
        """
        if seen is None:
            condition, known = "attribute_not_exists(#key)", {}
        elif seen.is_released:
            condition, known = "#released = :seen", {":seen": _RELEASED_VALUE}
        else:
            condition, known = "#version = :seen", {":seen": seen.version}
        content = {_KEY: self._address.key, _OWNER: item.owner, **_renewed(item)}
        return self._is_written(
            self._client.put_item,
            f"{condition} OR #owner = :owner",
            {":owner": item.owner, **known},
            TableName=self._address.table,
            Item=_as_attributes(content),
        )

    def renew(self, item: LockItem) -> bool:
        """Give the item of this owner its version and its lease; return False if it has none.

        Raises:
            HudiError: The request fails.
        """
        renewed = _renewed(item)
        return self._is_written(
            self._client.update_item,
            "#owner = :owner AND attribute_not_exists(#released)",
            {":owner": item.owner, ":version": renewed[_VERSION], ":lease": renewed[_LEASE]},
            **self._place(),
            UpdateExpression="SET #version = :version, #lease = :lease",
        )

    def release(self, owner: str) -> bool:
        """Free the lock of this owner, and delete its item as AWS's client does.

        A deletion that is sent again cannot tell whether the first one succeeded, so the item is
        marked as released before, which AWS's client understands, too.

        Returns:
            False if the owner does not have the lock any more.

        Raises:
            HudiError: The request fails.
        """
        is_released = self._is_written(
            self._client.update_item,
            "#owner = :owner",
            {":owner": owner, ":released": _RELEASED_VALUE},
            **self._place(),
            UpdateExpression="SET #released = :released",
        )
        if is_released:
            with suppress(HudiError):  # it is free
                values = {":owner": owner}
                self._is_written(
                    self._client.delete_item, "#owner = :owner", values, **self._place()
                )
        return is_released

    def _place(self) -> dict[str, Any]:
        key = _as_attributes({_KEY: self._address.key})
        return {"TableName": self._address.table, "Key": key}

    def _is_written(
        self,
        request: Callable[..., object],
        condition: str,
        values: Mapping[str, str],
        **arguments: Any,  # noqa: ANN401 - botocore has no types
    ) -> bool:
        """Send a writing request; return whether its condition held."""
        used = condition + arguments.get("UpdateExpression", "")
        arguments |= {
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {name: _NAMES[name] for name in _NAMES if name in used},
            "ExpressionAttributeValues": _as_attributes(values),
        }
        failed = self._client.exceptions.ConditionalCheckFailedException
        with self._translated():
            try:
                request(**arguments)
            except failed:
                return False
        return True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise HudiError for botocore's errors."""
        try:
            yield
        except self._errors as error:
            # Not chained: AWS repeats a request whose signature is wrong, with a session's token.
            raise HudiError(_explained(error, self._address)) from None


def _renewed(item: LockItem) -> dict[str, str]:
    return {_LEASE: str(round(item.lease * 1000)), _VERSION: item.version}


def _as_attributes(texts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {name: {"S": text} for name, text in texts.items()}


def _parsed(content: Mapping[str, Mapping[str, str]], address: LockAddress) -> LockItem:
    texts = {name: value.get("S", "") for name, value in content.items()}
    if not (texts.get(_OWNER) and texts.get(_VERSION) and texts.get(_LEASE, "").isdecimal()):
        raise HudiError(
            f"{address.hudi_table}: the item {address} should have the texts {_OWNER}, {_VERSION} "
            f"and {_LEASE}, and has {sorted(content)}; if no writer runs, delete it"
        )
    lease = int(texts[_LEASE]) / 1000
    return LockItem(texts[_OWNER], texts[_VERSION], lease, _RELEASED in content)


def _explained(error: Exception, address: LockAddress) -> str:
    """Return the message for an error of botocore."""
    answer = getattr(error, "response", {}).get("Error", {})
    code = answer.get("Code", type(error).__name__)
    said = str(answer.get("Message", error)).partition("\n")[0][:_LONGEST_MESSAGE]
    if code == "ResourceNotFoundException":
        said = "there is no such table; Hudi's writers create theirs, so this is another one"
    return (
        f"{address.hudi_table}: a request for the lock {address} fails: {code}: {said}; check "
        f"{DYNAMODB_TABLE}, {DYNAMODB_REGION} and {DYNAMODB_ENDPOINT}, and that AWS's credentials "
        "allow dynamodb:GetItem, PutItem, UpdateItem and DeleteItem"
    )


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
