"""The lock of Hudi's `HiveMetastoreBasedLockProvider`: an exclusive one of the Hive metastore.

The metastore forgets a lock that its holder does not keep alive (hive.txn.timeout, 5 minutes by
default). A metastore with logins (Kerberos) or TLS is not supported.

The structures have the fields that every version of Hive since 1.0 knows; the specifications are
those of Thrift's own generated code: number, type, name, type of the content, default.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pyhudi_expr.errors import HudiError
from pyhudi_expr.optional_dependencies import require_extra

if TYPE_CHECKING:
    from thrift.protocol.TProtocol import TProtocolBase
import getpass
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from pyhudi_expr.tables.locks.lease import Lease, LockLost, unknown_lock, wait_for
from pyhudi_expr.tables.locks.settings import (
    HEARTBEAT,
    METASTORE_DATABASE,
    METASTORE_TABLE,
    METASTORE_URIS,
    whole_number,
)
from pyhudi_expr.tables.process_owner import PROCESS, this_process
from pyhudi_expr.tables.storage import Storage

ACQUIRED, WAITING = 1, 2
"""States of a lock."""

_I32, _I64, _STRING, _STRUCT, _LIST = 8, 10, 11, 12, 15
_EXCLUSIVE, _TABLE = 3, 2
_CALL, _EXCEPTION = 1, 3
_DEFAULT_PORT = 9083


class NoSuchLock(Exception):  # noqa: N818 - as the metastore names it
    """The metastore does not know the lock any more, or has aborted it."""


class _Struct:
    """A structure of Thrift. A field that is None is not written."""

    thrift_spec: ClassVar[tuple[Any, ...]] = ()

    def __init__(self, **values: Any) -> None:  # noqa: ANN401 - as the specification says
        for _, _, name, _, default in filter(None, self.thrift_spec):
            setattr(self, name, values.get(name, default))

    def write(self, target: TProtocolBase) -> None:
        target.writeStruct(self, self.thrift_spec)

    def read(self, source: TProtocolBase) -> None:
        source.readStruct(self, self.thrift_spec)


_S = TypeVar("_S", bound=_Struct)


class _LockComponent(_Struct):
    thrift_spec = (
        None,
        (1, _I32, "type", None, _EXCLUSIVE),
        (2, _I32, "level", None, _TABLE),
        (3, _STRING, "dbname", "UTF8", None),
        (4, _STRING, "tablename", "UTF8", None),
    )


class _LockRequest(_Struct):
    thrift_spec = (
        None,
        (1, _LIST, "component", (_STRUCT, [_LockComponent, None], False), None),
        (2, _I64, "txnid", None, None),
        (3, _STRING, "user", "UTF8", None),
        (4, _STRING, "hostname", "UTF8", None),
        (5, _STRING, "agentInfo", "UTF8", None),
    )


class _LockId(_Struct):
    """CheckLockRequest, UnlockRequest and HeartbeatRequest."""

    thrift_spec = (None, (1, _I64, "lockid", None, None))


class _Refusal(_Struct):
    """Any of the metastore's exceptions."""

    thrift_spec = (None, (1, _STRING, "message", "UTF8", None))


class _LockResponse(_Struct):
    thrift_spec = (
        None,
        (1, _I64, "lockid", None, 0),
        (2, _I32, "state", None, 0),
    )


class _Result(_Struct):
    """The answer to any call."""

    success: _LockResponse | None
    thrift_spec = (
        (0, _STRUCT, "success", [_LockResponse, None], None),
        *((n, _STRUCT, f"refusal_{n}", [_Refusal, None], None) for n in (1, 2, 3)),
    )

    def refusal(self) -> str | None:
        """Return the exception's message, if there is one."""
        found = (getattr(self, f"refusal_{n}") for n in (1, 2, 3))
        return next((refusal.message or "" for refusal in found if refusal is not None), None)


class MetastoreClient:
    """A connection to a metastore without a login; not for several threads at once."""

    def __init__(self, uris: str, seconds: float):
        """Connect to one of `thrift://host:port,...`.

        Args:
            uris: The addresses.
            seconds: How long to wait for the connection and for each answer.

        Raises:
            HudiError: The package is missing, or no address can be reached.
        """
        self._uris = uris
        self._seconds = seconds
        self._protocol: TProtocolBase | None = self._connected()

    def lock(self, database: str, table: str, user: str, agent: str) -> tuple[int, int]:
        """Ask for an exclusive lock; return its id and its state."""
        component = _LockComponent(dbname=database, tablename=table)
        host = socket.gethostname()
        request = _LockRequest(component=[component], user=user, hostname=host, agentInfo=agent)
        answer = self._call("lock", request)
        return answer.lockid, answer.state  # type: ignore[attr-defined]

    def state(self, lock: int) -> int:
        """Return a lock's state, and keep it alive."""
        return int(self._call("check_lock", _LockId(lockid=lock)).state)  # type: ignore[attr-defined]

    def heartbeat(self, lock: int) -> None:
        """Keep a lock alive."""
        self._call("heartbeat", _LockId(lockid=lock))

    def unlock(self, lock: int) -> None:
        """Release a lock."""
        self._call("unlock", _LockId(lockid=lock))

    def close(self) -> None:
        """Close the connection."""
        if self._protocol is not None:
            self._protocol.trans.close()
            self._protocol = None

    def _connected(self) -> TProtocolBase:
        with require_extra("hive"):
            from thrift.protocol.TBinaryProtocol import TBinaryProtocol
            from thrift.transport.TSocket import TSocket
            from thrift.transport.TTransport import TBufferedTransport, TTransportException
        problems = []
        for uri in self._uris.split(","):
            host, _, port = uri.strip().removeprefix("thrift://").partition(":")
            connection = TSocket(host, int(port or _DEFAULT_PORT))
            connection.setTimeout(int(self._seconds * 1000))
            transport = TBufferedTransport(connection)
            try:
                transport.open()
            except TTransportException as error:
                problems.append(f"{uri}: {error.message}")
            else:
                return TBinaryProtocol(transport)
        raise HudiError(f"no Hive metastore can be reached: {'; '.join(problems)}")

    def _call(self, method: str, request: _Struct) -> _LockResponse:
        """Call a method.

        Raises:
            NoSuchLock: The lock is gone.
            HudiError: The metastore does not answer, or not as it should.
        """
        from thrift.Thrift import TApplicationException, TException

        protocol = self._protocol = self._protocol or self._connected()
        try:
            protocol.writeMessageBegin(method, _CALL, 0)
            _arguments(request).write(protocol)
            protocol.writeMessageEnd()
            protocol.trans.flush()
            _, kind, _ = protocol.readMessageBegin()
            if kind == _EXCEPTION:
                problem = TApplicationException()
                problem.read(protocol)
                raise problem
            result = _Result()
            result.read(protocol)
            protocol.readMessageEnd()
        except (TException, OSError, EOFError) as error:
            self.close()  # a late answer must not be taken for that to the next call
            raise HudiError(f"the Hive metastore does not {method}: {error}") from error
        if (refusal := result.refusal()) is not None:
            raise NoSuchLock(refusal)
        return result.success or _LockResponse()


def _arguments(request: _Struct) -> _Struct:
    class _Arguments(_Struct):
        thrift_spec = (None, (1, _STRUCT, "request", [type(request), None], None))

    return _Arguments(request=request)


_ANSWER_SECONDS = 20.0


@dataclass(frozen=True)
class MetastoreLock:
    """The lock.

    Attributes:
        table: The Hudi table, for messages.
        uris: The metastore's addresses.
        database: The database of the locked name.
        name: The locked name; there need be no such table.
        wait: Seconds to wait for the lock.
        heartbeat: Seconds between signs of life.
    """

    table: str
    uris: str
    database: str
    name: str
    wait: float
    heartbeat: float = 60

    @staticmethod
    def of(
        storage: Storage, provider: str, settings: Mapping[str, str], wait: float
    ) -> MetastoreLock:
        """Return the lock of a table; `provider` is the class of the writers' lock.

        Raises:
            UnknownLock: The settings do not say which it is.
        """
        for key in (METASTORE_URIS, METASTORE_DATABASE, METASTORE_TABLE):
            if not settings.get(key):
                why = f"so give the setting {key} that they have (or that of their hive-site.xml)"
                raise unknown_lock(storage.uri, provider, why)
        heartbeat = whole_number(settings, HEARTBEAT, 60_000) / 1000
        database, name = settings[METASTORE_DATABASE], settings[METASTORE_TABLE]
        return MetastoreLock(storage.uri, settings[METASTORE_URIS], database, name, wait, heartbeat)

    @contextmanager
    def held(self, purpose: str) -> Iterator[Lease]:
        """Hold the lock in a `with` block; `purpose` is shown in the metastore's list of locks.

        Raises:
            LockNotAcquired: Another writer holds it.
            LockLost: It was not held until the end of the block.
            HudiError: The metastore does not answer.
        """
        lock = _HeldLock(self)
        try:
            lock.take(purpose)
            yield lock
        finally:
            is_lost = not lock.release()
        if is_lost:
            raise lock.lost()


class _HeldLock:
    """A lock's id, which is kept alive."""

    def __init__(self, lock: MetastoreLock):
        self._lock = lock
        self._client = MetastoreClient(lock.uris, _ANSWER_SECONDS)
        self._id: int | None = None
        self._is_lost = False
        self._asking = threading.Lock()
        self._stopping = threading.Event()
        self._beating: threading.Thread | None = None

    def take(self, purpose: str) -> None:
        """Queue for the lock, and return when it is acquired."""
        agent = f"pyhudi {purpose} (process {this_process()[PROCESS]})"
        name = self._lock
        self._id, state = self._client.lock(name.database, name.name, getpass.getuser(), agent)
        if state != ACQUIRED:
            wait_for(self._was_acquired, name.wait, self._refusal)
        self._beating = threading.Thread(
            target=self._beat_always, name=f"pyhudi lock: {purpose}", daemon=True
        )
        self._beating.start()

    def check(self) -> None:
        """Check that the lock is still held.

        Raises:
            LockLost: It is not, or the metastore does not answer.
        """
        if not self._beat():
            raise self.lost()

    def release(self) -> bool:
        """Release the lock, or leave the queue; return whether it was held until now."""
        self._stopping.set()
        if self._beating is not None:
            self._beating.join()
        try:
            if self._id is not None and not self._is_lost:
                self._client.unlock(self._id)
        except (NoSuchLock, HudiError):
            self._is_lost = True
        finally:
            self._client.close()
        return not self._is_lost

    def lost(self) -> LockLost:
        """Return the error that says that the lock is lost."""
        return LockLost(
            f"{self._lock.table}: the Hive metastore at {self._lock.uris} ended the lock "
            f"{self._lock.database}.{self._lock.name} that was held here, or does not answer; "
            "another writer may have changed the table meanwhile: check what this command did, "
            "and repeat it"
        )

    def _was_acquired(self) -> bool | None:
        assert self._id is not None
        try:
            return True if self._client.state(self._id) == ACQUIRED else None
        except NoSuchLock as error:
            raise self.lost() from error

    def _refusal(self) -> str:
        lock = self._lock
        return (
            f"{lock.table}: another writer has held the lock {lock.database}.{lock.name} of the "
            f"Hive metastore at {lock.uris} for {lock.wait:g} s; wait for it (SHOW LOCKS in Hive)"
        )

    def _beat_always(self) -> None:
        pause = self._lock.heartbeat / 2  # as Hudi: the first one after half of the time
        while not self._stopping.wait(pause):
            pause = self._lock.heartbeat
            with suppress(HudiError):  # it may answer the next time
                self._beat_once()

    def _beat(self) -> bool:
        try:
            self._beat_once()
        except HudiError:
            return False
        return not self._is_lost

    def _beat_once(self) -> None:
        with self._asking:
            if self._is_lost or self._id is None:
                return
            try:
                self._client.heartbeat(self._id)
            except NoSuchLock:
                self._is_lost = True
