"""Index jobs, a layout and pruned reads by the installed version of Spark; prints them as JSON.

`python index_jobs.py TABLE DEMO JAR`: a table with stored keys, a directory for one of the demo's,
and our session extension, which leaves sessions of Spark 4 as they are.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.manage.layout.curves import Curve
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.clustering.layout_frames import order_by
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.jobs.slice_frames import arrow_type
from pyhudi_expr.spark.query.dataframes import prune_table, pruned
from pyhudi_expr.spark.query.predicates import filters_of
from pyhudi_expr.spark.session import COORDINATES, EXTENSION, configure
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension import Extension

OPTIONS = "store = 'extension', shards = 2"
STATEMENTS = (
    f"CREATE INDEX ranges ON '{{}}' USING column_stats(amount, txn_date) OPTIONS ({OPTIONS})",
    f"CREATE INDEX keys ON '{{}}' USING record_index OPTIONS ({OPTIONS})",
    f"CREATE INDEX filters ON '{{}}' USING bloom_filters OPTIONS ({OPTIONS})",
    f"CREATE INDEX shops ON '{{}}' USING secondary_index(merchant_name) OPTIONS ({OPTIONS})",
    f"CREATE INDEX up ON '{{}}' USING column_stats(merchant_name) "
    f"OPTIONS (expr = 'upper', {OPTIONS})",
)
PREDICATES = ("txn_id = 'TXN-017'", "amount > 900", "upper(merchant_name) = 'NOWHERE'")
CONDITIONS = (
    "fare > 165",
    "fare BETWEEN 105.5 AND 128 AND city LIKE 'O%'",
    "ts < timestamp'2024-01-02 03:00:00' OR ts >= timestamp'2024-01-10 20:00:00'",
    "CAST(ts AS date) = date'2024-01-04' AND NOT (hour(ts) > 2)",
    "day IN ('2024-01-03', '2024-01-05') AND id % 7 = 0",
    "fare > 20 + 100 AND rider IS NOT NULL",
)
TYPES = (
    *(t.BooleanType(), t.LongType(), t.DoubleType(), t.DecimalType(9, 2), t.StringType()),
    *(t.BinaryType(), t.DateType(), t.TimestampType(), t.TimestampNTZType()),
    t.ArrayType(t.TimestampType()),
    t.MapType(t.StringType(), t.TimestampType()),
    t.StructType([t.StructField("at", t.TimestampType())]),
)


def main(table: str, demo: Path, jar: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.extensions", EXTENSION)
        .config("spark.jars", jar)
        .getOrCreate()
    )
    for statement in STATEMENTS:
        execute(spark, statement.format(table))
    write_demo_table(demo)
    execute(
        spark, f"CREATE INDEX fares ON '{demo}' USING column_stats(fare, ts) OPTIONS ({OPTIONS})"
    )
    dates = f"OPTIONS (expr = 'to_date', {OPTIONS})"
    execute(spark, f"CREATE INDEX dates ON '{demo}' USING column_stats(ts) {dates}")
    reads = {text: rows_read(spark, demo, text) for text in CONDITIONS}
    write_a_day(demo)
    lagging = status_of_fares(demo).state
    for name in ("fares", "dates"):
        execute(spark, f"REFRESH INDEX {name} ON '{demo}'")
    found = {
        "spark": pyspark.__version__,
        "refusal": refusal(),
        "entries": entries(table) | entries(str(demo)),
        "verified": [
            result.is_right
            for path in (table, str(demo))
            for status in index_statuses(HudiTable.open(path))
            if status.store.value == "extension"
            for result in verify(spark, HudiTable.open(path), status)
        ],
        "kept": {text: kept(table, text) for text in PREDICATES},
        "refreshed": [
            lagging.value,
            status_of_fares(demo).state.value,
            kept(str(demo), "fare > 165"),
        ],
        "laid out": laid_out(spark, demo),
        "reads": reads,
        "filters": {text: filters(spark, demo, text) for text in CONDITIONS},
        "arrow types": {each.simpleString(): str(arrow_type(each)) for each in TYPES},
    }
    print(json.dumps(found))


def refusal() -> str:
    """What `configure` says against this version."""
    try:
        configure(SparkSession.Builder().config("spark.jars.packages", f"{COORDINATES}1"))
    except HudiError as error:
        return str(error)
    return ""


def write_a_day(demo: Path) -> None:
    """A second commit, which writes the rows of the last day once more."""
    shutil.copytree(demo / "day=2024-01-10", demo / "day=2024-01-11")
    for file in (demo / "day=2024-01-11").glob("*.parquet"):
        file.rename(file.with_name(f"9{file.name[1:]}".replace("20240111", "20240112")))
    timeline = demo / ".hoodie" / "timeline"
    (timeline / "20240112000000000_20240112000001000.commit").touch()


def status_of_fares(demo: Path):
    found = {status.name: status for status in index_statuses(HudiTable.open(str(demo)))}
    status = found["fares"]
    assert status.state in (State.ACTIVE, State.LAGGING)
    return status


def entries(path: str) -> dict[str, list[str]]:
    """The extension's records by partition, as texts."""
    extension = Extension.open(HudiTable.open(path))
    assert extension is not None
    found = {}
    for partition in sorted(extension.partitions):
        records = extension.records.scan(partition)
        pairs = zip(records.keys, records.payloads, strict=True)
        found[f"{Path(path).name}/{partition}"] = sorted(
            f"{key} {comparable(value)}" for key, value in pairs
        )
    return found


def comparable(payload) -> str:
    """Without the times at which indexes were built."""
    return json.dumps(without_times(payload), sort_keys=True, default=str)


def without_times(value):
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if "ime" not in name}
        return {name: without_times(each) for name, each in kept.items()}
    return value


def kept(path: str, predicate: str) -> int:
    request = PruneRequest(parse_predicate(predicate), semantics=here("UTC"))
    return Pruner().prune(path, request).files_kept


def laid_out(spark: SparkSession, demo: Path) -> list[str]:
    """The files of a Hilbert layout, each as a hash of its rows' ids."""
    rows = spark.read.parquet(*sorted(map(str, demo.glob("day=2024-01-0*/*.parquet"))))
    ordered = order_by(rows.select("id", "ts", "fare"), ["ts", "fare"], Curve.HILBERT, files=4)
    parts = ordered.rdd.mapPartitions(lambda part: [sorted(row.id for row in part)]).collect()
    return [hashlib.sha256(repr(part).encode()).hexdigest()[:12] for part in parts]


def rows_read(spark: SparkSession, demo: Path, condition: str) -> list[int]:
    """The number of rows, and that of the files that may have them, with pruning by the index."""
    found = prune_table(spark, str(demo), condition)
    everything = pruned(spark, str(demo), f.lit(True))
    rows = rows_of(found.frame)
    assert rows == rows_of(everything.where(condition)), condition
    assert rows == rows_of(pruned(spark, str(demo), f.expr(condition))), condition
    return [len(rows), found.result.files_kept, found.result.files_total]


def rows_of(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.collect()))


def filters(spark: SparkSession, demo: Path, condition: str) -> str:
    """What is known of a frame's rows by the plan of Spark."""
    frame = spark.read.parquet(*sorted(map(str, demo.glob("day=*/*.parquet"))))
    return repr(filters_of(frame.withColumn("day", f.lit("x")).where(condition)).expression)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
