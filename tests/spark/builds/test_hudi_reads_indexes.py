"""Apache Hudi reads and maintains the indexes that are built here.

Rows are compared with Hudi's reader without skipping, and numbers of file slices with those of an
identical table whose indexes Hudi built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable

pytestmark = [pytest.mark.spark, pytest.mark.long]

_ROWS, _FILES = 4_000, 8
_LOCK = "hoodie.write.lock.provider"
_IN_PROCESS = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
_SKIPPING = {
    "hoodie.enable.data.skipping": "true",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}
_NOT_SKIPPING = {"hoodie.enable.data.skipping": "false", "hoodie.metadata.enable": "false"}

STATEMENTS = {
    # More file groups than Hudi would make, as a large table gets.
    "city": "CREATE INDEX city ON '{path}' USING secondary_index(city) OPTIONS (shards = '13')",
    "ranges": "CREATE INDEX ranges ON '{path}' USING column_stats(ts, city, d, day)",
    "blooms": "CREATE INDEX blooms ON '{path}' USING bloom_filters",
    "keys": "CREATE INDEX keys ON '{path}' USING record_index",
}
PREDICATES = (
    "id = '1234'",
    "id IN ('77', '1500', '3999', 'none')",
    "city = 'c7'",
    "city IN ('c3', 'c9', 'new')",
    "ts = 77",
    "ts BETWEEN 900 AND 1100 AND p = 'p1'",
    "d < 15",
    "day = DATE'1970-01-08'",
    "city IS NULL AND ts < 30",
    "p = 'p0' AND ts >= 3990",
)
MAINTAINED = ("id = '1234'", "city IN ('c3', 'c9', 'new')", "ts BETWEEN 900 AND 1100 AND p = 'p1'")


@dataclass(frozen=True)
class Layout:
    """A kind of table, and the indexes that Hudi supports for it."""

    version: int
    type: TableType
    indexes: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"v{self.version}-{self.type.name.lower()}"


LAYOUTS = [
    Layout(9, TableType.COW, ("city", "ranges", "blooms")),
    Layout(8, TableType.MOR, ("city", "ranges", "blooms")),
    Layout(6, TableType.COW, ("keys", "ranges", "blooms")),
]


def rows(spark: SparkSession, *bounds: int, city: str | None = None) -> DataFrame:
    cities = "if(id % 11 = 0, null, concat('c', int(id / 100)))" if city is None else f"'{city}'"
    return spark.range(*bounds).selectExpr(
        "cast(id AS string) AS id",
        "id AS ts",
        "concat('p', id % 2) AS p",
        f"{cities} AS city",
        "id * 1.5D AS d",
        "date_add(DATE'1970-01-01', int(id / 500)) AS day",
    )


@pytest.fixture(params=LAYOUTS, ids=lambda layout: layout.name)
def layout(request: pytest.FixtureRequest) -> Layout:
    return request.param


def plain(
    spark: SparkSession,
    layout: Layout,
    name: str,
    root: Path,
    stats_columns: tuple[str, ...] | None = None,
) -> HudiTable:
    """The rows, in a table with a list of its files and at most statistics as indexes."""
    spec = TableSpec(
        f"{name}-{layout.name}",
        layout.type,
        layout.version,
        ordering="ts",
        partitions=("p",),
        stats_columns=stats_columns,
    )
    return create(rows(spark, 0, _ROWS, 1, _FILES), spec, root)


def test_hudi_reads_and_maintains_our_indexes(
    spark: SparkSession, table_root: Path, layout: Layout
) -> None:
    table = plain(spark, layout, "ours", table_root)
    path = str(table.path)
    unindexed = {text: slices(spark, table, text) for text in PREDICATES}
    for name in layout.indexes:
        execute(spark, STATEMENTS[name].format(path=path))
    assert {s.name for s in statuses_of(path)} == {*layout.indexes} | (
        {"record_index"} if "city" in layout.indexes else set()
    )
    assert {s.state for s in statuses_of(path)} == {State.ACTIVE}

    assert_same_rows(spark, table, PREDICATES)
    indexed = {text: slices(spark, table, text) for text in PREDICATES}
    assert all(indexed[text] <= unindexed[text] for text in PREDICATES)
    assert indexed["id = '1234'"] == 1
    assert indexed["ts = 77"] < unindexed["ts = 77"]
    if "city" in layout.indexes:
        assert indexed["city = 'c7'"] == 2

    assert_maintained_by_hudi(spark, table)
    assert {s.state for s in statuses_of(path)} == {State.ACTIVE}, statuses_of(path)

    for name in reversed(layout.indexes):
        execute(spark, f"DROP INDEX {name} ON '{path}'")
    assert [s.name for s in statuses_of(path)] in ([], ["record_index"])
    assert_same_rows(spark, table)


def assert_maintained_by_hudi(spark: SparkSession, table: HudiTable) -> None:
    """Hudi upserts, deletes, compacts, clusters and cleans; nothing is lost, and its file
    statistics stay right.
    """
    kept = with_options(table, writer_options(str(table.path)))
    upsert(kept, rows(spark, 0, _ROWS + 300, 100, 1, city="new"))
    assert_same_rows(spark, table)
    delete(kept, rows(spark, 0, _ROWS, 50, 1))
    assert_same_rows(spark, table)
    upsert(
        with_options(kept, {"hoodie.metadata.compact.max.delta.commits": "1"}),
        rows(spark, _ROWS + 1_000, _ROWS + 1_010, 1, 1, city="c7"),
    )
    assert_same_rows(spark, table)
    cluster = {
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.inline.max.commits": "1",
        "hoodie.clustering.plan.strategy.sort.columns": "ts",
        "hoodie.clean.automatic": "true",
        "hoodie.clean.commits.retained": "1",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
    }
    if table.spec.type is TableType.MOR:
        cluster = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    upsert(with_options(kept, cluster), rows(spark, 500, 510, 1, 1, city="c9"))
    assert_same_rows(spark, table)
    (ranges,) = [one for one in statuses_of(str(table.path)) if one.name == "ranges"]
    of_files = verify(spark, OpenedTable.open(str(table.path)), ranges)[0]
    assert (of_files.partition, of_files.is_right) == ("column_stats", True), of_files


def test_hudi_prunes_as_with_its_own_indexes(spark: SparkSession, table_root: Path) -> None:
    layout = LAYOUTS[0]
    ours = plain(spark, layout, "one", table_root)
    for name in ("city", "ranges"):
        execute(spark, STATEMENTS[name].format(path=ours.path))
    # Hudi 1.2 builds an empty secondary index where it builds statistics after the table.
    theirs = plain(spark, layout, "twin", table_root, ("ts", "city", "d", "day"))
    with session_settings(spark, {_LOCK: _IN_PROCESS}):
        spark.sql(f"CREATE TABLE twin USING hudi LOCATION '{theirs.path}'")
        spark.sql("CREATE INDEX record_index ON twin (id)")
        spark.sql("CREATE INDEX city ON twin (city)")
        spark.sql("DROP TABLE twin")
    for text in PREDICATES:
        assert slices(spark, ours, text) <= slices(spark, theirs, text), text

    execute(
        spark, f"CREATE INDEX up ON '{ours.path}' USING bloom_filters(id) OPTIONS (expr = 'upper')"
    )
    predicate = "upper(id) = '1234'"
    assert slices(spark, ours, predicate) == 1
    assert_same_rows(spark, ours, [predicate])


def test_an_index_deleted_by_an_unconfigured_writer_can_be_rebuilt(
    spark: SparkSession, table_root: Path
) -> None:
    table = plain(spark, LAYOUTS[0], "deleted", table_root)
    path = str(table.path)
    execute(spark, STATEMENTS["ranges"].format(path=path))
    upsert(table, rows(spark, 0, 10, 1, 1, city="new"))  # column_stats is disabled there
    (status,) = statuses_of(path)
    newest = OpenedTable.open(path).instant
    assert status.state is State.DROPPED
    assert newest is not None
    assert newest in status.note
    assert_same_rows(spark, table)

    execute(spark, f"REFRESH INDEX ranges ON '{path}'")
    (status,) = statuses_of(path)
    assert status.state is State.ACTIVE
    assert all(one.is_right for one in verify(spark, OpenedTable.open(path), status))
    assert_same_rows(spark, table)
    assert slices(spark, table, "ts = 77") < slices(spark, table, "d >= 0")
    assert execute(spark, f"REFRESH INDEX ranges ON '{path}'") is None


def test_an_index_removed_by_a_restore_can_be_rebuilt(
    spark: SparkSession, table_root: Path
) -> None:
    table = plain(spark, LAYOUTS[0], "restored", table_root)
    path, point = str(table.path), OpenedTable.open(str(table.path)).instant
    spark.sql(f"call create_savepoint(path => '{path}', commit_time => '{point}')")
    for name in ("city", "ranges"):
        execute(spark, STATEMENTS[name].format(path=path))
    kept = with_options(table, writer_options(path))
    upsert(kept, rows(spark, 0, _ROWS, 100, 1, city="new"))
    assert_same_rows(spark, table)
    spark.sql(f"call rollback_to_savepoint(path => '{path}', instant_time => '{point}')")
    assert_same_rows(spark, table)
    for status in statuses_of(path):
        if status.state is not State.ACTIVE:
            assert "restore" in status.note
        execute(spark, f"REFRESH INDEX {status.name} ON '{path}'")
    for status in statuses_of(path):
        assert status.state is State.ACTIVE
        assert all(one.is_right for one in verify(spark, OpenedTable.open(path), status))
    assert_same_rows(spark, table)
    assert slices(spark, table, "city = 'c7'") == 2
    upsert(kept, rows(spark, 0, _ROWS, 100, 1, city="new"))
    assert_same_rows(spark, table)


def assert_same_rows(
    spark: SparkSession, table: HudiTable, predicates: Sequence[str] = MAINTAINED
) -> None:
    """Hudi with all its skipping returns the same rows as without, and so do we."""
    truths = [f"coalesce({text}, false) AS t{n}" for n, text in enumerate(predicates)]
    file = "concat(_hoodie_partition_path, '/', _hoodie_file_name) AS file"
    every = read(spark, table, _NOT_SKIPPING).selectExpr("id", file, *truths).collect()
    for n, text in enumerate(predicates):
        expected = [row for row in every if row[f"t{n}"]]
        assert ids(read(spark, table, _SKIPPING).where(text)) == sorted(r.id for r in expected), (
            text
        )
        result = Pruner().prune(str(table.path), PruneRequest(parse_predicate(text)))
        assert groups(row.file for row in expected) <= groups(result.kept_paths()), text


def groups(files: Iterable[str]) -> set[str]:
    """The file groups of base and log files."""
    return {file.split("_")[0].replace("/.", "/") for file in files}


def slices(spark: SparkSession, table: HudiTable, text: str) -> int:
    """The number of file slices that Hudi reads."""
    frame = read(spark, table, _SKIPPING).where(text)
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    if scan.nodeName() == "LocalTableScan":
        return 0
    return sum(partition.files().size() for partition in scan.selectedPartitions())


def read(spark: SparkSession, table: HudiTable, options: Mapping[str, str]) -> DataFrame:
    return spark.read.format("hudi").options(**options).load(str(table.path))


def ids(frame: DataFrame) -> list[str]:
    return sorted(row.id for row in frame.select("id").collect())


def statuses_of(path: str) -> list:
    return index_statuses(OpenedTable.open(path))


def with_options(table: HudiTable, options: Mapping[str, str]) -> HudiTable:
    # A writer without a timeline server fails for tables of version 9 with a secondary index.
    extra = {**table.spec.extra, "hoodie.embed.timeline.server": "true", **options}
    return replace(table, spec=replace(table.spec, extra=extra))
