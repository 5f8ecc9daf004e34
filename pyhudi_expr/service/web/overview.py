"""What the pages of a service show: its own numbers, or those of all its workers."""

from __future__ import annotations

from typing import Protocol

from pyhudi_expr.api.pages.activity import Activity
from pyhudi_expr.service.metrics import Metrics


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
