"""Clients of object stores, shared by all threads, and their errors, without secrets.

Servers repeat in their answers what they were sent: AWS returns an expired session token, and the
headers of a request whose signature is wrong. So of an answer only its code and message are kept.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from obstore import exceptions
from obstore.exceptions import BaseError, UnknownConfigurationKeyError
from obstore.store import AzureStore, GCSStore, S3Store

if TYPE_CHECKING:
    from obstore.store import RetryConfig, S3Credential


_GUIDE = "docs/object-stores.md says where credentials come from"
_ROLE = re.compile(r"169\.254\.\d|/latest/(?:api|meta-data)/|/computeMetadata/|/metadata/identity/")
_NO_BUCKET = re.compile("NoSuchBucket|ContainerNotFound|specified bucket does not exist")
_DENIED = exceptions.PermissionDeniedError, exceptions.UnauthenticatedError
_DENIED_STATUS = re.compile(r"40[13] (?:Unauthorized|Forbidden)")
_DEBUG = "\n\nDebug source:"
_BODY = re.compile(r"(?:<\?xml|<!doctype|<html|<Error\b|\{).*", re.DOTALL | re.IGNORECASE)
_CODE = re.compile(r"<Code>([\w.]{1,100})</Code>|\"(?:code|status)\": *\"?([\w.]{1,100})")
_MESSAGE = re.compile(r"<Message>([^<]{1,300})|\"message\": *\"([^\"]{1,300})")
_NOISE = re.compile(
    r"Generic \w+ error: |Error performing list request: |Server returned non-2xx status code: "
    r"|(?:Object at location \S+ not found"
    r"|The operation lacked the necessary privileges to complete for path \S+): "
)
_USER = re.compile(r"(?<=://)[^/\s@]+@")
_QUERY = re.compile(r"(https?://[^\s?]+)\?\S+")
_LONGEST = 600


NOT_FOUND = exceptions.NotFoundError, FileNotFoundError
"""obstore raises Python's own exception, too."""


def is_missing(error: BaseException) -> bool:
    """Return whether an object does not exist, in a bucket that does."""
    return isinstance(error, NOT_FOUND) and not _NO_BUCKET.search(str(error))


def as_os_error(error: BaseException, path: str) -> OSError:
    """Return what to raise for an error of obstore."""
    if is_missing(error):
        return FileNotFoundError(path)
    text = str(error).partition(_DEBUG)[0]
    body = _BODY.search(text)
    if body is not None:
        found = [_first(pattern, body.group()) for pattern in (_CODE, _MESSAGE)]
        text = f"{text[: body.start()]}{': '.join(filter(None, found))}"
    text = _QUERY.sub(r"\1", _USER.sub("", _NOISE.sub("", " ".join(text.split()))))
    text = text[:_LONGEST].rstrip(": ")
    if _NO_BUCKET.search(text):
        return OSError(f"the bucket or container does not exist: {text}")
    if _ROLE.search(text):
        return PermissionError(
            f"no credentials: none are set, and the machine has no role: {text}; {_GUIDE}"
        )
    if isinstance(error, _DENIED) or _DENIED_STATUS.search(text):
        return PermissionError(f"access is denied: {text}; {_GUIDE}")
    return OSError(text)


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return "" if match is None else next(filter(None, match.groups()), "")


ObjectStoreClient: TypeAlias = S3Store | GCSStore | AzureStore

S3, GCS, AZURE = "s3", "gcs", "azure"
_RUST_PREFIXES = {S3: "aws_", GCS: "google_", AZURE: "azure_storage_"}
_KINDS: dict[str, type[ObjectStoreClient]] = {S3: S3Store, GCS: GCSStore, AZURE: AzureStore}

# A request that gets no answer is repeated once, as a user would still wait: a read ends after 24
# seconds, and a conditional write, which then asks what became of it, after 48.
_RETRIES: RetryConfig = {
    "max_retries": 6,
    "backoff": {
        "init_backoff": timedelta(milliseconds=50),
        "max_backoff": timedelta(seconds=2),
        "base": 2,
    },
    "retry_timeout": timedelta(seconds=15),
}
_CLIENT_OPTIONS = {
    "connect_timeout": timedelta(seconds=3),
    # Until the next bytes come; also for sending a body.
    "read_timeout": timedelta(seconds=12),
    "timeout": timedelta(seconds=300),
}


@dataclass(frozen=True)
class StoreAddress:
    """A bucket or container, and how to reach it.

    Attributes:
        kind: S3, GCS or AZURE.
        settings: Names of obstore's configuration with their values; kept out of `repr`, as there
            may be secrets among them.
        client_settings: Settings of the HTTP client; a proxy's URL may hold a password.
    """

    kind: str
    settings: tuple[tuple[str, str], ...] = field(repr=False)
    client_settings: tuple[tuple[str, str | bool], ...] = field(default=(), repr=False)


def client(address: StoreAddress) -> ObjectStoreClient:
    """Return the client of an address; a forked process gets one of its own."""
    return _client(address, os.getpid())


@lru_cache(maxsize=64)
def _client(address: StoreAddress, _process: int) -> ObjectStoreClient:
    # obstore checks the names.
    arguments: Any = {
        "config": dict(address.settings),
        "client_options": {**_CLIENT_OPTIONS, **dict(address.client_settings)},
        "retry_config": _RETRIES,
    }
    if address.kind == S3:
        given = dict(address.settings)
        key, secret = given.get("access_key_id"), given.get("secret_access_key")
        # obstore adds the environment's token, which belongs to other keys.
        if key and secret and "session_token" not in given and "AWS_SESSION_TOKEN" in os.environ:
            arguments["credential_provider"] = _Keys(key, secret)
    return _KINDS[address.kind](**arguments)


def has_setting(kind: str, name: str) -> bool:
    """Return whether a store's configuration has a setting of this name, without its prefix."""
    config: Any = {name: ""}
    try:
        _KINDS[kind]("any", config=config)
    except UnknownConfigurationKeyError:
        return False
    except BaseError:
        return True  # of its value
    return True


@dataclass(frozen=True)
class _Keys:
    """Keys that do not expire, and have no session token."""

    key: str = field(repr=False)
    secret: str = field(repr=False)

    def __call__(self) -> S3Credential:
        return {"access_key_id": self.key, "secret_access_key": self.secret, "expires_at": None}


def rust_options(address: StoreAddress) -> dict[str, str]:
    """Return the settings as options of Rust's `object_store`, for libraries that build on it."""
    prefix = _RUST_PREFIXES[address.kind]
    own = {f"{prefix}{key}": value for key, value in address.settings}
    of_client = {key: str(value).lower() for key, value in address.client_settings}
    return {**own, **of_client}
