"""Take commit callbacks of Hudi's writers by HTTP, and have the tables' indexes refreshed.

A callback needs the authentication of the service (`web_access`). Hudi sends a token as the value
of `hoodie.write.commit.callback.http.api.key`. A callback is answered at once, as a refresh takes
longer than a writer waits. Of the message only the table's base path counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import structlog

from pyhudi_expr.manage.following import HEAD_BYTES, committed_table
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.refreshing import Refresher
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.service.table_roots import RootError
from pyhudi_expr.service.web.http import PLAIN, Request, Response, Site
from pyhudi_expr.service.web.web_access import WebAccess

_SETTING = "callback_address"
_log: Any = structlog.get_logger()


class Callbacks:
    """The address of the callbacks, until the event loop ends."""

    def __init__(self, settings: ServiceSettings, refresher: Refresher, metrics: Metrics) -> None:
        """Raises SettingsError for callbacks by anybody, or about any table."""
        self._refresher = refresher
        _check_roots(settings)
        self._access = WebAccess(_SETTING, settings, metrics)

    def renewed(self, settings: ServiceSettings) -> Callable[[], None]:
        """Return what puts settings in force, see `WebAccess.renewed`."""
        _check_roots(settings)
        return self._access.renewed(settings)

    @property
    def site(self) -> Site:
        """What to serve at the address of the settings."""
        access = self._access
        return Site(_SETTING, access.address, self.answer, access, "POST")

    async def answer(self, request: Request) -> Response:
        """Have the table of a callback refreshed, or return why it is not."""
        refusal = self._access.refusal(_with_hudis_key(request))
        if refusal is not None:
            return refusal
        # Pages of other sites can send forms from a browser, but not this.
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return _said(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
        try:
            named = committed_table(await request.begin(HEAD_BYTES))
        except ValueError as error:
            return _said(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
        if named is None:
            return _said(HTTPStatus.BAD_REQUEST, "no message of Hudi's: it names no basePath")
        try:
            table = self._access.roots.resolve(named)
        except RootError as error:
            _log.warning("callback refused", reason=str(error))
            return _said(HTTPStatus.FORBIDDEN, str(error))
        if not self._refresher.request(table):
            return _said(HTTPStatus.SERVICE_UNAVAILABLE, "too many tables wait for a refresh")
        return _said(HTTPStatus.ACCEPTED, "the indexes will be refreshed")


def _check_roots(settings: ServiceSettings) -> None:
    if not settings.table_roots:
        raise SettingsError(
            f"{_SETTING}: a callback writes to its table: set table_roots, so that callers do not"
            " choose among all tables"
        )


def _with_hudis_key(request: Request) -> Request:
    """Return a request whose authorization, if it has none of its own, is Hudi's key."""
    key = request.headers.get("hudi-callback-key", "")
    shown = {"authorization": f"Bearer {key}"} if key else {}
    return replace(request, headers={**shown, **request.headers})


def _said(status: HTTPStatus, text: str) -> Response:
    return Response(status, PLAIN, f"{text}\n".encode())
