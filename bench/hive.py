"""Hive on 2,000 files: a query for one file with and without pruning, and by Hudi's input format.

Rows must be equal every time. The ratios of an engine come from one HiveServer2, where the queries
alternate.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.reporting.measuring import Measurement, benchmark, interleaved, seconds
from bench.tables import event_table
from devtools.ddl import create_native, create_with_handler
from devtools.hiveserver import ENGINES, HUDI_INPUT_FORMAT_SETTINGS, HiveServer
from devtools.runtime import WORK
from devtools.scan_reports import ScanReports, ScanTotals
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.session import HiveSession

_RUN_DIR = WORK / "bench" / "hive"
_OURS, _HUDIS = "bench_events", "bench_events_hudi"

_FILE = 1_234
_ONE_FILE = f"SELECT id, city, amount FROM {{}} WHERE id = {_FILE * event_table.ROWS_PER_FILE + 56}"
#: Each file's range holds the value, but only a few rows in total have it.
_EVERY_FILE = "SELECT id, city, amount FROM {} WHERE user_id = 55555"

_DEFAULTS = {
    "hive.vectorized.execution.enabled": "true",
    "hive.input.format": "org.apache.hadoop.hive.ql.io.CombineHiveInputFormat",
}
_ON = {**_DEFAULTS, "hudi.pruning.enabled": "true"}
_OFF = {**_DEFAULTS, "hudi.pruning.enabled": "false"}
_WARM_CALLS = 15
_COLD_CALLS = 3


@dataclass(frozen=True)
class _Plan:
    """The bars of an engine and its numbers of runs; its slow queries take minutes.

    Attributes:
        against_hudi: Minimum ratio of Hudi's time to ours, pruned.
        against_unpruned: Minimum ratio of our time, unpruned to pruned.
        hudi: Number of runs with Hudi's input format.
        unpruned: Number of runs of the query for one file without pruning.
        pairs: Number of runs of the unprunable query, without pruning and with it.
    """

    against_hudi: int
    against_unpruned: int
    hudi: int
    unpruned: int
    pairs: int


_PLANS: Mapping[str, _Plan] = {
    "fetch": _Plan(against_hudi=60, against_unpruned=10, hudi=2, unpruned=3, pairs=8),
    "mr": _Plan(against_hudi=50, against_unpruned=25, hudi=1, unpruned=2, pairs=4),
    "tez": _Plan(against_hudi=15, against_unpruned=6, hudi=2, unpruned=3, pairs=6),
}


@benchmark("hive")
def hive() -> Iterator[Measurement]:
    """Hive's query for 1 of 2,000 files: pruned, unpruned, by Hudi's input format; 15 minutes."""
    with _running() as (session, reports, service):
        yield from _calls(session, reports, service)
        for engine, plan in _PLANS.items():
            yield from _one_file(session, reports, engine, plan)


@benchmark("hive-unprunable")
def hive_unprunable() -> Iterator[Measurement]:
    """The cost of pruning for a query of Hive that must read all of 2,000 files; 13 minutes."""
    with _running() as (session, reports, _):
        for engine, plan in _PLANS.items():
            yield from _every_file(session, reports, engine, plan.pairs)


@contextmanager
def _running() -> Iterator[tuple[HiveSession, ScanReports, ServiceProcess]]:
    """Open a session with the table registered twice, with its reports and service."""
    table = event_table.ensure_written()
    reports = ScanReports(_RUN_DIR / "scans")
    with ExitStack() as running:
        service = running.enter_context(ServiceProcess(_RUN_DIR))
        server = running.enter_context(HiveServer(_RUN_DIR / "server", jvm_options=()))
        session = running.enter_context(server.session(reports.settings()))
        session.set(_address(service))
        session.run(create_with_handler(_OURS, table.path))
        for statement in create_native(table, _HUDIS):
            session.run(statement)
        yield session, reports, service


def _calls(
    session: HiveSession, reports: ScanReports, service: ServiceProcess
) -> Iterator[Measurement]:
    """Measure the pruning call alone, as the storage handler times it."""
    session.set({**ENGINES["fetch"], **_ON})
    query = _ONE_FILE.format(_OURS)
    session.run(query)  # Hive's own first query of a table takes seconds
    reports.take()
    cold = []
    for _ in range(_COLD_CALLS):
        with ServiceProcess(_RUN_DIR) as fresh:
            session.set(_address(fresh))
            session.run(query)
            cold.append(_call_seconds(reports.take()))
    session.set(_address(service))
    session.run(query)
    reports.take()
    warm = []
    for _ in range(_WARM_CALLS):
        session.run(query)
        warm.append(_call_seconds(reports.take()))
    title = "hive: pruning call at the handler"
    yield Measurement(f"{title}, warm", statistics.median(warm) * 1e3, "ms", "< 20")
    yield Measurement(f"{title}, first one of a service", statistics.median(cold), "s", "< 2")


def _one_file(
    session: HiveSession, reports: ScanReports, engine: str, plan: _Plan
) -> Iterator[Measurement]:
    session.set(ENGINES[engine])
    session.set(_ON)
    expected = session.run(_ONE_FILE.format(_OURS))
    one_file = partial(_seconds, session, _ONE_FILE.format(_OURS))
    hudis = partial(_seconds, session, _ONE_FILE.format(_HUDIS), HUDI_INPUT_FORMAT_SETTINGS)
    times: dict[str, list[float]] = {"pruned": [], "unpruned": [], "hudi": []}
    for number in range(plan.unpruned):
        if number < plan.hudi:
            times["hudi"].append(hudis(expected))
        times["unpruned"].append(one_file(_OFF, expected))
        reports.take()
        times["pruned"] += [one_file(_ON, expected) for _ in range(3)]
        _require_one_file(reports.take())
    ours = statistics.median(times["pruned"])
    whole = statistics.median(times["unpruned"])
    # Hudi's best run, because its first one also warms up the server.
    hudi = min(times["hudi"])
    title = f"hive: {engine}, 1 of 2,000 files"
    yield Measurement(f"{title}, pruned", ours, "s")
    yield Measurement(f"{title}, unpruned", whole, "s")
    yield Measurement(f"{title}, Hudi's input format", hudi, "s")
    yield Measurement(f"{title}, Hudi / pruned", hudi / ours, "x", f">= {plan.against_hudi}")
    yield Measurement(
        f"{title}, unpruned / pruned", whole / ours, "x", f">= {plan.against_unpruned}"
    )


def _every_file(
    session: HiveSession, reports: ScanReports, engine: str, pairs: int
) -> Iterator[Measurement]:
    query = _EVERY_FILE.format(_OURS)
    session.set({**ENGINES[engine], **_OFF})
    expected = session.run(query)
    ask = partial(_seconds, session, query)
    reports.take()
    off, on = interleaved([partial(ask, switch, expected) for switch in (_OFF, _ON)], pairs)
    asked = reports.take()
    if asked.files_kept != asked.files_considered:
        raise ValueError(f"files were pruned: {asked}")
    # The fastest run of each: other work of the machine can only slow a run down, and the
    # difference
    # to be measured is smaller than that.
    plain, ratio = min(off), min(on) / min(off)
    title = f"hive-unprunable: {engine}, 2,000 of 2,000 files"
    yield Measurement(f"{title}, without pruning", plain, "s")
    yield Measurement(f"{title}, with pruning, longer by", (ratio - 1) * 100, "%", "< 3")
    share = asked.pruning_micros / pairs / 1e6 / plain * 100
    yield Measurement(f"{title}, the pruning call's share", share, "%", "< 3")


def _seconds(
    session: HiveSession, query: str, settings: Mapping[str, str], expected: Sequence[Any]
) -> float:
    """Return the query's time. Raises ValueError if the rows are not those expected, or none."""
    session.set(settings)
    found: list[Any] = []
    elapsed = seconds(lambda: found.extend(session.run(query)))
    if not found or sorted(map(repr, found)) != sorted(map(repr, expected)):
        raise ValueError(f"{query}: {len(found)} rows with {dict(settings)}, not {len(expected)}")
    return elapsed


def _require_one_file(scans: ScanTotals) -> None:
    if scans.outcomes != ("PRUNED",) or scans.files_kept != scans.scans:
        raise ValueError(f"the scans did not each read one file: {scans}")


def _call_seconds(scans: ScanTotals) -> float:
    _require_one_file(scans)
    return scans.pruning_micros / scans.scans / 1e6


def _address(service: ServiceProcess) -> dict[str, str]:
    """Return the settings by which each query asks the service."""
    return {"hudi.pruning.service.addresses": service.address, "hudi.pruning.cache.ms": "0"}
