"""Hive's jobs on YARN, files on HDFS: with and without pruning, and Hive's own Parquet table.

The same 250 files are a table of ours and, by their directories, one of Hive's. Rows must be equal
every time. The figures of a place come from one session, where the queries alternate.
"""

import shutil
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from bench.reporting.measuring import Measurement, benchmark, interleaved, seconds
from devtools import demo_tables
from devtools.cluster.hadoop import Cluster, running_cluster
from devtools.cluster.hive import MASTER, MR, PLACES, SERVER, hive_server
from devtools.cluster.service import ClusterService
from devtools.ddl import create_plain, create_with_handler
from devtools.runtime import WORK
from devtools.scan_reports import ScanReports
from pyhudi_expr.manage.hive.session import HiveSession

_RUN_DIR = WORK / "bench" / "cluster"
_OURS, _HIVES = "events", "events_parquet"
_FILES = demo_tables.EVENT_FILES

_FEW = f"SELECT count(*), sum(amount) FROM {{}} WHERE id < {3 * demo_tables.EVENT_ROWS_PER_FILE}"
#: Each file's range holds the value.
_EVERY = "SELECT count(*), sum(amount), max(score) FROM {} WHERE score > 0.5"

_ALWAYS = {
    "hive.vectorized.execution.enabled": "true",
    "hudi.pruning.timeout.ms": "20000",
    "hudi.pruning.cache.ms": "0",
    # YARN calls its nodes localhost here and HDFS 127.0.0.1, so no block is local. Tez gives such a
    # task the container of the query before when it has waited for 5 to 10 s, but those that the
    # session holds at once. (If HDFS said localhost, Tez would ignore the least size of a task.)
    "tez.am.session.min.held-containers": "3",
    "tez.am.container.reuse.locality.delay-allocation-millis": "0",
}
#: Queries on Tez vary by a tenth: the median of 19 by 3%.
_ROUNDS: Mapping[str, int] = {MASTER: 19, SERVER: 9, MR: 3}
_WARM_UPS: Mapping[str, int] = {MASTER: 6, SERVER: 2, MR: 1}


@benchmark("cluster")
def cluster() -> Iterator[Measurement]:
    """250 files on HDFS, Tez and MapReduce on YARN: pruned, unpruned, and Hive's Parquet table."""
    shutil.rmtree(_RUN_DIR, ignore_errors=True)
    _RUN_DIR.mkdir(parents=True)
    demo_tables.ensure_written(_RUN_DIR / "spark.log")
    with ExitStack() as running:
        hadoop = running.enter_context(running_cluster(_RUN_DIR / "cluster"))
        hadoop.shell("-put", str(demo_tables.EVENTS), f"/warehouse/{_OURS}")
        service = ClusterService(hadoop, _RUN_DIR / "service")
        running.enter_context(service)
        settings = {
            "hudi.pruning.token.file": str(service.token_file),
            "hudi.pruning.service.addresses": service.address,
        }
        server = running.enter_context(hive_server(hadoop, _RUN_DIR / "hive", settings))
        reports = ScanReports(_RUN_DIR / "scans")
        with server.session() as session:
            _register(session, hadoop)
        for place, rounds in _ROUNDS.items():
            # Its master of Tez ends with the session: the cluster has room for a few.
            with server.session({**PLACES[place], **_ALWAYS, **reports.settings()}) as session:
                yield from _at(place, session, reports, rounds)


def _register(session: HiveSession, hadoop: Cluster) -> None:
    location = f"{hadoop.root}/warehouse/{_OURS}"
    session.run(create_with_handler(_OURS, location))
    columns = session.run(f"DESCRIBE {_OURS}")
    days = sorted(one.name for one in demo_tables.EVENTS.glob("day=*"))
    for statement in create_plain(columns, _HIVES, location, days):
        session.run(statement)


def _at(
    place: str, session: HiveSession, reports: ScanReports, rounds: int
) -> Iterator[Measurement]:
    ask = partial(_seconds, session)
    few, every = session.run(_FEW.format(_HIVES)), session.run(_EVERY.format(_HIVES))
    for _ in range(_WARM_UPS[place]):
        ask(_OURS, _FEW, "true", few)
        for table in (_OURS, _HIVES):
            ask(table, _EVERY, "true", every)
    reports.take()
    of_few = interleaved(
        [partial(ask, _OURS, _FEW, switch, few) for switch in ("true", "false")], rounds
    )
    _require_pruned(reports, rounds)
    of_every = interleaved(
        [partial(ask, table, _EVERY, "true", every) for table in (_OURS, _HIVES)], rounds
    )
    pruned, unpruned = map(statistics.median, of_few)
    ours, hives = map(statistics.median, of_every)
    title = f"cluster: {place}, 3 of {_FILES} files"
    yield Measurement(f"{title}, pruned", pruned, "s")
    yield Measurement(f"{title}, unpruned", unpruned, "s")
    yield Measurement(f"{title}, unpruned / pruned", unpruned / pruned, "x", ">= 1")
    title = f"cluster: {place}, {_FILES} of {_FILES} files"
    yield Measurement(f"{title}, with pruning", ours, "s")
    yield Measurement(f"{title}, Hive's own Parquet table", hives, "s")
    yield Measurement(f"{title}, with pruning, longer by", (ours / hives - 1) * 100, "%", "< 5")


def _seconds(
    session: HiveSession, table: str, query: str, pruning: str, expected: Sequence[Any]
) -> float:
    """Return the query's time. Raises ValueError if the rows are not those expected."""
    session.set({"hudi.pruning.enabled": pruning})
    found: list[Any] = []
    elapsed = seconds(lambda: found.extend(session.run(query.format(table))))
    if repr(found) != repr(expected):
        raise ValueError(f"{query} of {table}: {found}, not {expected}")
    return elapsed


def _require_pruned(reports: ScanReports, rounds: int) -> None:
    found = reports.take()
    if found.files_kept != rounds * (3 + _FILES):
        raise ValueError(f"3 files and {_FILES} were to be read in turns: {found}")
