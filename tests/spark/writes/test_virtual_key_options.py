"""Options about virtual keys that Hudi's writer would not keep are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, create
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable
from pyhudi_expr.spark.virtual_keys.writing import create as create_virtual
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.matching_slices import read
from tests.spark.writes.conftest import ROWS

pytestmark = pytest.mark.spark

_ENABLED = "hoodie.recordkey.virtual.enabled"


@pytest.mark.smoke("append")
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_cannot_ask_for_virtual_keys(
    session: SparkSession, tmp_path: Path, mode: str
) -> None:
    table = create(session.sql(ROWS), TableSpec("keyed"), tmp_path)
    before = HudiTable.open(table.uri).properties
    writer = session.sql(ROWS).write.format("hudi").options(**table.spec.options())
    with pytest.raises(IllegalArgumentException, match=f"{_ENABLED} = true.*virtual-keys enable"):
        writer.option(_ENABLED, "true").mode(mode).save(table.uri)
    assert HudiTable.open(table.uri).properties == before


def test_a_new_table_neither(session: SparkSession, tmp_path: Path) -> None:
    spec = TableSpec("new")
    writer = session.sql(ROWS).write.format("hudi").options(**spec.options())
    with pytest.raises(IllegalArgumentException, match=r"virtual\.columns = id"):
        writer.option("hoodie.recordkey.virtual.columns", "id").save(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("rows", ["(id bigint, a bigint)", ""], ids=["CREATE", "CTAS"])
def test_a_new_table_of_sql_neither(session: SparkSession, tmp_path: Path, rows: str) -> None:
    path = tmp_path / "new"
    with pytest.raises(IllegalArgumentException, match=f"{_ENABLED} = true.*virtual-keys enable"):
        session.sql(
            f"CREATE TABLE new {rows} USING hudi LOCATION '{path}'"
            f" TBLPROPERTIES (primaryKey = 'id', '{_ENABLED}' = 'true')"
            + ("" if rows else f" AS {ROWS}")
        )
    assert not path.exists()
    assert not session.catalog.tableExists("new")


def test_what_the_table_says_may_be_said_again(session: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "virtual")
    virtual = VirtualTable("virtual", ("id",), ordering="a")
    create_virtual(session.sql(ROWS), path, virtual)
    changed = session.sql(f"SELECT id, 'new' AS city, a + 1 AS a, p FROM ({ROWS}) WHERE id = 7")
    options = {**virtual.writer_options(), _ENABLED: "true"}
    changed.write.format("hudi").options(**options).mode("append").save(path)
    assert HudiTable.open(path).properties.raw[_ENABLED] == "true"
    session.sql(
        f"CREATE TABLE virtual USING hudi LOCATION '{path}' TBLPROPERTIES ('{_ENABLED}' = 'true')"
    )
    assert session.table("virtual").count() == 400
    assert [row.city for row in read(session, path).where("id = 7").collect()] == ["new"]
