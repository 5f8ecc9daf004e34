"""The requests to DynamoDB that concern locks: items as AWS's lock client for Java writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from pyhudi_expr.errors import HudiError
from pyhudi_expr.optional_dependencies import require_extra
from pyhudi_expr.tables.locks.settings import DYNAMODB_ENDPOINT, DYNAMODB_REGION, DYNAMODB_TABLE

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
