"""The expected result for a table: which file slices hold matching rows, computed from all rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest, PruneResult
from pyhudi_expr.tables.listing import TableView

#: A file group: partition path and file id.
Group = tuple[str, str]


#: What is kept shows then what an index covers: no footer takes the place of its entries.
INDEXES_ALONE = PruneOptions(footer_seconds=0)


def read(
    spark: SparkSession, path: Path | str, *, skipping: bool = False, **options: str
) -> DataFrame:
    """The table as Hudi reads it, with or without its own data skipping."""
    own = {"hoodie.metadata.enable": str(skipping).lower()}
    own["hoodie.enable.data.skipping"] = str(skipping).lower()
    named = {name.replace("__", "."): value for name, value in options.items()}
    return spark.read.format("hudi").options(**own, **named).load(str(path))


def groups_with_matches(frame: DataFrame, predicates: Iterable[str]) -> dict[str, set[Group]]:
    """For each predicate, the file groups with a row for which Spark returns TRUE.

    For all rows, `_hoodie_file_name` begins with the file id, including rows from log files.
    """
    unique = list(dict.fromkeys(predicates))
    if not unique:
        return {}
    truths = [f.expr(f"coalesce({text}, false)").cast("int") for text in unique]
    matches = [f.max(truth).alias(f"t{n}") for n, truth in enumerate(truths)]
    file_id = f.split("_hoodie_file_name", "_")[0].alias("file_id")
    rows = frame.groupBy("_hoodie_partition_path", file_id).agg(*matches).collect()
    return {
        text: {(row[0], row["file_id"]) for row in rows if row[f"t{n}"] == 1}
        for n, text in enumerate(unique)
    }


def request(
    text: str,
    zone: str = "UTC",
    view: TableView = TableView.SNAPSHOT,
    as_of: str | None = None,
) -> PruneRequest:
    """The prune request of the predicate."""
    return PruneRequest(parse_predicate(text), view=view, semantics=here(zone), as_of=as_of)


def groups(result: PruneResult, *, kept_only: bool = True) -> set[Group]:
    """The file groups of the kept slices, or of all."""
    listing = result.listing
    partitions = listing.partitions.to_pylist()
    return {
        (partitions[partition], str(file_id))
        for partition, file_id, keep in zip(
            listing.slice_partition, listing.slice_file_id.to_pylist(), result.keep, strict=True
        )
        if keep or not kept_only
    }


def assert_no_row_lost(
    pruner: Pruner,
    path: Path | str,
    frame: DataFrame,
    predicates: Iterable[str],
    zone: str = "UTC",
    view: TableView = TableView.SNAPSHOT,
    as_of: str | None = None,
) -> dict[str, int]:
    """Asserts that every slice with a matching row of the frame is kept; returns the number of
    slices that each predicate keeps.
    """
    kept = {}
    for text, expected in groups_with_matches(frame, predicates).items():
        result = pruner.prune(str(path), request(text, zone, view, as_of))
        assert expected <= groups(result, kept_only=False), f"{text}: unlisted file groups"
        lost = expected - groups(result)
        assert not lost, f"{path}: {text!r} loses {lost}:\n{result.explain().text()}"
        by_index = result.dropped_by
        assert sum(by_index.values()) == result.files_total - result.files_kept
        assert all(number > 0 for number in by_index.values()), by_index
        kept[text] = int(result.keep.sum())
    return kept
