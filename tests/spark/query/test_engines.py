"""The correctness table through Spark's SQL, DataFrames, texts of SQL and pyarrow.

The rows are those of one full scan of each table. Hive's part is in
`tests/hive/queries/test_correctness_table.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from devtools.matrix import SCHEMA, Matrices, Partitioning
from devtools.tables import TableType
from pyhudi_expr.expr.nodes import Unknown, walk
from pyhudi_expr.frontend.arrow.substrait import parse_arrow
from pyhudi_expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.reading.row_filter import FilterNotApplicable, row_filter
from pyhudi_expr.reading.scan import scan
from pyhudi_expr.spark.query.dataframes import pruned
from pyhudi_expr.spark.query.predicates import filters_of, predicate_of
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import TableView
from tests.marks import long
from tests.prune import predicates
from tests.prune.matching_slices import Group, groups, read

pytestmark = pytest.mark.spark

COW, MOR = TableType.COW, TableType.MOR
NONE, HIVE, LEVELS = Partitioning.NONE, Partitioning.HIVE, Partitioning.LEVELS
SPECIAL, PLAIN = Partitioning.SPECIAL, Partitioning.PLAIN

TABLE = tuple(dict.fromkeys((*predicates.ALL, *predicates.ONLY_SPARK)))
#: Spark takes NaN for the greatest value, pyarrow for none.
NANS = frozenset({*predicates.ORDERED_NANS, "NOT isnan(d) AND d > 30"})
#: Rows of constants are one value for Spark's analyser; Arrow's IN and CASE take more nodes.
WEAKER = frozenset(
    {
        *("(i, ti) IN ((3005, -8))", "i = 1 AND i IN (2, 3)"),
        "CASE i WHEN 3005 THEN 'a' WHEN 3006 THEN 'b' END = 'b'",
        "NOT (CASE WHEN n > 0 THEN i > 0 ELSE i > 20000 END)",
    }
)
#: So many DataFrames are read by one job, of so many tasks.
AT_ONCE, TASKS = 20, 2

TABLES = [
    *((COW, 6, HIVE), (COW, 8, LEVELS), (COW, 9, NONE)),
    *((MOR, 6, SPECIAL), (MOR, 8, PLAIN), (MOR, 9, NONE)),
]
SOME = [(COW, 9, NONE, TABLE[5::80]), (MOR, 6, NONE, TABLE[::80])]
FILES = [long(*table, TABLE) for table in TABLES]
#: Whose earlier, changed and unmerged rows are read for a sixth of the predicates each.
SIXTHS = [long(*table, TABLE[n :: len(TABLES)]) for n, table in enumerate(TABLES)]


@dataclass(frozen=True)
class Matches:
    """The rows for which Spark says TRUE, by id and a hash of their columns, and where they are."""

    rows: list[tuple[int, int]]
    groups: set[Group]


#: Of all columns but maps, which Spark does not hash.
ID_AND_HASH = ("id", f"xxhash64({', '.join(name for name in SCHEMA.names if name != 'm')})")


def full_scan(frame: DataFrame, asked: Sequence[str]) -> dict[str, Matches]:
    """What each predicate matches, of all rows of a frame."""
    group = ("_hoodie_partition_path", f.split("_hoodie_file_name", "_")[0])
    truths = [f.expr(text).alias(f"t{n}") for n, text in enumerate(asked)]
    rows = frame.select(*map(f.expr, ID_AND_HASH), *group, *truths).collect()
    found = {}
    for n, text in enumerate(asked, start=4):
        true = [row for row in rows if row[n] is True]
        found[text] = Matches(
            sorted((row[0], row[1]) for row in true), {(row[2], row[3]) for row in true}
        )
    return found


def rows_of(frames: Sequence[DataFrame]) -> Iterator[list[tuple[int, int]]]:
    """Those of each frame, by id and hash, sorted."""
    for at in range(0, len(frames), AT_ONCE):
        some = [
            frame.selectExpr(str(n), *ID_AND_HASH)
            for n, frame in enumerate(frames[at : at + AT_ONCE])
        ]
        found: list[list[tuple[int, int]]] = [[] for _ in some]
        # A task begins by reading what Hudi knows of each frame's table: better a few of them.
        together = reduce(DataFrame.union, some).coalesce(TASKS)
        for n, id_, digest in together.collect():
            found[n].append((id_, digest))
        yield from map(sorted, found)


Requests = Callable[[str], Mapping[str, PruneRequest]]


@pytest.fixture(scope="module")
def requests(spark: SparkSession, matrices: Matrices) -> Requests:
    """What each front end makes of a text: they see a table's schema, which is that of all."""
    path = matrices.get(COW, 8, LEVELS).table.path
    frame, schema = read(spark, path), HudiTable.open(str(path)).schema()
    frame.createOrReplaceTempView("asked")

    @cache
    def requests(text: str) -> Mapping[str, PruneRequest]:
        tree = parse_predicate(text, SPARK)
        of_condition = predicate_of(frame, text)
        of_plan = filters_of(spark.sql(f"SELECT * FROM asked WHERE {text}"))
        found = {
            "SQL": PruneRequest(tree, zone="UTC"),
            "DataFrame": PruneRequest(of_condition.expression, zone=of_condition.zone),
            "Spark SQL": PruneRequest(of_plan.expression, zone=of_plan.zone),
        }
        with suppress(FilterNotApplicable):
            again = parse_arrow(row_filter(tree, schema, "UTC"), schema)
            if text not in NANS and not any(isinstance(node, Unknown) for node in walk(again)):
                found["pyarrow"] = PruneRequest(again, zone="UTC")  # else pyarrow has no form of it
        return found

    return requests


@pytest.fixture(scope="module")
def pruner() -> Pruner:
    return Pruner(PruneOptions(footer_wait=20))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("type_", "version", "partitioning", "asked"),
    [*SOME, *FILES],
)
def test_each_front_end_keeps_every_match_and_no_more_files_than_sql(
    spark: SparkSession,
    matrices: Matrices,
    pruner: Pruner,
    requests: Requests,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    asked: Sequence[str],
) -> None:
    """SQL's files are compared with Hudi's in `tests/prune/tables/test_matrix.py`."""
    path = matrices.get(type_, version, partitioning).table.path
    lost, more, by_arrow = [], {}, 0
    for text, matches in full_scan(read(spark, path), asked).items():
        kept = {}
        for front_end, request in requests(text).items():
            result = pruner.prune(str(path), request)
            kept[front_end] = int(result.keep.sum())
            if matches.groups - groups(result):
                lost.append((front_end, text))
        if max(kept.values()) > kept["SQL"] and text not in WEAKER:
            more[text] = kept
        by_arrow += "pyarrow" in kept
    assert (lost, more) == ([], {})
    assert by_arrow > len(asked) / 3


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("type_", "version", "partitioning", "asked"), [*SOME, *FILES])
def test_the_rows_are_those_of_a_full_scan(
    spark: SparkSession,
    matrices: Matrices,
    pruner: Pruner,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    asked: Sequence[str],
) -> None:
    table = matrices.get(type_, version, partitioning).table.path
    expected = full_scan(read(spark, table), asked)
    compare(spark, table, pruner, expected)
    compare_scans(table, pruner, expected)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("type_", "version", "partitioning", "asked"), [*SOME, *SIXTHS])
def test_earlier_changed_and_unmerged_rows_are_those_of_a_full_scan(
    spark: SparkSession,
    matrices: Matrices,
    pruner: Pruner,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    asked: Sequence[str],
) -> None:
    table = matrices.get(type_, version, partitioning).table.path
    first, updates, _ = (write.requested for write in HudiTable.open(str(table)).timeline.writes)
    then = full_scan(read(spark, table, as__of__instant=updates), asked)
    compare(spark, table, pruner, then, as_of=updates)
    compare_scans(table, pruner, then, as_of=updates)
    changed = full_scan(read(spark, table).where(f"_hoodie_commit_time > '{first}'"), asked)
    compare(spark, table, pruner, changed, since=first)
    if type_ is MOR:
        bases = read(spark, table, hoodie__datasource__query__type="read_optimized")
        unmerged, view = full_scan(bases, asked), TableView.READ_OPTIMIZED
        compare(spark, table, pruner, unmerged, view=view)
        compare_scans(table, pruner, unmerged, view=view)


def compare(
    spark: SparkSession,
    table: Path,
    pruner: Pruner,
    expected: Mapping[str, Matches],
    **options: Any,
) -> None:
    """Fails unless `pruned` has exactly the expected rows of each predicate."""
    frames = [pruned(spark, str(table), text, pruner=pruner, **options) for text in expected]
    right = (matches.rows for matches in expected.values())
    found = zip(expected, right, rows_of(frames), strict=True)
    assert [text for text, matches, rows in found if rows != matches] == [], options


def compare_scans(
    table: Path, pruner: Pruner, expected: Mapping[str, Matches], **options: Any
) -> None:
    """The same for pyarrow, of what it can filter rows by."""
    schema, scanned, wrong = HudiTable.open(str(table)).schema(), 0, []
    for text, matches in expected.items():
        try:
            condition = row_filter(parse_predicate(text, SPARK), schema, "UTC")
        except FilterNotApplicable:
            continue
        scanned += 1
        found = scan(str(table), condition, ["id"], pruner=pruner, **options).to_table()
        ids = sorted(found["id"].to_pylist())
        if text not in NANS and ids != [row[0] for row in matches.rows]:
            wrong.append(text)
    assert wrong == [], options
    assert scanned > len(expected) / 3
