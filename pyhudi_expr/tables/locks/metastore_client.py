"""The four calls of the Hive metastore's Thrift interface that concern locks.

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
