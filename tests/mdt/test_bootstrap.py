"""Tables without a metadata table get one."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.mdt.bootstrap import ensure_metadata_table
from pyhudi_expr.mdt.index_action import IndexConflict
from pyhudi_expr.mdt.reader import METADATA_DIR, MetadataTable
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock

TABLES = [
    "cow_v8_complexkeygen_hivestyle",
    "cow_v9_txns_nonpart_nometa",
    "mor_v6_simplekeygen_nonhivestyle",
]


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest, golden: Mapping[str, Path], tmp_path: Path) -> HudiTable:
    shutil.copytree(golden[request.param], tmp_path / "table")
    return HudiTable.open(str(tmp_path / "table"))


def test_it_lists_the_files_that_there_are(table: HudiTable) -> None:
    assert MetadataTable.open(table) is None
    assert ensure_metadata_table(table, TableLock(table.storage))
    metadata = MetadataTable.open(table.refreshed())
    assert metadata is not None
    assert metadata.partitions == {"files"}
    listed, found = metadata.stored_files(), table.stored_files()
    assert sorted(listed.partitions.to_pylist()) == sorted(found.partitions.to_pylist())
    assert sorted(listed.name.to_pylist()) == sorted(found.name.to_pylist())
    assert sorted(listed.size.tolist()) == sorted(found.size.tolist())


def test_a_metadata_table_that_is_there_stays(table: HudiTable) -> None:
    ensure_metadata_table(table, TableLock(table.storage))
    before = sorted(Path(table.base_path).rglob("*"))
    assert not ensure_metadata_table(table.refreshed(), TableLock(table.storage))
    assert sorted(Path(table.base_path).rglob("*")) == before


def test_what_hudi_has_left_of_one_is_not_taken_for_one(table: HudiTable) -> None:
    left = Path(table.base_path) / METADATA_DIR / "files" / "old"
    left.parent.mkdir(parents=True)
    left.touch()
    assert ensure_metadata_table(table, TableLock(table.storage))
    assert not left.exists()


def test_other_writers_must_be_done(table: HudiTable) -> None:
    pending = f"{table.properties.timeline_dir}/29990101000000000.deltacommit.requested"
    (Path(table.base_path) / pending).touch()
    with pytest.raises(IndexConflict, match="29990101000000000"):
        ensure_metadata_table(table.refreshed(), TableLock(table.storage))
    assert not (Path(table.base_path) / METADATA_DIR).exists()
