"""Damaged metadata (bit flips, truncation, lost files) costs pruning, never a matching file."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.tables import synthetic
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from tests.example_counts import examples

FILES, PARTITIONS = 200, 4
ROWS = FILES * synthetic.ROWS_PER_FILE
REQUESTS = [
    PruneRequest(parse_predicate(sql))
    for sql in (
        f"spread < {ROWS // 20}",
        f"amount > {ROWS // 5} OR code >= 'item-{ROWS // 11:010d}'",
        "id = 5",
    )
]


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damage") / "whole"
    synthetic.write_table(path, files=FILES, partitions=PARTITIONS)
    return path


@pytest.fixture(scope="module")
def expected_paths(undamaged: Path) -> list[set[str]]:
    return [kept(undamaged, request)[0] for request in REQUESTS]


def kept(table: Path, request: PruneRequest) -> tuple[set[str], tuple[str, ...]]:
    result = Pruner().prune(str(table), request)
    return set(result.kept_paths()), result.notes


@pytest.mark.slow
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_matching_file_is_lost(
    undamaged: Path,
    expected_paths: list[set[str]],
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:
    files = sorted(
        file.relative_to(undamaged) for file in undamaged.glob(".hoodie/metadata/*/*.hfile")
    )
    table = tmp_path_factory.mktemp("damaged") / "table"
    shutil.copytree(undamaged, table)
    for _ in range(data.draw(st.integers(1, 2))):
        damage(table / data.draw(st.sampled_from(files)), data)
    for request, expected in zip(REQUESTS, expected_paths, strict=True):
        try:
            found, notes = kept(table, request)
        except HudiError:
            continue  # nothing is known about the table, and every file is read
        if found != expected:
            # Without its list of files the table is listed, and has no data files.
            listed = any("listing" in note for note in notes)
            assert listed or found > expected, notes
            # The number of shards is recorded nowhere: a lost shard has no entries.
            lost = any(not (table / file).exists() for file in files)
            assert notes or lost
            assert all(str(table) in note for note in notes if "cannot be read" in note)
    shutil.rmtree(table)


def damage(file: Path, data: st.DataObject) -> None:
    content = bytearray(file.read_bytes() if file.exists() else b"")
    if len(content) < 4200:
        return  # was damaged before
    # Most of the trailer is padding: half of the examples change the bytes before it.
    ends = [len(content), len(content) - 4096 + 60, 200]
    at = data.draw(st.integers(0, data.draw(st.sampled_from(ends)) - 1))
    match data.draw(st.sampled_from(["bit", "byte", "cut", "zeros", "lost"])):
        case "bit":
            content[at] ^= 1 << data.draw(st.integers(0, 7))
        case "byte":
            content[at] = data.draw(st.integers(0, 255))
        case "cut":
            del content[at:]
        case "zeros":
            content[at : at + 50] = bytes(len(content[at : at + 50]))
        case "lost":
            file.unlink()
            return
    file.write_bytes(content)
