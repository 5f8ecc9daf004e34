"""The service as a process: signals, reloading of settings, and monitoring pages."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import structlog

from pyhudi_expr.prune import PruneOptions, Pruner
from pyhudi_expr.service import logs
from pyhudi_expr.service.access import exposure
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.server import PruningServer
from pyhudi_expr.service.settings import NEED_RESTART, ServiceSettings, unknown_variables
from pyhudi_expr.service.web.probes import Probes

if TYPE_CHECKING:
    from pyhudi_expr.service.web.callbacks import Callbacks

_log: Any = structlog.get_logger()


def serve(settings: ServiceSettings, read_again: Callable[[], ServiceSettings]) -> None:
    """Serve until SIGTERM or SIGINT, then finish running requests. SIGHUP reloads the settings.

    Raises SettingsError and AddressError.
    """
    logs.configure(settings.log_format, settings.log_level)
    asyncio.run(_Service(settings, read_again).run())


class _Service:
    def __init__(
        self, settings: ServiceSettings, read_again: Callable[[], ServiceSettings]
    ) -> None:
        self._settings = settings
        self._read_again = read_again
        self._pruner = Pruner(_options(settings), settings.storage_options)
        self._metrics = Metrics()
        self._callbacks: Callbacks | None = None

    async def run(self) -> None:
        server = PruningServer(self._handler(self._settings), self._settings, self._metrics)
        _log.info("starting", version=version("pyhudi-expr"), **exposure(self._settings))
        for name in unknown_variables():
            _log.warning("no setting has this name", variable=name)
        self._watch(server)
        # Windows has neither SIGHUP nor signal handlers in an event loop.
        with contextlib.suppress(NotImplementedError, AttributeError):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTERM, server.stop)
            loop.add_signal_handler(signal.SIGINT, server.stop)
            loop.add_signal_handler(signal.SIGHUP, self._reload, server)
        async with contextlib.AsyncExitStack() as pages:
            if self._settings.metrics_address:
                probes = Probes(self._metrics, server.is_ready)
                await pages.enter_async_context(await probes.listen(self._settings.metrics_address))
            if self._settings.console_address:
                # Imported on use: it imports indexes and pages.
                from pyhudi_expr.service.web.console import Console

                console = Console(self._settings, self._metrics)
                await pages.enter_async_context(await console.listen())
            if self._settings.callback_address:
                await self._listen_for_callbacks(pages)
            if self._settings.traces_endpoint:
                # An extra of the package.
                from pyhudi_expr.service.traces import Traces

                traces = Traces(self._settings.traces_endpoint)
                pages.callback(traces.close)
                self._metrics.subscribe(traces.answered)
            await server.run()

    async def _listen_for_callbacks(self, pages: contextlib.AsyncExitStack) -> None:
        """Take commit callbacks until the stack is closed. Raises SettingsError."""
        # Imported on use, as the console is.
        from pyhudi_expr.service.refreshing import Refresher
        from pyhudi_expr.service.web.callbacks import Callbacks

        refresher = Refresher(self._settings, self._metrics)
        self._callbacks = Callbacks(self._settings, refresher)
        await pages.enter_async_context(await self._callbacks.listen())
        running = asyncio.create_task(refresher.run())
        pages.push_async_callback(_ended, running)

    def _reload(self, server: PruningServer) -> None:
        """Reload the settings; invalid new settings leave the old ones in force."""
        try:
            fresh = self._read_again()
            kept = {name: getattr(self._settings, name) for name in NEED_RESTART}
            ignored = [name for name, value in kept.items() if getattr(fresh, name) != value]
            settings = fresh.model_copy(update=kept)
            if self._callbacks is not None:
                self._callbacks.reload(settings)
            server.reload(self._handler(settings), settings)
        except ValueError as error:
            _log.error("settings not reloaded", reason=str(error))
            return
        self._settings = settings
        _log.info("settings reloaded", **({"need_restart": ignored} if ignored else {}))

    def _handler(self, settings: ServiceSettings) -> PruningHandler:
        return PruningHandler(self._pruner, settings, self._metrics)

    def _watch(self, server: PruningServer) -> None:
        watch = self._metrics.watch
        watch("pyhudi_connections", "Connections that are open.", lambda: server.open_connections)
        watch(
            "pyhudi_unanswered", "Requests that wait or are evaluated.", lambda: server.unanswered
        )
        watch("pyhudi_cached_tables", "Tables that are kept.", lambda: self._pruner.held()[0])
        watch("pyhudi_cached_bytes", "Their memory.", lambda: self._pruner.held()[1])


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
    )
