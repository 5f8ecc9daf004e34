"""Plain Spark SQL on tables with virtual keys keeps the rules of their readers, as Hive does."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import SparkSession

from pyhudi_expr import scan
from pyhudi_expr.manage.invariants import Extent, extent, stored_keys
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, write
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from tests.rows.test_virtual_keys import with_key
from tests.spark.jobs.test_task_options import recorded_log
from tests.spark.virtual_keys.virtual_tables import QUICK, frame, some, stored

pytestmark = pytest.mark.spark

_KEY = "_hoodie_record_key"
_NAMED = [(1, "Alice"), (2, "Bob"), (3, "Carol"), (4, "Diana")]
Golden = Mapping[str, Path]


def enabled(path: str, settings: VirtualKeySettings) -> None:
    table = HudiTable.open(path)
    enable(table, settings, TableLock(table.storage))


def registered(spark: SparkSession, name: str, path: str) -> str:
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{path}'")
    return name


@pytest.mark.parametrize("settings", [VirtualKeySettings(), VirtualKeySettings(keep_column=True)])
def test_stored_keys_are_null_with_one_warning(
    extended: SparkSession, golden: Golden, tmp_path: Path, settings: VirtualKeySettings
) -> None:
    path = str(shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "t"))
    keys = {row[0] for row in extended.read.format("hudi").load(path).select(_KEY).collect()}
    assert len(keys) == len(_NAMED)
    enabled(path, settings)
    named = registered(extended, "hidden", path)
    extended.read.format("hudi").load(path).createOrReplaceTempView("hidden_view")
    log = tmp_path / "log"
    with recorded_log(extended, log, "WARN"):
        for table in (named, "hidden_view"):
            rows = extended.sql(f"SELECT {_KEY}, id, name FROM {table}").collect()
            assert sorted(map(tuple, rows)) == [(None, *row) for row in _NAMED]
            found = extended.sql(f"SELECT id FROM {table} WHERE {_KEY} = '{min(keys)}'").collect()
            assert found == []
            twice = f"FROM {table} a JOIN {table} b ON a.id = b.id AND b.{_KEY} IS NULL"
            assert extended.sql(f"SELECT a.{_KEY}, b.* {twice}").count() == len(_NAMED)
            some_of = f"FROM {table} WHERE byteField = 20 AND {_KEY} IS NULL"
            assert extended.sql(f"SELECT name {some_of}").collect() == [("Bob",)]
    warnings = [line for line in log.read_text().splitlines() if "are ignored" in line]
    assert [path in line for line in warnings] == [True]


def test_a_table_without_meta_columns_has_the_column_as_null(
    extended: SparkSession, golden: Golden, tmp_path: Path
) -> None:
    path = str(golden["cow_v8_simplekeygen_hivestyle_no_metafields"])
    rows = extended.read.format("hudi").load(path)
    log = tmp_path / "log"
    rows.createOrReplaceTempView("keyless")
    with recorded_log(extended, log, "WARN"):
        assert {row[0] for row in rows.select(_KEY).collect()} == {None}
        assert rows.where(f"{_KEY} IS NOT NULL").count() == 0
        counted = f"SELECT t.{_KEY} AS k, count(*) FROM keyless t GROUP BY t.{_KEY}"
        assert extended.sql(counted).collect() == [(None, rows.count())]
    assert "are ignored" not in log.read_text()
    assert _KEY not in rows.columns
    assert rows.select(_KEY, "id").dtypes[0] == (_KEY, "string")
    with pytest.raises(AnalysisException, match="cannot be resolved"):
        rows.select("id").select(_KEY)


@pytest.mark.smoke
def test_rows_without_keys_are_an_error_that_names_the_column(
    extended: SparkSession, golden: Golden, tmp_path: Path
) -> None:
    source = golden["cow_v9_txns_simple_meta"]
    for column, reason in (("txn", "is not in the schema"), ("merchant_name", "is null in rows")):
        path = with_key(source, tmp_path / column, column)
        rows = extended.read.format("hudi").load(str(path))
        for query in (rows, rows.where("amount > 0"), rows.select("amount").where("amount < 0")):
            with pytest.raises(IllegalArgumentException, match=f"key column '{column}' {reason}"):
                query.collect()


def test_rows_of_both_kinds_in_one_file_and_statements_that_change_them(
    extended: SparkSession, tmp_path: Path
) -> None:
    """What Hudi writes by its own statements stays as it was without the rules."""
    path, rows = str(tmp_path / "t"), some(0, 6, 1, partitions=1)
    spec = VirtualTable("t", ("k",), "v", ("p",))
    options = {**spec.writer_options(), **QUICK, hudi_names.POPULATE_META_FIELDS: "true"}
    frame(extended, rows).write.format("hudi").options(**options).save(path)
    enabled(path, VirtualKeySettings(keep_column=True))
    named, first = registered(extended, "changed", path), min(rows)
    extended.sql(f"UPDATE {named} SET v = 7 WHERE k = '{first}'")
    extended.sql(f"DELETE FROM {named} WHERE k = '{max(rows)}'")
    extended.sql(
        f"MERGE INTO {named} t USING (SELECT '{first}' AS k, 8 AS v, 'p0' AS p) s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET t.v = s.v"
    )
    extended.sql(f"CALL run_clustering(table => '{named}', op => 'scheduleAndExecute')")
    del rows[max(rows)]
    rows[first] = (8, "p0")
    table = HudiTable.open(path)
    assert extent(stored_keys(table, table.listing())) is Extent.ALL
    assert stored(extended, path) == rows

    enabled(path, VirtualKeySettings())
    write(frame(extended, some(2, 4, 9, partitions=1)), path, "upsert", QUICK)
    rows |= some(2, 4, 9, partitions=1)
    table = HudiTable.open(path)
    (file,) = stored_keys(table, table.listing())
    assert (file.rows, file.keys) == (5, 3)
    extended.sql(f"REFRESH TABLE {named}")
    shown = extended.sql(f"SELECT {_KEY}, k, v, p FROM {named}").collect()
    assert {row.k: (row.v, row.p) for row in shown} == rows
    assert {row[0] for row in shown} == {None}
    read = scan(path, columns=[_KEY, "k", "v", "p"]).to_table().to_pylist()
    assert {row["k"]: (row["v"], row["p"]) for row in read} == rows
    assert {row[_KEY] for row in read} == {None}
