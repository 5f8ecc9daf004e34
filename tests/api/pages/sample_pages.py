"""Pages with the same content in each run: no times of this machine and no paths of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.tables.synthetic import write_table
from pyhudi_expr.api.pages.activity import (
    Activity,
    AnsweredRequest,
    IndexSaving,
    TableActivity,
    Totals,
    Trend,
)
from pyhudi_expr.api.pages.console import TableState, View, overview_page, table_page
from pyhudi_expr.api.pages.explanation import explain_page
from pyhudi_expr.api.pages.layouts import layouts_page
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.manage.layout.analysis import analyze
from pyhudi_expr.manage.layout.curves import Curve
from pyhudi_expr.manage.layout.row_order import Layout
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.manage.layout.tables import split, written

CITIES = ("Berlin", "Lima", "Nairobi", "Oslo", "Pune", "Quito", "Rome", "Zagreb")
PREDICATE = "fare <= 95 AND (city IN ('Oslo', 'Rome') OR city LIKE 'Z%') AND NOT id < 5000"
_START = datetime(2026, 3, 4, 5, 0, 0, tzinfo=timezone.utc)
_FOOTERS = PruneOptions(footers=True, footer_wait=600.0)
_QUERIES = ("fare > 90 AND minute < 300", "id = 12345")


def rides(path: Path) -> str:
    """A table of 96 files: each has one city, and a range of fares that grows with the city."""
    random = np.random.default_rng(27)
    files = []
    for number in range(96):
        place = number % len(CITIES)
        files.append(_rides(random, CITIES[place], 20 * place, 100 * number))
    return written(path, {"p": files})


def _rides(random: np.random.Generator, city: str, fare: int, first: int) -> pa.Table:
    return pa.table(
        {
            "id": np.arange(first, first + 100),
            "fare": random.integers(fare, fare + 30, 100),
            "city": pa.array([city] * 100),
        }
    )


def trips(path: Path) -> str:
    """A table of 48 files, sorted by id: ids are in one file each, everything else in all."""
    random = np.random.default_rng(1)
    count = 48_000
    rows = {
        "id": np.arange(count),
        "fare": random.gamma(2, 20, count).astype(np.int64),
        "minute": random.integers(0, 1_440, count),
    }
    return written(path, {"p": split(pa.table(rows), 48)})


def explained(table: str, name: str, predicate: str, options: PruneOptions | None = None) -> str:
    """The page of a predicate on a table that it calls `name`, with the same times always."""
    result = Pruner(options).prune(table, PruneRequest(parse_predicate(predicate)))
    evidence = [replace(each, seconds=0.0015) for each in result.evidence]
    result = replace(result, evidence=evidence)
    instants = HudiTable.open(table).timeline.instants
    return explain_page(name, predicate, result, result.explain(), instants)


def explanation(directory: Path) -> str:
    """An explanation with a mark for each file."""
    return explained(rides(directory / "rides"), "/warehouse/rides", PREDICATE, _FOOTERS)


def densities(directory: Path) -> str:
    """An explanation with cells, as there are 6,000 files."""
    write_table(directory / "many", files=6_000, partitions=30)
    predicate = "id < 4000000 AND NOT spread < 4500000"
    return explained(str(directory / "many"), "/warehouse/many", predicate)


def layouts(directory: Path) -> str:
    """Layouts of which the best one helps one query and worsens the other."""
    path = trips(directory / "trips")
    parsed = list(map(parse_predicate, _QUERIES))
    candidates = [Layout(("minute", "id"), Curve.HILBERT), Layout(("fare",), Curve.LINEAR)]
    found = replace(analyze(path, parsed, candidates=candidates), table="/warehouse/trips")
    return layouts_page(found, _QUERIES, HudiTable.open(path).timeline.instants)


def activity() -> Activity:
    """Two hours of requests for three tables, of which one does not exist."""
    random = np.random.default_rng(3)
    totals, trend = Totals(), Trend(_START)
    recent: list[AnsweredRequest] = []
    tables: dict[str, TableActivity] = {}
    for number in range(400):
        answer = _answer(number, random)
        totals, trend = totals.plus(Totals.of([answer])), trend.plus(answer.at, Totals.of([answer]))
        recent.insert(0, answer)
        new = TableActivity(answer.table, Totals(), None, answer.at, Trend(_START))
        known = tables.get(answer.table, new)
        tables[answer.table] = replace(
            known,
            totals=known.totals.plus(Totals.of([answer])),
            instant=answer.instant,
            last=answer.at,
            trend=known.trend.plus(answer.at, Totals.of([answer])),
            savings=_savings(known.savings, answer.dropped),
        )
    now = answer.at + timedelta(seconds=5)
    return Activity(_START, now, totals, trend, tables, tuple(recent[:12]))


def _answer(number: int, random: np.random.Generator) -> AnsweredRequest:
    table = ("/warehouse/trips", "/warehouse/events", "/warehouse/none")[
        0 if number % 2 else 1 if number % 16 else 2
    ]
    files, dropped = {"/warehouse/trips": (250, 244), "/warehouse/events": (5, 3)}.get(
        table, (0, 0)
    )
    return AnsweredRequest(
        at=_START + timedelta(seconds=18 * number),
        request=f"hive_20260304_{number:05d}#1",
        table=table,
        status="OK" if files else "NOT_PRUNED",
        instant="20260101000000000" if files else None,
        files=files,
        dropped=dropped,
        millis=float(random.gamma(4, 1.0)),
        note="" if files else "no Hudi table here",
        bytes=files * 650_000,
        bytes_dropped=dropped * 650_000,
    )


def _savings(known: Mapping[str, IndexSaving], dropped: int) -> dict[str, IndexSaving]:
    parts = {"column_stats": dropped * 2 // 3, "partition values": dropped - dropped * 2 // 3}
    return {name: known.get(name, IndexSaving()).plus(files, 0.4) for name, files in parts.items()}


def console(directory: Path) -> str:
    """The console's overview."""
    return overview_page(activity(), View())


def console_table(directory: Path) -> str:
    """The console's page of one table, with an index that works and one that lags."""
    path = trips(directory / "trips_of_console")
    state = TableState(HudiTable.open(path).timeline, INDEXES)
    shown = activity()
    return table_page(shown, shown.tables["/warehouse/trips"], state, View("/warehouse/trips"))


INDEXES = (
    IndexStatus(
        name="column_stats",
        kind="column_stats",
        columns=("id", "fare", "city"),
        store=Store.HUDI,
        partitions=("column_stats",),
        state=State.ACTIVE,
        covers="20260101000000000",
    ),
    IndexStatus(
        name="riders",
        kind="secondary_index",
        columns=("rider",),
        store=Store.HUDI,
        partitions=("secondary_index_riders",),
        state=State.LAGGING,
        covers="20251231000000000",
        note="the table's newest commit is 20260101000000000",
    ),
)
PAGES: Mapping[str, Callable[[Path], str]] = {
    page.__name__: page for page in (explanation, densities, layouts, console, console_table)
}
"""Every page, by name: it is written with tables of its own in a directory."""
