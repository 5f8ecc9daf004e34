"""PySpark conditions as predicates, and DataFrames that read only the kept files."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from devtools.matrix import FILES, ROWS, Matrices
from devtools.spark import session_settings
from devtools.tables import TableType
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.nodes import ALWAYS, NEVER, Unknown, walk
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.spark.query.dataframes import prune_table, pruned
from pyhudi_expr.spark.query.predicates import filters_of, predicate_of
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from tests.index.prune import predicates
from tests.index.prune.matching_slices import groups, groups_with_matches, read
from tests.marks import long

pytestmark = pytest.mark.spark

COW, MOR = TableType.COW, TableType.MOR
#: Spark's analyser folds rows of constants into one value.
WEAKER = frozenset({"(i, ti) IN ((3005, -8))"})
#: Hudi 1.2's own skipping loses rows for the first four.
READ = (
    *("s LIKE 'name_01%'", "d = CAST('NaN' AS double)", "NOT (d < 30)", "bin = X'0305FA'"),
    *("i = 504001 OR n = 12", "st.c.e >= DATE '2100-01-01'"),
)
#: Spark 3.5 loses NaN in cached frames, by its own statistics.
NO_STATISTICS = {"spark.sql.inMemoryColumnarStorage.partitionPruning": "false"}


@pytest.fixture(scope="module")
def pruner() -> Pruner:
    return Pruner(PruneOptions(footer_wait=20))


@pytest.fixture(scope="module")
def rows(spark: SparkSession, matrices: Matrices) -> Callable[..., DataFrame]:
    """A matrix table as Hudi reads it completely."""

    def rows(type_: TableType, version: int = 9, **options: str) -> DataFrame:
        return read(spark, matrices.get(type_, version).table.path, **options)

    return rows


def same_rows(left: DataFrame, right: DataFrame) -> int:
    """The number of rows that both have; fails if one has others."""
    columns = [c for c in right.columns if not c.startswith("_hoodie") and c != "m"]
    keys = [sorted(map(repr, frame.select(columns).collect())) for frame in (left, right)]
    assert keys[0] == keys[1]
    return len(keys[0])


@pytest.mark.parametrize("every", [6, long(1)])
def test_conditions_keep_every_row_and_no_more_files_than_their_sql(
    matrices: Matrices, rows: Callable[..., DataFrame], pruner: Pruner, every: int
) -> None:
    path, frame = matrices.get(COW).table.path, rows(COW)
    conditions = (*predicates.ALL, *predicates.ONLY_SPARK)[::every]
    weaker = {}
    for text, right in groups_with_matches(frame, conditions).items():
        found = predicate_of(frame, text)
        assert found.semantics.zone == here("UTC").zone
        result = pruner.prune(str(path), PruneRequest(found.expression, semantics=found.semantics))
        assert right <= groups(result), text
        by_text = PruneRequest(parse_predicate(text, SPARK), semantics=here("UTC"))
        of_sql = pruner.prune(str(path), by_text)
        assert right <= groups(of_sql), text
        if result.keep.sum() > of_sql.keep.sum():
            weaker[text] = found.expression
    assert {text: why for text, why in weaker.items() if text not in WEAKER} == {}


@pytest.mark.smoke
def test_columns_and_filters_of_a_plan(rows: Callable[..., DataFrame]) -> None:
    frame = rows(COW)
    by_text = predicate_of(frame, "i > 5 AND s LIKE 'a%'")
    assert predicate_of(frame, (f.col("i") > 5) & f.col("s").startswith("a")) == by_text
    chosen = frame.where("i > 5").select("s", "i").where(f.col("s") == "x").limit(3)
    node_types = {type(node).__name__ for node in walk(filters_of(chosen).expression)}
    assert {"Comparison", "Column"} <= node_types
    assert filters_of(frame).expression == ALWAYS
    assert filters_of(frame.where("i = NULL")).expression == NEVER
    late = frame.limit(3).where("i > 5")  # of the three rows
    assert filters_of(late).expression == ALWAYS
    now = frame.where("ts > current_timestamp()")
    assert isinstance(filters_of(now).expression, Unknown)
    assert isinstance(filters_of(frame.join(frame, "id")).expression, Unknown)


@pytest.mark.parametrize(("type_", "version"), [(COW, 9), (MOR, 9), long(MOR, 6)])
def test_rows_equal_a_full_scan(
    spark: SparkSession,
    matrices: Matrices,
    rows: Callable[..., DataFrame],
    pruner: Pruner,
    type_: TableType,
    version: int,
) -> None:
    path, whole = matrices.get(type_, version).table.path, rows(type_, version).cache()
    with session_settings(spark, NO_STATISTICS):
        for text in READ[: 6 if type_ is COW else 3]:
            found = prune_table(spark, str(path), text, pruner=pruner)
            assert same_rows(found.frame, whole.where(text))
            assert found.result.files_kept < found.result.files_total
    dropped = found.result.files_total - found.result.files_kept
    plan_text = found.frame._jdf.queryExecution().analyzed().toString()
    assert f"{dropped} of {found.result.files_total} files dropped" in plan_text
    none = pruned(spark, str(path), "i = 3005 AND i = 3006", pruner=pruner)
    assert none.columns == whole.columns
    assert not none.count()
    whole.unpersist()


def test_views_and_instants(
    spark: SparkSession, matrices: Matrices, rows: Callable[..., DataFrame], pruner: Pruner
) -> None:
    path = str(matrices.get(MOR).table.path)
    first, updates, _ = (write.requested for write in HudiTable.open(path).timeline.writes)
    bases = rows(MOR, hoodie__datasource__query__type="read_optimized")
    unmerged = pruned(spark, path, "i > 20000", view=TableView.READ_OPTIMIZED, pruner=pruner)
    assert same_rows(unmerged, bases.where("i > 20000"))

    assert pruned(spark, path, "id >= 0", as_of=first, pruner=pruner).count() == FILES * ROWS
    then = pruned(spark, path, "s LIKE 'updated%'", as_of=updates, pruner=pruner)
    assert same_rows(then, rows(MOR, as__of__instant=updates).where("s LIKE 'updated%'"))

    changed = pruned(spark, path, "i > 0", since=first, pruner=pruner)
    assert {row[0] for row in changed.select("_hoodie_commit_time").distinct().collect()} == {
        updates
    }
    assert same_rows(changed, rows(MOR).where(f"i > 0 AND _hoodie_commit_time > '{first}'"))
