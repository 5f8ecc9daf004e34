"""Hudi's own data skipping: no predicate of the correctness table keeps more slices than it reads.

Where it loses rows, fails, or reads few files by chance only, there is nothing to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from devtools.matrix import FILES
from tests.prune import predicates
from tests.prune.matching_slices import groups_with_matches, read

#: A log file whose entry has nulls only may hold partial updates of other columns; the bounds of
#: its texts are in the order of UTF-16, which Hudi takes for that of UTF-8.
UNTOLD_BY_LOGS = {
    *("none IS NOT NULL", "none = 1", "none <> 1", "none IN (1, 2)"),
    *("u = '\ufffd005'", "u = '\U00010000005'", "u = '😀00110'"),
}
#: Hudi takes a function of the ends for the ends of the function: these rows are such that it loses
#: none.
RIGHT_BY_CHANCE = {
    *("d * 2 > 62 AND d < 100", "NOT isnan(d) AND d > 30", "from_unixtime(id, 'HH') = '02'"),
    *("lower(s) < 'name_001'", "upper(u) = 'É006À3'", "upper(s) = 'NAME_003_07'"),
}
#: Files with NaN, which Hudi takes for files of zeros. Where it loses no row thereby, it is by
#: chance, too: they are kept.
NANS = sum(k % 8 == 3 for k in range(FILES))
OF_FLOATS = {*predicates.FLOATS, *predicates.ORDERED_NANS}


#: How many there are of some slices' ids: slices, or files.
Count = Callable[[Collection[str]], int]


def kept_beyond_hudi(
    spark: SparkSession, path: Path, kept: Mapping[str, int], count: Count = len
) -> dict[str, tuple[int, int]]:
    """Of predicates, and how many slices they keep, those for which Hudi reads fewer, and how many.

    Left out are those by which Hudi's own skipping loses rows, or fails. It is not asked where only
    slices with matching rows are kept, than which it cannot read fewer. count: of what is kept.
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
    """The same for a matrix table, without what Hudi has by chance there."""
    left_out = RIGHT_BY_CHANCE | UNTOLD_BY_LOGS if has_logs else RIGHT_BY_CHANCE
    compared = {text: ours for text, ours in kept.items() if text not in left_out}
    return {
        text: (ours, theirs)
        for text, (ours, theirs) in kept_beyond_hudi(spark, path, compared, count).items()
        if text not in OF_FLOATS or ours > theirs + NANS
    }


def slices_that_hudi_reads(skipping: DataFrame, text: str) -> set[str]:
    """The ids of the slices that Hudi's own data skipping leaves of a frame that has it enabled."""
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
