"""What one process of the service has: tables in its cache, the server of callers, and pages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyhudi_expr.index.kept_rows import RowEvaluator
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.service.answers.openings import Announcements
from pyhudi_expr.service.handler import PruningHandler, row_options
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.network.server import PruningServer
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.service.web.console import Overview, Probes
from pyhudi_expr.service.web.http import Site

if TYPE_CHECKING:
    from pyhudi_expr.service.web.callbacks import Callbacks
    from pyhudi_expr.service.web.console import Console


class Answering:
    """Answers callers. Create and use it in one event loop.

    Attributes:
        metrics: What this process counts.
        server: The server of callers.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        """Read the files of the settings. Raises SettingsError."""
        self._settings = settings
        self._pruner = Pruner(_options(settings), settings.table_options)
        self._row_evaluator = RowEvaluator(row_options(settings))
        self._announcements = Announcements(self._pruner)
        self.metrics = Metrics()
        self._pages: list[Console | Callbacks] = []
        handler = self._handler(settings, self._pruner, self._announcements)
        self.server = PruningServer(handler, settings, self.metrics)
        self._watch()

    async def sites(
        self, overview: Overview, stack: contextlib.AsyncExitStack
    ) -> Mapping[str, Site]:
        """Return the pages by the settings with their addresses; begin what they and traces need.

        Args:
            overview: What the pages show.
            stack: Ends it.

        Raises:
            SettingsError: A page cannot be served with these settings.
        """
        settings, sites = self._settings, list[Site]()
        if settings.metrics_address:
            probes = Probes(overview, self.server.is_ready)
            sites.append(probes.site(settings.metrics_address))
        if settings.console_address:
            # Imported on use: it imports indexes and pages.
            from pyhudi_expr.service.web.console import Console

            console = Console(settings, overview, self.metrics)
            self._pages.append(console)
            sites.append(console.site)
        if settings.callback_address:
            sites.append(self._callback_site(stack))
        if settings.traces_endpoint:
            # An extra of the package.
            from pyhudi_expr.service.traces import Traces

            traces = Traces(settings.traces_endpoint)
            stack.callback(traces.close)
            self.metrics.subscribe(traces.answered)
        return {site.setting: site for site in sites}

    def _callback_site(self, stack: contextlib.AsyncExitStack) -> Site:
        # Imported on use, as the console is.
        from pyhudi_expr.service.refreshing import Refresher
        from pyhudi_expr.service.web.callbacks import Callbacks

        refresher = Refresher(self._settings, self.metrics)
        callbacks = Callbacks(self._settings, refresher, self.metrics)
        self._pages.append(callbacks)
        running = asyncio.create_task(refresher.run())
        stack.push_async_callback(_ended, running)
        return callbacks.site

    def reload(self, settings: ServiceSettings) -> None:
        """Continue with other settings. Raises ValueError, and then nothing has changed."""
        pruner, announcements = self._pruner, self._announcements
        if settings.table_options != self._settings.table_options:
            # What is kept of tables was read by other rules.
            pruner = Pruner(_options(settings), settings.table_options)
            announcements = Announcements(pruner)
        handler = self._handler(settings, pruner, announcements)
        takes = [page.renewed(settings) for page in self._pages]
        self.server.reload(handler, settings)
        for take in takes:
            take()
        self._settings, self._pruner, self._announcements = settings, pruner, announcements

    def _handler(
        self, settings: ServiceSettings, pruner: Pruner, announcements: Announcements
    ) -> PruningHandler:
        return PruningHandler(pruner, settings, self.metrics, self._row_evaluator, announcements)

    def _watch(self) -> None:
        watch, server = self.metrics.watch, self.server
        watch("pyhudi_connections", "Connections that are open.", lambda: server.open_connections)
        watch(
            "pyhudi_unanswered", "Requests that wait or are evaluated.", lambda: server.unanswered
        )
        watch("pyhudi_cached_tables", "Tables that are kept.", lambda: self._pruner.held()[0])
        watch("pyhudi_cached_bytes", "Their memory.", lambda: self._pruner.held()[1])
        watch(
            "pyhudi_cached_row_bytes",
            "Memory of footers and page indexes that are kept.",
            lambda: self._row_evaluator.nbytes,
        )


async def _ended(running: asyncio.Task[None]) -> None:
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


def _options(settings: ServiceSettings) -> PruneOptions:
    return PruneOptions(
        footers=settings.footers,
        footer_wait=settings.footer_wait,
        cache_bytes=settings.cache_bytes,
        snapshot_dir=settings.snapshot_path,
        snapshot_bytes=settings.snapshot_bytes,
        shared_snapshots=settings.shared_snapshots or None,
    )
