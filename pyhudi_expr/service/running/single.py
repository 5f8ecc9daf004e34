"""The one process that serves: signals, settings read again, and an end if it hangs.

A call in C that never returns stops every thread of Python, signal handlers as well. The watchdog
prints where each thread is, and ends the process with exit code 1. A supervisor starts another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import structlog

from pyhudi_expr.service.running.answering import Answering
from pyhudi_expr.service.running.reloading import InForce, log_reloaded, log_start
from pyhudi_expr.service.running.supervised import Lifeline
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.service.web.console import OwnOverview

#: Longer than any sound call in C takes on a busy machine.
HANG_SECONDS = 30.0
_BEAT_SECONDS = 1.0


@contextlib.asynccontextmanager
async def watched(hang_seconds: float = HANG_SECONDS) -> AsyncIterator[None]:
    """End the process if its event loop does not run for so long within the block."""
    beating = asyncio.create_task(_beat(hang_seconds))
    try:
        yield
    finally:
        beating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beating


def end_within(seconds: float) -> None:
    """End the process after so many seconds, whatever its threads do then."""
    faulthandler.dump_traceback_later(seconds, exit=True)


async def _beat(hang_seconds: float) -> None:
    try:
        while True:
            end_within(hang_seconds)
            await asyncio.sleep(_BEAT_SECONDS)
    finally:
        faulthandler.cancel_dump_traceback_later()


_log: Any = structlog.get_logger()


class SingleProcess:
    """Serves by this process. Create and run it in one event loop."""

    def __init__(
        self, in_force: InForce, read_again: Callable[[], ServiceSettings], lifeline: Lifeline
    ) -> None:
        self._in_force = in_force
        self._read_again = read_again
        self._lifeline = lifeline

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Raises SettingsError and AddressError."""
        answering = Answering(self._in_force.settings)
        log_start(self._in_force.settings)
        # Windows has neither SIGHUP nor signal handlers in an event loop.
        with contextlib.suppress(NotImplementedError, AttributeError):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTERM, answering.server.stop)
            loop.add_signal_handler(signal.SIGINT, answering.server.stop)
            loop.add_signal_handler(signal.SIGHUP, self._reload, answering)
        async with watched(), contextlib.AsyncExitStack() as stack:
            sites = await answering.sites(OwnOverview(answering.metrics), stack)
            for site in sites.values():
                stack.enter_context(site.listening())
            self._follow(answering)
            await answering.server.run(lambda *_: self._lifeline.serves())

    def _follow(self, answering: Answering) -> None:
        """Stop when the supervisor ends."""
        supervisor = self._lifeline.supervisor
        if supervisor is None:
            return
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(supervisor)
            _log.warning("the supervisor has ended: the service stops")
            answering.server.stop()

        loop.add_reader(supervisor, ended)

    def _reload(self, answering: Answering) -> None:
        """Reload the settings; invalid new settings leave the old ones in force."""
        try:
            fresh = self._in_force.reread(self._read_again)
            answering.reload(fresh.settings)
        except ValueError as error:
            _log.error("settings not reloaded", reason=str(error))
            return
        log_reloaded(self._in_force, fresh)
        self._in_force = fresh
