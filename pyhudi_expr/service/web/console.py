"""A read-only console over HTTP, and three pages for monitoring: /metrics, /health, /ready.

The event loop that serves the callers serves them, so an answer shows that it runs. They need no
token, and show only numbers.

It has the authentication of the service (`web_access`). Predicates and their constants are not
shown. Only tables that were requested are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Protocol

from pyhudi_expr.api.pages.activity import Activity
from pyhudi_expr.api.pages.console import TableState, View, overview_page, table_page
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import reading_catalog
from pyhudi_expr.index.catalog.status import checked_statuses
from pyhudi_expr.service.metrics import CONTENT_TYPE, Metrics
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.service.table_roots import RootError
from pyhudi_expr.service.web.http import PLAIN, Request, Response, Site
from pyhudi_expr.service.web.web_access import WebAccess
from pyhudi_expr.tables.storage import Storage


class Overview(Protocol):
    """The numbers of a service, as of now."""

    async def metrics_text(self) -> bytes:
        """Return the metrics in Prometheus' format."""

    async def activity(self) -> Activity:
        """Return the requests since the start."""


class OwnOverview:
    """The numbers of this process."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def metrics_text(self) -> bytes:
        """See `Overview`."""
        return self._metrics.text()

    async def activity(self) -> Activity:
        """See `Overview`."""
        return self._metrics.activity()


class Probes:
    """The pages, until the event loop ends."""

    def __init__(self, overview: Overview, is_ready: Callable[[], bool]) -> None:
        self._overview = overview
        self._is_ready = is_ready

    def site(self, address: str) -> Site:
        """Return what to serve at host:port."""
        return Site("metrics_address", address, self._page)

    async def _page(self, request: Request) -> Response:
        if request.path == "/metrics":
            return Response(HTTPStatus.OK, CONTENT_TYPE, await self._overview.metrics_text())
        if request.path == "/health":
            return Response(HTTPStatus.OK, PLAIN, b"ok\n")
        if request.path == "/ready":
            ready = self._is_ready()
            status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
            return Response(status, PLAIN, b"ready\n" if ready else b"stopping\n")
        return Response(HTTPStatus.NOT_FOUND, PLAIN, b"/metrics, /health and /ready\n")


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
