"""Virtual keys are turned on and off in the properties of an existing table."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.manage.virtual_key_settings import (
    KeyDefinitionChanged,
    UnmergeableKeys,
    VirtualKeySettings,
)
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.tables import properties
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.key_storage import key_storage, warn_of_stored_keys
from pyhudi_expr.tables.locks import TableLock
from tests.manage.indexing.sparkless_indexes import disable_virtual_keys

Golden = Mapping[str, Path]
TWO_COLUMNS = "cow_v8_complexkeygen_hivestyle"
NO_INDEXES = "mor_v6_simplekeygen_nonhivestyle"


@pytest.fixture
def copies(golden: Golden, tmp_path: Path) -> Copies:
    return Copies(golden, tmp_path)


class Copies:
    """Copies of golden tables, which tests may change."""

    def __init__(self, golden: Golden, parent: Path) -> None:
        self._golden, self._parent = golden, parent

    def open(self, name: str) -> HudiTable:
        path = self._parent / name
        shutil.copytree(self._golden[name], path, dirs_exist_ok=True)
        return HudiTable.open(str(path))


def switched(table: HudiTable, settings: VirtualKeySettings | None = None) -> HudiTable:
    enable(table, settings or VirtualKeySettings(), TableLock(table.storage, wait=1))
    return HudiTable.at(table.storage)


def test_the_settings_are_saved_with_hudis_own(copies: Copies) -> None:
    before = copies.open(TWO_COLUMNS)
    after = switched(before).properties
    assert not after.meta_fields
    new = dict(after.raw.items() - before.properties.raw.items())
    assert new == {
        "hoodie.populate.meta.fields": "false",
        "hoodie.recordkey.virtual.enabled": "true",
        "hoodie.recordkey.virtual.columns": "id,name",
        "hoodie.recordkey.virtual.concatenator": ",",
        "hoodie.recordkey.virtual.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
    }
    assert after.raw["hoodie.table.checksum"] == before.properties.raw["hoodie.table.checksum"]


@pytest.mark.parametrize(
    ("archive", "setting", "generator"),
    [
        (TWO_COLUMNS, "hoodie.table.keygenerator.type", "COMPLEX"),
        (
            NO_INDEXES,
            "hoodie.table.keygenerator.class",
            "org.apache.hudi.keygen.SimpleKeyGenerator",
        ),
    ],
)
def test_defaults_are_written_explicitly(
    copies: Copies, archive: str, setting: str, generator: str
) -> None:
    """Otherwise Hudi would use a writer's generator. Hudi's checksum is updated."""
    table = copies.open(archive)
    written = table.properties.raw
    assert written[setting] == generator
    properties.update(table.storage, {setting: None, "hoodie.table.checksum": None})
    filled = switched(HudiTable.at(table.storage)).properties.raw
    assert filled.items() >= written.items() - {("hoodie.populate.meta.fields", "true")}


def test_turning_virtual_keys_off_removes_all_settings(copies: Copies) -> None:
    before = copies.open(NO_INDEXES)
    after = switched(before)
    disable_virtual_keys(after.base_path)
    raw = dict(HudiTable.at(after.storage).properties.raw)
    assert raw.pop("hoodie.populate.meta.fields") == "true"
    assert raw == before.properties.raw


def test_the_contingency_keeps_the_column_until_it_is_turned_off(copies: Copies) -> None:
    table = switched(copies.open(TWO_COLUMNS), VirtualKeySettings(keep_column=True))
    assert table.properties.meta_fields
    table = switched(table)
    assert not table.properties.meta_fields
    with pytest.raises(HudiError, match="disable"):
        switched(table, VirtualKeySettings(keep_column=True))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (VirtualKeySettings(columns=("id",)), r"columns is 'id', .* saved 'id,name'"),
        (
            VirtualKeySettings(class_name="org.apache.hudi.keygen.SimpleKeyGenerator"),
            "class is .*Simple",
        ),
        (VirtualKeySettings(class_name="com.acme.Keys"), r"class is 'com\.acme\.Keys', .* saved"),
        (VirtualKeySettings(concatenator="_"), r"concatenator is '_', .* saved ','"),
    ],
)
def test_the_definition_of_keys_is_not_changed(
    copies: Copies, settings: VirtualKeySettings, message: str
) -> None:
    table = switched(copies.open(TWO_COLUMNS))
    with pytest.raises(KeyDefinitionChanged, match=message):
        switched(table, settings)
    assert HudiTable.at(table.storage).properties.raw == table.properties.raw


def test_a_concatenator_cannot_be_changed(copies: Copies) -> None:
    table = switched(copies.open(TWO_COLUMNS), VirtualKeySettings(concatenator="_"))
    assert table.properties.raw["hoodie.recordkey.virtual.concatenator"] == "_"
    with pytest.raises(KeyDefinitionChanged):
        switched(table, VirtualKeySettings(concatenator="-"))


def test_keys_that_hudi_would_merge_wrongly_are_refused(copies: Copies) -> None:
    timestamps = copies.open("cow_v9_timebasedkeygen_nonhivestyle")
    with pytest.raises(UnmergeableKeys, match="TimestampBasedKeyGenerator"):
        switched(timestamps)
    assert HudiTable.at(timestamps.storage).properties.raw == timestamps.properties.raw


def test_keys_of_dates_are_for_tables_to_which_rows_are_only_added(copies: Copies) -> None:
    table = copies.open("cow_v9_txns_nonpart_nometa")
    key = {
        "hoodie.table.recordkey.fields": "txn_date",
        "hoodie.table.keygenerator.type": "NON_PARTITION",
    }
    properties.update(table.storage, key)
    with pytest.raises(UnmergeableKeys, match="yyyy-MM-dd"):
        switched(table)
    after = switched(table, VirtualKeySettings(append_only=True))
    assert after.properties.raw["hoodie.recordkey.virtual.append.only"] == "true"
    with pytest.raises(KeyDefinitionChanged, match=r"append\.only"):
        switched(after, VirtualKeySettings(append_only=False))


def test_log_files_are_merged_by_keys_so_they_need_keys_that_hudi_compares(copies: Copies) -> None:
    with pytest.raises(HudiError, match=r"append\.only is for tables of the type COPY_ON_WRITE"):
        switched(copies.open(NO_INDEXES), VirtualKeySettings(append_only=True))


def test_a_key_column_that_the_schema_lacks_is_refused(copies: Copies) -> None:
    table = copies.open(NO_INDEXES)
    properties.update(table.storage, {"hoodie.table.recordkey.fields": "nope"})
    before = HudiTable.at(table.storage).properties.raw
    with pytest.raises(HudiError, match=r"'nope' is not in the schema; there are .*name"):
        switched(table)
    assert HudiTable.at(table.storage).properties.raw == before


def test_an_unknown_generator_is_refused(copies: Copies) -> None:
    table = copies.open(TWO_COLUMNS)
    with pytest.raises(UnsupportedTable, match=r"'nobodys' is not known here: register it"):
        switched(table, VirtualKeySettings(class_name="python:nobodys"))
    assert HudiTable.at(table.storage).properties.raw == table.properties.raw


def test_a_record_index_of_hudi_prevents_virtual_keys(copies: Copies) -> None:
    table = copies.open("cow_v9_txns_simple_meta")
    with pytest.raises(HudiError, match=r"record_index.*Drop them first"):
        switched(table)


def test_key_storage_is_computed_from_footers(copies: Copies) -> None:
    table = copies.open(TWO_COLUMNS)
    stored = key_storage(table)
    newest = set(table.listing().file_name.to_pylist())
    every = Path(table.base_path).glob("*/*/*.parquet")
    files = sorted(file for file in every if file.name in newest)
    bytes_of = {file: key_bytes(file) for file in files}
    assert (stored.files, stored.files_with_keys, stored.bytes_saved) == (3, 3, 0)
    assert 0 < stored.bytes_to_save == sum(bytes_of.values()) < stored.bytes

    without = pq.ParquetFile(files[0]).read().drop_columns(["_hoodie_record_key"])
    pq.write_table(without, files[0])
    mixed = key_storage(table)
    remaining_bytes, rows = sum(bytes_of.values()) - bytes_of[files[0]], stored.rows - len(without)
    assert (mixed.files_with_keys, mixed.bytes_to_save, mixed.is_measured) == (
        2,
        remaining_bytes,
        True,
    )
    assert mixed.bytes_saved == len(without) * remaining_bytes // rows
    empty = key_storage(copies.open("cow_v8_simplekeygen_hivestyle_no_metafields"))
    assert (empty.files, empty.files_with_keys, empty.bytes_to_save) == (3, 0, 0)
    assert not empty.is_measured


def key_bytes(file: Path) -> int:
    metadata = pq.read_metadata(file)
    columns = [metadata.row_group(0).column(i) for i in range(metadata.num_columns)]
    (key,) = [column for column in columns if column.path_in_schema == "_hoodie_record_key"]
    assert metadata.num_row_groups == 1
    return int(key.total_compressed_size)


def test_ignored_stored_keys_are_warned_about_once(
    copies: Copies, caplog: pytest.LogCaptureFixture
) -> None:
    table = switched(copies.open(TWO_COLUMNS))
    assert warn_of_stored_keys(table)
    assert not warn_of_stored_keys(table)
    assert [record.getMessage().split(" ")[0] for record in caplog.records] == [table.base_path]


def test_unreadable_files_do_not_fail_the_check(copies: Copies) -> None:
    table = switched(copies.open(TWO_COLUMNS))
    for file in Path(table.base_path).glob("*/*/*.parquet"):
        file.write_bytes(b"no footer")
    assert not warn_of_stored_keys(table)


def test_no_warning_for_a_table_without_stored_keys(copies: Copies) -> None:
    assert not warn_of_stored_keys(copies.open("cow_v8_simplekeygen_hivestyle_no_metafields"))
