"""What a plan of the session with our extension reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tests.index.prune.matching_slices import read


def load(spark: SparkSession, path: Path | str, **options: str) -> DataFrame:
    """The table as an ordinary user reads it, with what makes Hudi skip files."""
    return read(spark, path, skipping=True, **options)


def whole(spark: SparkSession, path: Path | str, **options: str) -> DataFrame:
    """The table without any skipping, if our pruning is off as well."""
    return read(spark, path, **options)


def scans(frame: DataFrame) -> Iterator[Any]:
    """The scans of files in a frame's physical plan, as Spark starts with it."""
    yield from _scans(frame._jdf.queryExecution().sparkPlan())


def _scans(plan: Any) -> Iterator[Any]:
    if plan.getClass().getSimpleName() == "FileSourceScanExec":
        yield plan
    children = plan.children()
    for number in range(children.size()):
        yield from _scans(children.apply(number))


def executed_scans(frame: DataFrame) -> Iterator[Any]:
    """The scans of files of a query that has run: of a frame, after its `collect`."""
    yield from _executed(frame._jdf.queryExecution().executedPlan())


def _executed(plan: Any) -> Iterator[Any]:
    name = plan.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        yield from _executed(plan.executedPlan())
    elif name.endswith("QueryStageExec"):
        yield from _executed(plan.plan())
    elif name == "FileSourceScanExec":
        yield plan
    else:
        children = plan.children()
        for number in range(children.size()):
            yield from _executed(children.apply(number))


def files_read(frame: DataFrame) -> list[str]:
    """The names of the files that each scan lists; of a slice with log files one of them."""
    return [name for scan in scans(frame) for name in files_of(scan)]


def files_of(scan: Any) -> list[str]:
    """The names of the files that a scan lists."""
    return [
        listed.apply(number).getPath().getName()
        for partition in scan.selectedPartitions()
        for listed in [partition.files()]
        for number in range(listed.size())
    ]


def number_of_files(scan: Any) -> int:
    """How many files an executed scan has read: partitions that it left out while it ran do not
    count.
    """
    return int(scan.metrics().apply("numFiles").value())


def listed_bytes(scan: Any) -> int:
    """The size of the files that Hudi's own index, below ours, has listed so far."""
    ours = scan.relation().location()
    field = ours.getClass().getDeclaredField("hudi")
    field.setAccessible(True)
    return int(field.get(ours).sizeInBytes())


def slices_read(frame: DataFrame) -> set[str]:
    """The ids of the slices that are read."""
    return {name.removeprefix(".").partition("_")[0] for name in files_read(frame)}


def plan_text(frame: DataFrame) -> str:
    """The physical plan as EXPLAIN shows it."""
    return str(frame._jdf.queryExecution().explainString(_mode(frame, "formatted")))


def _mode(frame: DataFrame, name: str) -> Any:
    jvm: Any = frame.sparkSession._jvm
    return jvm.org.apache.spark.sql.execution.ExplainMode.fromString(name)


def shown(frame: DataFrame) -> list[str]:
    """The rows of a frame, without Hudi's own columns and maps, in an order of their own."""
    columns = [name for name in frame.columns if not name.startswith("_hoodie") and name != "m"]
    return sorted(map(repr, frame.select(columns).collect()))


def ids(frame: DataFrame) -> list[int]:
    """The record keys of a frame; some of its other values may be none of Python's."""
    return sorted(row.id for row in frame.select("id").collect())


def matching_ids(frame: DataFrame, texts: Iterable[str]) -> dict[str, list[int]]:
    """The record keys of the rows for which each condition is TRUE, by one look at all rows."""
    unique = list(dict.fromkeys(texts))
    return ids_by_text(truths(frame, unique), unique)


def ids_by_text(found: DataFrame, texts: Sequence[str]) -> dict[str, list[int]]:
    """The record keys for each condition, of a frame that `truths` made of them."""
    rows = found.collect()
    return {text: sorted(row.id for row in rows if row[f"t{n}"]) for n, text in enumerate(texts)}


def truths(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """The record key of each row, and as t0, t1 ... whether each condition is TRUE for it."""
    columns = [f.expr(f"coalesce({text}, false)").alias(f"t{n}") for n, text in enumerate(texts)]
    return frame.select("id", *columns)
