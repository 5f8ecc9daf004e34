"""Tables with virtual keys read without an engine: complete rows, and NULL as record key."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hudi import HudiTableBuilder

from pyhudi_expr.indexing.virtual_key_settings import VirtualKeySettings, enable
from pyhudi_expr.reading.scan import scan
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock

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
