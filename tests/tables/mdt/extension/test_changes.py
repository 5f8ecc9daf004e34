"""The extension metadata table beside Hudi's: built, changed, compacted, and recovered."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt import extension_changes as extension
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict, NewPartition
from pyhudi_expr.tables.mdt.extension import UNCOVERED, Coverage
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR, Extension
from pyhudi_expr.tables.process_owner import PROCESS, this_process
from tests.failure_fixtures import Disk
from tests.tables.directory_contents import contents, linked
from tests.tables.mdt.extension.example_index import (
    CITY,
    SHARDS,
    Pairs,
    begin_and_abort,
    build,
    cells_of_bases,
    city_files,
    compact,
    files_by_slice,
    keys,
    lock,
    opened,
    pairs,
    stored_pairs,
    update,
    write_logs,
)

_TABLES = ["cow_v9_txns_simple_meta", "mor_v6_metadata_pending_compaction"]

# RFC-77's example; record keys by their last digits.
_BASE = [
    ("chennai", "5bfa"),
    ("los-angeles", "6a01"),
    ("los-angeles", "6a01-98"),
    ("sfo", "f330"),
    ("sfo", "f329"),
]
_ADDED = [("chennai", "530c"), ("austin", "6a01-98")]
_DELETED = [("sfo", "f329"), ("los-angeles", "6a01-98")]
_MERGED = [
    ("austin", "6a01-98"),
    ("chennai", "530c"),
    ("chennai", "5bfa"),
    ("los-angeles", "6a01"),
    ("sfo", "f330"),
]


@pytest.fixture(params=_TABLES)
def path(request: pytest.FixtureRequest, golden: Mapping[str, Path], tmp_path: Path) -> str:
    shutil.copytree(golden[request.param], tmp_path / "table")
    return str(tmp_path / "table")


def test_a_table_without_an_extension(path: str) -> None:
    assert Extension.open(HudiTable.open(path)) is None


def test_hudis_own_files_are_not_changed(path: str) -> None:
    before = contents(Path(path))
    build(path, _BASE)
    own = f"{EXTENSION_DIR}/"
    assert {f: c for f, c in contents(Path(path)).items() if not f.startswith(own)} == before


def test_the_example_of_rfc_77_is_merged_and_compacted(path: str) -> None:
    build(path, _BASE)
    assert pairs(path) == sorted(_BASE)
    update(path, _ADDED, _DELETED)
    assert pairs(path) == _MERGED
    assert {name.endswith(".hfile") for name in city_files(path)} == {True, False}
    compact(path)
    assert pairs(path) == _MERGED
    assert cells_of_bases(path) == len(_MERGED)  # no tombstone among them

    update(path, [("austin", "f330")], [("sfo", "f330")])
    compact(path)
    assert pairs(path) == sorted({*_MERGED, ("austin", "f330")} - {("sfo", "f330")})


def test_deleted_keys_are_removed_from_a_record_index(path: str) -> None:
    build(path, _BASE)
    assert keys(path) == ["5bfa", "6a01", "6a01-98", "f329", "f330"]
    update(path, _ADDED, _DELETED)
    assert keys(path) == ["530c", "5bfa", "6a01", "6a01-98", "f330"]
    compact(path)
    assert keys(path) == ["530c", "5bfa", "6a01", "6a01-98", "f330"]


def test_coverage_follows_the_newest_change(path: str) -> None:
    build(path, _BASE)
    table = HudiTable.open(path)
    found = opened(path).coverage
    assert found.first_uncovered(table) is None
    listing = table.listing()
    rows = found.rows_of(table, listing)
    logged = listing.any_file_of_slice(listing.file_is_log)
    grows = table.properties.timeline_layout == 1
    assert np.array_equal(rows == UNCOVERED, logged & grows)
    assert not found.missing_from(listing).any()


def test_a_slice_with_other_files_is_not_covered(path: str) -> None:
    table = HudiTable.open(path)
    first = table.timeline.writes[-2].requested
    older = table.listing(as_of=first)
    build(path, _BASE, as_of=first)
    listing = table.listing()
    known = opened(path).coverage.rows_of(table, listing) != UNCOVERED
    same = [files in files_by_slice(older) for files in files_by_slice(listing)]
    grows = table.properties.timeline_layout == 1
    expected = np.array(same) & ~(grows & listing.any_file_of_slice(listing.file_is_log))
    assert np.array_equal(known, expected)
    assert not known.all()


def test_a_later_commit_is_named(path: str) -> None:
    build(path, _BASE)
    table = HudiTable.open(path)
    unfinished_instant = "29990101000000000"
    layout = table.properties.timeline_layout
    name = (
        f"{unfinished_instant}.commit"
        if layout == 1
        else f"{unfinished_instant}_{unfinished_instant}.commit"
    )
    (Path(path) / table.properties.timeline_dir / name).touch()
    found = opened(path).coverage.first_uncovered(HudiTable.open(path))
    assert found is not None
    assert found.requested == unfinished_instant


def test_dropped_partitions_are_removed(path: str) -> None:
    build(path, _BASE)
    extension.drop(HudiTable.open(path), [CITY.name], lock(path))
    assert set(opened(path).definitions) == {RECORD_INDEX}
    with pytest.raises(HudiError):
        pairs(path)
    assert not city_files(path)


def test_a_second_index_of_the_name_is_refused(path: str) -> None:
    build(path, _BASE)
    change = extension.begin(HudiTable.open(path), lock(path))
    with pytest.raises(IndexConflict, match="exists already"):
        extension.begin_partition(change, NewPartition(CITY.name, 1, CITY))
    extension.abort(change, lock(path))
    assert pairs(path) == sorted(_BASE)


def test_changes_are_serialized(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build(path, _BASE)
    monkeypatch.setattr(extension, "this_process", lambda: {**this_process(), PROCESS: "1"})
    extension.begin(HudiTable.open(path), lock(path))
    monkeypatch.undo()
    with pytest.raises(IndexConflict, match="process 1 on"):
        extension.begin(HudiTable.open(path), lock(path))
    with pytest.raises(IndexConflict, match="process 1 on"):
        extension.drop(HudiTable.open(path), [CITY.name], lock(path))
    assert pairs(path) == sorted(_BASE)


def test_unpublished_changes_are_invisible(path: str) -> None:
    build(path, _BASE)
    change = extension.begin(HudiTable.open(path), lock(path))
    write_logs(change, _ADDED, _DELETED)
    assert pairs(path) == sorted(_BASE)
    extension.abort(change, lock(path))
    assert pairs(path) == sorted(_BASE)
    with pytest.raises(IndexConflict, match="taken back"):
        extension.publish(change, [], Coverage(), lock(path))


def test_old_files_are_deleted_by_the_next_compaction(path: str) -> None:
    build(path, _BASE)
    for number in range(3):
        update(path, [("austin", str(number))], [])
        compact(path)
    assert len([name for name in city_files(path) if name.endswith(".hfile")]) == 2 * SHARDS
    timeline = HudiTable.open(f"{path}/{EXTENSION_DIR}").timeline
    assert len(timeline.instants) <= 4


def test_files_of_a_rolled_back_change_are_never_read(path: str) -> None:
    build(path, _BASE)
    change = extension.begin(HudiTable.open(path), lock(path))
    extension.abort(change, lock(path))
    write_logs(change, _ADDED, _DELETED)  # by a writer that was taken for dead
    for number in range(3):
        compact(path)
        update(path, [("austin", str(number))], [])
    assert pairs(path) == sorted([*_BASE, *(("austin", str(number)) for number in range(3))])
    assert not [name for name in city_files(path) if change.instant in name]


def _build_update_and_compact(path: str) -> None:
    build(path, _BASE)
    update(path, _ADDED, _DELETED)
    compact(path)


_STEPS: Mapping[str, tuple[Callable[[str], None] | None, Callable[[str], None], Pairs, Pairs]] = {
    "build": (None, lambda path: build(path, _BASE), [], sorted(_BASE)),
    "update": (
        lambda path: build(path, _BASE),
        lambda path: update(path, _ADDED, _DELETED),
        sorted(_BASE),
        _MERGED,
    ),
    "compaction": (
        _build_update_and_compact,
        lambda path: compact(path),
        _MERGED,
        _MERGED,
    ),
    "drop": (
        lambda path: build(path, _BASE),
        lambda path: extension.drop(HudiTable.open(path), [CITY.name], lock(path)),
        sorted(_BASE),
        [],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("path", _TABLES[:1], indirect=True)
@pytest.mark.parametrize("step", _STEPS)
def test_being_killed_at_any_step_loses_nothing(
    path: str,
    step: str,
    tmp_path: Path,
    kill_after_changes: Callable[[Callable[[], None], int], bool],
) -> None:
    prepare, change, before, after = _STEPS[step]
    if prepare is not None:
        prepare(path)
    shutil.move(path, tmp_path / "prepared")
    prepared, completed = contents(tmp_path / "prepared"), False
    for changes in range(200):
        linked(tmp_path / "prepared", path)
        completed = kill_after_changes(lambda: change(path), changes)
        for leftover in Path(path).glob(".hoodie/**/lock"):
            leftover.unlink()  # as if its owner's lock had expired
        found = stored_pairs(path)
        assert found in (before, after)
        if completed:
            assert found == after
        begin_and_abort(path)
        assert stored_pairs(path) == found
        if found == before != after:
            assert step == "drop" or contents(Path(path)) == prepared
            change(path)
            assert stored_pairs(path) == after
        shutil.rmtree(path)
        if completed:
            break
    assert completed
    assert changes > 3


@pytest.mark.slow
@pytest.mark.parametrize("path", _TABLES[:1], indirect=True)
@pytest.mark.parametrize("step", ["build", "update"])
def test_a_full_disk_changes_nothing(path: str, step: str, disk: Disk) -> None:
    prepare, change, before, after = _STEPS[step]
    if prepare is not None:
        prepare(path)
    on_disk, messages = disk.path / "table", set()
    shutil.copytree(path, on_disk)
    prepared = contents(on_disk)
    for pages in range(60):
        disk.fill(pages * 4096)
        try:
            change(str(on_disk))
        except HudiError as error:
            messages.add(str(error))
        disk.empty()
        found = stored_pairs(str(on_disk))
        assert found in (before, after)
        begin_and_abort(str(on_disk))
        assert stored_pairs(str(on_disk)) == found
        if found == after:
            break
        assert contents(on_disk) == prepared
    assert found == after
    assert all("No space left" in text and str(on_disk) in text for text in messages)
    assert len(messages) > 5  # it failed at several steps


def test_a_table_with_a_pending_restore_is_not_changed(path: str) -> None:
    timeline = Path(path) / HudiTable.open(path).properties.timeline_dir
    (timeline / "29990101000000000.restore.requested").touch()
    before = contents(Path(path))
    with pytest.raises(IndexConflict, match="a restore"):
        build(path, _BASE)
    assert contents(Path(path)) == before


def test_dropping_the_last_index_removes_the_extension(path: str) -> None:
    before = contents(Path(path))
    build(path, _BASE)
    for name in (CITY.name, RECORD_INDEX, RECORD_INDEX):
        extension.drop(HudiTable.open(path), [name], lock(path))
    assert contents(Path(path)) == before
