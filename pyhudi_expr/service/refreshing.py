"""Refresh the extension's indexes of tables after commits: one at a time, each in its own process.

A refresh needs Spark, which the service does not import. So it is `pyhudi index follow --once`, a
child of the service. Commits to a table that waits already add nothing; those to the table that is
being refreshed let it wait again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from importlib.util import find_spec
from tempfile import TemporaryFile
from typing import IO, Any

import structlog

from pyhudi_expr.errors import HudiError
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.settings import ServiceSettings, SettingsError
from pyhudi_expr.service.staleness import IndexLag, index_lags
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension import Extension
from pyhudi_expr.tables.storage import OPTIONS_VARIABLE, Storage, joined_options, process_options

_MAX_WAITING = 1000
_NEEDED = ("click", "pyspark")
_LAST_BYTES = 2000
"""Of what a failed process wrote, for the log."""
_END_SECONDS = 10.0

_log: Any = structlog.get_logger()


class Refresher:
    """Refreshes tables. Create and use it in one event loop.

    Attributes:
        waiting: The base paths of the tables that wait, in their order.
    """

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        """Raises SettingsError if a package is missing that refreshes need."""
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            raise SettingsError(
                f"callback_address: refreshes need {' and '.join(missing)}: install the extras, pip"
                " install 'pyhudi-expr[service,cli,spark]'"
            )
        self._settings = settings
        self._metrics = metrics
        self.waiting: dict[str, None] = {}
        self._requested = asyncio.Event()

    def request(self, table: str) -> bool:
        """Have a table refreshed; return False if too many wait.

        Args:
            table: Its base path, which may be written to.
        """
        if len(self.waiting) >= _MAX_WAITING and table not in self.waiting:
            self._metrics.refreshed("refused")
            return False
        self.waiting[table] = None
        self._requested.set()
        return True

    async def run(self) -> None:
        """Refresh the tables in the order of their requests, until the task is cancelled."""
        while True:
            await self._requested.wait()
            while self.waiting:
                table = next(iter(self.waiting))
                del self.waiting[table]
                try:
                    outcome = await self._refresh(table)
                except Exception as error:
                    is_known = isinstance(error, HudiError | OSError)
                    reason = str(error) if is_known else f"unexpected {type(error).__name__}"
                    _log.warning("index refresh", table=table, reason=reason)
                    outcome = "failed"
                self._metrics.refreshed(outcome)
            self._requested.clear()

    async def _refresh(self, table: str) -> str:
        """Refresh one table; return what became of it. Raises HudiError."""
        lags = await self._look(table)
        if not lags:
            return "no_index"
        if not any(lag.instants for lag in lags):
            return "current"
        _log.info("index refresh", table=table, behind=max(lag.instants for lag in lags))
        with TemporaryFile() as output:
            code = await self._run(table, output)
            if code:
                reason = await asyncio.to_thread(_end_of, output)
                _log.warning("index refresh", table=table, exit_code=code, reason=reason)
        await self._look(table)
        if code is None:
            _log.warning("index refresh", table=table, reason="ended: refresh_seconds are over")
        return "refreshed" if code == 0 else "failed"

    async def _look(self, table: str) -> tuple[IndexLag, ...]:
        """Return how far the indexes are behind. Raises HudiError."""
        found = await asyncio.to_thread(_lags, table, self._settings.table_options)
        self._metrics.staleness.found(table, found)
        return found

    async def _run(self, table: str, output: IO[bytes]) -> int | None:
        """Run a refresh; return its exit code, or None if it took too long."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pyhudi_expr.cli", "index", "follow", table, "--once"),
            *self._settings.refresh_options,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=output,
            env=_environment(self._settings),
            start_new_session=True,
        )
        try:
            return await asyncio.wait_for(process.wait(), self._settings.refresh_seconds)
        except asyncio.TimeoutError:
            return None
        finally:
            await _end(process)


def _lags(table: str, storage_options: dict[str, str]) -> tuple[IndexLag, ...]:
    opened = HudiTable.at(Storage.open(table, storage_options))
    return index_lags(opened, Extension.open(opened))


def _environment(settings: ServiceSettings) -> dict[str, str]:
    """Return the environment of a refresh: with the storage options, which may be secrets."""
    options = joined_options(settings.all_storage_options, process_options())
    return {**os.environ, OPTIONS_VARIABLE: json.dumps(options)}


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process, and the JVM that it started."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), _END_SECONDS)


def _end_of(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(size - _LAST_BYTES, 0))
    return " ".join(output.read().decode(errors="replace").split())
