"""Build the record index and a secondary index of millions of rows, here and by Hudi.

Each build runs in a process of its own, with the same session: 2 cores, and one heap. The memory
is that of the largest process: Spark's JVM, its driver, or one of its Python workers.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from bench.reporting.measuring import Measurement, benchmark, seconds
from bench.tables.event_copies import NO_STATISTICS, link_data
from devtools.runtime import WORK
from devtools.spark import session_settings, spark_session
from devtools.tables import TableSpec, create
from pyhudi_expr.spark.indexes import execute

SIZES = (2_000_000, 20_000_000)
"""Rows of the tables."""

_ROOT = WORK / "bench" / "key-builds"
_ROWS_PER_FILE = 250_000
_ROWS_OF_VALUE = 10
_HEAP, _CORES = "2500m", 2
_KINDS = {"java": "JVM", "python": "Python worker", "python3": "Python worker"}
_PAUSE = 0.2  # seconds
_GIB = 1 << 30
_SETTINGS = {
    **NO_STATISTICS,
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
_WARM_ROWS = 20_000


@dataclass(frozen=True)
class Build:
    """Seconds of both indexes, and the peak of each kind of process in GiB."""

    seconds: float
    peaks: dict[str, float]


@benchmark("key-builds")
def of_both_sizes() -> Iterator[Measurement]:
    """Record and secondary indexes of up to 20,000,000 rows, built here and by Hudi."""
    yield from key_builds()


def key_builds(sizes: tuple[int, int] = SIZES) -> Iterator[Measurement]:
    """Compare builds here with Hudi's, of a small table and of a large one; 25 minutes."""
    of_row = []
    for rows in sizes:
        case = f"key-builds: record and secondary index, {rows:,} rows"
        found = {who: _built(rows, who) for who in _CREATES}
        for who, build in found.items():
            yield Measurement(f"{case}, {who}", build.seconds, "s")
            for process, peak in build.peaks.items():
                bar = "< 4" if who == _HERE else None
                yield Measurement(f"{case}, {who}, memory of the {process}", peak, "GiB", bar)
        ratio = found[_HUDI].seconds / found[_HERE].seconds
        bar = ">= 3" if rows == sizes[1] else None
        yield Measurement(f"{case}, times faster", ratio, "x", bar)
        of_row.append(found[_HERE].seconds / rows)
    small, large = of_row
    yield Measurement("key-builds: a row of the large / small table", large / small, "x", "<= 1")


def _built(rows: int, who: str) -> Build:
    """Build in a process of its own, which ends Spark's."""
    command = [sys.executable, "-m", "bench.indexes.key_builds", str(rows), who]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Build(**json.loads(done.stdout.splitlines()[-1]))


def _main(rows: int, who: str) -> None:
    with spark_session("key-builds", heap=_HEAP, cores=_CORES) as spark:
        # The first build of a session takes longer.
        for count in (_WARM_ROWS, rows):
            table = _copied(_ensure_written(spark, count), who)
            with _measured_peaks() as peaks:
                took = seconds(partial(_CREATES[who], spark, table))
    print(json.dumps({"seconds": took, "peaks": peaks}), flush=True)


def _create_here(spark: SparkSession, table: Path) -> None:
    execute(spark, f"CREATE INDEX riders ON '{table}' USING secondary_index(rider)")


def _create_by_hudi(spark: SparkSession, table: Path) -> None:
    name = table.name.replace("-", "_")
    with session_settings(spark, _SETTINGS):
        spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{table}'")
        spark.sql(f"CREATE INDEX record_index ON {name} (id)")
        spark.sql(f"CREATE INDEX riders ON {name} (rider)")


_HERE, _HUDI = "here", "Hudi"
_CREATES = {_HERE: _create_here, _HUDI: _create_by_hudi}


def _ensure_written(spark: SparkSession, rows: int) -> Path:
    """Return the table of so many rows, written once."""
    spec = TableSpec(f"rows-{rows}", ordering="ts", stats_columns=None)
    marker = _ROOT / f"{spec.name}.written"
    if not marker.is_file():
        frame = spark.range(0, rows, 1, -(-rows // _ROWS_PER_FILE)).selectExpr(
            "hex(xxhash64(id)) AS id",
            f"concat('rider-', pmod(xxhash64(id, 'rider'), {rows // _ROWS_OF_VALUE})) AS rider",
            "timestamp_seconds(1700000000 + id) AS ts",
            "cast(pmod(hash(id), 10000) / 100 AS decimal(10, 2)) AS fare",
        )
        create(frame, spec, _ROOT)
        marker.touch()
    return _ROOT / spec.name


def _copied(source: Path, who: str) -> Path:
    target = source.with_name(f"{source.name}-{who.lower()}")
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target, copy_function=link_data))


@contextmanager
def _measured_peaks() -> Iterator[dict[str, float]]:
    """Return the peak memory of this process and of those that it started, by kind, in GiB."""
    peaks: dict[str, float] = {}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_PAUSE):
            for kind, peak in _peaks(os.getpid()):
                peaks[kind] = max(peak / _GIB, peaks.get(kind, 0))

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield peaks
    finally:
        done.set()
        watching.join()


def _peaks(root: int) -> Iterator[tuple[str, int]]:
    parents: dict[int, int] = {}
    found: dict[int, tuple[str, int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lines = (process / "status").read_text().splitlines()
        except OSError:
            continue  # it has ended
        facts = dict(line.split(":", 1) for line in lines)
        parents[int(process.name)] = int(facts["PPid"])
        peak = int(facts.get("VmHWM", "0").split()[0]) * 1024
        found[int(process.name)] = facts["Name"].strip(), peak
    for number, (name, peak) in found.items():
        if number == root:
            yield "driver", peak
        elif name in _KINDS and _is_below(number, root, parents):
            yield _KINDS[name], peak


def _is_below(process: int, root: int, parents: Mapping[int, int]) -> bool:
    while process in parents and process != root:
        process = parents[process]
    return process == root


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2])
