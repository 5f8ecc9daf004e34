"""Keys of tables that Hudi wrote without meta fields, read slice by slice without Spark."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.generators import register
from pyhudi_expr.tables.locks import TableLock
from tests.spark.virtual_keys.slice_keys import keys_of_rows


@pytest.mark.parametrize("version", [6, 8])
def test_golden_tables_without_meta_fields(golden: Mapping[str, Path], version: int) -> None:
    path = golden[f"cow_v{version}_simplekeygen_hivestyle_no_metafields"]
    assert keys_of_rows(str(path)) == ["1", "2", "3", "4"]


class UpperCaseKeys:
    """A custom key generator."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        assert columns == ("id", "name")

    def keys(self, columns: Sequence[pa.Array]) -> pa.Array:
        return pc.utf8_upper(
            pc.binary_join_element_wise(columns[0].cast("string"), columns[1], "!")
        )


def test_keys_of_a_custom_generator(golden: Mapping[str, Path], tmp_path: Path) -> None:
    path = str(shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "t"))
    register("shouted", UpperCaseKeys)
    table = HudiTable.open(path)
    enable(table, VirtualKeySettings(class_name="python:shouted"), TableLock(table.storage))
    assert keys_of_rows(path) == ["1!ALICE", "2!BOB", "3!CAROL", "4!DIANA"]
