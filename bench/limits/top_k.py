"""The newest 100 rows of 2,000 files, ten rows of a day, and two maxima: files, and times in Hive.

The rows of an order are compared with those without pruning, whose times alternate with the pruned
ones in one HiveServer2. Without an order each row is checked to be one of the day's.
"""

import statistics
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.reporting.measuring import Measurement, benchmark, interleaved, seconds
from bench.tables import event_table
from devtools.ddl import create_with_handler
from devtools.hiveserver import ENGINES, HiveServer
from devtools.runtime import WORK
from devtools.scan_reports import ScanReports
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.session import HiveSession

_RUN_DIR = WORK / "bench" / "top-k"
_NAME = "top_k_events"
_NEWEST = f"SELECT id, ts, city, amount FROM {_NAME} ORDER BY ts DESC LIMIT 100"
_ANY = f"SELECT id, day FROM {_NAME} WHERE day = '{{day}}' LIMIT 10"
_ON = {"hudi.pruning.enabled": "true", "hudi.pruning.cache.ms": "0"}
_OFF = {"hudi.pruning.enabled": "false"}
_LATEST = f"SELECT max(ts), max(amount) FROM {_NAME} WHERE day >= '2024-01-05' AND id > 10"
_ROUNDS = {"tez": 3, "mr": 1}
"""Hive plans no fetch task for an order."""


@dataclass(frozen=True)
class _Hive:
    """A session with its reports."""

    session: HiveSession
    reports: ScanReports

    def rows(self, query: str, settings: Mapping[str, str]) -> list[tuple[Any, ...]]:
        self.session.set(settings)
        return list(self.session.run(query))

    def files(self, query: str) -> int:
        """Return how many files the query reads."""
        self.reports.take()
        self.rows(query, _ON)
        return self.reports.take().files_kept

    def seconds(self, query: str, settings: Mapping[str, str], expected: list[Any]) -> float:
        """Return the query's time. Raises ValueError if the rows are not those expected."""
        found: list[Any] = []
        elapsed = seconds(lambda: found.extend(self.rows(query, settings)))
        if found != expected:
            raise ValueError(f"{query}: other rows with {dict(settings)}")
        return elapsed


@benchmark("topk")
def top_k() -> Iterator[Measurement]:
    """Hive's ORDER BY with a LIMIT over 2,000 files, and a LIMIT alone; ten minutes."""
    table = event_table.ensure_written()
    reports = ScanReports(_RUN_DIR / "scans")
    with ExitStack() as running:
        service = running.enter_context(ServiceProcess(_RUN_DIR))
        server = running.enter_context(HiveServer(_RUN_DIR / "server", jvm_options=()))
        session = running.enter_context(server.session(reports.settings()))
        session.set({"hudi.pruning.service.addresses": service.address})
        session.run(create_with_handler(_NAME, table.path))
        hive = _Hive(session, reports)
        for engine in ENGINES:
            session.set(ENGINES[engine])
            if engine in _ROUNDS:
                yield from _newest(hive, engine, _ROUNDS[engine])
            yield from _any(hive, engine)
        session.set(ENGINES["tez"])
        yield from _latest(hive)


def _newest(hive: _Hive, engine: str, rounds: int) -> Iterator[Measurement]:
    expected = hive.rows(_NEWEST, _OFF)
    share = 100 * hive.files(_NEWEST) / event_table.FILES
    yield Measurement(f"topk: newest 100 rows, {engine}, files opened", share, "%", "<= 1")
    ask = partial(hive.seconds, _NEWEST, expected=expected)
    on, off = map(statistics.median, interleaved([partial(ask, _ON), partial(ask, _OFF)], rounds))
    yield Measurement(f"topk: newest 100 rows, {engine}, pruned", on, "s")
    yield Measurement(f"topk: newest 100 rows, {engine}, not pruned", off, "s")
    yield Measurement(f"topk: newest 100 rows, {engine}, faster", off / on, "x", ">= 10")


def _any(hive: _Hive, engine: str) -> Iterator[Measurement]:
    day = hive.rows(f"SELECT max(day) FROM {_NAME}", _ON)[0][0]
    query = _ANY.format(day=day)
    rows = hive.rows(query, _ON)
    if len(rows) != 10 or {row[1] for row in rows} != {day}:
        raise ValueError(f"{query}: {rows}")
    yield Measurement(f"topk: ten rows of a day, {engine}", hive.files(query), "files", "<= 1")


def _latest(hive: _Hive) -> Iterator[Measurement]:
    if hive.rows(_LATEST, _ON) != hive.rows(_LATEST, _OFF):
        raise ValueError(f"{_LATEST}: other rows")
    yield Measurement("topk: two maxima with a filter, tez", hive.files(_LATEST), "files", "<= 2")
