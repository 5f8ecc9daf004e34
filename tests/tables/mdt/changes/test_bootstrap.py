"""A metadata table is created for tables without one."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import BLOOM_FILTERS, METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.changes.async_indexing import announce, publish
from pyhudi_expr.tables.mdt.changes.bootstrap import ensure_metadata_table
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict, NewPartition
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.failure_fixtures import Disk
from tests.tables.directory_contents import contents, linked

TABLES = [
    "cow_v8_complexkeygen_hivestyle",
    "cow_v9_txns_nonpart_nometa",
    "mor_v6_simplekeygen_nonhivestyle",
]


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest, golden: Mapping[str, Path], tmp_path: Path) -> HudiTable:
    shutil.copytree(golden[request.param], tmp_path / "table")
    return HudiTable.open(str(tmp_path / "table"))


def test_the_new_metadata_table_lists_all_files(table: HudiTable) -> None:
    assert MetadataTable.open(table) is None
    assert ensure_metadata_table(table, TableLock(table.storage))
    metadata = MetadataTable.open(table.refreshed())
    assert metadata is not None
    assert metadata.partitions == {"files"}
    listed, found = metadata.stored_files(), table.stored_files()
    assert sorted(listed.partitions.to_pylist()) == sorted(found.partitions.to_pylist())
    assert sorted(listed.name.to_pylist()) == sorted(found.name.to_pylist())
    assert sorted(listed.size.tolist()) == sorted(found.size.tolist())


def test_checksums_of_local_disks_are_not_listed(table: HudiTable) -> None:
    files = [path for path in Path(table.base_path).rglob("*") if path.suffix == ".parquet"]
    for file in files:
        file.with_name(f".{file.name}.crc").write_bytes(b"crc")
    ensure_metadata_table(table, TableLock(table.storage))
    metadata = MetadataTable.open(table.refreshed())
    assert metadata is not None
    names = metadata.stored_files().name.to_pylist()
    assert {file.name for file in files} <= {*names}
    assert not [name for name in names if name.endswith(".crc")]


def test_an_existing_metadata_table_is_kept(table: HudiTable) -> None:
    ensure_metadata_table(table, TableLock(table.storage))
    before = sorted(Path(table.base_path).rglob("*"))
    assert not ensure_metadata_table(table.refreshed(), TableLock(table.storage))
    assert sorted(Path(table.base_path).rglob("*")) == before


def test_leftovers_of_a_metadata_table_are_not_used(table: HudiTable) -> None:
    leftover_dir = Path(table.base_path) / METADATA_DIR / "files" / "old"
    leftover_dir.parent.mkdir(parents=True)
    leftover_dir.touch()
    assert ensure_metadata_table(table, TableLock(table.storage))
    assert not leftover_dir.exists()


def test_a_bootstrap_requires_that_no_writer_runs(table: HudiTable) -> None:
    pending = f"{table.properties.timeline_dir}/29990101000000000.deltacommit.requested"
    (Path(table.base_path) / pending).touch()
    with pytest.raises(IndexConflict, match="29990101000000000"):
        ensure_metadata_table(table.refreshed(), TableLock(table.storage))
    assert not (Path(table.base_path) / METADATA_DIR).exists()


@pytest.mark.slow
def test_a_killed_bootstrap_leaves_no_metadata_table(
    table: HudiTable, tmp_path: Path, kill_after_changes: Callable[[Callable[[], None], int], bool]
) -> None:
    path = Path(table.base_path)
    path.rename(tmp_path / "without")
    completed, changes = False, 0
    while not completed:
        linked(tmp_path / "without", path)
        completed = kill_after_changes(lambda: make(path), changes)
        for leftover in path.glob(".hoodie/**/lock"):
            leftover.unlink()  # as its owner's lock would expire
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


def test_a_full_disk_leaves_no_metadata_table(table: HudiTable, disk: Disk) -> None:
    path = disk.path / "table"
    shutil.copytree(table.base_path, path)
    before, pages, messages = contents(path), 0, list[str]()
    while "hoodie.table.metadata.partitions" not in HudiTable.open(str(path)).properties.raw:
        assert contents(path) == before
        disk.fill(pages * 4096)
        try:
            make(path)
        except HudiError as error:
            messages.append(str(error))
        disk.empty()
        pages += 1
    assert all("No space left" in text for text in messages)
    assert len(messages) == pages - 1 > 5


def make(path: Path) -> None:
    opened = HudiTable.open(str(path))
    ensure_metadata_table(opened, TableLock(opened.storage))


def test_a_new_metadata_table_with_an_index_covers_every_commit(table: HudiTable) -> None:
    """The index's delta commit is its first one, and has an instant before the newest commit."""
    lock = TableLock(table.storage)
    ensure_metadata_table(table, lock)
    announced = announce(table.refreshed(), [NewPartition(BLOOM_FILTERS, 1)], lock)
    publish(announced, [], lock, 1, lambda _table, _instant: ())
    metadata = MetadataTable.open(HudiTable.open(table.base_path))
    assert metadata is not None
    assert metadata.instant == table.instant
    assert metadata.lists_files
