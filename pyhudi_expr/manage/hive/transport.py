"""The Thrift transport to a HiveServer2, with a limit on every wait.

PyHive's own transports wait forever if a port accepts the connection and does not answer.
"""

from __future__ import annotations

import base64
import getpass
import logging
import ssl
from typing import Any

from pyhive.hive import Connection, get_installed_sasl
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport
from thrift_sasl import TSaslClientTransport  # type: ignore[import-untyped]

from pyhudi_expr.manage.hive import HiveAddress

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
