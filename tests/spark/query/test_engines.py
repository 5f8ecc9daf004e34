"""The correctness table through Spark's SQL, DataFrames, SQL texts and pyarrow.

The expected rows are those of one full scan of each table. Hive's part is in
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
from pyhudi_expr import scan
from pyhudi_expr.errors import FilterNotApplicable
from pyhudi_expr.expr.frontend.arrow.expressions import parse_arrow
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.nodes import Unknown, walk
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.rows.arrow_filter import arrow_filter
from pyhudi_expr.spark.query.dataframes import pruned
from pyhudi_expr.spark.query.predicates import filters_of, predicate_of
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from tests.index.prune import predicates
from tests.index.prune.matching_slices import Group, groups, read
from tests.marks import long

pytestmark = pytest.mark.spark

COW, MOR = TableType.COW, TableType.MOR
NONE, HIVE, LEVELS = Partitioning.NONE, Partitioning.HIVE, Partitioning.LEVELS
SPECIAL, PLAIN = Partitioning.SPECIAL, Partitioning.PLAIN

TABLE = tuple(dict.fromkeys((*predicates.ALL, *predicates.ONLY_SPARK)))
#: Spark treats NaN as the greatest value, pyarrow treats it as unordered.
NANS = frozenset({*predicates.ORDERED_NANS, "NOT isnan(d) AND d > 30"})
#: Spark's analyser folds rows of constants; Arrow's IN and CASE have more nodes.
WEAKER = frozenset(
    {
        *("(i, ti) IN ((3005, -8))", "i = 1 AND i IN (2, 3)"),
        "CASE i WHEN 3005 THEN 'a' WHEN 3006 THEN 'b' END = 'b'",
        "NOT (CASE WHEN n > 0 THEN i > 0 ELSE i > 20000 END)",
    }
)
#: The number of DataFrames in one job, and of its tasks.
AT_ONCE, TASKS = 20, 2

TABLES = [
    *((COW, 6, HIVE), (COW, 8, LEVELS), (COW, 9, NONE)),
    *((MOR, 6, SPECIAL), (MOR, 8, PLAIN), (MOR, 9, NONE)),
]
SOME = [(COW, 9, NONE, TABLE[5::80]), (MOR, 6, NONE, TABLE[::80])]
FILES = [long(*table, TABLE) for table in TABLES]
#: For a sixth of the predicates each, earlier, changed and unmerged rows are read.
SIXTHS = [long(*table, TABLE[n :: len(TABLES)]) for n, table in enumerate(TABLES)]


@dataclass(frozen=True)
class Matches:
    """The rows for which Spark returns TRUE, by id and a hash of their columns, and their files."""

    rows: list[tuple[int, int]]
    groups: set[Group]


#: Of all columns except maps, which Spark does not hash.
ID_AND_HASH = ("id", f"xxhash64({', '.join(name for name in SCHEMA.names if name != 'm')})")


def full_scan(frame: DataFrame, texts: Sequence[str]) -> dict[str, Matches]:
    """The matches of each predicate among all rows of a frame."""
    group = ("_hoodie_partition_path", f.split("_hoodie_file_name", "_")[0])
    truths = [f.expr(text).alias(f"t{n}") for n, text in enumerate(texts)]
    rows = frame.select(*map(f.expr, ID_AND_HASH), *group, *truths).collect()
    found = {}
    for n, text in enumerate(texts, start=4):
        true = [row for row in rows if row[n] is True]
        found[text] = Matches(
            sorted((row[0], row[1]) for row in true), {(row[2], row[3]) for row in true}
        )
    return found


def rows_of(frames: Sequence[DataFrame]) -> Iterator[list[tuple[int, int]]]:
    """The rows of each frame, by id and hash, sorted."""
    for at in range(0, len(frames), AT_ONCE):
        some = [
            frame.selectExpr(str(n), *ID_AND_HASH)
            for n, frame in enumerate(frames[at : at + AT_ONCE])
        ]
        found: list[list[tuple[int, int]]] = [[] for _ in some]
        # A task starts by reading Hudi's metadata of each frame's table, so there are only a few.
        together = reduce(DataFrame.union, some).coalesce(TASKS)
        for n, id_, digest in together.collect():
            found[n].append((id_, digest))
        yield from map(sorted, found)


Requests = Callable[[str], Mapping[str, PruneRequest]]


@pytest.fixture(scope="module")
def requests(spark: SparkSession, matrices: Matrices) -> Requests:
    """The requests of each front end for a text. They depend only on the schema of all tables."""
    path = matrices.get(COW, 8, LEVELS).table.path
    frame, schema = read(spark, path), HudiTable.open(str(path)).schema()
    frame.createOrReplaceTempView("asked")

    @cache
    def requests(text: str) -> Mapping[str, PruneRequest]:
        tree = parse_predicate(text, SPARK)
        of_condition = predicate_of(frame, text)
        of_plan = filters_of(spark.sql(f"SELECT * FROM asked WHERE {text}"))
        found = {
            "SQL": PruneRequest(tree, semantics=here("UTC")),
            "DataFrame": PruneRequest(of_condition.expression, semantics=of_condition.semantics),
            "Spark SQL": PruneRequest(of_plan.expression, semantics=of_plan.semantics),
        }
        with suppress(FilterNotApplicable):
            again = parse_arrow(arrow_filter(tree, schema, "UTC"), schema)
            if text not in NANS and not any(isinstance(node, Unknown) for node in walk(again)):
                # Otherwise pyarrow cannot express it.
                found["pyarrow"] = PruneRequest(again, semantics=here("UTC"))
        return found

    return requests


@pytest.fixture(scope="module")
def pruner() -> Pruner:
    return Pruner(PruneOptions(footer_wait=20))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("type_", "version", "partitioning", "texts"),
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
    texts: Sequence[str],
) -> None:
    """`tests/index/prune/tables/test_matrix.py` compares SQL's files with Hudi's."""
    path = matrices.get(type_, version, partitioning).table.path
    lost, more, by_arrow = [], {}, 0
    for text, matches in full_scan(read(spark, path), texts).items():
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
    assert by_arrow > len(texts) / 3


@pytest.mark.smoke("MERGE_ON_READ")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("type_", "version", "partitioning", "texts"), [*SOME, *FILES])
def test_rows_equal_a_full_scan(
    spark: SparkSession,
    matrices: Matrices,
    pruner: Pruner,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    texts: Sequence[str],
) -> None:
    table = matrices.get(type_, version, partitioning).table.path
    expected = full_scan(read(spark, table), texts)
    compare(spark, table, pruner, expected)
    compare_scans(table, pruner, expected)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("type_", "version", "partitioning", "texts"), [*SOME, *SIXTHS])
def test_earlier_changed_and_unmerged_rows_equal_a_full_scan(
    spark: SparkSession,
    matrices: Matrices,
    pruner: Pruner,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    texts: Sequence[str],
) -> None:
    table = matrices.get(type_, version, partitioning).table.path
    first, updates, _ = (write.requested for write in HudiTable.open(str(table)).timeline.writes)
    then = full_scan(read(spark, table, as__of__instant=updates), texts)
    compare(spark, table, pruner, then, as_of=updates)
    compare_scans(table, pruner, then, as_of=updates)
    changed = full_scan(read(spark, table).where(f"_hoodie_commit_time > '{first}'"), texts)
    compare(spark, table, pruner, changed, since=first)
    if type_ is MOR:
        bases = read(spark, table, hoodie__datasource__query__type="read_optimized")
        unmerged, view = full_scan(bases, texts), TableView.READ_OPTIMIZED
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
    """The same for pyarrow, for predicates with which it can filter rows."""
    schema, scanned, wrong = HudiTable.open(str(table)).schema(), 0, []
    for text, matches in expected.items():
        try:
            condition = arrow_filter(parse_predicate(text, SPARK), schema, "UTC")
        except FilterNotApplicable:
            continue
        scanned += 1
        found = scan(str(table), condition, ["id"], pruner=pruner, **options).to_table()
        ids = sorted(found["id"].to_pylist())
        if text not in NANS and ids != [row[0] for row in matches.rows]:
            wrong.append(text)
    assert wrong == [], options
    assert scanned > len(expected) / 3
