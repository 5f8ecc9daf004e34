"""Plain Spark SQL on a table of 2,000 files: with our extension, and with Hudi's own skipping.

One session runs a query in each way in turns, so that a slower period of the machine affects all. A
query reads the table anew, as `SELECT` does, so that it is planned and run.
"""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench.engines import PREDICATES
from bench.reporting.measuring import Measurement, benchmark, interleaved, median_seconds, seconds
from bench.tables import event_table, synthetic
from devtools.runtime import SPARK_JAR, WORK
from devtools.service import ServiceProcess
from devtools.spark import session_settings, spark_session
from pyhudi_expr.manage.indexing.writer_options import HUDI_SESSION
from pyhudi_expr.spark.session import EXTENSION

_OURS, _HUDI, _WHOLE = "with the extension", "Hudi's skipping", "no skipping"
_ROUNDS, _WARMING = 5, 2
_NOTHING = "id >= 0"
"""True of every row, so every file is read."""
_LARGE = (100_000, 100)
_PLANS = 3
_EXTENSIONS = "spark.sql.extensions"


@dataclass(frozen=True)
class _Reader:
    """A way to read a table.

    Attributes:
        settings: Settings of the session.
        options: Options of Hudi's reader.
    """

    settings: Mapping[str, str]
    options: Mapping[str, str]


@dataclass(frozen=True)
class _Spark:
    """A session with the ways to read a table in it."""

    session: SparkSession
    readers: Mapping[str, _Reader]

    def files(self, who: str, table: Path, where: str) -> int:
        """Plan a query, and return the number of files that it reads."""
        reader = self.readers[who]
        with session_settings(self.session, reader.settings):
            return _files(self._frame(reader, table, where))

    def rows(self, who: str, table: Path, where: str) -> tuple[Any, ...]:
        """Run a query that needs each row."""
        reader = self.readers[who]
        with session_settings(self.session, reader.settings):
            frame = self._frame(reader, table, where)
            return tuple(frame.selectExpr("count(*)", "sum(id)", "max(amount)").collect()[0])

    def _frame(self, reader: _Reader, table: Path, where: str) -> DataFrame:
        return (
            self.session.read.format("hudi").options(**reader.options).load(str(table)).where(where)
        )


def _files(frame: DataFrame) -> int:
    scan = frame._jdf.queryExecution().sparkPlan().collectLeaves().head()
    return sum(part.files().size() for part in scan.selectedPartitions())


@benchmark("spark")
def spark() -> Iterator[Measurement]:
    """Plain Spark SQL on 2,000 files: our extension against Hudi's skipping; 10 minutes."""
    settings = {_EXTENSIONS: f"{HUDI_SESSION[_EXTENSIONS]},{EXTENSION}"}
    with (
        ServiceProcess(WORK / "bench" / "spark-service") as service,
        spark_session("bench-spark", jars=[SPARK_JAR], settings=settings) as session,
    ):
        off = {"spark.pyhudi.pruning": "false"}
        ours = {"spark.pyhudi.pruning": "true", "spark.pyhudi.service": service.address}
        skipping = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
        readers = {
            _OURS: _Reader({**ours, "spark.pyhudi.timeout.ms": "60000"}, skipping),
            _HUDI: _Reader(off, skipping),
            _WHOLE: _Reader(off, {**skipping, "hoodie.enable.data.skipping": "false"}),
        }
        measured = _Spark(session, readers)
        table = Path(event_table.ensure_written().path)
        yield from _queries(measured, table)
        yield from _nothing_pruned(measured, table)
        yield from _plans(measured)


def _queries(measured: _Spark, table: Path) -> Iterator[Measurement]:
    """The queries of the benchmark `engines`: rows, files and times."""
    total = dict.fromkeys((_OURS, _HUDI), 0.0)
    fewer, lost = 0, 0
    for predicate in PREDICATES:
        title, where = f"spark: {predicate.sql}", predicate.sql
        expected = measured.rows(_WHOLE, table, where)
        if measured.rows(_OURS, table, where) != expected:
            raise ValueError(f"{where}: the extension loses rows")
        files = {who: measured.files(who, table, where) for who in total}
        loses_rows = measured.rows(_HUDI, table, where) != expected
        lost += loses_rows
        # Hudi's users get the rows of such a query without skipping only.
        needed = measured.files(_WHOLE, table, where) if loses_rows else files[_HUDI]
        fewer += 2 * files[_OURS] <= needed
        run = [partial(seconds, partial(measured.rows, who, table, where)) for who in total]
        for who, taken in zip(total, interleaved(run, _ROUNDS), strict=True):
            median = statistics.median(taken)
            total[who] += median
            yield Measurement(f"{title}, {who}: files", files[who], "files")
            yield Measurement(f"{title}, {who}", median, "s")
    title = f"spark: {len(PREDICATES)} queries"
    for who, whole in total.items():
        yield Measurement(f"{title}, {who}", whole, "s")
    yield Measurement(f"{title}, times faster", total[_HUDI] / total[_OURS], "x", ">= 1")
    half = f"{title}, at most half of the files that Hudi needs for all rows in"
    yield Measurement(half, fewer, "queries", ">= 3")
    yield Measurement(f"{title}, Hudi's skipping loses rows in", lost, "queries")


def _nothing_pruned(measured: _Spark, table: Path) -> Iterator[Measurement]:
    """A query that reads every file, against the same without any skipping."""
    expected = measured.rows(_WHOLE, table, _NOTHING)
    if measured.rows(_OURS, table, _NOTHING) != expected:
        raise ValueError("the extension loses rows")
    run = [
        partial(seconds, partial(measured.rows, who, table, _NOTHING))
        for who in (_OURS, _WHOLE, _HUDI)
    ]
    ours, whole, hudi = interleaved(run, _ROUNDS)
    title = "spark: a query that nothing prunes"
    yield Measurement(f"{title}, longer by", 100 * (min(ours) / min(whole) - 1), "%", "< 3")
    yield Measurement(f"{title}, longer by, with Hudi's", 100 * (min(hudi) / min(whole) - 1), "%")


def _plans(measured: _Spark) -> Iterator[Measurement]:
    """Plans of a table of 100,000 files that exist in the metadata table only."""
    table = synthetic.ensure_written(*_LARGE)
    where = f"spread = {_LARGE[0] * synthetic.ROWS_PER_FILE // 3}"
    title = f"spark: {_LARGE[0]:,} files, plan"
    taken = {}
    for who in (_OURS, _HUDI):
        plan = partial(measured.files, who, table, where)
        for _ in range(_WARMING):
            files = plan()
        taken[who] = median_seconds(plan, _PLANS)
        yield Measurement(f"{title}, {who}", taken[who], "s")
        yield Measurement(f"{title}, {who}: files", files, "files")
    yield Measurement(f"{title}, times faster", taken[_HUDI] / taken[_OURS], "x", ">= 20")
