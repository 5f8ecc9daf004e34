"""The disk cache never changes an answer, whatever happens to the table."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.tables import synthetic
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.tables.mdt.store import listing_state

FILES, PARTITIONS = 400, 8
ROWS = FILES * synthetic.ROWS_PER_FILE
PREDICATES = [
    f"spread < {ROWS // 3}",
    f"spread < {ROWS // 3} AND (amount > {ROWS // 8} OR code >= 'item-{ROWS // 20:010d}')",
    "id = 5",
    "day = '2020-01-03' AND spread > 1000",
]


def answers(
    table: Path, directory: Path | None, predicates: Sequence[str] = PREDICATES
) -> list[list[str]]:
    """The slices kept for each predicate, by a new pruner that shares only the cache directory."""
    pruner = Pruner(PruneOptions(snapshot_dir=directory))
    found = []
    for sql in predicates:
        result = pruner.prune(str(table), PruneRequest(parse_predicate(sql)))
        assert result.notes == ()
        found.append(sorted(result.kept_paths()))
    return found


@pytest.fixture(autouse=True)
def small_tables_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_state, "LEAST_FILES", 1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table"
    synthetic.write_table(path, files=FILES, partitions=PARTITIONS)
    return path


def test_cached_answers_stay_the_same(table: Path, tmp_path: Path) -> None:
    directory = tmp_path / "snapshots"
    first = answers(table, None)
    assert [len(kept) for kept in first][2] == 1
    for _ in range(3):
        assert answers(table, directory) == first
    assert list(directory.iterdir())


def test_a_second_process_reads_no_data_blocks(tmp_path: Path) -> None:
    table = tmp_path / "table"
    synthetic.write_table(table, files=10 * FILES, partitions=PARTITIONS)
    # The other predicates leave one partition, of which little is read and nothing is cached.
    every_partition = PREDICATES[:2]
    first = answers(table, tmp_path / "snapshots", every_partition)
    for base in table.glob(".hoodie/metadata/column_stats/*.hfile"):
        content, times = bytearray(base.read_bytes()), base.stat()
        content[: len(content) // 2] = bytes(len(content) // 2)
        base.write_bytes(content)
        os.utime(base, ns=(times.st_atime_ns, times.st_mtime_ns))
    notes = Pruner().prune(str(table), PruneRequest(parse_predicate(PREDICATES[0]))).notes
    assert "cannot be read" in notes[0]
    assert answers(table, tmp_path / "snapshots", every_partition) == first


def test_a_recreated_table_does_not_use_the_old_cache(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = answers(table, tmp_path / "snapshots")
    monkeypatch.setattr(synthetic, "_SEED", synthetic._SEED + 1)
    synthetic.write_table(table, files=FILES, partitions=PARTITIONS)
    new = answers(table, None)
    assert new != old
    assert answers(table, tmp_path / "snapshots") == new


def test_damaged_cache_files_are_replaced(table: Path, tmp_path: Path) -> None:
    directory = tmp_path / "snapshots"
    first = answers(table, directory)
    for number, file in enumerate(sorted(directory.iterdir())):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1 + number % 255
        file.write_bytes(content if number % 2 else content[:-100])
    assert answers(table, directory) == first
    assert answers(table, directory) == first
