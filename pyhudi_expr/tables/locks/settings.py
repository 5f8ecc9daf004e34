"""The settings of Hudi's writers that configure the lock, and what Hudi derives from the path."""

from __future__ import annotations

import re
from collections.abc import Mapping

import xxhash

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.locks.lease import UnknownLock, unknown_lock
from pyhudi_expr.tables.storage import Storage

_HASH_SEED = 0xFFFFFFFF_DABADABA  # that of Hudi's HashID, widened as Java widens an int
_ONE_SPELLING = re.compile("(s3|s3a|gs|abfss?|wasbs?|oss)://", re.IGNORECASE)


def path_hash(storage: Storage, provider: str, settings: Mapping[str, str]) -> str:
    """Return the hash of a table's path as its writers spell it.

    Args:
        storage: The table.
        provider: The class of the writers' lock.
        settings: The writers' settings.

    Raises:
        UnknownLock: The settings do not say how they spell it.
    """
    if said := settings.get(BASE_PATH):
        return hash_of(said)
    if _ONE_SPELLING.match(storage.uri):
        return hash_of(storage.uri.rstrip("/"))
    # /t, file:/t and file:///t are one directory, and three locks.
    raise missing_setting(storage, provider, BASE_PATH)


def hash_of(table_path: str) -> str:
    """Return the hash of a path: 16 hexadecimal digits."""
    spelled = re.sub("^s3a://", "s3://", table_path, flags=re.IGNORECASE)
    return xxhash.xxh64(spelled.encode(), seed=_HASH_SEED).hexdigest().upper()


def missing_setting(storage: Storage, provider: str, key: str) -> UnknownLock:
    """Return the error that asks for a setting."""
    return unknown_lock(storage.uri, provider, f"so give the setting {key} that they have")


PROVIDER = "hoodie.write.lock.provider"
WAIT = "hoodie.write.lock.wait_time_ms"
BASE_PATH = "hoodie.base.path"

DIRECTORY = "hoodie.write.lock.filesystem.path"

VALIDITY = "hoodie.write.lock.storage.validity.timeout.secs"
RENEWAL = "hoodie.write.lock.storage.renew.interval.secs"
RENEWAL_BEFORE = "hoodie.write.lock.storage.heartbeat.poll.secs"
"""The name of RENEWAL in Hudi before 1.1."""

ZOOKEEPER_URL = "hoodie.write.lock.zookeeper.url"
ZOOKEEPER_BASE_PATH = "hoodie.write.lock.zookeeper.base_path"
ZOOKEEPER_KEY = "hoodie.write.lock.zookeeper.lock_key"
ZOOKEEPER_SESSION = "hoodie.write.lock.zookeeper.session_timeout_ms"
ZOOKEEPER_CONNECTION = "hoodie.write.lock.zookeeper.connection_timeout_ms"

DYNAMODB_TABLE = "hoodie.write.lock.dynamodb.table"
DYNAMODB_KEY = "hoodie.write.lock.dynamodb.partition_key"
DYNAMODB_REGION = "hoodie.write.lock.dynamodb.region"
DYNAMODB_ENDPOINT = "hoodie.write.lock.dynamodb.endpoint_url"

METASTORE_URIS = "hoodie.write.lock.hivemetastore.uris"
METASTORE_DATABASE = "hoodie.write.lock.hivemetastore.database"
METASTORE_TABLE = "hoodie.write.lock.hivemetastore.table"
HEARTBEAT = "hoodie.write.lock.heartbeat_interval_ms"

SETTINGS = (
    PROVIDER,
    WAIT,
    BASE_PATH,
    DIRECTORY,
    VALIDITY,
    RENEWAL,
    RENEWAL_BEFORE,
    ZOOKEEPER_URL,
    ZOOKEEPER_BASE_PATH,
    ZOOKEEPER_KEY,
    ZOOKEEPER_SESSION,
    ZOOKEEPER_CONNECTION,
    DYNAMODB_TABLE,
    DYNAMODB_KEY,
    DYNAMODB_REGION,
    DYNAMODB_ENDPOINT,
    METASTORE_URIS,
    METASTORE_DATABASE,
    METASTORE_TABLE,
    HEARTBEAT,
)
"""All of them."""

_UNITS = {"ms": "milliseconds", "secs": "seconds"}


def whole_number(settings: Mapping[str, str], key: str, default: int) -> int:
    """Return a setting that is a number, whose unit ends its name.

    Raises:
        HudiError: It is none.
    """
    text = settings.get(key, str(default))
    try:
        return int(text)
    except ValueError as error:
        unit = _UNITS[key.rpartition("_" if key.endswith("_ms") else ".")[2]]
        raise HudiError(f"{key} is {text!r}, which is not a number of {unit}") from error
