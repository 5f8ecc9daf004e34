"""Skipping rows inside of large files: bytes that HiveServer2 reads, and times.

Each query's rows are compared with those of a full scan. Times that are compared alternate in one
HiveServer2. Hive's native Parquet table has the same files.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.reporting.measuring import Measurement, benchmark, interleaved, seconds
from bench.scale.earlier_handler import earlier_jars
from bench.scale.other_readers import by_datafusion, by_duckdb, by_pyiceberg, bytes_read
from bench.tables import large_files, merged_slice
from devtools.ddl import create_with_handler
from devtools.hiveserver import ENGINES, HiveServer
from devtools.runtime import WORK
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.session import HiveSession

_RUN_DIR = WORK / "bench" / "rows"
_FILES, _GROUPS = 8, 9
_WARMING = 40
_POINT = 5 * large_files.GROUP_ROWS + 123_456
_TIMESTAMP = "TIMESTAMP '2020-02-29 07:10:56'"
"""That of the row `_POINT`."""
_QUERIES = {
    "point": f"SELECT id, city, amount FROM {{}} WHERE ts = {_TIMESTAMP}",
    "range": f"SELECT id, city, amount FROM {{}} WHERE id BETWEEN {_POINT} AND {_POINT + 999}",
    "IN": f"SELECT id, city, amount FROM {{}} WHERE id IN (17, {_POINT}, {_POINT + 900_000})",
}
_OF_ICEBERG = {
    "point": "ts = '2020-02-29T07:10:56+00:00'",
    "range": f"id >= {_POINT} AND id <= {_POINT + 999}",
    "IN": f"id IN (17, {_POINT}, {_POINT + 900_000})",
}
"""The conditions of the queries, as PyIceberg has them."""
_COLUMNS = ("id", "city", "amount")
#: Amounts are in no order, so every page may hold them.
_NOTHING = "SELECT id, city FROM {} WHERE amount BETWEEN 0.5 AND 0.50001"
_SCAN = "SELECT sum(id), max(amount), count(city) FROM {}"
_ON = {"hudi.pruning.rows": "true", "hudi.pruning.cache.ms": "0"}
_OFF = {"hudi.pruning.rows": "false", "hudi.pruning.cache.ms": "0"}
_NATIVE = {"hive.optimize.index.filter": "true"}


@dataclass(frozen=True)
class _Hive:
    """A session with two tables, each as ours and as Hive's own."""

    session: HiveSession
    pid: int

    def rows(self, query: str, settings: Mapping[str, str]) -> Sequence[Any]:
        self.session.set(settings)
        return sorted(self.session.run(query), key=repr)

    def seconds(self, query: str, settings: Mapping[str, str], expected: Sequence[Any]) -> float:
        """Return the query's time. Raises ValueError if the rows are not those expected."""
        self.session.set(settings)
        found: list[Any] = []
        elapsed = seconds(lambda: found.extend(self.session.run(query)))
        if sorted(found, key=repr) != expected:
            raise ValueError(f"{query}: {len(found)} rows with {dict(settings)}")
        return elapsed

    def bytes_read(self, query: str, settings: Mapping[str, str]) -> int:
        """Return the bytes that HiveServer2 reads for a query, of everything."""
        self.session.set(settings)
        before = self._read()
        self.session.run(query)
        return self._read() - before

    def _read(self) -> int:
        return bytes_read(self.pid)


@benchmark("rows")
def rows() -> Iterator[Measurement]:
    """Hive's queries for some rows of 8 files of 128 MB, and of one of 1 GB; fifteen minutes."""
    eight = large_files.ensure_written("bench_rows", _FILES, 1)
    nine = large_files.ensure_written("bench_groups", 1, _GROUPS)
    with ExitStack() as running:
        service = running.enter_context(ServiceProcess(_RUN_DIR, "--footers"))
        server = running.enter_context(HiveServer(_RUN_DIR / "server", jvm_options=()))
        session = running.enter_context(server.session({}))
        session.set({"hudi.pruning.service.addresses": service.address})
        columns = "id bigint, ts timestamp, city string, amount double, payload binary"
        for name, path in (("eight", eight), ("nine", nine)):
            session.run(create_with_handler(name, path))
            session.run(
                f"CREATE EXTERNAL TABLE {name}_native ({columns}) STORED AS PARQUET"
                f" LOCATION '{path}'"
            )
        session.run(
            f"CREATE EXTERNAL TABLE one_row ({columns}) STORED AS PARQUET"
            f" LOCATION '{large_files.ensure_one_row()}'"
        )
        hive = _Hive(session, server.pid)
        yield from _bytes(hive, eight, nine)
        for engine in ENGINES:
            yield from _times(hive, engine)
        yield from _merged(hive)
        yield from _against_earlier(hive, service, eight)


def _bytes(hive: _Hive, eight: Path, nine: Path) -> Iterator[Measurement]:
    hive.session.set(ENGINES["fetch"])
    for name, query in _QUERIES.items():
        for settings in (_ON, _ON):  # the first one warms up
            found = hive.bytes_read(query.format("eight"), settings)
        bar = "< 2" if name == "point" else None
        yield Measurement(f"rows: {name}, bytes read of 8 x 128 MB", found / 1e6, "MB", bar)
        native = hive.bytes_read(query.format("eight_native"), _NATIVE)
        yield Measurement(f"rows: {name}, bytes that Hive's table reads", native / 1e6, "MB")
        expected = len(hive.rows(query.format("eight"), _ON))
        others = {
            "DuckDB": by_duckdb(eight, query, expected),
            "DataFusion": by_datafusion(eight, query, expected),
            "PyIceberg": by_pyiceberg(eight, _OF_ICEBERG[name], _COLUMNS, expected),
        }
        for other, read in others.items():
            yield Measurement(f"rows: {name}, bytes that {other} reads", read / 1e6, "MB")
            title = f"rows: {name}, bytes read / {other}'s"
            yield Measurement(title, found / read, "x", "<= 1")
    size = next(nine.glob("*.parquet")).stat().st_size
    query = f"SELECT * FROM nine WHERE id BETWEEN {_POINT} AND {_POINT + 400_000}"
    read = hive.bytes_read(query, _ON)
    yield Measurement("rows: one of nine row groups", read / size * 100, "%", "<= 15")


def _times(hive: _Hive, engine: str) -> Iterator[Measurement]:
    hive.session.set(ENGINES[engine])
    for name, query in _QUERIES.items():
        expected = hive.rows(query.format("eight"), _OFF)
        if not expected or expected != hive.rows(query.format("eight_native"), _NATIVE):
            raise ValueError(f"{query}: {expected}")
        ask = partial(hive.seconds, expected=expected)
        # What Hive takes for the query itself, whoever reads the table.
        fixed = partial(hive.seconds, query.format("one_row"), _NATIVE, [])
        fixed()
        ours, native, whole, floor = map(
            statistics.median,
            interleaved(
                [
                    partial(ask, query.format("eight"), _ON),
                    partial(ask, query.format("eight_native"), _NATIVE),
                    partial(ask, query.format("eight"), _OFF),
                    fixed,
                ],
                7,
            ),
        )
        title = f"rows: {engine}, {name}"
        yield Measurement(title, ours, "s")
        yield Measurement(f"{title}, files read whole", whole, "s")
        yield Measurement(f"{title}, files read whole / ours", whole / ours, "x")
        yield Measurement(f"{title}, a table of one row", floor, "s")
        beyond = (whole - floor) / max(ours - floor, 1e-3)
        yield Measurement(f"{title}, files read whole / ours, beyond that", beyond, "x")
        yield Measurement(f"{title}, Hive's table", native, "s")
        yield Measurement(
            f"{title}, longer than Hive's table", (ours / native - 1) * 100, "%", "< 3"
        )
    yield from _unskippable(hive, engine)
    if engine != "fetch":  # which cannot aggregate
        yield from _full_scan(hive, engine)


def _against_earlier(hive: _Hive, service: ServiceProcess, eight: Path) -> Iterator[Measurement]:
    """The point query by the handler that read kept files whole, in a HiveServer2 of its own."""
    query = _QUERIES["point"].format("eight")
    expected = hive.rows(query, _ON)
    with (
        HiveServer(_RUN_DIR / "earlier", jars=earlier_jars(), jvm_options=()) as server,
        server.session({"hudi.pruning.service.addresses": service.address}) as session,
    ):
        session.run(create_with_handler("eight", eight))
        earlier = _Hive(session, server.pid)
        for engine, bar in (("fetch", ">= 10"), ("tez", ">= 4")):
            for one in (hive, earlier):
                one.session.set(ENGINES[engine])
            # A new server compiles its code while it answers the first dozens of queries.
            for _ in range(_WARMING):
                earlier.rows(query, _ON)
            now, before = map(
                statistics.median,
                interleaved(
                    [partial(one.seconds, query, _ON, expected) for one in (hive, earlier)], 9
                ),
            )
            title = f"rows: {engine}, point, by the handler that read files whole"
            yield Measurement(title, before, "s")
            yield Measurement(f"{title} / ours", before / now, "x", bar)


def _unskippable(hive: _Hive, engine: str) -> Iterator[Measurement]:
    query = _NOTHING.format("eight")
    expected = hive.rows(query, _OFF)
    on, off = interleaved(
        [partial(hive.seconds, query, settings, expected) for settings in (_ON, _OFF)], 5
    )
    longer = (min(on) / min(off) - 1) * 100
    yield Measurement(
        f"rows: {engine}, a predicate that skips nothing, longer by", longer, "%", "< 3"
    )


def _full_scan(hive: _Hive, engine: str) -> Iterator[Measurement]:
    expected = hive.rows(_SCAN.format("eight_native"), {})
    ours, native = interleaved(
        [
            partial(hive.seconds, _SCAN.format(name), _ON, expected)
            for name in ("eight", "eight_native")
        ],
        5,
    )
    longer = (min(ours) / min(native) - 1) * 100
    yield Measurement(f"rows: {engine}, full scan, longer than Hive's table", longer, "%", "< 3")


def _merged(hive: _Hive) -> Iterator[Measurement]:
    """A slice with log files against Hudi's merge, Hive's reader of the base file, and Spark."""
    query = "SELECT sum(id), sum(v), max(city), min(note) FROM {}"
    spark = statistics.median(merged_slice.measured_by_spark(query, 6)[1:])
    hive.session.run(create_with_handler("merged", merged_slice.PATH))
    hive.session.run(
        f"CREATE EXTERNAL TABLE merged_base ({merged_slice.COLUMNS}) STORED AS PARQUET"
        f" LOCATION '{merged_slice.BASE}'"
    )
    for engine in ("mr", "tez"):
        hive.session.set(ENGINES[engine])
        expected = hive.rows(query.format("merged"), _OFF)
        of_base = hive.rows(query.format("merged_base"), {})
        ours, whole, base = map(
            statistics.median,
            interleaved(
                [
                    partial(hive.seconds, query.format("merged"), _ON, expected),
                    partial(hive.seconds, query.format("merged"), _OFF, expected),
                    partial(hive.seconds, query.format("merged_base"), {}, of_base),
                ],
                5,
            ),
        )
        title = f"rows: {engine}, slice of 1,000,000 rows with 1% updates"
        yield Measurement(title, ours, "s")
        yield Measurement(f"{title}, merged by Hudi", whole, "s")
        yield Measurement(f"{title}, its base file by Hive", base, "s")
        yield Measurement(f"{title}, by Hudi's Spark reader", spark, "s")
        yield Measurement(f"{title}, ours / the better one", ours / min(base, spark), "x", "<= 1.5")
