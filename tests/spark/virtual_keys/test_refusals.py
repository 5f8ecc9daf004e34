"""Writes of virtual keys that are refused before Hudi is called: nothing has changed then."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.manage.virtual_key_settings import (
    KeyDefinitionChanged,
    UnmergeableKeys,
    VirtualKeySettings,
)
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, create, write
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import Generator
from pyhudi_expr.tables.keys.generators import AmbiguousText, MissingKey
from pyhudi_expr.tables.locks import TableLock

pytestmark = pytest.mark.spark

_SCHEMA = "id int, name string, v int"
_TWO_COLUMNS = "cow_v8_complexkeygen_hivestyle"


@pytest.fixture
def path(golden: Mapping[str, Path], tmp_path: Path) -> str:
    """A table whose keys consist of `id` and `name`."""
    path = str(shutil.copytree(golden[_TWO_COLUMNS], tmp_path / "t"))
    table = HudiTable.open(path)
    enable(table, VirtualKeySettings(), TableLock(table.storage))
    return path


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, "x", 1)], _SCHEMA)


def state(path: str) -> tuple[Any, ...]:
    table = HudiTable.open(path)
    return table.properties.raw, table.timeline


@pytest.mark.smoke("hoodie.recordkey.virtual.columns")
@pytest.mark.parametrize(
    ("key", "value", "saved"),
    [
        ("hoodie.recordkey.virtual.enabled", "false", "true"),
        ("hoodie.recordkey.virtual.columns", "v", "id,name"),
        ("hoodie.recordkey.virtual.concatenator", "_", ","),
        ("hoodie.recordkey.virtual.class", "python:mine", Generator.COMPLEX.class_name),
        ("hoodie.recordkey.virtual.class", "SIMPLE", Generator.COMPLEX.class_name),
        ("hoodie.datasource.write.recordkey.field", "v", "id,name"),
        (
            "hoodie.datasource.write.keygenerator.class",
            Generator.SIMPLE.class_name,
            Generator.COMPLEX.class_name,
        ),
        ("hoodie.populate.meta.fields", "true", "false"),
    ],
)
def test_settings_that_differ_from_the_saved_ones_are_refused(
    rows: DataFrame, path: str, key: str, value: str, saved: str
) -> None:
    before = state(path)
    with pytest.raises(KeyDefinitionChanged, match=f"{key} is '{value}', .* saved '{saved}'"):
        write(rows, path, "upsert", {key: value})
    assert state(path) == before


def test_rows_without_keys_are_refused(spark: SparkSession, rows: DataFrame, path: str) -> None:
    before = state(path)
    bad = spark.createDataFrame([(1, "x", 1), (0, None, 2), (None, "z", 3)], _SCHEMA)
    with pytest.raises(MissingKey, match=r"'name' is null or empty, as in .*'id': 0, .*'v': 2"):
        write(bad.where("v < 3"), path, "upsert")
    with pytest.raises(MissingKey, match=r"'id' is null or empty, as in .*'name': 'z', 'v': 3"):
        write(bad.where("v <> 2"), path, "delete")
    with pytest.raises(HudiError, match="'name' is missing; there are id, v"):
        write(rows.drop("name"), path, "insert")
    assert state(path) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hoodie.index.type": "BLOOM"}, "BLOOM needs keys that are stored"),
        (
            {"hoodie.metadata.global.record.level.index.enable": "true"},
            "rows twice, lose deletes.*store extension",
        ),
    ],
)
def test_indexes_of_stored_keys_are_refused(
    rows: DataFrame, path: str, options: Mapping[str, str], message: str
) -> None:
    before = state(path)
    with pytest.raises(HudiError, match=message):
        write(rows, path, "upsert", options)
    assert state(path) == before


def test_unknown_operations_and_tables_are_refused(
    golden: Mapping[str, Path], rows: DataFrame, path: str
) -> None:
    with pytest.raises(HudiError, match="'merge' is none of bulk_insert"):
        write(rows, path, "merge")
    with pytest.raises(HudiError, match=r"no virtual keys.*pyhudi virtual-keys enable"):
        write(rows, str(golden[_TWO_COLUMNS]), "upsert")
    with pytest.raises(HudiError, match="there is a table already"):
        create(rows, path, VirtualTable("t", ("id",)))


class NotCreated:
    """Asserts that nothing is created, and checks the error message."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def because(self, error: type[HudiError], message: str, rows: DataFrame, **table: Any) -> None:
        with pytest.raises(error, match=message):
            create(rows, str(self._path), VirtualTable(**{"name": "t", "key": ("id",), **table}))
        assert not self._path.exists()


@pytest.fixture
def not_created(tmp_path: Path) -> NotCreated:
    return NotCreated(tmp_path / "none")


@pytest.mark.smoke
def test_no_table_is_created_from_rows_without_keys(
    spark: SparkSession, not_created: NotCreated
) -> None:
    for none in (None, ""):
        rows = spark.createDataFrame([(1, "x", 1), (2, none, 2)], _SCHEMA)
        message = r"'name' is null or empty, as in .*'v': 2"
        not_created.because(MissingKey, message, rows, key=("name",))
    not_created.because(HudiError, "'k' is missing; there are id, name, v", rows, key=("k",))


@pytest.mark.parametrize(
    ("key", "generator", "error", "message"),
    [
        ("d", None, UnmergeableKeys, "date32.*yyyy-MM-dd"),
        ("b", None, UnmergeableKeys, "bytes"),
        ("k", Generator.COMPLEX, UnmergeableKeys, "one column 'k'"),
        ("k", Generator.CUSTOM, UnmergeableKeys, "CustomKeyGenerator"),
        ("many", None, AmbiguousText, "'many' of type list"),
    ],
)
def test_keys_that_hudi_would_not_find_again_are_refused(
    spark: SparkSession,
    not_created: NotCreated,
    key: str,
    generator: Generator,
    error: type[HudiError],
    message: str,
) -> None:
    rows = spark.sql(
        "SELECT 'x' AS k, date'2024-01-01' AS d, cast('x' AS binary) AS b, array(1) AS many"
    )
    not_created.because(error, message, rows, key=(key,), generator=generator)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"hoodie.recordkey.virtual.columns": "v"}, HudiError, "columns is 'v', .* have 'id'"),
        ({"hoodie.recordkey.virtual.enabled": "false"}, HudiError, "'false', .* have 'true'"),
        ({"hoodie.datasource.write.recordkey.field": "v"}, HudiError, "is 'v', .* have 'id'"),
        ({"hoodie.populate.meta.fields": "true"}, HudiError, "is 'true', .* have 'false'"),
        (
            {"hoodie.recordkey.virtual.class": "com.acme.SimpleKeyGenerator"},
            UnmergeableKeys,
            r"keys of com\.acme\.SimpleKeyGenerator .*virtual\.class.* has its simple, complex",
        ),
        (
            {"hoodie.datasource.write.keygenerator.class": "com.acme.K"},
            UnmergeableKeys,
            r"keys of com\.acme\.K .* store the keys, .* as a column",
        ),
        ({"hoodie.recordkey.virtual.class": "python:nobodys"}, UnsupportedTable, "not known here"),
        ({"hoodie.index.type": "GLOBAL_BLOOM"}, HudiError, "needs keys that are stored"),
    ],
)
def test_settings_that_contradict_the_table_are_refused(
    rows: DataFrame,
    not_created: NotCreated,
    options: Mapping[str, str],
    error: type[HudiError],
    message: str,
) -> None:
    not_created.because(error, message, rows, options=options)
