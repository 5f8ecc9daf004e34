"""Ordinary writes keep a table's indexes, and its rows are those of a full scan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable as Written
from devtools.tables import TableSpec, create
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.matching_slices import assert_no_row_lost, read
from tests.spark.writes.conftest import ROWS, SPECS

pytestmark = pytest.mark.spark

PREDICATES = ("city = 'c3'", "id = 7", "id = 1000", "a < 40", "city IN ('new', 'c5') AND p = 1")
_PARTS = {"record_index", "secondary_index_cities", "bloom_filters", "column_stats"}
_LOCKS = "org.apache.hudi.client.transaction.lock"
_AS_IT_IS = {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false"}
_WRITES = {
    "save": None,
    "insert": "INSERT INTO {0} SELECT 1000L AS id, 'new' AS city, 3L AS a, 1L AS p",
    "update": "UPDATE {0} SET city = 'new' WHERE id < 3",
    "delete": "DELETE FROM {0} WHERE id IN (3, 7)",
    "merge": "MERGE INTO {0} t USING (SELECT 7L AS id, 'new' AS city, 3L AS a, 1L AS p) s"
    " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
}


def save(frame: DataFrame, table: Written, **more: str) -> None:
    """Write rows as somebody does who does not know of indexes."""
    keys = (".recordkey.field", ".precombine.field", ".partitionpath.field", ".table.type")
    options = {
        name: value
        for name, value in table.spec.options().items()
        if name == "hoodie.table.name" or name.endswith((*keys, "keygenerator.class"))
    }
    frame.write.format("hudi").options(**options, **more).mode("append").save(table.uri)


def parts(table: Written) -> frozenset[str]:
    return HudiTable.open(table.uri).properties.metadata_partitions


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES.keys())
def test_an_ordinary_write_keeps_all_indexes(
    session: SparkSession, copied: Callable[[str], Written], spec: TableSpec, write: str | None
) -> None:
    table = copied(spec.name)
    if write is None:
        save(session.sql(ROWS).where("id < 9").selectExpr("id", "'new' AS city", "a", "p"), table)
    else:
        session.sql(write.format(spec.name))
    assert parts(table) >= _PARTS
    listed = {status.name: status.state for status in index_statuses(HudiTable.open(table.uri))}
    assert set(listed.values()) == {State.ACTIVE}
    rows = read(session, table.path)
    assert_no_row_lost(Pruner(), table.path, rows, PREDICATES)


def test_an_overwrite_keeps_a_record_index(session: SparkSession, tmp_path: Path) -> None:
    """Hudi refuses to overwrite a table with a secondary index, whatever a write's options are."""
    table = create(session.sql(ROWS), TableSpec("keyed", stats_columns=None), tmp_path)
    execute(session, f"CREATE INDEX keys ON '{table.uri}' USING record_index")
    session.sql(f"CREATE TABLE keyed USING hudi LOCATION '{table.uri}'")
    session.sql("INSERT OVERWRITE keyed SELECT id + 500, city, a, p FROM keyed")
    assert "record_index" in parts(table)
    rows = read(session, table.path)
    assert_no_row_lost(Pruner(), table.path, rows, (*PREDICATES, "id = 507"))


@pytest.mark.smoke
@pytest.mark.parametrize(("keeps", "found"), [("true", 1), ("false", 0)])
def test_files_are_listed_while_hudi_cannot_make_an_index(
    session: SparkSession, tmp_path: Path, keeps: str, found: int
) -> None:
    """Without the extension Hudi 1.2 leaves files of version 6 out of its lists."""
    spec = TableSpec("lists", version=6, stats_columns=None)
    table = create(session.sql(ROWS), spec, tmp_path)
    session.sql(f"CREATE TABLE lists USING hudi LOCATION '{table.uri}'")
    session.sql("CALL run_clustering(table => 'lists', op => 'schedule')")
    session.sql("DROP TABLE lists")
    row = session.sql("SELECT 9000L AS id, 'new' AS city, 3L AS a, 1L AS p")
    with session_settings(session, {"spark.pyhudi.indexes.keep": keeps}):
        save(row, table, **_AS_IT_IS)
    shown = session.read.format("hudi").load(table.uri)
    assert shown.where("id = 9000").count() == found


def test_one_of_several_writers_makes_no_index_of_its_own(
    session: SparkSession, tmp_path: Path
) -> None:
    """In version 6 Hudi cannot while another one is at work, which may begin later."""
    table = create(session.sql(ROWS), TableSpec("v6", version=6, stats_columns=None), tmp_path)
    row = session.sql("SELECT 9000L AS id, 'new' AS city, 3L AS a, 1L AS p")
    together = {
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.write.lock.provider": f"{_LOCKS}.InProcessLockProvider",
    }
    save(row, table, **_AS_IT_IS, **together)
    assert parts(table) == {"files"}
    save(row, table, **_AS_IT_IS)
    assert parts(table) > {"files"}


def test_writers_with_and_without_the_extension_share_a_table(
    session: SparkSession, copied: Callable[[str], Written]
) -> None:
    table = copied("cow")
    rows = session.sql(ROWS)
    for number, keeps in enumerate(("true", "false", "true", "false", "true")):
        with session_settings(session, {"spark.pyhudi.indexes.keep": keeps}):
            changed = rows.where(f"id % 50 = {number}").selectExpr("id", "'new' AS city", "a", "p")
            save(changed, table)
        assert ("record_index" in parts(table)) is (number == 0)
        assert_no_row_lost(Pruner(), table.path, read(session, table.path), PREDICATES)


@pytest.mark.smoke
def test_what_a_writer_says_holds(session: SparkSession, copied: Callable[[str], Written]) -> None:
    table = copied("cow")
    with session_settings(session, {"hoodie.metadata.record.index.enable": "false"}):
        session.sql("DELETE FROM cow WHERE id = 3")
    assert "record_index" not in parts(table)
    assert "column_stats" in parts(table)


def test_the_options_are_those_of_python(
    session: SparkSession, originals: dict[str, Written]
) -> None:
    for table in originals.values():
        jvm = session._jvm
        assert jvm is not None
        settings = session._jsparkSession.sessionState().newHadoopConf()
        found = jvm.io.pyhudi.spark.writes.IndexOptions.of(table.uri, settings)
        assert dict(found.missing({})) == writer_options(table.uri)


def test_indexes_of_the_extension_follow_a_write(session: SparkSession, tmp_path: Path) -> None:
    table = create(session.sql(ROWS), TableSpec("followed", stats_columns=None), tmp_path)
    execute(
        session,
        f"CREATE INDEX i ON '{table.uri}' USING secondary_index(city) OPTIONS (store='extension')",
    )
    session.sql(f"CREATE TABLE followed USING hudi LOCATION '{table.uri}'")

    def state() -> State:
        (found,) = (one for one in index_statuses(HudiTable.open(table.uri)) if one.name == "i")
        return found.state

    session.sql("DELETE FROM followed WHERE id = 3")
    assert state() is State.LAGGING
    with session_settings(session, {"pyhudi.indexes.follow": "true"}):
        session.sql("UPDATE followed SET city = 'new' WHERE id < 3")
        assert state() is State.ACTIVE
        save(session.sql(ROWS).where("id < 9"), table)
        assert state() is State.ACTIVE
    assert_no_row_lost(Pruner(), table.path, read(session, table.path), PREDICATES)
