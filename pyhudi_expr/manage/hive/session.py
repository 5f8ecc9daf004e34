"""Sessions with HiveServer2, through PyHive (the extra `hive`), with a limit on every wait.

PyHive's own transports wait forever if a port accepts the connection and does not answer.
"""

from __future__ import annotations

import base64
import contextlib
import getpass
import http.client
import logging
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyhive.hive import Connection, get_installed_sasl
from thrift.Thrift import TException
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException
from thrift_sasl import TSaslClientTransport  # type: ignore[import-untyped]

from pyhudi_expr.errors import HudiError

if TYPE_CHECKING:
    from pyhive.hive import Connection


DEFAULT_PORT = 10000
TIMEOUT = 30.0
#: Hive answers a statement when it is done, and DDL may wait for locks and for a large listing.
STATEMENT_TIMEOUT = 600.0


@dataclass(frozen=True)
class HiveAddress:
    """The address of a HiveServer2, the user, and time limits.

    Attributes:
        auth: PyHive's names (NOSASL, NONE, LDAP, CUSTOM, KERBEROS).
        scheme: binary, http or https.
        timeout: Seconds to connect, and to wait for each answer until there is a session.
        statement_timeout: Seconds to wait for each answer in the session.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    database: str = "default"
    user: str | None = None
    password: str | None = None
    auth: str = "NONE"
    scheme: str = "binary"
    kerberos_service: str = "hive"
    timeout: float = TIMEOUT
    statement_timeout: float = STATEMENT_TIMEOUT

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


# The caller reports a refused connection; by itself Thrift also prints it.
logging.getLogger("thrift").addHandler(logging.NullHandler())


class HiveTransport:
    """A connection to one HiveServer2, for PyHive's `thrift_transport`; not open yet.

    Attributes:
        transport: The transport that PyHive opens, reads and writes.
    """

    def __init__(self, address: HiveAddress) -> None:
        """Take the address and the user."""
        self.transport: Any
        self._waits: Any
        if address.scheme == "binary":
            self._waits = TSocket(address.host, address.port)
            self.transport = _authenticated(self._waits, address)
        else:
            self.transport = self._waits = _http(address)

    def wait(self, seconds: float) -> None:
        """Set the seconds to wait for each answer from now on."""
        self._waits.setTimeout(seconds * 1000)


def _authenticated(
    socket: TSocket, address: HiveAddress
) -> TBufferedTransport | TSaslClientTransport:
    if address.auth == "NOSASL":
        return TBufferedTransport(socket)
    kerberos = address.auth == "KERBEROS"
    mechanism = "GSSAPI" if kerberos else "PLAIN"

    def client() -> object:
        return get_installed_sasl(
            host=address.host,
            sasl_auth=mechanism,
            service=address.kerberos_service if kerberos else None,
            username=address.user or getpass.getuser(),
            # Without authentication the server still expects no empty message.
            password=address.password or (None if kerberos else "x"),
        )

    return TSaslClientTransport(client, mechanism, socket)


def _http(address: HiveAddress) -> THttpClient:
    host = f"[{address.host}]" if ":" in address.host else address.host
    client = THttpClient(
        f"{address.scheme}://{host}:{address.port}/cliservice",
        ssl_context=ssl.create_default_context() if address.scheme == "https" else None,
    )
    if address.auth == "KERBEROS":
        Connection._set_kerberos_header(client, address.kerberos_service, address.host)
    else:
        name = f"{address.user or getpass.getuser()}:{address.password or 'x'}"
        credentials = base64.standard_b64encode(name.encode()).decode()
        client.setCustomHeaders({"Authorization": f"Basic {credentials}"})
    return client


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
