"""What is right for a matrix table: which of its files hold matching rows, by reading all of them.

File `k` of a matrix table holds the record keys from 1000 k on, in every version of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.frontend.sql import parse_predicate
from pyhudi_expr.prune import PruneRequest, PruneResult
from pyhudi_expr.table.listing import TableView

KEYS_PER_FILE = 1000

READ_OPTIMIZED = {"hoodie.datasource.query.type": "read_optimized"}


def read(spark: SparkSession, path: Path, skipping: bool, **options: str) -> DataFrame:
    """The table as Hudi reads it, with or without its own data skipping."""
    own = {"hoodie.metadata.enable": str(skipping).lower()}
    own["hoodie.enable.data.skipping"] = str(skipping).lower()
    return spark.read.format("hudi").options(**own, **options).load(str(path))


def files_with_matches(
    spark: SparkSession,
    path: Path,
    predicates: Iterable[str],
    zone: str = "UTC",
    options: Mapping[str, str] | None = None,
) -> dict[str, set[int]]:
    """For each predicate the numbers of the files with a row for which Spark says TRUE."""
    asked = list(predicates)
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        truths = [f.expr(f"coalesce({text}, false)").cast("int") for text in asked]
        matches = [f.max(truth).alias(f"t{n}") for n, truth in enumerate(truths)]
        number = f.floor(f.col("id") / KEYS_PER_FILE).alias("k")
        frame = read(spark, path, skipping=False, **(options or {}))
        rows = frame.groupBy(number).agg(*matches).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    return {
        text: {int(row["k"]) for row in rows if row[f"t{n}"] == 1} for n, text in enumerate(asked)
    }


def request(text: str, zone: str = "UTC", view: TableView = TableView.SNAPSHOT) -> PruneRequest:
    """The predicate's question."""
    predicate: HudiExpression = parse_predicate(text)
    return PruneRequest(predicate, view=view, zone=zone)


class FileNumbers:
    """Which number each slice of a matrix table has; base files are read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, int] = {}

    def kept(self, result: PruneResult) -> set[int]:
        """The numbers of the slices that were kept."""
        listing = result.listing
        flags = result.keep.tolist()
        return {self._number(result, s) for s in range(listing.num_slices) if flags[s]}

    def _number(self, result: PruneResult, number: int) -> int:
        listing = result.listing
        file_id = str(listing.slice_file_id[number])
        if file_id not in self._known:
            base = int(listing.file_slice.searchsorted(number))
            file = pq.ParquetFile(self._path / listing.paths([base])[0])
            self._known[file_id] = file.read(["id"])["id"][0].as_py() // KEYS_PER_FILE
        return self._known[file_id]


def files_that_hudi_reads(spark: SparkSession, path: Path, text: str) -> int:
    """How many file slices Hudi's own data skipping leaves to be read."""
    plan = read(spark, path, skipping=True).where(text)._jdf.queryExecution().executedPlan()
    scan = plan.collectLeaves().head()
    if scan.nodeName() == "LocalTableScan":
        return 0  # Spark found that the predicate is never TRUE
    return sum(partition.files().size() for partition in scan.selectedPartitions())
