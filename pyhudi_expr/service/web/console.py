"""A read-only console over HTTP: totals, tables, their indexes, and the latest requests.

It has the authentication of the service (`web_access`). Predicates and their constants are not
shown. Only tables that were requested are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

from pyhudi_expr.api.pages.activity import Activity
from pyhudi_expr.api.pages.console import TableState, overview_page, table_page
from pyhudi_expr.api.pages.console_view import View
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import reading_catalog
from pyhudi_expr.index.catalog.status import checked_statuses
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.service.table_roots import RootError
from pyhudi_expr.service.web.http import PLAIN, Request, Response, Site
from pyhudi_expr.service.web.overview import Overview
from pyhudi_expr.service.web.web_access import WebAccess
from pyhudi_expr.tables.storage import Storage

_SAFE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self';"
        " frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_HTML = "text/html; charset=utf-8"


class Console:
    """The pages, until the event loop ends."""

    def __init__(self, settings: ServiceSettings, overview: Overview, metrics: Metrics) -> None:
        """Raises SettingsError for a console that anybody on the network could open."""
        self._access = WebAccess("console_address", settings, metrics)
        self._storage_options = settings.table_options
        self._overview = overview

    def renewed(self, settings: ServiceSettings) -> Callable[[], None]:
        """Return what puts settings in force, see `WebAccess.renewed`."""
        return self._access.renewed(settings)

    @property
    def site(self) -> Site:
        """What to serve at the address of the settings."""
        access = self._access
        return Site("console_address", access.address, self.answer, access)

    async def answer(self, request: Request) -> Response:
        """Return the page, or why it is not shown."""
        refusal = self._access.refusal(request)
        if refusal is not None:
            return refusal
        # Indexes are read from the storage: callers must not wait for that.
        return await asyncio.to_thread(self._page, request, await self._overview.activity())

    def _page(self, request: Request, activity: Activity) -> Response:
        view = View.of(request.query)
        if request.path == "/":
            return _html(overview_page(activity, replace(view, path="")))
        table = activity.tables.get(view.path)
        if request.path != "/table" or table is None:
            return Response(HTTPStatus.NOT_FOUND, PLAIN, b"not found\n", _SAFE)
        return _html(table_page(activity, table, self._state(view.path), view))

    def _state(self, requested: str) -> TableState:
        try:
            path = self._access.roots.resolve(requested)
            with reading_catalog(Storage.open(path, self._storage_options)) as catalog:
                return TableState(catalog.table.timeline, checked_statuses(catalog))
        except (HudiError, RootError) as error:
            return TableState(None, (), str(error))


def _html(content: str) -> Response:
    return Response(HTTPStatus.OK, _HTML, content.encode(), _SAFE)
