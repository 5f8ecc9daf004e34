"""The lock of Hudi's ZooKeeper providers: Curator's `InterProcessMutex`.

Each process that wants the lock creates a node below the lock's path, which has a number and ends
with the process's session. The lowest number holds the lock; each other one waits for the node
before it. Curator orders the nodes by what follows `lock-` in their names, so they are named here
as it names them. (kazoo's own lock has names that Curator would sort by chance.)
"""

from __future__ import annotations

import functools
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyhudi_expr.errors import HudiError
from pyhudi_expr.installation import require_extra
from pyhudi_expr.tables.locks.lease import Lease, LockLost, LockNotAcquired
from pyhudi_expr.tables.locks.settings import (
    ZOOKEEPER_BASE_PATH,
    ZOOKEEPER_CONNECTION,
    ZOOKEEPER_KEY,
    ZOOKEEPER_SESSION,
    ZOOKEEPER_URL,
    missing_setting,
    path_hash,
    whole_number,
)
from pyhudi_expr.tables.process_owner import HOST, PROCESS, this_process
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage

if TYPE_CHECKING:
    from kazoo.client import KazooClient
    from kazoo.interfaces import IAsyncResult


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


_MARK = "lock-"
_PAUSE = 0.1  # seconds


@dataclass(frozen=True)
class ZookeeperLock:
    """The lock.

    Attributes:
        table: The table, for messages.
        hosts: The servers, as Curator and kazoo spell them: `host:port,host:port/chroot`.
        path: The node that is the lock.
        wait: Seconds to wait for the lock.
        session: Seconds without contact after which the server ends the session.
        connection: Seconds to wait for the servers.
    """

    table: str
    hosts: str
    path: str
    wait: float
    session: float = 60
    connection: float = 15

    @staticmethod
    def of(
        storage: Storage, provider: str, settings: Mapping[str, str], wait: float
    ) -> ZookeeperLock:
        """Return the lock of a table; `provider` is the class of the writers' lock.

        Raises:
            UnknownLock: The settings do not say which it is.
        """
        hosts = settings.get(ZOOKEEPER_URL)
        if not hosts:
            raise missing_setting(storage, provider, ZOOKEEPER_URL)
        path = lock_path(storage, provider, settings)
        session = whole_number(settings, ZOOKEEPER_SESSION, 60_000) / 1000
        connection = whole_number(settings, ZOOKEEPER_CONNECTION, 15_000) / 1000
        return ZookeeperLock(storage.uri, hosts, path, wait, session, connection)

    @contextmanager
    def held(self, purpose: str) -> Iterator[Lease]:
        """Hold the lock in a `with` block; `purpose` is shown in the lock's node.

        Raises:
            LockNotAcquired: Another writer holds it.
            LockLost: It was not held until the end of the block.
            HudiError: ZooKeeper does not answer.
        """
        with self._session() as client:
            node = _Node(self, client)
            node.take(purpose)
            try:
                yield node
            finally:
                is_lost = not node.release()
            if is_lost:
                raise node.lost()

    @contextmanager
    def _session(self) -> Iterator[KazooClient]:
        with require_extra("zookeeper"):
            from kazoo.client import KazooClient
            from kazoo.exceptions import KazooException
            from kazoo.handlers.threading import KazooTimeoutError
        client = KazooClient(hosts=self.hosts, timeout=self.session)
        try:
            client.start(timeout=self.connection)
            yield client
        except (KazooException, KazooTimeoutError) as error:
            raise HudiError(
                f"{self.table}: the lock {self.path} cannot be taken in ZooKeeper at {self.hosts} "
                f"({type(error).__name__}: {error}); check {ZOOKEEPER_URL}, and that it runs"
            ) from error
        finally:
            with suppress(KazooException):
                client.stop()  # ends the session, and with it the node
                client.close()


class _Node:
    """This process's node among those that want the lock."""

    def __init__(self, lock: ZookeeperLock, client: KazooClient):
        self._lock = lock
        self._client = client
        self._path = ""

    def take(self, purpose: str) -> None:
        """Create the node, and return when it is the first.

        Raises:
            LockNotAcquired: It is not in time.
        """
        give_up = time.monotonic() + self._lock.wait
        prefix = f"{self._lock.path}/_c_{uuid.uuid4()}-{_MARK}"
        client = self._client
        self._get(client.ensure_path_async(self._lock.path))
        data = _owner(purpose)
        self._path = self._get(client.create_async(prefix, data, ephemeral=True, sequence=True))
        name = self._path.rpartition("/")[2]
        while True:
            names = sorted(self._get(client.get_children_async(self._lock.path)), key=_number)
            if name not in names:
                raise self.lost()
            if names[0] == name:
                return
            gone = threading.Event()
            before = f"{self._lock.path}/{names[names.index(name) - 1]}"
            watch = functools.partial(_note, gone)
            if self._get(client.exists_async(before, watch)) is None:
                continue
            if not gone.wait(max(0.0, give_up - time.monotonic())):
                raise self._not_acquired(names[0])

    def check(self) -> None:
        """Check that the node exists.

        Raises:
            LockLost: It does not, or ZooKeeper does not answer as long as the session may last.
        """
        if not self._is_there():
            raise self.lost()

    def release(self) -> bool:
        """Delete the node; return whether it existed until now."""
        from kazoo.exceptions import KazooException

        if not self._is_there():
            return False
        with suppress(KazooException):  # it ends with the session, at once
            self._get(self._client.delete_async(self._path))
        return True

    def lost(self) -> LockLost:
        """Return the error that says that the lock is lost."""
        return LockLost(
            f"{self._lock.table}: the session with ZooKeeper at {self._lock.hosts} ended, and with "
            f"it the lock {self._lock.path} that was held here; another writer may have changed "
            "the table meanwhile: check what this command did, and repeat it"
        )

    def _is_there(self) -> bool:
        """Return whether the node exists; False if there is no answer as long as it may last."""
        give_up = time.monotonic() + self._lock.session
        while (found := self._was_there()) is None and time.monotonic() < give_up:
            time.sleep(_PAUSE)
        return bool(found)

    def _was_there(self) -> bool | None:
        """Ask once whether the node exists; None if the connection breaks meanwhile."""
        from kazoo.exceptions import ConnectionLoss, KazooException
        from kazoo.handlers.threading import KazooTimeoutError

        try:
            return self._get(self._client.exists_async(self._path)) is not None
        except ConnectionLoss:
            return None
        except (KazooException, KazooTimeoutError):
            return False

    def _get(self, result: IAsyncResult) -> Any:  # noqa: ANN401 - kazoo has no types
        """Return an answer. Without a time limit, kazoo would wait for a dead server for ever."""
        return result.get(timeout=self._lock.session)

    def _not_acquired(self, holder: str) -> LockNotAcquired:
        from kazoo.exceptions import NoNodeError

        try:
            data, _ = self._get(self._client.get_async(f"{self._lock.path}/{holder}"))
            shown = f" ({data.decode(errors='replace')[:200]})"
        except NoNodeError:
            shown = ""
        return LockNotAcquired(
            f"{self._lock.table}: another writer{shown} has held the lock {self._lock.path} of "
            f"ZooKeeper at {self._lock.hosts} for {self._lock.wait:g} s; wait for it"
        )


def _number(name: str) -> str:
    """Return what Curator orders a lock's nodes by."""
    return name.rpartition(_MARK)[2]


def _note(gone: threading.Event, _: object) -> None:
    """Note that a watched node is gone, or that the session ended."""
    gone.set()


def _owner(purpose: str) -> bytes:
    """Return the node's data, in the form of Hudi's."""
    owner = this_process()
    said = f"pyhudi {purpose} (process {owner[PROCESS]} on {owner[HOST]})"
    return f"application_id={said}".encode()
