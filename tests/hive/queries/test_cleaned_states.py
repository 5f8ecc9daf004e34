"""States and changes whose files the cleaner has deleted, or whose commits are archived: errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from pyhudi_expr.manage.hive.session import QueryError
from pyhudi_expr.tables.hudi_table import HudiTable as OpenTable
from pyhudi_expr.tables.timeline import Instant
from tests.hive.history_tables import spark_rows
from tests.hive.query_results import FETCH, TEZ, Hive, Rows

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

CLEANING = {"hoodie.clean.automatic": "true"}
BY_VERSIONS = {
    **CLEANING,
    "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS",
    "hoodie.clean.fileversions.retained": "1",
}
BY_COMMITS = {**CLEANING, "hoodie.clean.commits.retained": "1"}
ARCHIVING = {
    **BY_COMMITS,
    "hoodie.archive.automatic": "true",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.archive.merge.files.batch.size": "1",
}
UTC = {"hoodie.table.timeline.timezone": "UTC"}


def some(spark: SparkSession, ids: range, value: int, files: int = 1) -> DataFrame:
    return spark.range(ids.start, ids.stop, 1, files).selectExpr("id", f"{value} AS v")


def written(
    spark: SparkSession,
    parent: Path,
    name: str,
    type_: TableType,
    version: int,
    extra: Mapping[str, str],
    updates: int,
) -> tuple[HudiTable, list[str]]:
    """A table of two files whose rows are updated, now of the one file and now of the other.

    Returns it with the requested times of its commits, archived ones included.
    """
    spec = TableSpec(f"{name}_{type_.name.lower()}_{version}", type_, version, extra=extra | UTC)
    table = create(some(spark, range(20), 0, 2), spec, parent)
    commits: list[Instant] = []
    for update in range(1, updates + 1):
        commits += OpenTable.open(str(table.path)).timeline.writes[-1:]
        first = 10 * (update % 2)
        upsert(table, some(spark, range(first, first + 10), update))
    commits += OpenTable.open(str(table.path)).timeline.writes[-1:]
    return table, [commit.requested for commit in commits]


TABLES = [(TableType.COW, 9), (TableType.COW, 6), (TableType.COW, 8)]


def in_spark(spark: SparkSession, table: HudiTable, instant: str) -> Rows | None:
    """The rows that Hudi's Spark reader finds as of an instant; None if it refuses."""
    try:
        return spark_rows(spark, table, "id, v", {"as.of.instant": instant})
    except (Py4JJavaError, PySparkException):
        return None


@pytest.mark.parametrize(("type_", "version"), TABLES)
@pytest.mark.parametrize("policy", ["versions", "commits"])
def test_a_state_without_all_of_its_files_is_an_error(
    hive: Hive, spark: SparkSession, table_root: Path, type_: TableType, version: int, policy: str
) -> None:
    """If files are cleaned by their versions, Spark returns fewer rows."""
    extra = BY_VERSIONS if policy == "versions" else BY_COMMITS
    table, commits = written(spark, table_root, f"cleaned_{policy}", type_, version, extra, 4)
    name = hive.register(table)
    truths = {commit: in_spark(spark, table, commit) for commit in commits}
    if policy == "versions":
        assert [len(truths[commit] or ()) for commit in commits] == [0, 0, 0, 10, 20]
        truths = dict.fromkeys(commits[:-1]) | {commits[-1]: truths[commits[-1]]}
    assert truths[commits[-1]]
    assert None in truths.values()
    for commit, expected in truths.items():
        query = f"SELECT id, v FROM {name} FOR SYSTEM_VERSION AS OF {commit}"
        for engine, pruning in ((FETCH, True), (FETCH, False), (TEZ, True)):
            if expected is None:
                with pytest.raises(QueryError, match=r"cleane[rd]|Cleaner cleaned"):
                    hive.query(query, engine, pruning=pruning)
            else:
                assert hive.query(query, engine, pruning=pruning).rows == expected


@pytest.mark.parametrize(("type_", "version"), TABLES)
def test_archived_commits_are_errors(
    hive: Hive, spark: SparkSession, table_root: Path, type_: TableType, version: int
) -> None:
    table, commits = written(spark, table_root, "archived", type_, version, ARCHIVING, 8)
    name = hive.register(table)
    timeline = OpenTable.open(str(table.path)).timeline
    start = timeline.start
    assert start is not None
    assert start > commits[2]
    old = f"SELECT id, v FROM {name} FOR SYSTEM_VERSION AS OF {commits[1]}"
    consumed = {f"hoodie.{name}.consume.mode": "INCREMENTAL"}
    from_start = {**consumed, f"hoodie.{name}.consume.start.timestamp": "000"}
    for engine in (FETCH, TEZ):
        with pytest.raises(QueryError, match=f"its active timeline begins with {start}"):
            hive.query(old, engine)
        with pytest.raises(QueryError, match="commits of the range have been archived"):
            hive.query(f"SELECT id FROM {name}", engine, settings=from_start)
    # The first commit of the active timeline has been cleaned.
    since = {
        **consumed,
        f"hoodie.{name}.consume.start.timestamp": timeline.writes[0].completed or start,
    }
    found = hive.query(f"SELECT id, v FROM {name}", settings=since).rows
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": timeline.writes[0].completed or start,
    }
    assert found == spark_rows(spark, table, "id, v", options)


def test_changes_without_all_of_their_files_are_an_error(
    hive: Hive, spark: SparkSession, table_root: Path
) -> None:
    table, _ = written(spark, table_root, "gone", TableType.COW, 9, BY_VERSIONS, 4)
    name = hive.register(table)
    writes = OpenTable.open(str(table.path)).timeline.writes
    settings = {
        f"hoodie.{name}.consume.mode": "INCREMENTAL",
        f"hoodie.{name}.consume.start.timestamp": writes[0].completed or "",
        f"hoodie.{name}.consume.end.timestamp": writes[1].completed or "",
    }
    for engine in (FETCH, TEZ):
        with pytest.raises(QueryError, match="the cleaner has deleted"):
            hive.query(f"SELECT id FROM {name}", engine, settings=settings)
