"""The path of the node that is a table's lock in ZooKeeper, as Hudi's two providers name it."""

from __future__ import annotations

import re
from collections.abc import Mapping

import xxhash

from pyhudi_expr.table.locks.errors import UnknownLock, unknown_lock
from pyhudi_expr.table.locks.settings import BASE_PATH, ZOOKEEPER_BASE_PATH, ZOOKEEPER_KEY
from pyhudi_expr.table.properties import TableProperties
from pyhudi_expr.table.storage import Storage

_IMPLICIT = "ZookeeperBasedImplicitBasePathLockProvider"
_IMPLICIT_KEY = "lock_key"
_HASH_SEED = 0xFFFFFFFF_DABADABA  # that of Hudi's HashID, widened as Java widens an int
_ONE_SPELLING = re.compile("(s3|s3a|gs|abfss?|wasbs?|oss)://", re.IGNORECASE)


def lock_path(storage: Storage, provider: str, settings: Mapping[str, str]) -> str:
    """Return the path of a table's lock.

    Args:
        storage: The table.
        provider: The class of the writers' lock.
        settings: The writers' settings.

    Raises:
        UnknownLock: It cannot be told.
    """
    if provider.endswith(_IMPLICIT):
        return implicit_path(_table_path(storage, provider, settings))
    base = settings.get(ZOOKEEPER_BASE_PATH)
    if not base:
        raise missing_setting(storage, provider, ZOOKEEPER_BASE_PATH)
    key = settings.get(ZOOKEEPER_KEY) or TableProperties.read(storage).name
    return "/" + "/".join(part for part in f"{base}/{key}".split("/") if part)


def implicit_path(table_path: str) -> str:
    """Return the path that Hudi derives from a table's path, which is used as it is spelled."""
    spelled = re.sub("^s3a://", "s3://", table_path, flags=re.IGNORECASE)
    digest = xxhash.xxh64(spelled.encode(), seed=_HASH_SEED).hexdigest().upper()
    return f"/tmp/{digest}/{_IMPLICIT_KEY}"


def missing_setting(storage: Storage, provider: str, key: str) -> UnknownLock:
    """Return the error that asks for a setting."""
    return unknown_lock(storage.uri, provider, f"so give the setting {key} that they have")


def _table_path(storage: Storage, provider: str, settings: Mapping[str, str]) -> str:
    """Return the table's path as its writers spell it."""
    if said := settings.get(BASE_PATH):
        return said
    if _ONE_SPELLING.match(storage.uri):
        return storage.uri.rstrip("/")
    # /t, file:/t and file:///t are one directory, and three locks.
    raise missing_setting(storage, provider, BASE_PATH)
