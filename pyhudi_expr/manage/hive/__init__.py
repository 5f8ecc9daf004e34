"""Hudi tables in Hive, from outside: registration, and checks whether queries are pruned.

It speaks to HiveServer2 as a client (PyHive; the extra `hive`). The pruning service does not use
it. Here is the address of a HiveServer2, and how to connect; other modules need PyHive.
"""

from __future__ import annotations

from dataclasses import dataclass

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
