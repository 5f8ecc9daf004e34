"""Tables with virtual keys read without an engine: complete rows, and NULL as record key."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hudi import HudiTableBuilder

import pyhudi_expr as ph
from pyhudi_expr import scan
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.tables import properties
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import MissingKeyColumn
from pyhudi_expr.tables.keys.generators import MissingKey
from pyhudi_expr.tables.locks import TableLock
from tests.manage.test_stored_keys import mix_keys
from tests.service.test_handler import request

Golden = Mapping[str, Path]
_SHOWN = ["id", "name", "_hoodie_record_key"]


def rows(table: Path, *columns: str, filter: str | None = None) -> list[dict[str, Any]]:
    found = scan(str(table), filter, columns or _SHOWN).to_table().to_pylist()
    return sorted(found, key=lambda row: repr(row))


@pytest.mark.parametrize("version", [6, 8])
def test_hudi_rs_reads_the_same_rows_without_meta_fields(golden: Golden, version: int) -> None:
    path = golden[f"cow_v{version}_simplekeygen_hivestyle_no_metafields"]
    batches = HudiTableBuilder.from_base_uri(str(path)).build().read()
    theirs = [row for batch in batches for row in batch.to_pylist()]
    assert not any("_hoodie_record_key" in row for row in theirs)
    expected = [{"id": row["id"], "name": row["name"]} for row in theirs]
    assert rows(path, "id", "name") == sorted(expected, key=lambda row: repr(row))
    assert [row["_hoodie_record_key"] for row in rows(path)] == [None] * len(theirs)


@pytest.mark.parametrize(
    "archive", ["cow_v8_complexkeygen_hivestyle", "mor_v6_simplekeygen_nonhivestyle"]
)
@pytest.mark.parametrize("keep_column", [True, False])
def test_stored_keys_are_ignored_with_one_warning(
    golden: Golden,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    archive: str,
    keep_column: bool,
) -> None:
    """Slices of the second table are merged with log files."""
    path = shutil.copytree(golden[archive], tmp_path / "t")
    with_keys = rows(path)
    assert all(row["_hoodie_record_key"] for row in with_keys)
    opened = HudiTable.open(str(path))
    enable(opened, VirtualKeySettings(keep_column=keep_column), TableLock(opened.storage))

    keyless = [{**row, "_hoodie_record_key": None} for row in with_keys]
    with caplog.at_level(logging.WARNING):
        assert rows(path) == keyless
        assert rows(path, filter="_hoodie_record_key IS NULL") == keyless
    assert rows(path, filter=f"_hoodie_record_key = '{with_keys[0]['_hoodie_record_key']}'") == []
    one = with_keys[0]["id"]
    assert rows(path, "name", filter=f"id = {one} AND _hoodie_record_key IS NULL") == [
        {"name": with_keys[0]["name"]}
    ]
    assert len([record for record in caplog.records if "ignored" in record.message]) == 1


def test_rows_of_both_kinds_in_one_file_are_read_alike(golden: Golden, tmp_path: Path) -> None:
    path = shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "t")
    opened = HudiTable.open(str(path))
    enable(opened, VirtualKeySettings(), TableLock(opened.storage))
    mix_keys(opened)
    found = rows(path, "id", "_hoodie_record_key")
    assert len(found) > 4
    assert {row["_hoodie_record_key"] for row in found} == {None}
    assert rows(path, "id", filter="_hoodie_record_key = 'a'") == []


def with_key(source: Path, target: Path, column: str) -> Path:
    """A copy with virtual keys of another column, as if `hoodie.properties` had always said so."""
    path = shutil.copytree(source, target)
    settings = {
        "hoodie.table.recordkey.fields": column,
        "hoodie.recordkey.virtual.enabled": "true",
        "hoodie.table.keygenerator.type": "NON_PARTITION",
    }
    properties.update(HudiTable.open(str(path)).storage, settings)
    return path


def pruned(path: Path, text: str = "amount > 0") -> PruneResult:
    return Pruner().prune(str(path), PruneRequest(parse_predicate(text)))


@pytest.mark.parametrize("column", ["txn", "merchant.name"])
def test_a_table_without_a_key_column_is_refused(
    golden: Golden, tmp_path: Path, column: str
) -> None:
    path = with_key(golden["cow_v9_txns_simple_meta"], tmp_path / "t", column)
    refused = rf"{path}: the key column '{column}' is not in the schema; there are .*txn_id"
    with pytest.raises(MissingKeyColumn, match=refused):
        scan(str(path))
    with pytest.raises(MissingKeyColumn, match=refused):
        pruned(path)
    with pytest.raises(MissingKeyColumn, match=refused):
        ph.table(str(path)).to_pyarrow_dataset()
    # Spark ends the query by it; Hive reads every file, and logs a warning.
    answer = PruningHandler(Pruner(), ServiceSettings()).prune(request(str(path)))
    assert answer.status == PruneStatus.BAD_REQUEST
    assert answer.lacksKeys
    assert f"the key column '{column}' is not in the schema" in answer.message


def test_null_keys_are_refused_by_the_statistics(golden: Golden, tmp_path: Path) -> None:
    path = with_key(golden["cow_v9_txns_simple_meta"], tmp_path / "t", "merchant_name")
    refused = r"the key column 'merchant_name' is null in rows of 1 files.* no record key"
    for text in ("amount > 0", "region = 'us'", "merchant_name = 'x'"):
        with pytest.raises(MissingKey, match=refused):
            pruned(path, text)
        with pytest.raises(MissingKey, match=refused):
            scan(str(path), text)
    answer = PruningHandler(Pruner(), ServiceSettings()).prune(request(str(path)))
    assert answer.status == PruneStatus.BAD_REQUEST
    assert "'merchant_name' is null" in answer.message


def test_null_keys_are_refused_by_the_footers_of_the_files_that_are_read(
    golden: Golden, tmp_path: Path
) -> None:
    """Without statistics pruning does not know of them, and reads no footer for it."""
    path = with_key(golden["cow_v9_txns_nonpart_nometa"], tmp_path / "t", "merchant_name")
    assert pruned(path).files_kept
    with pytest.raises(MissingKey, match=r"'merchant_name' is null in rows of .*\.parquet"):
        scan(str(path), columns=["txn_id"]).to_table()
    with pytest.raises(MissingKey, match="'merchant_name' is null"):
        ph.table(str(path)).to_pyarrow_dataset("amount > 0")


def test_a_null_in_one_of_several_key_columns_is_a_key(golden: Golden, tmp_path: Path) -> None:
    """Hudi spells it `__null__`."""
    source = golden["cow_v9_txns_nonpart_nometa"]
    path = with_key(source, tmp_path / "t", "txn_id,merchant_name")
    assert rows(path, "txn_id") == rows(source, "txn_id")
    separated = {"hoodie.recordkey.virtual.concatenator": "_"}
    properties.update(HudiTable.open(str(path)).storage, separated)
    with pytest.raises(MissingKey, match="'merchant_name' is null"):
        rows(path, "txn_id")


def test_stored_keys_need_no_column(golden: Golden, tmp_path: Path) -> None:
    path = with_key(golden["cow_v9_txns_simple_meta"], tmp_path / "t", "merchant_name")
    stored = {"hoodie.recordkey.virtual.enabled": "false"}
    properties.update(HudiTable.open(str(path)).storage, stored)
    assert pruned(path).files_kept
    assert len(rows(path, "txn_id")) == 12
