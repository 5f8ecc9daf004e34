"""Sessions with HiveServer2, through PyHive (the extra `hive`)."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from thrift.Thrift import TException
from thrift.transport.TTransport import TTransportException

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.hive import HiveAddress

if TYPE_CHECKING:
    from pyhive.hive import Connection

    from pyhudi_expr.manage.hive.transport import HiveTransport

_BREAKS = (TException, http.client.HTTPException, OSError, EOFError)
_SHOWN = 80


class QueryError(HudiError):
    """Hive refused or failed a statement.

    Attributes:
        reason: Hive's own message.
        remedy: What to do, if that is known; else empty.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.remedy = jar_to_add(reason)
        super().__init__(f"{reason}; {self.remedy}" if self.remedy else reason)


class ConnectionFailed(HudiError):  # noqa: N818 - names the finding
    """There is no session; the message says which step failed, and what to do."""


class HiveSession:
    """One session of a HiveServer2.

    Attributes:
        is_lost: Whether its connection broke, so that it cannot be used any more.
    """

    def __init__(self, connection: Connection, address: HiveAddress | None = None) -> None:
        """Use an open PyHive connection; `address` is for messages about a lost one."""
        self._cursor = connection.cursor()
        self._address = address
        self.is_lost = False

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement (without a semicolon) and return its rows, [] if it has none.

        Raises:
            QueryError: Hive refused or failed it.
            ConnectionFailed: The connection is lost (without an address, Thrift's own exception).
        """
        from pyhive.exc import OperationalError

        try:
            self._cursor.execute(statement)
            return self._cursor.fetchall() if self._cursor.description else []
        except OperationalError as error:
            status = getattr(error.args[0], "status", None)
            raise QueryError(getattr(status, "errorMessage", None) or str(error)) from error
        except _BREAKS as error:
            self.is_lost = True
            if self._address is None:
                raise
            raise _lost(self._address, statement, error) from error

    def set(self, settings: Mapping[str, str]) -> None:
        """SET each of them for the rest of the session."""
        for name, value in settings.items():
            self.run(f"SET {name}={value}")


@contextlib.contextmanager
def open_session(address: HiveAddress) -> Iterator[HiveSession]:
    """Open a session for a `with` block. Raises ConnectionFailed."""
    wire, connection = _connect(address)
    session = HiveSession(connection, address)
    try:
        yield session
    finally:
        with contextlib.suppress(Exception):
            if session.is_lost:
                wire.transport.close()
            else:
                wire.wait(address.timeout)
                connection.close()


def _connect(address: HiveAddress) -> tuple[HiveTransport, Any]:
    try:
        from pyhive import hive

        from pyhudi_expr.manage.hive.transport import HiveTransport
    except ModuleNotFoundError as error:
        raise ConnectionFailed(
            f"{error.name} is missing; install the extra: pip install 'pyhudi-expr[hive]'"
        ) from error
    if address.auth in ("LDAP", "CUSTOM") and not address.password:
        raise ConnectionFailed(f"auth {address.auth} needs a password; set PYHUDI_HS2_PASSWORD")
    try:
        socket.create_connection((address.host, address.port), address.timeout).close()
    except OSError as error:
        raise ConnectionFailed(
            f"no server listens at {address}: {error}; start HiveServer2, or name its host and port"
        ) from error
    try:
        wire = HiveTransport(address)
        wire.wait(address.timeout)
        connection = hive.connect(
            thrift_transport=wire.transport, username=address.user, database=address.database
        )
        wire.wait(address.statement_timeout)
        return wire, connection
    except Exception as error:
        if _is_late(error):
            raise ConnectionFailed(
                f"HiveServer2 at {address} takes the connection and has not answered for"
                f" {address.timeout:g} s; compare hive.server2.authentication with --auth and"
                " hive.server2.transport.mode with --transport, look whether HiveServer2 hangs, or"
                " wait longer with --timeout"
            ) from error
        raise ConnectionFailed(
            f"HiveServer2 at {address} gives no session with auth {address.auth}:"
            f" {_first_line(error)}; compare hive.server2.authentication with --auth"
            f"{_other_auth(address)} and hive.server2.transport.mode with --transport"
        ) from error


def _other_auth(address: HiveAddress) -> str:
    """Return what to try if HiveServer2, without SASL, hangs up on its handshake."""
    speaks_sasl = address.scheme == "binary" and address.auth != "NOSASL"
    return " (if it is NOSASL, give --auth nosasl)" if speaks_sasl else ""


def _lost(address: HiveAddress, statement: str, error: Exception) -> ConnectionFailed:
    shown = " ".join(statement.split())[:_SHOWN]
    if _is_late(error):
        return ConnectionFailed(
            f"HiveServer2 at {address} has not answered for {address.statement_timeout:g} s:"
            f" {shown}; it may still be at work on that, so look there before you run this again,"
            " or wait longer with --statement-timeout"
        )
    return ConnectionFailed(
        f"HiveServer2 at {address} has closed the connection: {_first_line(error)}, at {shown};"
        " look into its log, and run this again"
    )


def _is_late(error: Exception) -> bool:
    """Return whether a time limit expired; Thrift reports it in three ways."""
    if isinstance(error, TTransportException) and error.type == TTransportException.TIMED_OUT:
        return True
    return any(isinstance(each, TimeoutError) for each in (error, getattr(error, "inner", None)))


def _first_line(error: Exception) -> str:
    status = getattr(error.args[0], "status", None) if error.args else None
    text = getattr(status, "errorMessage", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]


_JARS = {
    "io.pyhudi": "the storage handler's jar",
    "com.esotericsoftware": "kryo-shaded-4.0.2.jar, which Hudi needs and Hive does not bring",
    "org.apache.hudi": "a Hudi bundle and kryo-shaded-4.0.2.jar beside the storage handler's jar",
}
_DOTS = "|".join(_JARS).replace(".", r"\.")
_SLASHES = "|".join(_JARS).replace(".", "/")
_MISSING = re.compile(
    # Often the class is all that Hive shows of a NoClassDefFoundError.
    rf"(?<![\w/])({_SLASHES})/[\w/$]+"
    rf"|(?:ClassNotFoundException|NoClassDefFoundError|[Cc]annot find class)\W+({_DOTS})\.[\w.$]+"
)


def jar_to_add(error: str) -> str:
    """Return what to do about an error of HiveServer2 that a missing class explains; else ""."""
    found = _MISSING.search(error)
    if found is None:
        return ""
    jar = _JARS[(found[1] or found[2]).replace("/", ".")]
    return f"put {jar} on HiveServer2's auxiliary path (hive.aux.jars.path), and restart it"
