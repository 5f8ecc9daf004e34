"""Authenticate callers: TLS with client certificates, a shared token, or tokens of jobs.

A caller can learn which files of a table may hold a value. So the service listens beyond the
loopback interface only if callers have to authenticate.

A token is the first frame of a connection: `TOKEN_PREFACE` and the token. It is checked before
anything else is read. The right one has no answer; with a wrong one, or none, the caller's first
call fails with the reason (`frames.refusal`), and the connection is closed. A service without a
token ignores it.

Instead of it, a caller may show the token of a job: the connection may then ask about one table.
HiveServer2 signs such tokens with the shared one, and sends them to the hosts that make a query's
splits. These hosts never hold the shared token, and the service keeps no list. A job's token is
`job1.PAYLOAD.MAC`, both in URL-safe Base64 without padding: the payload is the seconds since 1970
at which it expires, a newline, and the table's base path; the MAC is HMAC-SHA256 over `_PURPOSE`
and the payload (the same in the handler's `SignedToken.java`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import ssl
import time
from dataclasses import dataclass
from pathlib import Path

from pyhudi_expr.protocol.generated import constants
from pyhudi_expr.service.settings import ServiceSettings, SettingsError

_PREFIX = b"job1."
_PURPOSE = b"pyhudi job token 1\n"


@dataclass(frozen=True)
class JobToken:
    """A token whose signature was right.

    Attributes:
        table: The base path of the only table that may be asked about.
        expires: Seconds since 1970.
    """

    table: bytes
    expires: int


def sign(secret: bytes, table: str, expires: int) -> bytes:
    """Return a token for a table's base path, as requests write it."""
    payload = f"{expires}\n{table}".encode()
    return _PREFIX + b".".join((_encode(payload), _encode(_mac(secret, payload))))


def read(secret: bytes, given: bytes) -> JobToken | None:
    """Return what a token says, or None if it is none or was not signed with the secret."""
    if not given.startswith(_PREFIX):
        return None
    payload, _, mac = given[len(_PREFIX) :].partition(b".")
    try:
        said = _decode(payload)
        if not hmac.compare_digest(_decode(mac), _mac(secret, said)):
            return None
        expires, _, table = said.partition(b"\n")
        return JobToken(table, int(expires))
    except ValueError:
        return None


def _mac(secret: bytes, payload: bytes) -> bytes:
    return hmac.digest(secret, _PURPOSE + payload, hashlib.sha256)


def _encode(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def _decode(text: bytes) -> bytes:
    padded = text + b"=" * (-len(text) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True)


TOKEN_PREFACE = constants.TOKEN_PREFACE.encode()
#: Size of the first frame if a token is needed, in bytes.
MAX_PREFACE_BYTES = 4096
_MIN_TOKEN_CHARACTERS = 16
_MAX_TOKEN_CHARACTERS = MAX_PREFACE_BYTES - len(TOKEN_PREFACE)
#: OpenSSL's reasons for a key and a certificate that do not belong together.
_OTHER_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH")


class Access:
    """The authentication of a service; reads the files of the settings when it is created."""

    def __init__(self, settings: ServiceSettings) -> None:
        """Read the files. Raises SettingsError if they are invalid or the service would be open."""
        self._settings = settings
        self._token = _token(settings.token_file)
        _check_host(settings)
        self.tls = _context(settings)

    @property
    def needs_token(self) -> bool:
        """Whether a connection begins with a token."""
        return self._token is not None

    def accepts(self, preface: bytes) -> bool:
        """Return whether a connection's first frame has the right token."""
        given = preface[len(TOKEN_PREFACE) :]
        return self._token is None or hmac.compare_digest(given, self._token)

    def job(self, preface: bytes) -> JobToken | None:
        """Return the token of a job that a connection's first frame has, or None if it has none."""
        return (self._token and read(self._token, preface[len(TOKEN_PREFACE) :])) or None


def seconds_expired(token: JobToken) -> int:
    """Return for how many seconds a job's token has not been good any more; 0 if it is good."""
    return max(0, int(time.time()) - token.expires)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def exposure(settings: ServiceSettings) -> dict[str, object]:
    """Return what is open to whom, for the log and for people: a few words for each part."""
    return {
        "address": f"{settings.host}:{settings.port}",
        "reachable_from": "this machine" if is_loopback(settings.host) else "the network",
        "tls": _tls_in_words(settings),
        "token": "required" if settings.token_file else "none",
        "roots": list(settings.table_roots) or "all tables",
        "metrics": settings.metrics_address or "off",
        "console": settings.console_address or "off",
        "callbacks": settings.callback_address or "off",
    }


def _tls_in_words(settings: ServiceSettings) -> str:
    if not settings.tls_certificate:
        return "off"
    return "on, callers show a certificate" if settings.tls_client_ca else "on"


def _check_host(settings: ServiceSettings) -> None:
    if not (is_loopback(settings.host) or settings.tls_client_ca or settings.token_file):
        raise SettingsError(
            f"host: {settings.host} can be reached from other machines: set tls_client_ca (with"
            " tls_certificate and tls_key) or token_file"
        )


def _token(file: str) -> bytes | None:
    if not file:
        return None
    try:
        token = Path(file).read_bytes().strip()
    except OSError as error:
        raise SettingsError(f"token_file: {file} cannot be read: {error.strerror}") from error
    if len(token) > _MAX_TOKEN_CHARACTERS:
        raise SettingsError(
            f"token_file: {file} needs a token of {_MAX_TOKEN_CHARACTERS} or fewer characters"
        )
    if len(token) < _MIN_TOKEN_CHARACTERS:
        raise SettingsError(
            f"token_file: {file} needs a token of {_MIN_TOKEN_CHARACTERS} or more characters"
        )
    return token


def _has_key(certificate: str) -> bool:
    """Return whether a certificate's file may hold its key, too; unreadable ones fail later."""
    try:
        return b"PRIVATE KEY-----" in Path(certificate).read_bytes()
    except OSError:
        return True


def _context(settings: ServiceSettings) -> ssl.SSLContext | None:
    if not settings.tls_certificate:
        if settings.tls_key or settings.tls_client_ca:
            raise SettingsError("tls_certificate: missing, while tls_key or tls_client_ca is set")
        return None
    if not settings.tls_key and not _has_key(settings.tls_certificate):
        raise SettingsError(
            f"tls_key: missing, and {settings.tls_certificate} holds no private key: set tls_key to"
            " the file with the key of tls_certificate"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_certificate, settings.tls_key or None)
    except OSError as error:
        raise _no_chain(settings, error) from error
    if settings.tls_client_ca:
        _load_certificates(context, "tls_client_ca", settings.tls_client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _load_certificates(context: ssl.SSLContext, setting: str, file: str) -> None:
    """Trust the certificates of a file. Raises SettingsError if it holds none."""
    try:
        context.load_verify_locations(file)
    except ssl.SSLError as error:
        raise SettingsError(f"{setting}: {file} holds no certificate: {error}") from error
    except OSError as error:
        raise SettingsError(f"{setting}: {file} cannot be read: {error.strerror}") from error


def _no_chain(settings: ServiceSettings, error: OSError) -> SettingsError:
    """Return what is wrong with a certificate or its key; OpenSSL does not name the file."""
    certificate, key = settings.tls_certificate, settings.tls_key or settings.tls_certificate
    try:
        trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _load_certificates(trusted, "tls_certificate", certificate)
        is_key = b"PRIVATE KEY-----" in Path(key).read_bytes()
    except SettingsError as no_certificate:
        return no_certificate
    except OSError as unread:
        return SettingsError(f"tls_key: {key} cannot be read: {unread.strerror}")
    if not is_key:
        return SettingsError(f"tls_key: {key} holds no private key: {error}")
    is_another = isinstance(error, ssl.SSLError) and error.reason in _OTHER_KEY
    problem = "is not the key of" if is_another else "cannot be used with"
    return SettingsError(f"tls_key: {key} {problem} tls_certificate, {certificate}: {error}")
