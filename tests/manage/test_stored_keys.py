"""Stored keys are counted exactly, whatever the files say about them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.manage.audit.findings import Fault
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.manage.invariants import Extent, SliceKeys, extent, stored_keys
from pyhudi_expr.tables import properties
from pyhudi_expr.tables.hudi_table import HudiTable

COLUMN = "_hoodie_record_key"
WITH_KEYS = "cow_v8_complexkeygen_hivestyle"
WITHOUT_KEYS = "cow_v8_simplekeygen_hivestyle_no_metafields"
WITH_LOGS = "mor_v6_simplekeygen_nonhivestyle"


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> HudiTable:
    return HudiTable.open(str(shutil.copytree(golden[WITH_KEYS], tmp_path / "t")))


def found(table: HudiTable) -> list[SliceKeys]:
    return stored_keys(table, table.listing())


def replace_keys(table: HudiTable, keys: pa.Array, **options: object) -> str:
    """Gives the rows of one base file these keys, in turn; returns the file's path."""
    listing = table.listing()
    (path, *_) = listing.paths(~listing.file_is_log)
    file = Path(table.base_path, path)
    rows = pq.read_table(file)
    own = keys.take(pa.array([i % len(keys) for i in range(rows.num_rows)]))
    at = rows.schema.get_field_index(COLUMN)
    many = pa.concat_tables([rows.set_column(at, COLUMN, own)] * 4)
    pq.write_table(many, file, row_group_size=2, **options)
    return path


def mix_keys(table: HudiTable) -> None:
    """Gives one base file sixteen times its rows, of which half have a key, in each row group."""
    for keys in (["a"], ["a", None, "", "b"]):
        replace_keys(table, pa.array(keys))


@pytest.mark.parametrize("options", [{}, {"write_statistics": False}], ids=str)
@pytest.mark.parametrize(
    ("keys", "share"),
    [
        (pa.array(["a"]), 1),
        (pa.array([None], pa.string()), 0),
        (pa.array([""]), 0),
    ],
    ids=str,
)
def test_base_files_with_all_keys_and_with_none(
    table: HudiTable, keys: pa.Array, share: int, options: dict[str, object]
) -> None:
    path = replace_keys(table, keys, **options)
    one = next(one for one in found(table) if one.slice.path(one.slice.base) == path)
    assert one.rows > 0
    assert one.keys == share * one.rows


@pytest.mark.parametrize("options", [{}, {"write_statistics": False}], ids=str)
@pytest.mark.parametrize("nothing", [None, ""])
def test_rows_of_both_kinds_in_one_row_group(
    table: HudiTable, nothing: str | None, options: dict[str, object]
) -> None:
    path = replace_keys(table, pa.array(["a"]), **options)
    file = Path(table.base_path, path)
    rows = pq.read_table(file)
    keys = pa.array(["a", nothing, "b"] * rows.num_rows, pa.string())[: rows.num_rows]
    pq.write_table(rows.set_column(rows.schema.names.index(COLUMN), COLUMN, keys), file, **options)
    one = next(one for one in found(table) if one.slice.path(one.slice.base) == path)
    assert one.has_keys
    assert one.lacks_keys
    assert one.keys == sum(bool(key) for key in keys.to_pylist())
    assert extent(found(table)) is Extent.SOME


def test_rows_of_log_files_are_counted(golden: Mapping[str, Path]) -> None:
    table = HudiTable.open(str(golden[WITH_LOGS]))
    slices = found(table)
    assert sum(one.log_rows for one in slices) > 0
    assert all(one.log_keys == one.log_rows for one in slices)
    assert extent(slices) is Extent.ALL
    assert all(one.instant > one.slice.base_instant for one in slices if one.log_rows)


def test_an_audit_names_the_files_of_a_table_that_lacks_keys(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    table = HudiTable.open(str(shutil.copytree(golden[WITHOUT_KEYS], tmp_path / "t")))
    assert extent(found(table)) is Extent.NONE
    assert _faults(table) == []
    properties.update(table.storage, {"hoodie.populate.meta.fields": "true"})
    table = HudiTable.at(table.storage)
    findings = _faults(table)
    assert len(findings) == len(found(table))
    assert findings[0].remedy == (
        f"pyhudi virtual-keys disable {table.base_path} stores them again"
    )


def _faults(table: HudiTable) -> list:
    findings = audit(table, AuditOptions()).findings
    return [one for one in findings if one.fault is Fault.STORED_KEY_MISSING]
