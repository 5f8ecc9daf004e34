"""Tables without meta fields: indexes of keys and the meta columns are not trusted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.index.lookups.lookup_indexes import LookupIndexes
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.tables import properties
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.index.prune.matching_slices import request

_WITH_ALL_INDEXES = "cow_v9_txns_simple_meta"


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    return shutil.copytree(golden[_WITH_ALL_INDEXES], tmp_path / "t")


def changed(table: Path, setting: str, value: str) -> None:
    properties.update(HudiTable.open(str(table)).storage, {setting: value})


def indexes(table: Path) -> LookupIndexes:
    opened = HudiTable.open(str(table))
    metadata = MetadataTable.open(opened)
    assert metadata is not None
    return LookupIndexes.open(opened, opened.listing(), metadata, None, opened.schema())


def share(table: Path, predicate: str) -> tuple[int, int]:
    """The number of files kept, and of all files."""
    found = Pruner().prune(str(table), request(predicate))
    return found.files_kept, found.files_total


@pytest.mark.parametrize(
    "predicate",
    [
        "_hoodie_record_key = 'nothing'",
        "_hoodie_commit_time IS NULL",
        "_hoodie_commit_time > '9'",
        "_hoodie_partition_path = 'nowhere'",
    ],
)
def test_meta_columns_prune_only_tables_with_meta_fields(table: Path, predicate: str) -> None:
    """Without meta fields, readers show NULL in the meta columns, whatever statistics say."""
    kept, total = share(table, predicate)
    assert kept < total
    changed(table, "hoodie.populate.meta.fields", "false")
    kept, total = share(table, predicate)
    assert kept == total


def test_hudis_key_indexes_are_not_used(table: Path) -> None:
    """They may be empty; secondary indexes map values to keys."""
    before = indexes(table)
    assert before.record_index is not None
    assert len(before.secondary) == 2
    changed(table, "hoodie.populate.meta.fields", "false")
    after = indexes(table)
    assert after.record_index is None
    assert not after.secondary


def test_ignoring_stored_keys_hides_only_the_key(table: Path) -> None:
    changed(table, "hoodie.recordkey.virtual.enabled", "true")
    kept, total = share(table, "_hoodie_record_key = 'nothing'")
    assert kept == total
    assert share(table, "_hoodie_commit_time > '9'")[0] == 0
    assert 0 < share(table, "txn_id = 'TXN-017'")[0] < total  # its record index is kept up to date


def test_statistics_are_not_asked_about_hidden_columns(table: Path) -> None:
    """An equality of the key's column implies one of the record key, for indexes of keys only."""
    implying = request("txn_id = 'TXN-017'")
    asked = {one.name for one in Pruner().prune(str(table), implying).columns}
    changed(table, "hoodie.recordkey.virtual.enabled", "true")
    assert asked == {"txn_id", "_hoodie_record_key"}
    assert {one.name for one in Pruner().prune(str(table), implying).columns} == {"txn_id"}
