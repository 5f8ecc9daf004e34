"""Indexes of the extension, on tables that Hudi keeps changing.

After each change queries run twice: before the refresh, when the changes are not covered, and after
it. No row may ever be lost, and the refresh has to restore the pruning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.manage.dropping import extension_drop
from pyhudi_expr.manage.indexing.build_options import BuildOptions, BuildResult
from pyhudi_expr.manage.indexing.index_plan import plan_index
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.spark.builds.extension_indexes import (
    extension_build,
    extension_compact,
    extension_refresh,
)
from pyhudi_expr.spark.jobs import batch_runner
from pyhudi_expr.tables import hudi_table
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR
from tests.index.prune.matching_slices import INDEXES_ALONE, read

pytestmark = pytest.mark.spark

_OPTIONS = BuildOptions()
_FILES = 8
_VIRTUAL = {"hoodie.populate.meta.fields": "false", "hoodie.index.type": "SIMPLE"}
_CLUSTERED = {
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.small.file.limit": "1",
}
_CLEANED = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"}
_SPECS = {
    "virtual": TableSpec(
        "virtual_keys", key=("id", "k"), partitions=("p",), stats_columns=None, extra=_VIRTUAL
    ),
    "merged": TableSpec(
        "merged_keys",
        TableType.MOR,
        key=("id", "k"),
        ordering="o",
        partitions=("p",),
        stats_columns=None,
    ),
}
_PREDICATES = (
    *("city = 'c3'", "city = 'late'", "city IN ('c1', 'c2')", "city IS NULL", "city = 'nowhere'"),
    *("price = 1.33", "price = 77.77", "price IN (0.00, 25.67)", "flag = true AND city = 'c5'"),
    *("id = 5 AND k = 5", "id = 5 AND k = 6", "id = 61 AND k = 5", "city = 'c3' OR price = 1.33"),
    "NOT (city = 'c3')",
)


def rows(spark: SparkSession, where: str, city: str, price: str, o: int) -> DataFrame:
    """Ids from 0 to 79, ten in a file. Files are larger than their indexes."""
    filler = "concat_ws('', transform(sequence(1, 1000), x -> md5(cast(id * 1000 + x as string))))"
    return spark.sql(
        f"select id, cast(id % 7 as int) as k, {city} as city, "
        f"cast({price} as decimal(10,2)) as price, id % 2 = 0 as flag, {o} as o, "
        f"{filler} as filler, "
        f"'p' || (id div 40) as p from range(0, 80, 1, {_FILES}) where {where}"
    )


def first(spark: SparkSession, where: str = "true") -> DataFrame:
    return rows(spark, where, "if(id % 20 = 7, null, 'c' || id div 4)", "id / 3", 1)


def later(spark: SparkSession, where: str, o: int = 2) -> DataFrame:
    return rows(spark, where, "'late'", "77.77", o)


def inserted(spark: SparkSession) -> DataFrame:
    return later(spark, "id < 2").withColumn("id", f.expr("id + 100"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "local_bytes"), [("virtual", batch_runner.LOCAL_BYTES), ("merged", -1)]
)
def test_no_row_is_lost_by_any_change(
    spark: SparkSession,
    table_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    local_bytes: int,
) -> None:
    monkeypatch.setattr(batch_runner, "LOCAL_BYTES", local_bytes)
    table = create(first(spark), _SPECS[name], table_root)
    for column in ("city", "price", "flag"):
        build(spark, table, f"by_{column}", column)
    assert_no_row_is_lost(spark, table)
    assert kept(table, "city = 'c3'") == 1
    assert kept(table, "price = 1.33") == 1
    assert kept(table, "id = 5 AND k = 5") == 1
    assert kept(table, "city = 'nowhere'") == 0

    changes: Sequence[tuple[str, Callable[[], None]]] = (
        ("update", lambda: upsert(table, later(spark, "id in (12, 13, 61)"))),
        (
            "insert",
            lambda: upsert(table, later(spark, "id < 2").withColumn("id", f.expr("id + 100"))),
        ),
        ("delete", lambda: delete(table, first(spark, "id in (3, 33, 63)"))),
        ("update again", lambda: upsert(table, first(spark, "id = 12").withColumn("o", f.lit(3)))),
        (
            "overwrite",
            lambda: replace_partitions(table, "insert_overwrite", later(spark, "id >= 40")),
        ),
        ("rollback", lambda: roll_back(spark, table)),
        ("cluster", lambda: upsert(with_options(table, _CLUSTERED), later(spark, "id = 70", 4))),
        ("clean", lambda: upsert(with_options(table, _CLEANED), later(spark, "id = 71", 5))),
        (
            "delete partition",
            lambda: replace_partitions(table, "delete_partition", first(spark, "id = 77")),
        ),
    )
    for step, change in changes:
        change()
        assert_no_row_is_lost(spark, table)
        lagging = {s.state for s in index_statuses(opened(table)) if s.name.startswith("by_")}
        assert lagging == {State.LAGGING}, step
        stale = kept(table, "city = 'nowhere'")
        # Hudi's rollback may build column_stats, which the next writer deletes; and if files are
        # only deleted, the others stay covered.
        assert stale > 0 or step in ("rollback", "delete partition"), step
        assert refresh(spark, table) is not None, step
        assert_no_row_is_lost(spark, table)
        assert kept(table, "city = 'nowhere'") == 0, step
        assert refresh(spark, table) is None, step
    extension_compact(spark, opened(table), _OPTIONS)
    assert_no_row_is_lost(spark, table)
    assert kept(table, "city = 'nowhere'") == 0
    extension_drop(opened(table), ["secondary_index_by_flag"], TableLock(opened(table).storage))
    assert kept(table, "city = 'c5'") == 1


def test_a_rolled_back_commit_costs_only_pruning(spark: SparkSession, table_root: Path) -> None:
    spec = TableSpec("restored_keys", key=("id", "k"), partitions=("p",), stats_columns=None)
    table = create(first(spark), spec, table_root)
    point = opened(table).instant
    upsert(table, later(spark, "id in (12, 13, 61)"))
    build(spark, table, "by_city", "city")
    assert kept(table, "city = 'late'") == 2
    spark.sql(f"call create_savepoint(path => '{table.path}', commit_time => '{point}')")
    spark.sql(f"call rollback_to_savepoint(path => '{table.path}', instant_time => '{point}')")
    assert_no_row_is_lost(spark, table)
    assert kept(table, "city = 'c3'") >= 1
    refresh(spark, table)
    assert_no_row_is_lost(spark, table)
    assert kept(table, "city = 'late'") == 0
    assert kept(table, "city = 'c3'") == 1


@pytest.mark.smoke
def test_older_instants_and_other_views_are_pruned_by_their_own_slices(
    spark: SparkSession, table_root: Path
) -> None:
    spec = TableSpec("viewed_keys", TableType.MOR, ordering="o", stats_columns=None)
    table = create(first(spark), spec, table_root)
    before = opened(table).instant
    build(spark, table, "by_city", "city")
    delete(table, first(spark, "id in (12, 13)"))
    refresh(spark, table)
    assert kept(table, "city = 'c3'") == 1
    assert kept(table, "city = 'c3'", TableView.READ_OPTIMIZED) == 1
    assert kept(table, "city = 'c3'", TableView.SNAPSHOT, before) >= 1


def replace_partitions(table: HudiTable, operation: str, frame: DataFrame) -> None:
    """A write by Hudi that replaces the partitions of the frame."""
    options = {**table.spec.options(), "hoodie.datasource.write.operation": operation}
    frame.write.format("hudi").options(**options).mode("append").save(table.uri)


def roll_back(spark: SparkSession, table: HudiTable) -> None:
    """Rolls the newest commit back."""
    spark.sql(f"CREATE TABLE rolled_back USING hudi LOCATION '{table.path}'")
    try:
        newest = opened(table).instant
        done = spark.sql(
            f"call rollback_to_instant(table => 'rolled_back', instant_time => '{newest}')"
        )
        assert done.collect()[0][0] is True
    finally:
        spark.sql("DROP TABLE rolled_back")


def assert_no_row_is_lost(spark: SparkSession, table: HudiTable) -> None:
    """Rows with and without pruning are equal: each matching row is in a kept file."""
    truths = [f.max(f.expr(f"coalesce({text}, false)")).alias(text) for text in _PREDICATES]
    rows_of = read(spark, table.path).groupBy(f.input_file_name().alias("file")).agg(*truths)
    files = {row["file"].rpartition("/")[2].split("_")[0]: row for row in rows_of.collect()}
    pruner = Pruner(INDEXES_ALONE)
    for text in _PREDICATES:
        result = pruner.prune(
            str(table.path), PruneRequest(parse_predicate(text), semantics=here("UTC"))
        )
        ids = [str(file_id) for file_id in result.listing.slice_file_id.to_pylist()]
        assert files.keys() <= set(ids)
        dropped = {file_id for file_id, keep in zip(ids, result.keep, strict=True) if not keep}
        lost = {file_id for file_id in dropped & files.keys() if files[file_id][text]}
        assert not lost, f"{text}: {result.explain().text()}"


def kept(
    table: HudiTable,
    text: str,
    view: TableView = TableView.SNAPSHOT,
    as_of: str | None = None,
) -> int:
    request = PruneRequest(parse_predicate(text), view=view, semantics=here("UTC"), as_of=as_of)
    return int(Pruner(INDEXES_ALONE).prune(str(table.path), request).keep.sum())


def build(spark: SparkSession, table: HudiTable, name: str, column: str) -> BuildResult:
    options: Mapping[str, str] = {"store": "extension", "shards": "1"}
    request = CreateIndex(name, str(table.path), "secondary_index", (column,), options)
    planned = plan_index(opened(table), request)
    built = extension_build(spark, opened(table), planned, _OPTIONS)
    assert (table.path / EXTENSION_DIR).is_dir()
    return built


def refresh(spark: SparkSession, table: HudiTable) -> BuildResult | None:
    return extension_refresh(spark, opened(table), "by_city", _OPTIONS)


def opened(table: HudiTable) -> hudi_table.HudiTable:
    return hudi_table.HudiTable.open(str(table.path))


def with_options(table: HudiTable, options: Mapping[str, str]) -> HudiTable:
    """The table, for a writer with more options."""
    spec = table.spec
    more = TableSpec(**{**vars(spec), "extra": {**spec.extra, **options}})
    return HudiTable(more, table.uri, table.schema)
