"""`make demo`: run the same queries with pruning off and on in a real HiveServer2, and compare."""

import argparse
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from devtools import demo_tables
from devtools.ddl import create_with_handler
from devtools.hive_versions import HIVE_4_LINES, HiveVersion
from devtools.hiveserver import ENGINES, HiveServer
from devtools.process import ServerError, interrupt_at_sigterm
from devtools.runtime import WORK, RuntimeMissingError
from devtools.scan_reports import ScanReports, ScanTotals
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.session import HiveSession, QueryError

_RUN_DIR = WORK / "demo" / "run"
_LOG_WIDTH = 180
_ERROR_CHARACTERS = 4_000
_MEGABYTE = 1_000_000
#: Footers are read in the background, and a query waits half a second for them. On a busy machine
#: the first queries may keep files whose footers have not arrived yet.
_ATTEMPTS = 5
#: Seconds of each step on two busy processors, by which the time that is left is estimated; those
#: of a query are of all its runs.
_TABLES, _SERVICE, _SERVER, _FIRST, _QUERY = 230.0, 3.0, 28.0, 20.0, 6.0


@dataclass(frozen=True)
class Query:
    """One query of the demo.

    Attributes:
        engine: The engine that runs it, a key of `ENGINES`.
        files_read: Number of files that must be read, by the layout of the demo's tables.
        sql: Its text.
    """

    engine: str
    files_read: int
    sql: str


QUERIES = (
    Query("fetch", 1, "SELECT id, ts, city, amount FROM events WHERE id = 123456"),
    Query("fetch", 3, "SELECT id, amount FROM events WHERE id IN (17, 250000, 899999)"),
    Query(
        "fetch",
        1,
        "SELECT id, city, ts FROM events"
        " WHERE ts BETWEEN timestamp '2024-01-03 10:00:00' AND timestamp '2024-01-03 10:05:00'",
    ),
    Query("fetch", 1, "SELECT id, device FROM events WHERE device.build = 1100 AND score > 0.999"),
    Query("fetch", 30, "SELECT id, amount FROM returns WHERE amount >= 1000000"),
    Query("mr", 10, "SELECT count(*), sum(amount) FROM events WHERE city = 'Oslo'"),
    Query("mr", 10, "SELECT city, count(*) FROM events WHERE city LIKE 'Z%' GROUP BY city"),
    Query("mr", 10, "SELECT note, count(*) FROM events WHERE note IS NOT NULL GROUP BY note"),
    Query("mr", 4, "SELECT count(*), min(ts), max(ts) FROM returns WHERE id < 4100"),
    Query("tez", 7, "SELECT city, count(*) FROM events WHERE NOT ok GROUP BY city"),
    Query("tez", 6, "SELECT count(*), sum(amount) FROM events WHERE amount > 245000 OR id < 1000"),
    Query(
        "tez", 25, "SELECT count(*), sum(amount) FROM events WHERE cast(ts AS date) = '2024-01-07'"
    ),
    Query("tez", 4, "SELECT count(*) FROM events WHERE day = '2024-01-05' AND amount < 30000"),
    Query(
        "tez",
        20,
        "SELECT e.city, count(*) FROM events e JOIN returns r ON e.id = r.id"
        " WHERE r.amount >= 1000000 AND e.id < 100000 GROUP BY e.city",
    ),
    Query("tez", 4, "SELECT city, count(*) FROM returns WHERE device.build > 1045 GROUP BY city"),
    Query("tez", 250, "SELECT count(*), max(score) FROM events WHERE user_id = 4242"),
)


@dataclass(frozen=True)
class _Run:
    """The rows of a query, its time, and its scans."""

    rows: list[str]
    seconds: float
    scan: ScanTotals


@dataclass(frozen=True)
class Outcome:
    """The results of one query without pruning and with it; times in seconds."""

    query: Query
    rows: int
    equal: bool
    scan: ScanTotals
    seconds_off: float
    seconds_on: float


def main() -> int:
    """Run the demo and print its table.

    Returns:
        0 if every query gave the same rows with and without pruning, and read the files that its
        table is laid out for; 1 otherwise.
    """
    parser = argparse.ArgumentParser(prog="devtools.demo")
    parser.add_argument("--hive", choices=HIVE_4_LINES, default="4.0", help="the version of Hive")
    line = HIVE_4_LINES[parser.parse_args().hive]
    console = Console()
    if not console.is_terminal:
        console = Console(width=_LOG_WIDTH)
    interrupt_at_sigterm()
    shutil.rmtree(_RUN_DIR, ignore_errors=True)
    _RUN_DIR.mkdir(parents=True)
    started = time.monotonic()
    try:
        with ExitStack() as running:
            outcomes = _run(console, running, line)
    except KeyboardInterrupt:
        console.print("[yellow]interrupted; everything that was started is stopped")
        return 130
    except (ServerError, RuntimeMissingError, QueryError) as error:
        console.print(_shortened(str(error)), style="red", markup=False, highlight=False)
        console.print(f"logs: {_RUN_DIR}")
        return 1
    console.print(_table(outcomes))
    return _verdict(console, outcomes, time.monotonic() - started)


def _run(console: Console, running: ExitStack, line: HiveVersion) -> list[Outcome]:
    are_written = demo_tables.are_written()
    expected = _SERVICE + _SERVER + _FIRST + _QUERY * len(QUERIES)
    progress = Progress(console, expected if are_written else expected + _TABLES)
    if are_written:
        console.print(f"tables: found in {demo_tables.DIRECTORY}")
    else:
        with progress.step("tables: writing 1,100,000 rows with PySpark and Hudi", _TABLES):
            demo_tables.ensure_written(_RUN_DIR / "spark.log")
    with progress.step("pruning service: starting", _SERVICE):
        service = running.enter_context(ServiceProcess(_RUN_DIR))
    with progress.step("HiveServer2: starting", _SERVER):
        server = running.enter_context(HiveServer(_RUN_DIR / "hive", line=line))
    reports = ScanReports(_RUN_DIR / "scans")
    settings = {**reports.settings(), "hudi.pruning.service.addresses": service.address}
    settings["hudi.pruning.cache.ms"] = "0"  # each run asks the service
    session = running.enter_context(server.session(settings))
    created = "Hive: CREATE EXTERNAL TABLE ... STORED BY, and a first query per engine"
    with progress.step(created, _FIRST):
        for path in (demo_tables.EVENTS, demo_tables.RETURNS):
            session.run(create_with_handler(path.name, path))
        for engine in ENGINES.values():
            session.set(engine)
            for path in (demo_tables.EVENTS, demo_tables.RETURNS):
                session.run(f"SELECT id, ts FROM {path.name} WHERE id = 1")
    outcomes = []
    for number, query in enumerate(QUERIES, start=1):
        what = f"query {number} of {len(QUERIES)} ({query.engine}): {query.sql}"
        with progress.step(what, _QUERY):
            # The second run finds the operating system's cache warm, so the order alternates.
            order = (False, True) if number % 2 else (True, False)
            outcomes.append(_compare(session, query, reports, order))
    return outcomes


def _compare(
    session: HiveSession, query: Query, reports: ScanReports, order: tuple[bool, bool]
) -> Outcome:
    session.set(ENGINES[query.engine])
    runs: dict[bool, list[_Run]] = {}
    for pruning in order:
        session.set({"hudi.pruning.enabled": str(pruning).lower()})
        reports.take()
        runs[pruning] = [_run_query(session, query, reports)]
        while (
            pruning
            and runs[pruning][-1].scan.files_kept > query.files_read
            and len(runs[pruning]) < _ATTEMPTS
        ):
            runs[pruning].append(_run_query(session, query, reports))
    (off,), on = runs[False], runs[True]
    equal = all(run.rows == off.rows for run in on)
    return Outcome(query, len(off.rows), equal, on[-1].scan, off.seconds, on[-1].seconds)


def _run_query(session: HiveSession, query: Query, reports: ScanReports) -> _Run:
    started = time.monotonic()
    rows = session.run(query.sql)
    seconds = time.monotonic() - started
    return _Run(sorted(map(repr, rows)), seconds, reports.take())


def _table(outcomes: list[Outcome]) -> Table:
    table = Table(title="The same queries without and with pruning", title_justify="left")
    table.add_column("query", ratio=1)
    table.add_column("engine")
    for heading in ("rows", "equal", "files", "read", "MB", "read", "off s", "on s", "faster"):
        table.add_column(heading, justify="right")
    for outcome in outcomes:
        scan = outcome.scan
        table.add_row(
            outcome.query.sql,
            outcome.query.engine,
            f"{outcome.rows:,}",
            "yes" if outcome.equal else "[bold red]NO",
            f"{scan.files_considered:,}",
            f"{scan.files_kept:,}",
            f"{scan.bytes_considered / _MEGABYTE:.1f}",
            f"{scan.bytes_kept / _MEGABYTE:.1f}",
            f"{outcome.seconds_off:.2f}",
            f"{outcome.seconds_on:.2f}",
            f"{outcome.seconds_off / outcome.seconds_on:.1f}x",
        )
    return table


_ANSWERED = frozenset({"PRUNED", "NOTHING_PROVED"})


def _verdict(console: Console, outcomes: list[Outcome], seconds: float) -> int:
    wrong = [outcome for outcome in outcomes if not outcome.equal]
    unpruned = [outcome for outcome in outcomes if not _ANSWERED.issuperset(outcome.scan.outcomes)]
    unexpected = [
        outcome for outcome in outcomes if outcome.scan.files_kept != outcome.query.files_read
    ]
    considered = sum(outcome.scan.files_considered for outcome in outcomes)
    kept = sum(outcome.scan.files_kept for outcome in outcomes)
    console.print(
        f"{len(outcomes)} queries, {len(outcomes) - len(wrong)} with equal rows;"
        f" {kept:,} of {considered:,} files read; {seconds:.0f} s in all"
    )
    for outcome in unpruned:
        console.print(f"not pruned, {', '.join(outcome.scan.outcomes)}: {outcome.query.sql}")
    for outcome in unexpected:
        console.print(
            f"read {outcome.scan.files_kept} files, expected {outcome.query.files_read}: "
            f"{outcome.query.sql}"
        )
    return 1 if wrong or unpruned or unexpected else 0


class Progress:
    """What is being done: a sign on a terminal; in a file a line every few seconds.

    Args:
        console: Where it is shown.
        seconds: What all steps together usually take.
        every: Seconds between two lines.
    """

    def __init__(self, console: Console, seconds: float, every: float = 5.0) -> None:
        self._console, self._seconds, self._every = console, seconds, every
        self._done, self._begun = 0.0, time.monotonic()

    @contextmanager
    def step(self, what: str, seconds: float) -> Iterator[None]:
        """Show a step during the block, and afterwards how long it took.

        Args:
            what: What is done.
            seconds: How long it usually takes.
        """
        started = time.monotonic()
        with self._sign(what) if self._console.is_terminal else self._lines(what, seconds):
            yield
        self._done += seconds
        self._print(f"{time.monotonic() - started:6.1f} s  {what}")

    def _sign(self, what: str) -> AbstractContextManager[object]:
        return self._console.status(escape(what))

    @contextmanager
    def _lines(self, what: str, seconds: float) -> Iterator[None]:
        started, ended = time.monotonic(), threading.Event()
        pace = (started - self._begun) / self._done if self._done else 1.0
        others = self._seconds - self._done - seconds

        def watch() -> None:
            while not ended.wait(self._every):
                left = seconds_left(time.monotonic() - started, seconds, others, pace)
                self._print(f"{'...':>8}  about {_time(left)} left: {what}")

        watcher = threading.Thread(target=watch, name="progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()

    def _print(self, line: str) -> None:
        self._console.print(escape(line), highlight=False, no_wrap=True, overflow="ellipsis")


def seconds_left(passed: float, usual: float, others: float, pace: float) -> float:
    """Return how long the present step and those after it take.

    Args:
        passed: Seconds since the step began.
        usual: Seconds that it usually takes.
        others: Seconds that the steps after it usually take.
        pace: How many times as long the steps before it took.
    """
    pace = max(pace, passed / usual)
    return pace * (usual + others) - passed


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _shortened(message: str) -> str:
    if len(message) <= _ERROR_CHARACTERS:
        return message
    return message[:_ERROR_CHARACTERS] + " ..."


if __name__ == "__main__":
    sys.exit(main())
