"""Who may use the console and send callbacks: the authentication of the service, over HTTP.

It is the certificate, or the token as the password of HTTP's Basic authentication (any user) or as
a Bearer token.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import ssl
from http import HTTPStatus

from pyhudi_expr.service.access import TOKEN_PREFACE, Access, is_loopback
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.service.web import http
from pyhudi_expr.service.web.http import PLAIN, Request, Response


class WebAccess:
    """The authentication at one address."""

    def __init__(self, setting: str, settings: ServiceSettings) -> None:
        """Take the address of a setting. Raises SettingsError if anybody could open it."""
        self.address: str = getattr(settings, setting)
        self._host, _ = http.host_and_port(setting, self.address)
        if not (is_loopback(self._host) or settings.tls_client_ca or settings.token_file):
            raise SettingsError(
                f"{setting}: {self._host} can be reached from other machines: set"
                " tls_client_ca (with tls_certificate and tls_key) or token_file"
            )
        self._access = Access(settings)

    @property
    def tls(self) -> ssl.SSLContext | None:
        """What connections are encrypted with; None if they are not."""
        return self._access.tls

    def refusal(self, request: Request) -> Response | None:
        """Return why a request is refused; None if it is not."""
        if not self._is_this_host(request.headers.get("host", "")):
            # Another site's page whose name resolves to this host must not use this one.
            return Response(HTTPStatus.MISDIRECTED_REQUEST, PLAIN, b"another host\n")
        if self._access.needs_token and not self._is_authorized(
            request.headers.get("authorization", "")
        ):
            challenge = {"WWW-Authenticate": 'Basic realm="pyhudi", charset="UTF-8"'}
            return Response(HTTPStatus.UNAUTHORIZED, PLAIN, b"show the token\n", challenge)
        return None

    def _is_this_host(self, host: str) -> bool:
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
