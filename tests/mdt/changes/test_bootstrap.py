"""Tables without a metadata table get one."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pyhudi_expr.mdt.changes.bootstrap import ensure_metadata_table
from pyhudi_expr.mdt.changes.partitions import IndexConflict
from pyhudi_expr.mdt.store.metadata_table import METADATA_DIR, MetadataTable
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock
from tests.failure_fixtures import Disk
from tests.table.directory_contents import contents, linked

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


@pytest.mark.slow
def test_who_dies_while_making_it_leaves_none(
    table: HudiTable, tmp_path: Path, kill_after_changes: Callable[[Callable[[], None], int], bool]
) -> None:
    path = Path(table.base_path)
    path.rename(tmp_path / "without")
    completed, changes = False, 0
    while not completed:
        linked(tmp_path / "without", path)
        completed = kill_after_changes(lambda: make(path), changes)
        for leftover in path.glob(".hoodie/**/lock"):
            leftover.unlink()  # what its owner's lock would expire with
        metadata = MetadataTable.open(HudiTable.open(str(path)))
        assert metadata is None or metadata.stored_files().name.to_pylist()
        make(path)
        metadata = MetadataTable.open(HudiTable.open(str(path)))
        assert metadata is not None
        assert sorted(metadata.stored_files().name.to_pylist()) == sorted(
            table.refreshed().stored_files().name.to_pylist()
        )
        shutil.rmtree(path)
        changes += 1
    assert changes > 8


def test_on_a_full_disk_there_is_none(table: HudiTable, disk: Disk) -> None:
    path = disk.path / "table"
    shutil.copytree(table.base_path, path)
    before, pages, said = contents(path), 0, list[str]()
    while "hoodie.table.metadata.partitions" not in HudiTable.open(str(path)).properties.raw:
        assert contents(path) == before
        disk.fill(pages * 4096)
        try:
            make(path)
        except HudiError as error:
            said.append(str(error))
        disk.empty()
        pages += 1
    assert all("No space left" in text for text in said)
    assert len(said) == pages - 1 > 5


def make(path: Path) -> None:
    opened = HudiTable.open(str(path))
    ensure_metadata_table(opened, TableLock(opened.storage))
