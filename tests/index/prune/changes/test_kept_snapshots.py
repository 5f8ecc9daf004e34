"""What is kept on disk of a table's metadata never changes an answer, whatever happens to it."""

from __future__ import annotations

import logging
import multiprocessing
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.tables import synthetic
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.tables.mdt.store import disk_cache
from tests.example_counts import examples

FILES, PARTITIONS = 2_000, 8
ROWS = FILES * synthetic.ROWS_PER_FILE
PREDICATES = (
    f"spread < {ROWS // 3}",
    f"spread < {ROWS // 3} AND (amount > {ROWS // 8} OR code >= 'item-{ROWS // 20:010d}')",
)


def answers(table: str, directory: str | None) -> list[list[str]]:
    """The files kept for each predicate, by a new pruner that shares only the directory."""
    pruner = Pruner(PruneOptions(snapshot_dir=Path(directory) if directory else None))
    results = [pruner.prune(table, PruneRequest(parse_predicate(sql))) for sql in PREDICATES]
    assert [result.notes for result in results] == [(), ()]
    return [sorted(result.kept_paths()) for result in results]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("synthetic") / "table"
    synthetic.write_table(target, files=FILES, partitions=PARTITIONS)
    return str(target)


@pytest.fixture(scope="module")
def expected(table: str) -> list[list[str]]:
    return answers(table, None)


@pytest.fixture
def directory(table: str, tmp_path: Path) -> Path:
    """A directory with the snapshot: a listing, and the bounds of three columns."""
    answers(table, str(tmp_path))
    assert len(large_files(tmp_path)) == 4
    return tmp_path


def large_files(directory: Path) -> list[Path]:
    return sorted(file for file in directory.iterdir() if file.stat().st_size > 30_000)


def test_a_new_process_reads_a_snapshot_and_no_records(
    table: str, expected: list[list[str]], directory: Path
) -> None:
    pruner = Pruner(PruneOptions(snapshot_dir=directory))
    request = PruneRequest(parse_predicate(PREDICATES[1]))
    snapshot = pruner.open(table, request.view, request.as_of)
    assert sorted(pruner.prune_snapshot(snapshot, request).kept_paths()) == expected[1]
    assert snapshot.column_stats is not None
    assert snapshot.column_stats.nbytes == 0  # all of it is mapped


def test_a_flipped_bit_anywhere_is_found(
    table: str,
    expected: list[list[str]],
    directory: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    chosen = random.Random(31)
    for _ in range(examples(20)):
        file = chosen.choice(large_files(directory))
        content = bytearray(file.read_bytes())
        content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
        file.write_bytes(content)
        caplog.clear()
        assert answers(table, str(directory)) == expected
        assert [record.levelno for record in caplog.records] == [logging.WARNING]
        assert len(large_files(directory)) == 4


def test_a_half_written_snapshot_is_written_anew(
    table: str, expected: list[list[str]], directory: Path
) -> None:
    chosen = random.Random(31)
    for file in large_files(directory):
        content = file.read_bytes()
        left = file.with_name(f"{file.name}.1.1")
        left.write_bytes(content[: chosen.randrange(len(content))])
        file.write_bytes(content[: chosen.randrange(len(content))])
    assert answers(table, str(directory)) == expected
    assert len([file for file in large_files(directory) if file.suffix == ".arrow"]) == 4
    assert answers(table, str(directory)) == expected


def test_a_snapshot_of_another_version_is_written_anew(
    table: str, expected: list[list[str]], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "_VERSION", disk_cache._VERSION + 1)
    old = {file: file.read_bytes() for file in large_files(directory)}
    assert answers(table, str(directory)) == expected
    assert all(file.read_bytes() != content for file, content in old.items())


def test_a_release_does_not_use_what_another_one_has_decoded(
    table: str, expected: list[list[str]], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = set(large_files(directory))
    monkeypatch.setattr(disk_cache, "version", lambda: "0.0.1")
    assert answers(table, str(directory)) == expected
    fresh = set(large_files(directory)) - known
    assert len(fresh) == len(known)


@contextmanager
def largest_file(nbytes: int) -> Iterator[None]:
    """No file can be written beyond a size, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_costs_the_snapshot_only(
    table: str, expected: list[list[str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with largest_file(30_000):
        found = answers(table, str(tmp_path))
    assert found == expected
    assert "cannot be written" in caplog.text
    assert not large_files(tmp_path)


def test_several_services_write_one_snapshot(
    table: str, expected: list[list[str]], tmp_path: Path
) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.starmap(answers, [(table, str(tmp_path))] * 6)
    assert found == [expected] * 6
    assert len(large_files(tmp_path)) == 4
