"""Queries to HiveServer2: rows, and how many files were considered and read for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devtools.ddl import create_with_handler
from devtools.hiveserver import ENGINES, HiveServer
from devtools.scan_reports import ScanReports, ScanTotals
from devtools.service import ServiceProcess
from devtools.tables import HudiTable
from pyhudi_expr.manage.hive.session import HiveSession

Rows = list[tuple[Any, ...]]

FETCH, MR, TEZ = "fetch", "mr", "tez"
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Answer:
    """The result of a query.

    Attributes:
        rows: its rows, in one order for equal sets of rows.
        scan: the totals of its scans.
    """

    rows: Rows
    scan: ScanTotals

    @property
    def files(self) -> tuple[int, int]:
        """Files considered and files read."""
        return self.scan.files_considered, self.scan.files_kept


class QuerySession:
    """One session with a report directory of its own."""

    def __init__(self, session: HiveSession, reports: ScanReports) -> None:
        self._session = session
        self._reports = reports

    def run(self, statement: str) -> Rows:
        """The rows of a statement, in its order."""
        return self._session.run(statement)

    def query(self, query: str) -> Answer:
        """Runs a query. Returns its rows and its scans."""
        self._reports.take()
        rows = sorted(self._session.run(query), key=repr)
        return Answer(rows, self._reports.take())


class Hive:
    """A HiveServer2 and the pruning service of its queries. Tables are registered once."""

    def __init__(
        self,
        server: HiveServer,
        service: ServiceProcess,
        scratch: Path,
        settings: Mapping[str, str] = NOTHING,
    ) -> None:
        """`settings` apply to every session, in addition to others."""
        self.server = server
        self._always = settings
        self._service = service
        self._scratch = scratch
        self._open = ExitStack()
        self._sessions_by_settings: dict[tuple[tuple[str, str], ...], QuerySession] = {}
        self._registered: set[str] = set()
        self._sessions = 0

    def __enter__(self) -> Hive:
        """Returns itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the sessions."""
        self._open.close()

    def close_sessions(self) -> None:
        """Close the sessions, which occupy the memory of their queries; new ones open on demand."""
        self._open.close()
        self._sessions_by_settings.clear()

    def register(self, table: HudiTable) -> str:
        """The name in Hive of the table with the storage handler."""
        if table.name not in self._registered:
            self.run(create_with_handler(table.name, table.path))
            self._registered.add(table.name)
        return table.name

    def run(self, *statements: str) -> None:
        """Run DDL statements."""
        for statement in statements:
            self._open_session(NOTHING).run(statement)

    def query(
        self,
        query: str,
        engine: str = FETCH,
        *,
        pruning: bool = True,
        settings: Mapping[str, str] = NOTHING,
    ) -> Answer:
        """Runs the query on an engine, with `settings` in addition to the engine's."""
        switch = {"hudi.pruning.enabled": str(pruning).lower()}
        return self._open_session({**ENGINES[engine], **switch, **settings}).query(query)

    def query_both_ways(
        self, query: str, engine: str = FETCH, settings: Mapping[str, str] = NOTHING
    ) -> Answer:
        """Runs the query with and without pruning, and checks that the rows are equal."""
        unpruned = self.query(query, engine, pruning=False, settings=settings)
        pruned = self.query(query, engine, settings=settings)
        # As text, because NaN does not equal itself.
        assert repr(pruned.rows) == repr(unpruned.rows), (
            f"pruning changes the rows of {query} ({engine})"
        )
        assert unpruned.scan.files_kept == unpruned.scan.files_considered
        return pruned

    @contextmanager
    def session(self, settings: Mapping[str, str] = NOTHING) -> Iterator[QuerySession]:
        """A new session."""
        self._sessions += 1
        reports = ScanReports(self._scratch / f"session-{self._sessions}")
        own = {"hudi.pruning.service.addresses": self._service.address, **reports.settings()}
        with self.server.session({**own, **settings, **self._always}) as session:
            yield QuerySession(session, reports)

    def _open_session(self, settings: Mapping[str, str]) -> QuerySession:
        key = tuple(sorted(settings.items()))
        if key not in self._sessions_by_settings:
            self._sessions_by_settings[key] = self._open.enter_context(self.session(settings))
        return self._sessions_by_settings[key]
