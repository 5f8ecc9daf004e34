"""What Hudi derives from a table's path, where its settings name no lock."""

from __future__ import annotations

import re
from collections.abc import Mapping

import xxhash

from pyhudi_expr.tables.locks.errors import UnknownLock, unknown_lock
from pyhudi_expr.tables.locks.settings import BASE_PATH
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
