"""Plan queries for single values of a secondary index that Hudi built: here, and by Hudi's reader.

Both read the same files of the same index. Each value is asked for once, so no plan is kept.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from bench.reporting.measuring import Measurement
from bench.tables.event_copies import NO_STATISTICS
from devtools.runtime import WORK
from devtools.spark import session_settings, spark_session
from devtools.tables import TableSpec, create
from pyhudi_expr.api import FOOTER_WAIT_SECONDS
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.spark.query.dataframes import pruned

ROWS = 2_000_000
_FILES = 200
_ROOT = WORK / "bench" / "key-plans"
_HEAP, _CORES = "2500m", 2
_WARM, _RUNS = 2, 5
_HUDI_OPTIONS = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
_LOCK = {
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
}

Plan = Callable[[str], int]
"""Plans a predicate, and returns the number of files that are read."""


def key_plans() -> Iterator[Measurement]:
    """Compare plans of equalities over a secondary index of 2,000,000 rows; 3 minutes."""
    case = f"lookups: plan with Hudi's secondary index of {ROWS:,} rows"
    with spark_session("key-plans", heap=_HEAP, cores=_CORES) as spark:
        table = _ensure_written(spark)
        # The first plan waits for the index, which is read whole.
        pruner = Pruner(PruneOptions(footer_wait=FOOTER_WAIT_SECONDS))
        plans: dict[str, Plan] = {
            "Hudi": lambda text: _read_by_hudi(spark, table, text),
            "here": lambda text: _kept(pruner, table, text),
            "here, Spark's plan included": lambda text: len(
                pruned(spark, str(table), text, pruner=pruner).inputFiles()
            ),
        }
        found = {who: _planned(plan) for who, plan in plans.items()}
    theirs, their_files = found.pop("Hudi")
    yield Measurement(f"{case}, Hudi", 1_000 * theirs, "ms")
    yield Measurement(f"{case}, Hudi, files", sum(their_files), "files")
    for who, (ours, files) in found.items():
        assert all(few <= more for few, more in zip(files, their_files, strict=True))
        yield Measurement(f"{case}, {who}", 1_000 * ours, "ms")
        yield Measurement(f"{case}, {who}, files", sum(files), "files", f"<= {sum(their_files)}")
        bar = ">= 20" if who == "here" else None
        yield Measurement(f"{case}, {who}, times faster", theirs / ours, "x", bar)


def _planned(plan: Plan) -> tuple[float, Sequence[int]]:
    """Return the median seconds of warm plans, and the files of each."""
    took, files = [], []
    for turn in range(_WARM + _RUNS):
        row = (turn + 1) * ROWS // (_WARM + _RUNS + 1)
        started = time.perf_counter()
        kept = plan(f"code = 'code-{row:010}'")
        if turn >= _WARM:
            took.append(time.perf_counter() - started)
            files.append(kept)
    return statistics.median(took), files


def _kept(pruner: Pruner, table: Path, text: str) -> int:
    return pruner.prune(str(table), PruneRequest(parse_predicate(text))).files_kept


def _read_by_hudi(spark: SparkSession, table: Path, text: str) -> int:
    frame = spark.read.format("hudi").options(**_HUDI_OPTIONS).load(str(table)).where(text)
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    return sum(part.files().size() for part in scan.selectedPartitions())


def _ensure_written(spark: SparkSession) -> Path:
    """Return the table, written once; codes are spread over the files."""
    spec = TableSpec(f"codes_{ROWS}", ordering="ts", stats_columns=None)
    marker = _ROOT / f"{spec.name}.written"
    if not marker.is_file():
        frame = spark.range(0, ROWS, 1, _FILES).selectExpr(
            "hex(xxhash64(id)) AS id",
            f"concat('code-', lpad(pmod(id * 7368787, {ROWS}), 10, '0')) AS code",
            "timestamp_seconds(1700000000 + id) AS ts",
        )
        create(frame, spec, _ROOT)
        with session_settings(spark, {**NO_STATISTICS, **_LOCK}):
            spark.sql(f"CREATE TABLE {spec.name} USING hudi LOCATION '{_ROOT / spec.name}'")
            spark.sql(f"CREATE INDEX record_index ON {spec.name} (id)")
            spark.sql(f"CREATE INDEX codes ON {spec.name} (code)")
        marker.touch()
    return _ROOT / spec.name
