"""Hudi's own data skipping as a reference: no predicate keeps more slices than Hudi reads.

Predicates for which Hudi loses rows, fails, or reads few files only by chance, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from devtools.matrix import FILES
from tests.index.prune import predicates
from tests.index.prune.matching_slices import groups_with_matches, read

#: A log file whose entry has only nulls may hold partial updates of other columns; its text bounds
#: are in UTF-16 order, which Hudi takes for UTF-8 order.
UNTOLD_BY_LOGS = {
    *("none IS NOT NULL", "none = 1", "none <> 1", "none IN (1, 2)"),
    *("u = '\ufffd005'", "u = '\U00010000005'", "u = '😀00110'"),
}
#: Hudi applies a function to the bounds, and takes the result for the bounds of the function; for
#: these rows it loses none.
RIGHT_BY_CHANCE = {
    *("d * 2 > 62 AND d < 100", "NOT isnan(d) AND d > 30", "from_unixtime(id, 'HH') = '02'"),
    *("lower(s) < 'name_001'", "upper(u) = 'É006À3'", "upper(s) = 'NAME_003_07'"),
}
#: Hudi treats files with NaN as files of zeros. If that loses no row, it is by chance.
NANS = sum(k % 8 == 3 for k in range(FILES))
OF_FLOATS = {*predicates.FLOATS, *predicates.ORDERED_NANS}


#: Counts slices, or their files.
Count = Callable[[Collection[str]], int]


def kept_beyond_hudi(
    spark: SparkSession, path: Path, kept: Mapping[str, int], count: Count = len
) -> dict[str, tuple[int, int]]:
    """The predicates for which Hudi reads fewer slices than are kept, with both numbers.

    Predicates for which Hudi's own skipping loses rows or fails are left out. Hudi is not run if
    only slices with matching rows are kept, because it cannot read fewer. count: counts slices or
    files.
    """
    more, skipping = {}, read(spark, path, skipping=True)
    for text, matches in groups_with_matches(read(spark, path), kept).items():
        ours = kept[text]
        if ours <= count({file_id for _, file_id in matches}):
            continue
        try:
            theirs = count(slices_that_hudi_reads(skipping, text))
        except Py4JJavaError:  # types that it does not compare
            continue
        if ours > theirs and not _loses_rows(spark, path, text):
            more[text] = (ours, theirs)
    return more


def kept_beyond_hudi_in_matrix(
    spark: SparkSession, path: Path, kept: Mapping[str, int], *, has_logs: bool, count: Count = len
) -> dict[str, tuple[int, int]]:
    """The same for a matrix table, without the predicates that Hudi prunes by chance."""
    left_out = RIGHT_BY_CHANCE | UNTOLD_BY_LOGS if has_logs else RIGHT_BY_CHANCE
    compared = {text: ours for text, ours in kept.items() if text not in left_out}
    return {
        text: (ours, theirs)
        for text, (ours, theirs) in kept_beyond_hudi(spark, path, compared, count).items()
        if text not in OF_FLOATS or ours > theirs + NANS
    }


def slices_that_hudi_reads(skipping: DataFrame, text: str) -> set[str]:
    """The ids of the slices that Hudi's own data skipping leaves of a frame."""
    plan = skipping.where(text)._jdf.queryExecution().executedPlan()
    scan = plan.collectLeaves().head()
    if scan.nodeName() == "LocalTableScan":
        return set()  # Spark found that the predicate is never TRUE
    listed = [partition.files() for partition in scan.selectedPartitions()]
    names = (files.apply(n).getPath().getName() for files in listed for n in range(files.size()))
    return {name.removeprefix(".").partition("_")[0] for name in names}


def _loses_rows(spark: SparkSession, path: Path, text: str) -> bool:
    skipped = read(spark, path, skipping=True).where(text).count()
    return bool(skipped < read(spark, path).where(text).count())
