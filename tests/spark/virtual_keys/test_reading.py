"""DataFrames of tables with virtual keys: stored keys are hidden, computed ones available."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.query.dataframes import prune_table
from pyhudi_expr.spark.virtual_keys.key_column import load, with_keys
from pyhudi_expr.tables import properties
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import KeyDefinition, MissingKeyColumn, virtual_keys
from pyhudi_expr.tables.keys.generators import KeyGenerator, MissingKey, register
from pyhudi_expr.tables.locks import TableLock

pytestmark = pytest.mark.spark

_KEY = "_hoodie_record_key"
_TWO_COLUMNS = "cow_v8_complexkeygen_hivestyle"
_WITH_LOGS = "mor_v6_simplekeygen_nonhivestyle"
Found = list[tuple[str | None, int, str]]


def key_rows(frame: DataFrame) -> Found:
    """Key, id and name of each row."""
    return sorted(map(tuple, frame.select(_KEY, "id", "name").collect()), key=repr)


def enabled(path: str, settings: VirtualKeySettings) -> KeyDefinition:
    table = HudiTable.open(path)
    return enable(table, settings, TableLock(table.storage))


@pytest.mark.parametrize(
    ("archive", "settings"),
    [(_TWO_COLUMNS, VirtualKeySettings()), (_WITH_LOGS, VirtualKeySettings(keep_column=True))],
)
def test_stored_keys_are_hidden_and_rows_are_kept(
    spark: SparkSession,
    golden: Mapping[str, Path],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    archive: str,
    settings: VirtualKeySettings,
) -> None:
    path = str(shutil.copytree(golden[archive], tmp_path / "t"))
    whole = key_rows(load(spark, path))
    assert all(key for key, *_ in whole)

    enabled(path, settings)
    hidden = [(None, *row) for _, *row in whole]
    assert key_rows(load(spark, path)) == hidden
    assert key_rows(prune_table(spark, path, f"{_KEY} IS NULL").frame) == hidden
    assert key_rows(prune_table(spark, path, f"{_KEY} = '{whole[0][0]}'").frame) == []
    some = prune_table(spark, path, f"byteField = 20 AND {_KEY} IS NULL")
    assert key_rows(some.frame) == [row for row in hidden if row[2] == "Bob"]
    assert some.result.files_kept < some.result.files_total
    warnings_logged = [one.message for one in caplog.records if one.levelno == logging.WARNING]
    assert len([text for text in warnings_logged if path in text and "are ignored" in text]) == 1


def test_tables_without_their_key_columns_or_with_null_keys_are_refused(
    spark: SparkSession, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = str(shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "t"))

    def make_key_of(column: str) -> None:
        settings = {
            "hoodie.table.recordkey.fields": column,
            "hoodie.recordkey.virtual.enabled": "true",
            "hoodie.table.keygenerator.type": "NON_PARTITION",
        }
        properties.update(HudiTable.open(path).storage, settings)

    make_key_of("nope")
    with pytest.raises(MissingKeyColumn, match="'nope' is not in the schema"):
        prune_table(spark, path, "amount > 0")
    with pytest.raises(MissingKeyColumn, match="'nope' is not in the schema"):
        load(spark, path)
    make_key_of("merchant_name")
    with pytest.raises(MissingKey, match="'merchant_name' is null in rows of 1 files"):
        prune_table(spark, path, "amount > 0")


@pytest.mark.smoke
def test_keys_as_a_column(spark: SparkSession, golden: Mapping[str, Path], tmp_path: Path) -> None:
    """By an expression of Spark, and by a custom class, which is sent to Spark's tasks."""

    class UpperCaseKeys:
        def __init__(self, columns: tuple[str, ...]) -> None:
            assert columns == ("id", "name")

        def keys(self, columns: Sequence[pa.Array]) -> pa.Array:
            texts = pc.binary_join_element_wise(columns[0].cast("string"), columns[1], "!")
            return pc.utf8_upper(texts)

    def factory(columns: tuple[str, ...]) -> KeyGenerator:
        return UpperCaseKeys(columns)

    register("shouted in tasks", factory)
    cases = (
        (VirtualKeySettings(), "id:{},name:{}"),
        (VirtualKeySettings(concatenator="__"), "{}__{}"),
        (VirtualKeySettings(class_name="python:shouted in tasks"), "{}!{}"),
    )
    for number, (settings, key) in enumerate(cases):
        path = str(shutil.copytree(golden[_TWO_COLUMNS], tmp_path / str(number)))
        frame_with_keys = enabled(path, settings)
        assert virtual_keys(HudiTable.open(path).properties, path) == frame_with_keys
        rows = load(spark, path).select("id", "name")
        keys = [
            (row.id, row.name, row.key) for row in with_keys(rows, frame_with_keys, "key").collect()
        ]
        assert len(keys) == 4
        for id_, name, found in keys:
            spelled = key.format(id_, name)
            assert found == (spelled.upper() if frame_with_keys.python else spelled)
