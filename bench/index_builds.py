"""Build indexes of a table that has none, and compare with Hudi: time, size, and refreshing."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from bench.reporting.measuring import Measurement, benchmark, seconds
from bench.tables.event_copies import commit, commit_nothing, stored_bytes, without_indexes
from bench.tables.event_table import FILES, ROWS_PER_FILE, ensure_written
from devtools.runtime import WORK
from devtools.spark import session_settings, spark_session
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.indexes import execute

_ROOT = WORK / "bench" / "index-builds"
_COLUMNS = ("id", "ts", "city", "amount", "user_id", "score")
_SECONDARY = "user_id"
_LOCK = "hoodie.write.lock.provider"
_IN_PROCESS = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
_STATISTICS = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
    "hoodie.metadata.index.column.stats.column.list": ",".join(_COLUMNS),
}

Figure = tuple[str, float, str, str | None]


@benchmark("index-builds")
def index_builds() -> Iterator[Measurement]:
    """Indexes of 2,000 files built here and by Hudi: seconds, bytes, refreshing; 15 minutes."""
    ensure_written()
    # A separate process releases Spark's memory.
    command = [sys.executable, "-m", "bench.index_builds"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("["):
            name, value, unit, bar = json.loads(line)
            yield Measurement(f"index-builds: {name}", value, unit, bar)


def _figures() -> Iterator[Figure]:
    rows = FILES * ROWS_PER_FILE
    with spark_session("index-builds", heap="4g") as spark:
        ours, theirs = (without_indexes(spark, _ROOT / whose) for whose in ("ours", "theirs"))
        # The first run of Spark, of Hudi and of our code takes longer.
        commit_nothing(spark, theirs, {})
        _seconds_of(spark, ours, "CREATE INDEX warm ON '{table}' USING column_stats(ok)")
        _seconds_of(spark, ours, "DROP INDEX warm ON '{table}'")
        own = _seconds_of(spark, ours, "CREATE INDEX ranges ON '{table}' USING column_stats({all})")
        empty = seconds(lambda: commit_nothing(spark, theirs, {}))
        hudi = seconds(lambda: commit_nothing(spark, theirs, _STATISTICS)) - empty
        yield from _compared(f"column_stats of {len(_COLUMNS)} columns", own, hudi)
        yield from _sizes(ours, theirs, "column_stats")

        own = _seconds_of(spark, ours, "CREATE INDEX keys ON '{table}' USING record_index")
        hudi = _hudis(spark, theirs, "CREATE INDEX record_index ON theirs (id)")
        yield from _compared(f"record_index of {rows:,} rows", own, hudi)
        yield from _sizes(ours, theirs, "record_index")

        statement = f"CREATE INDEX users ON '{{table}}' USING secondary_index({_SECONDARY})"
        own = _seconds_of(spark, ours, statement)
        hudi = _hudis(spark, theirs, f"CREATE INDEX users ON theirs ({_SECONDARY})")
        yield from _compared(f"secondary index of {rows:,} rows", own, hudi)
        yield from _sizes(ours, theirs, "secondary_index_users")

        yield from _refreshed(spark, ours)


def _refreshed(spark: SparkSession, table: Path) -> Iterator[Figure]:
    """Refresh the extension's indexes after a commit that changes a hundredth of the files."""
    statement = f"CREATE INDEX beside ON '{{table}}' USING secondary_index({_SECONDARY}) OPTIONS "
    built = _seconds_of(spark, table, statement + "(store = 'extension')")
    commit(spark, table, 0, writer_options(str(table)))
    refreshed = _seconds_of(spark, table, "REFRESH INDEX beside ON '{table}'")
    yield "secondary index in the extension, full build", built, "s", None
    yield "after 1 % of the files changed, refresh", refreshed, "s", None
    yield "refresh / full build", 100 * refreshed / built, "%", "< 5"


def _compared(what: str, ours: float, hudi: float) -> Iterator[Figure]:
    yield f"{what}: here", ours, "s", None
    yield f"{what}: Hudi", hudi, "s", None
    yield f"{what}: times faster", hudi / ours, "x", ">= 2"


def _sizes(ours: Path, theirs: Path, partition: str) -> Iterator[Figure]:
    own, hudi = (stored_bytes(table, partition) for table in (ours, theirs))
    yield f"{partition}: size here", own / 1e6, "MB", None
    yield f"{partition}: size of Hudi's", hudi / 1e6, "MB", None
    yield f"{partition}: size / Hudi's", own / hudi, "x", "<= 1.1"


def _seconds_of(spark: SparkSession, table: Path, statement: str) -> float:
    text = statement.format(table=table, all=", ".join(_COLUMNS))
    return seconds(lambda: execute(spark, text))


def _hudis(spark: SparkSession, table: Path, statement: str) -> float:
    settings = {_LOCK: _IN_PROCESS, "hoodie.metadata.index.column.stats.enable": "true"}

    def create() -> None:
        spark.sql(statement)

    with session_settings(spark, settings):
        spark.sql(f"CREATE TABLE IF NOT EXISTS theirs USING hudi LOCATION '{table}'")
        return seconds(create)


if __name__ == "__main__":
    for figure in _figures():
        print(json.dumps(figure), flush=True)
