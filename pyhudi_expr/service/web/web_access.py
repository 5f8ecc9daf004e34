"""Who may use the console and send callbacks: the authentication of the service, over HTTP.

With it come the tables about which an address may be asked, which a reload renews, too.

A caller shows what others of the service show: a certificate of `tls_client_ca`, and the token of
`token_file`, as the password of HTTP's Basic authentication (any user) or as a Bearer token. With
both set, both are needed.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Callable
from http import HTTPStatus

from pyhudi_expr.service.access import TOKEN_PREFACE, Access, is_loopback
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.network.connection import NO_TOKEN, WRONG_TOKEN
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.service.table_roots import TableRoots
from pyhudi_expr.service.web import http
from pyhudi_expr.service.web.http import PLAIN, Request, Response

_SHOWN = 80


class WebAccess:
    """The authentication at one address. See `Door`."""

    def __init__(self, setting: str, settings: ServiceSettings, metrics: Metrics) -> None:
        """Take the address of a setting. Raises SettingsError if anybody could open it."""
        self.address: str = getattr(settings, setting)
        self._setting = setting
        self._host, _ = http.host_and_port(setting, self.address)
        self._metrics = metrics
        self.renewed(settings)()

    def renewed(self, settings: ServiceSettings) -> Callable[[], None]:
        """Read certificates and token again; return what puts the settings in force.

        Raises SettingsError if they are invalid or anybody could open the address, or RootError,
        and then nothing has changed.
        """
        if not (is_loopback(self._host) or settings.tls_client_ca or settings.token_file):
            raise SettingsError(
                f"{self._setting}: {self._host} can be reached from other machines: set"
                " tls_client_ca (with tls_certificate and tls_key) or token_file"
            )
        access, roots = Access(settings), TableRoots(settings.table_roots)

        def take() -> None:
            self._access, self._roots, self._settings = access, roots, settings

        return take

    @property
    def access(self) -> Access:
        """See `Door`."""
        return self._access

    @property
    def roots(self) -> TableRoots:
        """The tables about which the address may be asked."""
        return self._roots

    @property
    def settings(self) -> ServiceSettings:
        """See `Door`."""
        return self._settings

    def refused(self, reason: str) -> None:
        """See `Door`."""
        self._metrics.refused(reason)

    def lost(self) -> None:
        """See `Door`: nothing counts the connections of pages."""

    def refusal(self, request: Request) -> Response | None:
        """Return why a request is refused; None if it is not."""
        host = request.headers.get("host", "")
        if not self._is_this_host(host):
            # Another site's page whose name resolves to this host must not use this one.
            said = b"another host\n"
            reason = f"the caller asks for another host: {host[:_SHOWN]!r}"
            return Response(
                HTTPStatus.MISDIRECTED_REQUEST, PLAIN, said, refusal="host", reason=reason
            )
        authorization = request.headers.get("authorization", "")
        if self._access.needs_token and not self._is_authorized(authorization):
            challenge = {"WWW-Authenticate": 'Basic realm="pyhudi", charset="UTF-8"'}
            said = b"show the token\n"
            reason = WRONG_TOKEN if authorization else NO_TOKEN
            return Response(HTTPStatus.UNAUTHORIZED, PLAIN, said, challenge, "token", reason)
        return None

    def _is_this_host(self, host: str) -> bool:
        if self._access.tls is not None:
            # A browser has compared the name with the certificate's before it asks.
            return True
        name = host.rpartition(":")[0] if not host.endswith("]") else host
        name = (name or host).strip("[]")
        try:
            ipaddress.ip_address(name)
        except ValueError:
            # Beyond the loopback interface a token or a certificate protects it.
            return name in ("localhost", self._host) or not is_loopback(self._host)
        return True

    def _is_authorized(self, authorization: str) -> bool:
        scheme, _, value = authorization.partition(" ")
        token = value.strip().encode()
        if scheme.lower() == "basic":
            try:
                token = base64.b64decode(token, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        return self._access.accepts(TOKEN_PREFACE + token)
