"""Clients of object stores: one for each bucket and configuration, shared by all threads."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from obstore.store import AzureStore, GCSStore, S3Store

if TYPE_CHECKING:
    from obstore.store import RetryConfig

ObjectStoreClient: TypeAlias = S3Store | GCSStore | AzureStore

S3, GCS, AZURE = "s3", "gcs", "azure"
_RUST_PREFIXES = {S3: "aws_", GCS: "google_", AZURE: "azure_storage_"}
_KINDS: dict[str, type[ObjectStoreClient]] = {S3: S3Store, GCS: GCSStore, AZURE: AzureStore}

# A request that gets no answer is repeated while a user would still wait.
_RETRIES: RetryConfig = {
    "max_retries": 6,
    "backoff": {
        "init_backoff": timedelta(milliseconds=50),
        "max_backoff": timedelta(seconds=2),
        "base": 2,
    },
    "retry_timeout": timedelta(seconds=20),
}
_CONNECT_TIMEOUT, _TIMEOUT = timedelta(seconds=3), timedelta(seconds=60)


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
    client_options: Any = {
        "connect_timeout": _CONNECT_TIMEOUT,
        "timeout": _TIMEOUT,
        **dict(address.client_settings),
    }
    # obstore checks the names.
    config: Any = dict(address.settings)
    store = _KINDS[address.kind]
    return store(config=config, client_options=client_options, retry_config=_RETRIES)


def rust_options(address: StoreAddress) -> dict[str, str]:
    """Return the settings as options of Rust's `object_store`, for libraries that build on it."""
    prefix = _RUST_PREFIXES[address.kind]
    own = {f"{prefix}{key}": value for key, value in address.settings}
    of_client = {key: str(value).lower() for key, value in address.client_settings}
    return {**own, **of_client}
