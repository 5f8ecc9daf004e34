"""What Hive's planner gains from the index: the queries of docs/hive.md, with a setting on and off.

It uses the demo's tables, in Tez. The rows must be equal; both variants alternate in one
HiveServer2.
"""

import statistics
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from bench.reporting.measuring import Measurement, benchmark, interleaved, seconds
from devtools import demo_tables
from devtools.ddl import create_with_handler
from devtools.hiveserver import ENGINES, HiveServer
from devtools.runtime import WORK
from devtools.scan_reports import ScanReports
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.session import HiveSession

_RUN_DIR = WORK / "bench" / "hive-planning"
_ROUNDS = 3

_FIVE = (17, 123_456, 250_000, 600_001, 899_999)
"""Each in a file of its own."""
_KEYS = f"CREATE TABLE five STORED AS PARQUET AS SELECT id FROM events WHERE id IN {_FIVE}"


@dataclass(frozen=True)
class _Case:
    """A query, and the setting that gives Hive's planner the index.

    Attributes:
        name: The name of its figures.
        query: A query of `events`, `returns` and `five`.
        setting: `true` by default.
    """

    name: str
    query: str
    setting: str


_CASES = (
    _Case("count(*)", "SELECT count(*) FROM events", "hive.compute.query.using.stats"),
    _Case(
        "min and max",
        "SELECT min(ts), max(ts), min(amount), max(amount) FROM events",
        "hive.compute.query.using.stats",
    ),
    _Case(
        "join with 5 keys",
        "SELECT e.id, e.city, e.amount FROM events e JOIN five ON e.id = five.id",
        "hudi.pruning.joins",
    ),
    _Case(
        "join of two tables",
        "SELECT count(*), sum(r.amount) FROM returns r JOIN events e ON r.user_id = e.user_id"
        " WHERE e.amount > 249000",
        "hive.stats.fetch.column.stats",
    ),
)


@benchmark("hive-planning")
def hive_planning() -> Iterator[Measurement]:
    """Gain of Hive's planner from the index: four queries, each with its setting on and off."""
    demo_tables.ensure_written(_RUN_DIR / "spark.log")
    reports = ScanReports(_RUN_DIR / "scans")
    with ExitStack() as running:
        service = running.enter_context(ServiceProcess(_RUN_DIR))
        server = running.enter_context(HiveServer(_RUN_DIR / "server", jvm_options=()))
        session = running.enter_context(server.session(reports.settings()))
        session.set({"hudi.pruning.service.addresses": service.address, **ENGINES["tez"]})
        session.set({"hudi.pruning.cache.ms": "0"})
        session.run(create_with_handler("events", demo_tables.EVENTS))
        session.run(create_with_handler("returns", demo_tables.RETURNS))
        session.run(_KEYS)
        for case in _CASES:
            yield from _compared(session, reports, case)


def _compared(session: HiveSession, reports: ScanReports, case: _Case) -> Iterator[Measurement]:
    """Return times and files with and without the setting. Raises ValueError for other rows."""
    switches = [{case.setting: value} for value in ("true", "false")]
    files, rows = [], []
    for switch in switches:  # the first run of a query takes longer, and is not timed
        session.set(switch)
        reports.take()
        rows.append(sorted(session.run(case.query)))
        files.append(reports.take().files_kept)
    if rows[0] != rows[1] or not rows[0] or None in rows[0][0]:
        raise ValueError(f"{case.query}: {rows[0]} with {case.setting}, {rows[1]} without")
    samples = [partial(_seconds, session, case.query, switch) for switch in switches]
    times = [statistics.median(taken) for taken in interleaved(samples, _ROUNDS)]
    session.set(switches[0])
    title = f"hive-planning: {case.name}"
    for how, time, read in zip(("with", "without"), times, files, strict=True):
        yield Measurement(f"{title}, {how} {case.setting}", time, "s")
        yield Measurement(f"{title}, {how} {case.setting}: read", read, "files")
    yield Measurement(f"{title}, times faster", times[1] / times[0], "x", ">= 1")


def _seconds(session: HiveSession, query: str, switch: Mapping[str, str]) -> float:
    session.set(switch)
    return seconds(lambda: session.run(query))
