"""Who asks HDFS: a name that it trusts, or a Kerberos ticket (SPNEGO), and the cookie for that.

No package of Python is needed. The library takes the ticket of KRB5CCNAME, or makes one with the
keytab of KRB5_CLIENT_KTNAME, and a new one when that ends.

References: RFC 2744 (GSS-API in C), RFC 4559 (SPNEGO over HTTP).
"""

from __future__ import annotations

import base64
import ctypes
import ctypes.util
import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from urllib.parse import urlsplit

from pyhudi_expr.tables.storage.hadoop.connections import Answer, Body, Connections

_SPNEGO = bytes.fromhex("2b0601050502")
_ERROR_BITS = 0xFFFF0000
_OF_GSS, _OF_MECHANISM = 1, 2
_REMEDY = (
    "run kinit, or name a keytab by KRB5_CLIENT_KTNAME, whose first principal is then the user"
)


class _Buffer(ctypes.Structure):
    _fields_ = (("length", ctypes.c_size_t), ("value", ctypes.c_void_p))


class _Oid(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint32), ("elements", ctypes.c_void_p))


def negotiate_header(host: str) -> str:
    """Return the value of the header `Authorization` for the service HTTP of a host.

    Raises:
        PermissionError: The library is missing, or there is neither ticket nor keytab.
    """
    library = _library()
    minor, context, token = ctypes.c_uint32(), ctypes.c_void_p(), _Buffer()
    elements = ctypes.create_string_buffer(_SPNEGO, len(_SPNEGO))
    mechanism = _Oid(len(_SPNEGO), ctypes.cast(elements, ctypes.c_void_p))
    with _service_name(library, host) as name:
        status = library.gss_init_sec_context(
            ctypes.byref(minor),
            None,
            ctypes.byref(context),
            name,
            ctypes.byref(mechanism),
            0,
            0,
            None,
            None,
            None,
            ctypes.byref(token),
            None,
            None,
        )
    try:
        _check(library, status, minor, host)
        return f"Negotiate {base64.b64encode(_text(token)).decode()}"
    finally:
        library.gss_release_buffer(ctypes.byref(minor), ctypes.byref(token))
        library.gss_delete_sec_context(ctypes.byref(minor), ctypes.byref(context), None)


@contextmanager
def _service_name(library: ctypes.CDLL, host: str) -> Iterator[ctypes.c_void_p]:
    text = f"HTTP@{host}".encode()
    held = ctypes.create_string_buffer(text, len(text))
    written = _Buffer(len(text), ctypes.cast(held, ctypes.c_void_p))
    minor, name = ctypes.c_uint32(), ctypes.c_void_p()
    kind = ctypes.c_void_p.in_dll(library, "GSS_C_NT_HOSTBASED_SERVICE")
    status = library.gss_import_name(
        ctypes.byref(minor), ctypes.byref(written), kind, ctypes.byref(name)
    )
    _check(library, status, minor, host)
    try:
        yield name
    finally:
        library.gss_release_name(ctypes.byref(minor), ctypes.byref(name))


@cache
def _library() -> ctypes.CDLL:
    name = ctypes.util.find_library("gssapi_krb5") or "libgssapi_krb5.so.2"
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise PermissionError(
            f"HDFS asks for a Kerberos ticket, and MIT's library is missing: {error}; install"
            " libgssapi-krb5-2 (krb5-libs)"
        ) from error
    for function in ("gss_import_name", "gss_init_sec_context", "gss_display_status"):
        getattr(library, function).restype = ctypes.c_uint32
    return library


def _check(library: ctypes.CDLL, status: int, minor: ctypes.c_uint32, host: str) -> None:
    if status & _ERROR_BITS:
        said = [_said(library, status, _OF_GSS), _said(library, minor.value, _OF_MECHANISM)]
        raise PermissionError(
            f"no Kerberos ticket for HTTP/{host}: {': '.join(filter(None, said))}; {_REMEDY}"
        )


def _said(library: ctypes.CDLL, status: int, kind: int) -> str:
    minor, more, text = ctypes.c_uint32(), ctypes.c_uint32(), _Buffer()
    library.gss_display_status(
        ctypes.byref(minor),
        ctypes.c_uint32(status),
        ctypes.c_int(kind),
        None,
        ctypes.byref(more),
        ctypes.byref(text),
    )
    try:
        return _text(text).decode(errors="replace")
    finally:
        library.gss_release_buffer(ctypes.byref(minor), ctypes.byref(text))


def _text(buffer: _Buffer) -> bytes:
    return ctypes.string_at(buffer.value, buffer.length) if buffer.value else b""


_NEGOTIATE = "negotiate"


class Sessions:
    """Sends requests, and shows a ticket to servers that ask for one. Thread safe."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._cookies: dict[str, str] = {}
        self._has_asked = False

    @property
    def shows_tickets(self) -> bool:
        """Whether a server has asked for a ticket, so that a name alone is not trusted."""
        return self._has_asked

    def request(self, method: str, url: str, seconds: float, body: Body | None = None) -> Answer:
        """Send a request, see `Connections.request`; a second time if a ticket is asked for.

        Raises:
            PermissionError: There is no ticket, or the server does not accept it.
        """
        place = urlsplit(url)
        cookie = self._cookies.get(place.netloc)
        headers = {"Cookie": cookie} if cookie else {}
        answer = self._connections.request(method, url, seconds, headers, body)
        if not _asks_for_ticket(answer):
            return answer
        self._has_asked = True
        shown = {"Authorization": negotiate_header(place.hostname or "")}
        answer = self._connections.request(method, _without_name(url), seconds, shown, body)
        if _asks_for_ticket(answer):
            raise PermissionError(f"{place.netloc} does not accept the Kerberos ticket")
        self._keep_cookie(place.netloc, answer.headers)
        return answer

    def _keep_cookie(self, place: str, headers: Mapping[str, str]) -> None:
        cookie = headers.get("set-cookie", "").partition(";")[0]
        if cookie.partition("=")[2]:
            self._cookies[place] = cookie


def _asks_for_ticket(answer: Answer) -> bool:
    asked = answer.headers.get("www-authenticate", "").lower()
    return answer.status == http.client.UNAUTHORIZED and asked.startswith(_NEGOTIATE)


def _without_name(url: str) -> str:
    """Return a URL without the name that simple authentication gives: it has to be the ticket's."""
    path, _, query = url.partition("?")
    kept = [one for one in query.split("&") if not one.startswith("user.name=")]
    return f"{path}?{'&'.join(kept)}"
