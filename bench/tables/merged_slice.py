"""A merge-on-read slice of 1,000,000 rows of which log files update 1%, as Hudi writes it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.reporting.measuring import seconds
from devtools.runtime import WORK
from devtools.spark import spark_session
from devtools.tables import HudiTable, TableSpec, TableType, create, upsert

_DIRECTORY = WORK / "bench" / "merged-slice"
ROWS, _UPDATED_OF = 1_000_000, 100
PATH = _DIRECTORY / "bench_merged"
BASE = _DIRECTORY / "base"
"""A directory with the base file alone."""
COLUMNS = "id bigint, v int, city string, amount double, note string"
_SPEC = TableSpec(
    PATH.name,
    TableType.MOR,
    ordering="v",
    stats_columns=None,
    extra={"hoodie.metadata.enable": "false"},
)


def measured_by_spark(query: str, times: int) -> Sequence[float]:
    """Write the slice if it is missing, and return the seconds of a query by Hudi's Spark reader.

    Args:
        query: With `{}` for the table.
        times: How often it runs after the first time.
    """
    # A separate process releases Spark's memory.
    command = [sys.executable, "-m", "bench.tables.merged_slice", query, str(times)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _rows(spark: SparkSession, step: int, version: int) -> DataFrame:
    return spark.range(0, ROWS, step, 1).selectExpr(
        "id",
        f"int({version}) AS v",
        "concat('city ', id % 1000) AS city",
        f"rand({version}) * 1000 AS amount",
        "sha1(string(id)) AS note",
    )


def _write(spark: SparkSession) -> None:
    shutil.rmtree(_DIRECTORY, ignore_errors=True)
    BASE.mkdir(parents=True)
    table: HudiTable = create(_rows(spark, 1, 1), _SPEC, _DIRECTORY)
    (base,) = (file for file in table.data_files() if file.suffix == ".parquet")
    upsert(table, _rows(spark, _UPDATED_OF, 2))
    os.link(PATH / base, BASE / Path(base).name)


def _main(query: str, times: int) -> None:
    with spark_session("merged-slice") as spark:
        if not any(BASE.glob("*.parquet")):
            _write(spark)
        spark.read.format("hudi").load(str(PATH)).createOrReplaceTempView("slice")
        found = [seconds(lambda: spark.sql(query.format("slice")).collect()) for _ in range(times)]
    print(json.dumps(found))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
