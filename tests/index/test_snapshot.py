"""Which indexes a snapshot trusts: all of a current metadata table, fewer of one that lags."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.tables.synthetic import write_table
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.tables.hudi_names import PROPERTIES_FILE
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

NEW_FILE = "day=2020-01-01/11111111-1111-1111-1111-111111111111-0_0-1-2_20250101000000000.parquet"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Six files in two partitions: ids up to 2999 and from 3000 to 5999."""
    write_table(tmp_path / "t", files=6, partitions=2)
    return tmp_path / "t"


def prune(path: Path, text: str) -> PruneResult:
    return Pruner().prune(str(path), PruneRequest(parse_predicate(text)))


def materialise(path: Path) -> None:
    """Empty data files, so that the storage can be listed."""
    mdt = MetadataTable.open(HudiTable.open(str(path)))
    assert mdt is not None
    stored = mdt.stored_files()
    for partition, name in zip(stored.partition, stored.name.to_pylist(), strict=True):
        directory = path / stored.partitions[int(partition)].as_py()
        directory.mkdir(exist_ok=True)
        (directory / ".hoodie_partition_metadata").touch()
        (directory / name).touch()


def commit_unknown_to_the_metadata(path: Path) -> None:
    timeline = path / ".hoodie" / "timeline"
    shutil.copy(
        next(timeline.glob("*_*.commit")), timeline / "20250101000000000_20250101000001000.commit"
    )
    (path / NEW_FILE).touch()


def test_all_indexes_of_a_current_metadata_table_are_used(path: Path) -> None:
    result = prune(path, "id = 3500")
    assert (result.files_kept, result.files_total) == (1, 6)
    assert prune(path, "id = 99999").files_kept == 0
    assert result.notes == ()


def test_a_file_missing_in_the_metadata_table_is_kept(path: Path) -> None:
    materialise(path)
    commit_unknown_to_the_metadata(path)
    result = prune(path, "id = 3500")
    assert result.instant == "20250101000000000"
    assert result.files_total == 7
    assert NEW_FILE in result.kept_paths()
    assert result.files_kept == 2
    # Its partition's aggregate does not cover it, but its partition's value does.
    assert prune(path, "id = 99999").kept_paths() == [NEW_FILE]
    assert prune(path, "day = '2020-01-02' AND id = 3500").files_kept == 1


def test_a_commit_between_two_questions_is_seen(path: Path) -> None:
    materialise(path)
    pruner, question = Pruner(), PruneRequest(parse_predicate("id = 3500"))
    assert pruner.prune(str(path), question).files_total == 6
    commit_unknown_to_the_metadata(path)
    after = pruner.prune(str(path), question)
    assert (after.instant, after.files_total) == ("20250101000000000", 7)
    assert NEW_FILE in after.kept_paths()


def test_properties_that_change_between_two_questions_are_seen(path: Path) -> None:
    pruner, question = Pruner(), PruneRequest(parse_predicate("id = 3500"))
    assert pruner.prune(str(path), question).files_kept == 1
    properties = path / PROPERTIES_FILE
    before = properties.read_text()
    properties.write_text(before.replace("column_stats,", "").replace("partition_stats", ""))
    assert pruner.prune(str(path), question).files_kept == 6
    properties.write_text(before)
    assert pruner.prune(str(path), question).files_kept == 1


@pytest.mark.parametrize(
    ("damaged", "kept"), [("column_stats", 3), ("partition_stats", 1), ("files", 1)]
)
def test_a_damaged_index_costs_pruning_and_is_noted(path: Path, damaged: str, kept: int) -> None:
    materialise(path)
    for file in (path / ".hoodie/metadata" / damaged).glob("*.hfile"):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
    result = prune(path, "id = 3500 OR id = 99999")
    assert result.files_total == 6
    assert result.files_kept == kept
    assert result.notes
    assert all(path.name in note for note in result.notes)


def test_without_a_metadata_table_only_partition_values_prune(path: Path) -> None:
    materialise(path)
    shutil.rmtree(path / ".hoodie" / "metadata")
    assert prune(path, "id = 3500").files_kept == 6
    assert prune(path, "day = '2020-01-02'").files_kept == 3
    assert prune(path, "id = 3500").notes
