"""Measure each kind of index in Hive's queries, and what it costs Hudi's commits.

This is RFC-77's test plan 3: a table of 2,000 files with that index only, against one with none.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from bench.reporting.measuring import Measurement, benchmark, interleaved, seconds
from bench.tables.event_copies import commit, stored_bytes, without_indexes
from bench.tables.event_table import ROWS_PER_FILE, ensure_written
from devtools.ddl import create_with_handler
from devtools.hiveserver import ENGINES, HiveServer
from devtools.runtime import WORK
from devtools.scan_reports import ScanReports
from devtools.service import ServiceProcess
from devtools.spark import spark_session
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.manage.indexing.build_options import BuildResult
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.indexes import execute

_ROOT = WORK / "bench" / "query-path"
_PLAIN = "plain"
_KEY = 1_234 * ROWS_PER_FILE + 56
_COMMITS = 2
_UNPRUNED, _PRUNED = 2, 7  # runs of a query
_MEGABYTE = 10**6


@dataclass(frozen=True)
class _Case:
    """An index, and a query that it serves. where: HiveQL."""

    kind: str
    using: str
    where: str


_CASES = (
    _Case("column_stats", "column_stats(amount)", "amount BETWEEN 1234000 AND 1234500"),
    _Case("record_index", "record_index", f"id = {_KEY}"),
    _Case("secondary_index", "secondary_index(user_id)", "user_id = 55555"),
    # Filters are used for some hundred files at most: here those of a partition.
    _Case("bloom_filters", "bloom_filters", f"id = {_KEY} AND day = '2024-01-13'"),
    _Case(
        "expression",
        "expression(city) OPTIONS (expr = 'upper')",
        "upper(city) = 'OSLO' AND score < 0.001",
    ),
)


@benchmark("query-path")
def query_path() -> Iterator[Measurement]:
    """Hive's queries and Hudi's commits with and without each kind of index; 15 minutes."""
    ensure_written()
    # A separate process releases Spark's memory.
    command = [sys.executable, "-m", "bench.query_path"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    written: Mapping[str, Mapping[str, float]] = json.loads(done.stdout.splitlines()[-1])
    with _running() as (session, reports):
        for case in _CASES:
            yield from _queries(session, reports, case)
            costs, plain = written[case.kind], written[_PLAIN]["commit"]
            title = f"query-path: {case.kind}"
            yield Measurement(f"{title}, build", costs["build"], "s")
            yield Measurement(f"{title}, size", costs["bytes"] / _MEGABYTE, "MB")
            yield Measurement(f"{title}, commit without it", plain, "s")
            yield Measurement(f"{title}, commit with it", costs["commit"], "s")


def _queries(session: HiveSession, reports: ScanReports, case: _Case) -> Iterator[Measurement]:
    without, pruned = (
        f"SELECT id, city, amount FROM {table} WHERE {case.where}" for table in (_PLAIN, case.kind)
    )
    expected = sorted(map(repr, session.run(without)))

    def asked(query: str) -> float:
        found: list[tuple[object, ...]] = []
        elapsed = seconds(lambda: found.extend(session.run(query)))
        if not found or sorted(map(repr, found)) != expected:
            raise ValueError(f"{query}: {len(found)} rows, not {len(expected)}")
        return elapsed

    session.run(pruned)  # The first query of a table in the service and in Hive.
    reports.take()
    fast = statistics.median(asked(pruned) for _ in range(_PRUNED))
    files = reports.take().files_kept / _PRUNED
    slow = statistics.median(asked(without) for _ in range(_UNPRUNED))
    considered = reports.take().files_kept / _UNPRUNED
    title = f"query-path: {case.kind}"
    yield Measurement(f"{title}, files read without it", considered, "files")
    yield Measurement(f"{title}, files read with it", files, "files")
    yield Measurement(f"{title}, query without it", slow, "s")
    yield Measurement(f"{title}, query with it", fast, "s")
    yield Measurement(f"{title}, times faster", slow / fast, "x")


@contextmanager
def _running() -> Iterator[tuple[HiveSession, ScanReports]]:
    """Open a session in which the tables have the names of their indexes' kinds."""
    reports = ScanReports(_ROOT / "scans")
    with ExitStack() as running:
        service = running.enter_context(ServiceProcess(_ROOT))
        server = running.enter_context(HiveServer(_ROOT / "server", jvm_options=()))
        session = running.enter_context(server.session(reports.settings()))
        session.set({**ENGINES["fetch"], "hudi.pruning.service.addresses": service.address})
        session.set({"hudi.pruning.cache.ms": "0"})
        for table in (_PLAIN, *(case.kind for case in _CASES)):
            session.run(create_with_handler(table, _ROOT / table))
        yield session, reports


def _written() -> dict[str, dict[str, float]]:
    """Write the tables, each with some commits; return the times."""
    with spark_session("query-path", heap="4g") as spark:
        tables = {_PLAIN: without_indexes(spark, _ROOT / _PLAIN)}
        costs: dict[str, dict[str, float]] = {_PLAIN: {}}
        # Spark's first tasks take longer.
        execute(spark, f"CREATE INDEX warm ON '{tables[_PLAIN]}' USING column_stats(ok)")
        execute(spark, f"DROP INDEX warm ON '{tables[_PLAIN]}'")
        for case in _CASES:
            tables[case.kind] = without_indexes(spark, _ROOT / case.kind)
            costs[case.kind] = _built(spark, case, tables[case.kind])
        for name, times in _commits(spark, tables).items():
            costs[name]["commit"] = statistics.median(times)
    return costs


def _built(spark: SparkSession, case: _Case, table: Path) -> dict[str, float]:
    started = time.perf_counter()
    built = execute(spark, f"CREATE INDEX measured ON '{table}' USING {case.using}")
    took = time.perf_counter() - started
    assert isinstance(built, BuildResult)
    return {"build": took, "bytes": sum(stored_bytes(table, name) for name in built.bytes)}


def _commits(spark: SparkSession, tables: Mapping[str, Path]) -> dict[str, Sequence[float]]:
    """Return the seconds of the same upserts into each table."""
    commit(spark, tables[_PLAIN], 0, {})  # The first commit of Spark and Hudi takes longer.
    for name, table in tables.items():
        if name != _PLAIN:
            commit(spark, table, 0, writer_options(str(table)))
    turns = dict.fromkeys(tables, 0)

    def one(name: str) -> float:
        turns[name] += 1
        options = {} if name == _PLAIN else writer_options(str(tables[name]))
        return seconds(lambda: commit(spark, tables[name], turns[name], options))

    samples = [lambda name=name: one(name) for name in tables]
    return dict(zip(tables, interleaved(samples, _COMMITS), strict=True))


if __name__ == "__main__":
    print(json.dumps(_written()))
