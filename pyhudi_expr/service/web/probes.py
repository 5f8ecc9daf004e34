"""Three pages for monitoring: /metrics, /health and /ready.

The event loop that serves the callers serves them, so an answer shows that it runs. They need no
token, and show only numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from pyhudi_expr.service.metrics import CONTENT_TYPE
from pyhudi_expr.service.web.http import PLAIN, Request, Response, Site
from pyhudi_expr.service.web.overview import Overview


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
