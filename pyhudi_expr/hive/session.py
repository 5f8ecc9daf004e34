"""Sessions with HiveServer2, through PyHive (the extra `hive`)."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyhudi_expr.table.errors import HudiError

_CONNECT_SECONDS = 10.0
DEFAULT_PORT = 10000


class QueryError(HudiError):
    """Hive refused or failed a statement; the message is Hive's own."""


class ConnectionFailed(HudiError):  # noqa: N818 - names the finding
    """There is no session; the message says at which step it ended, and what to do."""


@dataclass(frozen=True)
class HiveAddress:
    """Where a HiveServer2 listens, and as whom to speak to it.

    auth: PyHive's names (NOSASL, NONE, LDAP, CUSTOM, KERBEROS). scheme: binary, http or https.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    database: str = "default"
    user: str | None = None
    password: str | None = None
    auth: str = "NONE"
    scheme: str = "binary"
    kerberos_service: str = "hive"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class HiveSession:
    """One session of a HiveServer2."""

    def __init__(self, connection: Any) -> None:
        """Speak over an open PyHive connection."""
        self._cursor = connection.cursor()

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement (no semicolon at its end) and return its rows, [] if it has none.

        Raises QueryError.
        """
        from pyhive.exc import OperationalError

        try:
            self._cursor.execute(statement)
            return self._cursor.fetchall() if self._cursor.description else []
        except OperationalError as error:
            status = getattr(error.args[0], "status", None)
            raise QueryError(getattr(status, "errorMessage", None) or str(error)) from error

    def set(self, settings: Mapping[str, str]) -> None:
        """SET each of them for the rest of the session."""
        for name, value in settings.items():
            self.run(f"SET {name}={value}")


@contextlib.contextmanager
def connected(address: HiveAddress) -> Iterator[HiveSession]:
    """A session, closed at the end. Raises ConnectionFailed."""
    connection = _connect(address)
    try:
        yield HiveSession(connection)
    finally:
        with contextlib.suppress(Exception):
            connection.close()


def _connect(address: HiveAddress) -> Any:
    try:
        from pyhive import hive
    except ModuleNotFoundError as error:
        raise ConnectionFailed(
            f"{error.name} is missing; install the extra: pip install 'pyhudi-expr[hive]'"
        ) from error
    # PyHive waits for ever where nothing answers.
    try:
        socket.create_connection((address.host, address.port), _CONNECT_SECONDS).close()
    except OSError as error:
        raise ConnectionFailed(
            f"nobody listens at {address}: {error}; start HiveServer2, or name its host and port"
        ) from error
    kerberos = address.auth == "KERBEROS"
    transport = {} if address.scheme == "binary" else {"scheme": address.scheme}
    try:
        return hive.connect(
            address.host,
            address.port,
            username=address.user,
            password=address.password,
            database=address.database,
            auth=address.auth,
            kerberos_service_name=address.kerberos_service if kerberos else None,
            **transport,
        )
    except Exception as error:
        raise ConnectionFailed(
            f"HiveServer2 at {address} gives no session with auth {address.auth}:"
            f" {_first_line(error)}; compare hive.server2.authentication and"
            " hive.server2.transport.mode"
        ) from error


def _first_line(error: Exception) -> str:
    status = getattr(error.args[0], "status", None) if error.args else None
    text = getattr(status, "errorMessage", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]
