"""A HiveServer2 with one session, and the tables of a suite."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from bench.tpc.cells import Row
from bench.tpc.data import Data
from bench.tpc.modes import Mode
from devtools.hiveserver import HiveServer
from devtools.scan_reports import ScanReports, ScanTotals
from pyhudi_expr.manage.hive import HiveAddress
from pyhudi_expr.manage.hive.session import ConnectionFailed, HiveSession, QueryError, open_session

SESSION_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "hive.execution.engine": "tez",
        "hive.fetch.task.conversion": "more",
        # Reducers are planned for rollups of gigabytes that the statistics promise; this makes as
        # many as there are bytes.
        "hive.tez.auto.reducer.parallelism": "true",
        # Tez's fault: its pipelined sorter may cut its memory into ever smaller spans, and takes
        # eight times as long. That depends on how many rows a task sorts.
        "tez.runtime.sorter.class": "LEGACY",
        # Hive's fault: it loses groups of rollups under a LIMIT, in two queries of TPC-DS.
        "hive.optimize.topnkey": "false",
    }
)
"""The settings of every mode."""

_SERVER_SETTINGS = MappingProxyType(
    {
        # Hive's fault: in Tez's local mode a task, or a query, that is run again may wait forever.
        "tez.am.task.max.failed.attempts": "1",
        "hive.query.reexecution.enabled": "false",
    }
)
_CHARACTERS = 300


@dataclass(frozen=True)
class Run:
    """One run of a query.

    Attributes:
        rows: Its rows, in its order.
        seconds: Its time, with the transport of the rows.
        scans: The totals of its scans of Hudi tables.
        error: Why it failed; None if it did not.
    """

    rows: Sequence[Row]
    seconds: float
    scans: ScanTotals
    error: str | None = None


class SuiteInHive:
    """Runs the queries of a suite, one after another.

    There is one session: Tez's local mode mixes up those of one process. After a failure the
    server is replaced, as its later answers cannot be trusted.
    """

    def __init__(
        self,
        data: Data,
        modes: Sequence[Mode],
        service: str,
        run_dir: Path,
        *,
        heap: str,
        limit: float,
    ) -> None:
        """Prepare the server without starting it.

        Args:
            data: The suite's data, with all tables written.
            modes: The modes in which queries will run.
            service: host:port of a pruning service.
            run_dir: The directory of the server, made anew.
            heap: The heap of HiveServer2, which runs the tasks, too.
            limit: Seconds until a query counts as failed.
        """
        self._data = data
        self._modes = modes
        self._run_dir = run_dir
        self._service = service
        self._server = HiveServer(
            run_dir / "hive", heap=heap, jvm_options=(), settings=_SERVER_SETTINGS
        )
        self._limit = limit
        self._running = ExitStack()

    def __enter__(self) -> SuiteInHive:
        """Start the server, and register the tables."""
        shutil.rmtree(self._run_dir, ignore_errors=True)
        self._reports = ScanReports(self._run_dir / "scans")
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self._running.close()

    def run(self, query: str, mode: Mode) -> Run:
        """Run a query in Hive's SQL; a failure is part of the result."""
        began = time.monotonic()
        try:
            self._use(mode)
            self._reports.take()
            began = time.monotonic()
            rows = self._session.run(query)
        except (QueryError, ConnectionFailed) as error:
            failed = Run((), time.monotonic() - began, self._reports.take(), _shortened(error))
            self._running.close()
            self._start()
            return failed
        return Run(rows, time.monotonic() - began, self._reports.take())

    def _start(self) -> None:
        self._running.enter_context(self._server)
        address = HiveAddress(
            port=self._server.port, auth="NOSASL", user="pyhudi", statement_timeout=self._limit
        )
        self._session: HiveSession = self._running.enter_context(open_session(address))
        self._session.set(
            {
                **SESSION_SETTINGS,
                **self._reports.settings(),
                "hudi.pruning.service.addresses": self._service,
            }
        )
        for mode in {mode.form: mode for mode in self._modes}.values():
            for statement in mode.ddl(self._data):
                self._session.run(statement)
        for mode in self._modes:  # the first query of each takes seconds longer
            self._use(mode)
            self._session.run(f"SELECT count(*) FROM {self._data.suite.smallest} GROUP BY 1 = 1")

    def _use(self, mode: Mode) -> None:
        self._session.run(f"USE {mode.form}")
        self._session.set(mode.settings)


def _shortened(error: Exception) -> str:
    return " ".join(str(error).split())[:_CHARACTERS]
