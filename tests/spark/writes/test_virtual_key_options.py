"""Options about virtual keys: a DataFrame's writer keeps them, all else refuses them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameWriter

from devtools.spark import session_settings
from devtools.tables import TableSpec, create
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import Generator
from pyhudi_expr.tables.keys.key_storage import key_storage
from tests.spark.virtual_keys.slice_keys import keys_of_rows
from tests.spark.writes.conftest import ROWS

pytestmark = pytest.mark.spark

_ENABLED = "hoodie.recordkey.virtual.enabled"
_COLUMNS = "hoodie.recordkey.virtual.columns"
_OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.precombine.field": "a",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    _ENABLED: "true",
    _COLUMNS: "city,id",
    "hoodie.recordkey.virtual.concatenator": "_",
    "hoodie.recordkey.virtual.class": Generator.COMPLEX.class_name,
}
"""Those of the RFC, and what Hudi itself needs."""
_STORED = TableSpec("keyed")


def writer(frame: DataFrame, options: Mapping[str, str], mode: str = "append") -> DataFrameWriter:
    return frame.write.format("hudi").options(**options).mode(mode)


def rows(session: SparkSession, path: str) -> dict[Any, Any]:
    found = session.read.format("hudi").load(path).select("id", "city", "a", "p").collect()
    assert len({row.id for row in found}) == len(found)
    return {row.id: tuple(row)[1:] for row in found}


def expected(frame: DataFrame) -> dict[Any, Any]:
    return {row.id: tuple(row)[1:] for row in frame.collect()}


def state(path: str) -> tuple[Any, ...]:
    table = HudiTable.open(path)
    return table.properties.raw, table.timeline


@pytest.mark.smoke
def test_a_writer_makes_a_table_with_virtual_keys_and_changes_it(
    session: SparkSession, tmp_path: Path
) -> None:
    path, frame = str(tmp_path / "t"), session.sql(ROWS)
    writer(frame, _OPTIONS, "errorifexists").partitionBy("p").save(path)
    table = HudiTable.open(path)
    assert {key: table.properties.raw.get(key) for key in _OPTIONS if "virtual" in key} == {
        key: value for key, value in _OPTIONS.items() if "virtual" in key
    }
    assert table.properties.partition_fields == ("p",)
    assert table.properties.table_type.name == "MERGE_ON_READ"
    assert key_storage(table).rows_with_keys == 0
    assert rows(session, path) == expected(frame)

    changed = session.sql(f"SELECT id, city, a + 1000 AS a, p FROM ({ROWS}) WHERE id < 9")
    writer(changed, _OPTIONS).save(path)
    deleting = {**_OPTIONS, "hoodie.datasource.write.operation": "delete"}
    writer(frame.where("id > 390"), deleting).save(path)
    writer(frame.where("id = 5"), _OPTIONS, "ignore").save(path)
    remaining = {**expected(frame.where("id <= 390")), **expected(changed)}
    assert rows(session, path) == remaining
    assert keys_of_rows(path) == sorted(f"{city}_{id_}" for id_, (city, *_) in remaining.items())
    with pytest.raises(PySparkException, match="there is a table already"):
        writer(frame, _OPTIONS, "errorifexists").save(path)


def test_an_overwrite_makes_another_table(session: SparkSession, tmp_path: Path) -> None:
    table = create(session.sql(ROWS), _STORED, tmp_path)
    own = session.read.format("hudi").load(table.uri)
    before = state(table.uri)
    with pytest.raises(PySparkException, match="from the table that they are to replace"):
        writer(own, _OPTIONS, "overwrite").save(table.uri)
    assert state(table.uri) == before
    some = session.sql(ROWS).where("id < 40")
    writer(some, _OPTIONS, "overwrite").save(table.uri)
    assert HudiTable.open(table.uri).properties.raw[_COLUMNS] == "city,id"
    assert rows(session, table.uri) == expected(some)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({_COLUMNS: "p"}, "columns is 'p', but the table has saved 'city,id'"),
        ({_ENABLED: "false"}, "enabled is 'false', but the table has saved 'true'"),
        ({"hoodie.recordkey.virtual.concatenator": "-"}, "concatenator is '-', .* saved '_'"),
    ],
)
def test_the_definition_stays(
    session: SparkSession, tmp_path: Path, options: Mapping[str, str], message: str
) -> None:
    path, frame = str(tmp_path / "t"), session.sql(ROWS).where("id < 40")
    writer(frame, _OPTIONS).save(path)
    before = state(path)
    with pytest.raises(PySparkException, match=message):
        writer(frame, {**_OPTIONS, **options}).save(path)
    assert state(path) == before


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        ("SELECT 1L AS id, string(null) AS city, 1 AS a", {}, "'city' is null.*'id': 1"),
        ("SELECT 1L AS id, 1 AS a", {}, "'city' is missing; there are id, a"),
        ("SELECT 1L AS id, 'x' AS city, 1 AS a", {_ENABLED: ""}, f"{_ENABLED}=true"),
        (
            "SELECT 1L AS id, 'x' AS city, 1 AS a",
            {"hoodie.datasource.write.operation": "bootstrap"},
            "'bootstrap' is none of",
        ),
    ],
)
def test_nothing_is_made_of_what_is_refused(
    session: SparkSession, tmp_path: Path, query: str, options: Mapping[str, str], message: str
) -> None:
    path = tmp_path / "new"
    with pytest.raises(PySparkException, match=message):
        writer(session.sql(query), {**_OPTIONS, **options}).save(str(path))
    assert not path.exists()


def test_a_table_that_stores_its_keys_is_not_changed_by_a_write(
    session: SparkSession, tmp_path: Path
) -> None:
    table, frame = create(session.sql(ROWS), _STORED, tmp_path), session.sql(ROWS)
    before = state(table.uri)
    with pytest.raises(PySparkException, match=r"no virtual keys.*pyhudi virtual-keys enable"):
        writer(frame, {**table.spec.options(), _ENABLED: "true"}).save(table.uri)
    assert state(table.uri) == before
    writer(frame, {**table.spec.options(), _ENABLED: "false"}, "overwrite").save(table.uri)
    assert key_storage(HudiTable.open(table.uri)).rows_with_keys == 400


@pytest.mark.smoke("CREATE")
@pytest.mark.parametrize("rows", ["(id bigint, a bigint)", ""], ids=["CREATE", "CTAS"])
def test_a_new_table_of_sql_cannot_have_them(
    session: SparkSession, tmp_path: Path, rows: str
) -> None:
    path = tmp_path / "new"
    with pytest.raises(IllegalArgumentException, match=f"{_ENABLED} = true.*virtual-keys enable"):
        session.sql(
            f"CREATE TABLE new {rows} USING hudi LOCATION '{path}'"
            f" TBLPROPERTIES (primaryKey = 'id', '{_ENABLED}' = 'true')"
            + ("" if rows else f" AS {ROWS}")
        )
    assert not path.exists()
    assert not session.catalog.tableExists("new")


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO keyed SELECT * FROM keyed",
        f"ALTER TABLE keyed SET TBLPROPERTIES ('{_ENABLED}' = 'true')",
        f"CALL run_clustering(table => 'keyed', options => '{_ENABLED}=true')",
    ],
    ids=lambda text: text.split()[0],
)
def test_statements_cannot_ask_for_them(
    session: SparkSession, tmp_path: Path, statement: str
) -> None:
    table = create(session.sql(ROWS), _STORED, tmp_path)
    session.sql(f"CREATE TABLE keyed USING hudi LOCATION '{table.uri}'")
    before = state(table.uri)
    of_session = {_ENABLED: "true"} if _ENABLED not in statement else {}
    with (
        session_settings(session, of_session),
        pytest.raises(IllegalArgumentException, match=f"{_ENABLED} = true.*virtual-keys enable"),
    ):
        session.sql(statement)
    assert state(table.uri) == before


@pytest.mark.smoke
def test_properties_of_views_and_of_other_tables_are_their_own(session: SparkSession) -> None:
    session.sql("CREATE TABLE plain (id int) USING parquet")
    session.sql("CREATE VIEW ids AS SELECT id FROM plain")
    for kind, name in (("TABLE", "plain"), ("VIEW", "ids")):
        session.sql(f"ALTER {kind} {name} SET TBLPROPERTIES ('{_ENABLED}' = 'true')")
        shown = session.sql(f"SHOW TBLPROPERTIES {name}").collect()
        assert (_ENABLED, "true") in [tuple(row) for row in shown]
    session.sql("DROP VIEW ids")
    session.sql("DROP TABLE plain")


def test_a_stream_cannot_ask_for_them(session: SparkSession, tmp_path: Path) -> None:
    source, path = tmp_path / "source", tmp_path / "t"
    frame = session.sql(ROWS)
    frame.write.parquet(str(source))
    stream = session.readStream.schema(frame.schema).parquet(str(source)).writeStream
    stream = stream.format("hudi").options(**_OPTIONS)
    with pytest.raises(IllegalArgumentException, match=r"virtual.* would store the keys"):
        stream.option("checkpointLocation", str(tmp_path / "log")).start(str(path))
    assert not (path / ".hoodie").exists()


def test_what_the_table_says_may_be_said_again(session: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "virtual")
    writer(session.sql(ROWS), _OPTIONS).save(path)
    session.sql(
        f"CREATE TABLE virtual USING hudi LOCATION '{path}' TBLPROPERTIES ('{_ENABLED}' = 'true')"
    )
    with session_settings(session, {_ENABLED: "true"}):
        session.sql("INSERT INTO virtual SELECT 1000, 'new', 1, 9")
    assert rows(session, path)[1000] == ("new", 1, 9)
