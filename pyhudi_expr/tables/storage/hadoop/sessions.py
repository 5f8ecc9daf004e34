"""Who asks HDFS: a name that it trusts, or a Kerberos ticket, and the cookie for that."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from urllib.parse import urlsplit

from pyhudi_expr.tables.storage.hadoop.connections import Answer, Body, Connections
from pyhudi_expr.tables.storage.hadoop.kerberos import negotiate_header

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
