"""A file of the metadata table that is gone or empty loses no file of the data table."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.hudi_names import FILES, METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.store.group_files import STUB_TOKEN
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable


def opened(table: Path) -> MetadataTable:
    metadata = MetadataTable.open(HudiTable.open(str(table)))
    assert metadata is not None
    return metadata


def listed(table: Path) -> list[tuple[str, int]]:
    stored = opened(table).stored_files()
    return sorted(zip(stored.name.to_pylist(), stored.size.tolist(), strict=True))


def with_metadata(golden: Mapping[str, Path]) -> Iterator[Path]:
    for table in golden.values():
        if (table / METADATA_DIR / FILES).is_dir():
            yield table


def test_a_whole_table_has_lost_nothing(golden: Mapping[str, Path]) -> None:
    tables = list(with_metadata(golden))
    assert tables
    for table in tables:
        metadata = opened(table)
        assert [lost for name in metadata.partitions for lost in metadata.lost_files(name)] == []


def copied(table: Path, to: Path) -> Path:
    """A copy of what lists of files are read from."""
    shutil.copytree(table / ".hoodie", to / ".hoodie", dirs_exist_ok=True)
    return to


def files_of(table: Path, partition: str, pattern: str) -> list[Path]:
    found = sorted((table / METADATA_DIR / partition).glob(pattern))
    return [file.relative_to(table) for file in found if file.suffix != ".crc"]


def lose(file: Path, harm: str) -> None:
    match harm:
        case "emptied":
            file.write_bytes(b"")
        case "deleted":
            file.unlink()
        case "moved":
            file.rename(file.parent.parent / file.name)


@pytest.mark.parametrize("harm", ["emptied", "deleted", "moved"])
def test_a_lost_log_file_of_the_lists_is_noticed(
    golden: Mapping[str, Path], tmp_path: Path, harm: str
) -> None:
    noticed = 0
    for table in with_metadata(golden):
        before = listed(table)
        for log in files_of(table, FILES, ".*.log.*"):
            copy = copied(table, tmp_path / "copy")
            lose(copy / log, harm)
            try:
                assert listed(copy) == before, log
            except CorruptFile:
                noticed += 1
            shutil.rmtree(copy)
    assert noticed >= 5


def test_a_lost_base_file_of_the_lists_is_noticed(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    for number, table in enumerate(with_metadata(golden)):
        before = listed(table)
        for base in files_of(table, FILES, "*.hfile"):
            copy = copied(table, tmp_path / f"{number}_{base.name}")
            (copy / base).unlink()
            with contextlib.suppress(CorruptFile):
                assert listed(copy) == before, base


def test_lost_logs_are_found_in_every_partition(golden: Mapping[str, Path], tmp_path: Path) -> None:
    """In layout 2 they are found by their names, which have the commit."""
    found = 0
    for table in with_metadata(golden):
        if HudiTable.open(str(table)).properties.timeline_layout == 1:
            continue
        metadata = opened(table)
        written = {
            name: {file.path for group in metadata.groups(name) for file, _ in group.logs}
            for name in metadata.partitions
        }
        for name, logs in written.items():
            recorded = [log for log in sorted(logs) if not log.endswith(STUB_TOKEN)]
            for log in recorded[:1]:
                copy = copied(table, tmp_path / "copy")
                (copy / METADATA_DIR / log).unlink()
                assert [path for path, _ in opened(copy).lost_files(name)] == [log]
                found += 1
                shutil.rmtree(copy)
    assert found >= 5
