"""Base rows that no log file names are read, and skipped, by Hive's own readers.

The judge is the same query without pruning: Hudi merges the whole slices then.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from devtools.tables import upsert
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.query_results import MR, TEZ
from tests.hive.rows.checked_merges import (
    EVERY,
    FLAT,
    PREDICATES,
    WITHOUT_ROWS,
    MergedTables,
    merged_tables,
)
from tests.hive.rows.merged_tables import KINDS, ROWS, rows, undo_last_commit, write
from tests.marks import long

pytestmark = [pytest.mark.hive, pytest.mark.spark]


@pytest.fixture(scope="module")
def tables(
    hive_server: HiveServer, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MergedTables]:
    with merged_tables(hive_server, spark, tmp_path_factory.mktemp("merged"), {}) as running:
        yield running


@pytest.mark.parametrize(
    "name", ["event_time_9", *(long(name) for name in KINDS if name != "event_time_9")]
)
def test_rows_are_those_of_hudis_merge(tables: MergedTables, name: str) -> None:
    table = tables.get(name)
    every = tables.check(f"SELECT {EVERY} FROM {table.name}")
    assert len({row[0] for row in every.rows}) == len(every.rows) > ROWS - 20
    selected, considered = 0, 0
    for predicate in PREDICATES:
        answer = tables.check(f"SELECT {EVERY} FROM {table.name} WHERE {predicate}")
        selected += answer.scan.rows_selected
        considered += answer.scan.rows_of_files_in_part
    assert considered > 3 * ROWS
    assert selected < considered / 3


@pytest.mark.parametrize("vectorised", ["true", "false"])
@pytest.mark.parametrize(
    ("engine", "name"), [(TEZ, "event_time_9"), (MR, "event_time_9"), long(TEZ, "payload_6")]
)
def test_engines_read_equal_rows(
    tables: MergedTables, name: str, engine: str, vectorised: str
) -> None:
    table = tables.get(name).name
    settings = {"hive.vectorized.execution.enabled": vectorised}
    for query in (
        f"SELECT {FLAT} FROM {table}",
        f"SELECT id, st, li, mp FROM {table} WHERE id BETWEEN 90 AND 400",
        f"SELECT {EVERY} FROM {table} WHERE v <> 5 OR id % 500 = 0",
        f"SELECT count(*), sum(id), sum(v), max(name) FROM {table}",
        f"SELECT count(*) FROM {table}",
        f"SELECT a.id, b.name FROM {table} a JOIN {table} b ON a.id = b.id + 97"
        " WHERE a.id < 300 AND b.v > 5",
    ):
        assert tables.check(query, engine, **settings).rows


def test_blocks_of_commits_that_did_not_complete_name_nothing(
    tables: MergedTables, tmp_path: Path
) -> None:
    table = write(tables.spark, "merged_undone", KINDS["commit_time_9"], tmp_path)
    upsert(table, rows(tables.spark, range(0, ROWS, 3), "undone", 20))
    undo_last_commit(table)
    tables.register(table)
    every = tables.check(f"SELECT {EVERY} FROM {table.name}")
    assert len(every.rows) > ROWS - 20
    assert not any("undone" in row[2] for row in every.rows)
    tables.check(f"SELECT id, name FROM {table.name} WHERE id BETWEEN 95 AND 110")


def test_a_column_that_was_added_is_read_by_hudi(tables: MergedTables, tmp_path: Path) -> None:
    table = write(tables.spark, "merged_wider", KINDS["commit_time_9"], tmp_path)
    wider = rows(tables.spark, range(5, 900, 97), "wider", 9)
    upsert(table, wider.selectExpr("*", "nullif(int(id + 1000), -1) AS extra"))
    tables.register(table)
    answer = tables.check(f"SELECT id, extra FROM {table.name} WHERE extra > 0 OR id < 20")
    assert len(answer.rows) > 20
    tables.check(f"SELECT {EVERY} FROM {table.name} WHERE id < 400")


@pytest.mark.smoke
def test_partial_updates_that_hudi_cannot_merge_are_an_error(
    tables: MergedTables, tmp_path: Path
) -> None:
    spark, name, path = tables.spark, "merged_partly", tmp_path / "merged_partly"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(
        f"CREATE TABLE {name} (id long, t long, x int, z string) USING hudi "
        "TBLPROPERTIES (type='mor', primaryKey='id', preCombineField='t', "
        f"'hoodie.parquet.page.size'='1024') LOCATION '{path}'"
    )
    spark.sql(
        f"INSERT INTO {name} SELECT id, 1L AS t, int(id) AS x, concat('z', id) AS z"
        " FROM range(0, 3000)"
    )
    spark.sql(
        f"MERGE INTO {name} AS old USING (SELECT id * 300 AS id, 5L AS t, 777 AS x"
        " FROM range(1, 9)) AS new ON old.id = new.id"
        " WHEN MATCHED THEN UPDATE SET x = new.x, t = new.t"
    )
    tables.hive.run(create_with_handler(name, path))
    for settings in ({}, WITHOUT_ROWS):
        with pytest.raises(QueryError, match="Partial merging logic is not implemented"):
            tables.hive.query(f"SELECT id, x FROM {name} WHERE x = 777", settings=settings)
    spark.sql(f"DROP TABLE {name}")


def test_explain_tells_of_rows(tables: MergedTables) -> None:
    name = tables.get("event_time_9").name
    lines = tables.hive.query(f"EXPLAIN SELECT name FROM {name} WHERE id = 2222").rows
    assert "rows of" in "\n".join(row[0] for row in lines)
