"""Counts of rows read the files only of which it is not certain how many rows match."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

import pyhudi_expr as ph
from pyhudi_expr.errors import HudiError

ARCHIVE = "cow_v9_txns_simple_meta"
EVERY = 12


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    """A table whose files of the partition us cannot be read."""
    path = shutil.copytree(golden[ARCHIVE], tmp_path / "table")
    for file in (path / "region=us").glob("*.parquet"):
        file.write_bytes(b"no Parquet" + bytes(file.stat().st_size - 10))
    return path


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (None, EVERY),
        ("region = 'us'", 5),
        ("amount >= 0", EVERY),
        ("txn_id IS NOT NULL", EVERY),
        ("region = 'us' OR txn_id = 'none'", 5),
        ("abs(amount) >= 0", EVERY),
        ("CAST(amount AS bigint) >= 0 AND region = 'us'", 5),
    ],
)
def test_files_that_match_wholly_are_not_read(
    table: Path, condition: str | None, rows: int
) -> None:
    assert ph.table(table).scan(condition).count() == rows


def test_files_that_match_in_part_are_read(table: Path, golden: Mapping[str, Path]) -> None:
    condition = "region = 'us' AND txn_id > 'TXN-013'"
    whole = ph.table(golden[ARCHIVE])
    assert whole.scan(condition).count() == whole.scan(condition).to_arrow().num_rows
    with pytest.raises(HudiError):
        ph.table(table).scan(condition).count()


def test_earlier_states_and_log_files_are_counted_as_they_are_read(
    golden: Mapping[str, Path],
) -> None:
    for archive in (ARCHIVE, "mor_v9_txns_simple_meta", "mor_v6_metadata_pending_compaction"):
        whole = ph.table(golden[archive])
        for instant in whole.history()["instant"].to_pylist():
            scan = whole.scan(as_of=instant)
            assert scan.count() == scan.to_arrow().num_rows, (archive, instant)
