"""A client of the Hive metastore: its locks, and where its tables are.

A metastore with logins (Kerberos) or TLS is not supported.

The structures have the fields that Hive has had since 2.3, locks since 1.0; the specifications are
those of Thrift's own generated code: number, type, name, type of the content, default.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.installation import require_extra

if TYPE_CHECKING:
    from thrift.protocol.TProtocol import TProtocolBase

ACQUIRED = 1
"""The state of a lock that is held."""

_I32, _I64, _STRING, _STRUCT, _MAP, _LIST = 8, 10, 11, 12, 13, 15
_TEXTS = (_STRING, "UTF8", _STRING, "UTF8", False)
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


def _structs(kind: type[_Struct]) -> tuple[Any, ...]:
    """The content of a list of structures."""
    return (_STRUCT, [kind, None], False)


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
        (1, _LIST, "component", _structs(_LockComponent), None),
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


class _Serde(_Struct):
    thrift_spec = (None, None, None, (3, _MAP, "parameters", _TEXTS, None))


class _StorageDescriptor(_Struct):
    thrift_spec = (
        None,
        None,
        (2, _STRING, "location", "UTF8", None),
        (3, _STRING, "inputFormat", "UTF8", None),
        *(None,) * 3,
        (7, _STRUCT, "serdeInfo", [_Serde, None], None),
    )


class _Table(_Struct):
    thrift_spec = (
        None,
        (1, _STRING, "tableName", "UTF8", None),
        (2, _STRING, "dbName", "UTF8", None),
        *(None,) * 4,
        (7, _STRUCT, "sd", [_StorageDescriptor, None], None),
        None,
        (9, _MAP, "parameters", _TEXTS, None),
    )


class _TableRequest(_Struct):
    """GetTableRequest."""

    thrift_spec = (
        None,
        (1, _STRING, "dbName", "UTF8", None),
        (2, _STRING, "tblName", "UTF8", None),
    )


class _TablesRequest(_Struct):
    """GetTablesRequest."""

    thrift_spec = (
        None,
        (1, _STRING, "dbName", "UTF8", None),
        (2, _LIST, "tblNames", (_STRING, "UTF8", False), None),
    )


class _TableResult(_Struct):
    thrift_spec = (None, (1, _STRUCT, "table", [_Table, None], None))


class _TablesResult(_Struct):
    thrift_spec = (None, (1, _LIST, "tables", _structs(_Table), None))


_NAMES = (0, _LIST, "success", (_STRING, "UTF8", False), None)
"""The field of an answer that is a list of names."""


def _success(kind: type[_Struct]) -> tuple[Any, ...]:
    """The field of an answer that is a structure."""
    return (0, _STRUCT, "success", [kind, None], None)


class _Answer(_Struct):
    """The answer to any call: `success`, or one of the exceptions."""

    def refusal(self) -> str | None:
        """Return the exception's message, if there is one."""
        found = (getattr(self, f"refusal_{n}") for n in (1, 2, 3))
        return next((refusal.message or "" for refusal in found if refusal is not None), None)


def _answer(success: tuple[Any, ...] | None) -> _Answer:
    class _Expected(_Answer):
        thrift_spec = (
            success,
            *((n, _STRUCT, f"refusal_{n}", [_Refusal, None], None) for n in (1, 2, 3)),
        )

    return _Expected()


@dataclass(frozen=True)
class NamedTable:
    """What the metastore says of a table.

    Attributes:
        name: With its database.
        location: The URI of its directory; None of a view.
        input_format: The Java class that reads it in Hive; None of a view.
        properties: Of the table and of its serde, which has those of Spark's options.
    """

    name: str
    location: str | None
    input_format: str | None
    properties: Mapping[str, str]


def _described(found: Any) -> NamedTable:  # noqa: ANN401 - a structure of Thrift
    storage: Any = found.sd or _StorageDescriptor()
    serde = (storage.serdeInfo and storage.serdeInfo.parameters) or {}
    return NamedTable(
        f"{found.dbName}.{found.tableName}",
        storage.location,
        storage.inputFormat,
        {**serde, **(found.parameters or {})},
    )


class MetastoreClient:
    """A connection to a metastore without a login; not for several threads at once."""

    def __init__(self, uris: str, seconds: float = 20.0):
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
        answer = self._of_lock("lock", request, _success(_LockResponse))
        return answer.lockid, answer.state

    def state(self, lock: int) -> int:
        """Return a lock's state, and keep it alive."""
        answer = self._of_lock("check_lock", _LockId(lockid=lock), _success(_LockResponse))
        return int(answer.state)

    def heartbeat(self, lock: int) -> None:
        """Keep a lock alive."""
        self._of_lock("heartbeat", _LockId(lockid=lock), None)

    def unlock(self, lock: int) -> None:
        """Release a lock."""
        self._of_lock("unlock", _LockId(lockid=lock), None)

    def table(self, database: str, table: str) -> NamedTable:
        """Return what is known of a table.

        Raises:
            TableNotFound: The metastore has none of the name.
            HudiError: It does not answer.
        """
        request = _arguments(_TableRequest(dbName=database, tblName=table))
        answer = self._call("get_table_req", request, _success(_TableResult))
        if answer.refusal() is not None:
            raise TableNotFound(f"the Hive metastore at {self._uris} has no {database}.{table}")
        return _described(answer.success.table)  # type: ignore[attr-defined]

    def tables(self, database: str) -> Sequence[NamedTable]:
        """Return what is known of the tables of a database; nothing if there is none.

        Raises:
            HudiError: The metastore does not answer.
        """
        names = self._call("get_all_tables", _TablesRequest(dbName=database), _NAMES)
        request = _TablesRequest(dbName=database, tblNames=names.success)  # type: ignore[attr-defined]
        answer = self._call(
            "get_table_objects_by_name_req", _arguments(request), _success(_TablesResult)
        )
        if (refusal := answer.refusal()) is not None:
            raise HudiError(f"the Hive metastore at {self._uris} lists no tables: {refusal}")
        return [_described(found) for found in answer.success.tables]  # type: ignore[attr-defined]

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

    def _of_lock(self, method: str, request: _Struct, success: tuple[Any, ...] | None) -> Any:  # noqa: ANN401 - a structure of Thrift
        """Call a method about a lock.

        Raises:
            NoSuchLock: The lock is gone.
            HudiError: The metastore does not answer, or not as it should.
        """
        answer = self._call(method, _arguments(request), success)
        if (refusal := answer.refusal()) is not None:
            raise NoSuchLock(refusal)
        return getattr(answer, "success", None)

    def _call(self, method: str, arguments: _Struct, success: tuple[Any, ...] | None) -> _Answer:
        """Call a method whose answer has this field, or none.

        Raises:
            HudiError: The metastore does not answer, or not as it should.
        """
        from thrift.Thrift import TApplicationException, TException

        protocol = self._protocol = self._protocol or self._connected()
        try:
            protocol.writeMessageBegin(method, _CALL, 0)
            arguments.write(protocol)
            protocol.writeMessageEnd()
            protocol.trans.flush()
            _, kind, _ = protocol.readMessageBegin()
            if kind == _EXCEPTION:
                problem = TApplicationException()
                problem.read(protocol)
                raise problem
            answer = _answer(success)
            answer.read(protocol)
            protocol.readMessageEnd()
        except (TException, OSError, EOFError) as error:
            self.close()  # a late answer must not be taken for that to the next call
            raise HudiError(f"the Hive metastore does not {method}: {error}") from error
        return answer


def _arguments(request: _Struct) -> _Struct:
    class _Arguments(_Struct):
        thrift_spec = (None, (1, _STRUCT, "request", [type(request), None], None))

    return _Arguments(request=request)
