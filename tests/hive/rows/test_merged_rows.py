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
from devtools.service import ServiceProcess
from devtools.tables import HudiTable, upsert
from pyhudi_expr.hive.session import QueryError
from tests.hive.query_results import FETCH, MR, TEZ, Answer, Hive
from tests.hive.rows.merged_tables import KINDS, ROWS, rows, undo_last_commit, write
from tests.marks import long

pytestmark = [pytest.mark.hive, pytest.mark.spark]

_OFF = {"hudi.pruning.rows": "false"}
_FLAT = "id, v, name, n, m, day, at"
_EVERY = f"{_FLAT}, st, li, mp, deep"
_PREDICATES = (
    "id = 7",
    "id BETWEEN 95 AND 110",
    "id IN (5, 102, 199, 338, 4000, 5025)",
    "v > 5",
    "v < 5",
    "name LIKE 'updated%' OR id > 5010",
    "day = DATE '2000-01-20'",
    "n IS NULL AND id < 400",
    "st.t = 'again338'",
)


class MergedTables:
    """Tables that are written and registered at their first use."""

    def __init__(self, hive: Hive, spark: SparkSession, parent: Path) -> None:
        self.hive = hive
        self.spark = spark
        self._parent = parent
        self._written: dict[str, HudiTable] = {}

    def get(self, name: str) -> HudiTable:
        """Return the table of a kind."""
        if name not in self._written:
            self._written[name] = self.register(
                write(self.spark, f"merged_{name}", KINDS[name], self._parent)
            )
        return self._written[name]

    def register(self, table: HudiTable) -> HudiTable:
        """Register a table."""
        self.hive.run(create_with_handler(table.name, table.path))
        return table

    def check(self, query: str, engine: str = FETCH, **settings: str) -> Answer:
        """Run a query with and without pruning of rows, and without any."""
        found = self.hive.query(query, engine, settings=settings)
        unpruned = self.hive.query(query, engine, pruning=False, settings=settings)
        whole = self.hive.query(query, engine, settings={**settings, **_OFF})
        assert repr(found.rows) == repr(unpruned.rows), f"{query} ({engine})"
        assert repr(whole.rows) == repr(unpruned.rows), f"{query} ({engine})"
        assert whole.scan.files_in_part == 0
        return found


@pytest.fixture(scope="module")
def tables(
    hive_server: HiveServer, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MergedTables]:
    directory = tmp_path_factory.mktemp("merged")
    config = directory / "service.toml"
    config.write_text("row_file_bytes = 0\nrow_seconds = 30\n")
    own = {"hudi.pruning.timeout.ms": "30000", "hudi.pruning.rows.merged.bytes": "0"}
    with (
        ServiceProcess(directory, "--config", str(config)) as service,
        Hive(hive_server, service, directory / "scans", own) as hive,
    ):
        yield MergedTables(hive, spark, directory)


@pytest.mark.parametrize(
    "name", ["event_time_9", *(long(name) for name in KINDS if name != "event_time_9")]
)
def test_rows_are_those_of_hudis_merge(tables: MergedTables, name: str) -> None:
    table = tables.get(name)
    every = tables.check(f"SELECT {_EVERY} FROM {table.name}")
    assert len({row[0] for row in every.rows}) == len(every.rows) > ROWS - 20
    selected, considered = 0, 0
    for predicate in _PREDICATES:
        answer = tables.check(f"SELECT {_EVERY} FROM {table.name} WHERE {predicate}")
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
        f"SELECT {_FLAT} FROM {table}",
        f"SELECT id, st, li, mp FROM {table} WHERE id BETWEEN 90 AND 400",
        f"SELECT {_EVERY} FROM {table} WHERE v <> 5 OR id % 500 = 0",
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
    every = tables.check(f"SELECT {_EVERY} FROM {table.name}")
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
    tables.check(f"SELECT {_EVERY} FROM {table.name} WHERE id < 400")


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
    for settings in ({}, _OFF):
        with pytest.raises(QueryError, match="Partial merging logic is not implemented"):
            tables.hive.query(f"SELECT id, x FROM {name} WHERE x = 777", settings=settings)
    spark.sql(f"DROP TABLE {name}")


def test_explain_tells_of_rows(tables: MergedTables) -> None:
    name = tables.get("event_time_9").name
    lines = tables.hive.query(f"EXPLAIN SELECT name FROM {name} WHERE id = 2222").rows
    assert "rows of" in "\n".join(row[0] for row in lines)
