"""The path of the node that is a table's lock in ZooKeeper, as Hudi's two providers name it."""

from __future__ import annotations

from collections.abc import Mapping

from pyhudi_expr.tables.locks.settings import ZOOKEEPER_BASE_PATH, ZOOKEEPER_KEY
from pyhudi_expr.tables.locks.table_path import missing_setting, path_hash
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage

_IMPLICIT = "ZookeeperBasedImplicitBasePathLockProvider"
_IMPLICIT_KEY = "lock_key"


def lock_path(storage: Storage, provider: str, settings: Mapping[str, str]) -> str:
    """Return the path of a table's lock.

    Args:
        storage: The table.
        provider: The class of the writers' lock.
        settings: The writers' settings.

    Raises:
        UnknownLock: It is not known.
    """
    if provider.endswith(_IMPLICIT):
        return f"/tmp/{path_hash(storage, provider, settings)}/{_IMPLICIT_KEY}"
    base = settings.get(ZOOKEEPER_BASE_PATH)
    if not base:
        raise missing_setting(storage, provider, ZOOKEEPER_BASE_PATH)
    key = settings.get(ZOOKEEPER_KEY) or TableProperties.read(storage).name
    return "/" + "/".join(part for part in f"{base}/{key}".split("/") if part)
