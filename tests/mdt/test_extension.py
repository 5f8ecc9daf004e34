"""The extension metadata table beside tables that Hudi wrote: built, changed, compacted, whatever
happens."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from pyhudi_expr.mdt import extension, group_names, hfile_writer, log_writer, payloads
from pyhudi_expr.mdt.compaction import compacted
from pyhudi_expr.mdt.coverage import UNCOVERED, Coverage
from pyhudi_expr.mdt.extension import EXTENSION_DIR, Change, Extension
from pyhudi_expr.mdt.index_definitions import IndexDefinition
from pyhudi_expr.mdt.keys import secondary_key, shard
from pyhudi_expr.mdt.partitions import IndexConflict, NewPartition
from pyhudi_expr.mdt.reader import RECORD_INDEX
from pyhudi_expr.mdt.record_schema import RECORD_SCHEMA
from pyhudi_expr.mdt.undoing import undone_on_failure
from pyhudi_expr.table.action_records import WrittenFile
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing, TableView
from pyhudi_expr.table.locks import TableLock
from pyhudi_expr.table.owners import PROCESS, this_process
from pyhudi_expr.table.storage import Storage
from tests.misfortunes import Disk
from tests.table.contents import contents, linked

_SHARDS = 2
_CITY = IndexDefinition("secondary_index_city", "secondary_index", "", ("city",), {}, "V2")
_KEYS = IndexDefinition(RECORD_INDEX, RECORD_INDEX, "", (), {}, "V1")
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

Pairs = Sequence[tuple[str, str]]


@pytest.fixture(params=_TABLES)
def path(request: pytest.FixtureRequest, golden: Mapping[str, Path], tmp_path: Path) -> str:
    shutil.copytree(golden[request.param], tmp_path / "table")
    return str(tmp_path / "table")


def test_a_table_without_one_has_none(path: str) -> None:
    assert Extension.open(HudiTable.open(path)) is None


def test_hudis_own_files_stay_as_they_are(path: str) -> None:
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


def test_deleted_keys_of_a_record_index_are_gone(path: str) -> None:
    build(path, _BASE)
    assert keys(path) == ["5bfa", "6a01", "6a01-98", "f329", "f330"]
    update(path, _ADDED, _DELETED)
    assert keys(path) == ["530c", "5bfa", "6a01", "6a01-98", "f330"]
    compact(path)
    assert keys(path) == ["530c", "5bfa", "6a01", "6a01-98", "f330"]


def test_coverage_is_that_of_the_newest_change(path: str) -> None:
    build(path, _BASE)
    table = HudiTable.open(path)
    found = opened(path).coverage
    assert found.first_uncovered(table) is None
    listing = table.listing()
    rows = found.rows_of(table, listing)
    logged = listing.any_of_slice(listing.file_is_log)
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
    expected = np.array(same) & ~(grows & listing.any_of_slice(listing.file_is_log))
    assert np.array_equal(known, expected)
    assert not known.all()


def test_a_later_commit_is_named(path: str) -> None:
    build(path, _BASE)
    table = HudiTable.open(path)
    begun = "29990101000000000"
    layout = table.properties.timeline_layout
    name = f"{begun}.commit" if layout == 1 else f"{begun}_{begun}.commit"
    (Path(path) / table.properties.timeline_dir / name).touch()
    found = opened(path).coverage.first_uncovered(HudiTable.open(path))
    assert found is not None
    assert found.requested == begun


def test_dropped_partitions_are_gone(path: str) -> None:
    build(path, _BASE)
    extension.drop(HudiTable.open(path), [_CITY.name], lock(path))
    assert set(opened(path).definitions) == {RECORD_INDEX}
    with pytest.raises(HudiError):
        pairs(path)
    assert not city_files(path)


def test_a_second_index_of_the_name_is_refused(path: str) -> None:
    build(path, _BASE)
    change = extension.begin(HudiTable.open(path), lock(path))
    with pytest.raises(IndexConflict, match="exists already"):
        extension.begin_partition(change, NewPartition(_CITY.name, 1, _CITY))
    extension.abort(change, lock(path))
    assert pairs(path) == sorted(_BASE)


def test_one_change_is_made_at_a_time(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build(path, _BASE)
    monkeypatch.setattr(extension, "this_process", lambda: {**this_process(), PROCESS: "1"})
    extension.begin(HudiTable.open(path), lock(path))
    monkeypatch.undo()
    with pytest.raises(IndexConflict, match="process 1 on"):
        extension.begin(HudiTable.open(path), lock(path))
    with pytest.raises(IndexConflict, match="process 1 on"):
        extension.drop(HudiTable.open(path), [_CITY.name], lock(path))
    assert pairs(path) == sorted(_BASE)


def test_what_is_not_published_is_not_seen(path: str) -> None:
    build(path, _BASE)
    change = extension.begin(HudiTable.open(path), lock(path))
    write_logs(change, _ADDED, _DELETED)
    assert pairs(path) == sorted(_BASE)
    extension.abort(change, lock(path))
    assert pairs(path) == sorted(_BASE)
    with pytest.raises(IndexConflict, match="taken back"):
        extension.publish(change, [], Coverage(), lock(path))


def test_old_files_go_with_the_next_compaction(path: str) -> None:
    build(path, _BASE)
    for number in range(3):
        update(path, [("austin", str(number))], [])
        compact(path)
    assert len([name for name in city_files(path) if name.endswith(".hfile")]) == 2 * _SHARDS
    timeline = HudiTable.open(f"{path}/{EXTENSION_DIR}").timeline
    assert len(timeline.instants) <= 4


def test_files_of_a_change_that_was_taken_back_never_count(path: str) -> None:
    build(path, _BASE)
    change = extension.begin(HudiTable.open(path), lock(path))
    extension.abort(change, lock(path))
    write_logs(change, _ADDED, _DELETED)  # by a writer that was thought dead
    for number in range(3):
        compact(path)
        update(path, [("austin", str(number))], [])
    assert pairs(path) == sorted([*_BASE, *(("austin", str(number)) for number in range(3))])
    assert not [name for name in city_files(path) if change.instant in name]


_STEPS: Mapping[str, tuple[Callable[[str], None] | None, Callable[[str], None], Pairs, Pairs]] = {
    "build": (None, lambda path: build(path, _BASE), [], sorted(_BASE)),
    "update": (
        lambda path: build(path, _BASE),
        lambda path: update(path, _ADDED, _DELETED),
        sorted(_BASE),
        _MERGED,
    ),
    "compaction": (
        lambda path: (build(path, _BASE), update(path, _ADDED, _DELETED), compact(path))[-1],
        lambda path: compact(path),
        _MERGED,
        _MERGED,
    ),
    "drop": (
        lambda path: build(path, _BASE),
        lambda path: extension.drop(HudiTable.open(path), [_CITY.name], lock(path)),
        sorted(_BASE),
        [],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("path", _TABLES[:1], indirect=True)
@pytest.mark.parametrize("step", _STEPS)
def test_dying_at_any_step_loses_nothing(
    path: str, step: str, tmp_path: Path, mortal: Callable[[Callable[[], None], int], bool]
) -> None:
    prepare, change, before, after = _STEPS[step]
    if prepare is not None:
        prepare(path)
    shutil.move(path, tmp_path / "prepared")
    prepared, ended = contents(tmp_path / "prepared"), False
    for changes in range(200):
        linked(tmp_path / "prepared", path)
        ended = mortal(lambda: change(path), changes)
        for leftover in Path(path).glob(".hoodie/**/lock"):
            leftover.unlink()  # what its owner's lock would expire with
        found = there(path)
        assert found in (before, after)
        if ended:
            assert found == after
        begin_and_abort(path)
        assert there(path) == found
        if found == before != after:
            assert step == "drop" or contents(Path(path)) == prepared
            change(path)
            assert there(path) == after
        shutil.rmtree(path)
        if ended:
            break
    assert ended
    assert changes > 3


@pytest.mark.slow
@pytest.mark.parametrize("path", _TABLES[:1], indirect=True)
@pytest.mark.parametrize("step", ["build", "update"])
def test_a_disk_that_is_full_changes_nothing(path: str, step: str, disk: Disk) -> None:
    prepare, change, before, after = _STEPS[step]
    if prepare is not None:
        prepare(path)
    on_disk, said = disk.path / "table", set()
    shutil.copytree(path, on_disk)
    prepared = contents(on_disk)
    for pages in range(60):
        disk.fill(pages * 4096)
        try:
            change(str(on_disk))
        except HudiError as error:
            said.add(str(error))
        disk.empty()
        found = there(str(on_disk))
        assert found in (before, after)
        begin_and_abort(str(on_disk))
        assert there(str(on_disk)) == found
        if found == after:
            break
        assert contents(on_disk) == prepared
    assert found == after
    assert all("No space left" in text and str(on_disk) in text for text in said)
    assert len(said) > 5  # it failed at several steps


def test_a_table_that_is_being_restored_is_left_alone(path: str) -> None:
    timeline = Path(path) / HudiTable.open(path).properties.timeline_dir
    (timeline / "29990101000000000.restore.requested").touch()
    before = contents(Path(path))
    with pytest.raises(IndexConflict, match="a restore"):
        build(path, _BASE)
    assert contents(Path(path)) == before


def test_the_last_index_leaves_nothing(path: str) -> None:
    before = contents(Path(path))
    build(path, _BASE)
    for name in (_CITY.name, RECORD_INDEX, RECORD_INDEX):
        extension.drop(HudiTable.open(path), [name], lock(path))
    assert contents(Path(path)) == before


def begin_and_abort(path: str) -> None:
    """Ends what a process that died has begun."""
    extension.abort(extension.begin(HudiTable.open(path), lock(path)), lock(path))


def build(path: str, content: Pairs, as_of: str | None = None) -> None:
    """Both indexes of the pairs, as if they were what the table's slices hold."""
    table = HudiTable.open(path)
    change = extension.begin(table, lock(path))
    with undone_on_failure(lambda: extension.abort(change, lock(path))):
        files = []
        for definition, cells in ((_CITY, city_cells(content)), (_KEYS, key_cells(content))):
            extension.begin_partition(change, NewPartition(definition.name, _SHARDS, definition))
            for number in range(_SHARDS):
                sink = io.BytesIO()
                own = sharded(definition, cells, number)
                hfile_writer.write(sink, own, RECORD_SCHEMA)
                group, size = group_names.file_id(definition.name, number), len(own)
                name = group_names.base_file(group, f"{number}-0-0", change.instant)
                files.append(written(change, definition.name, group, name, sink.getvalue(), size))
        listing = table.listing(TableView.SNAPSHOT, as_of)
        rows = np.arange(listing.num_slices, dtype=np.int64)
        coverage = Coverage.of(table, listing, rows)
        extension.publish(change, files, coverage, lock(path), [_CITY, _KEYS])


def update(path: str, added: Pairs, deleted: Pairs) -> None:
    change = extension.begin(HudiTable.open(path), lock(path))
    assert change.before is not None
    with undone_on_failure(lambda: extension.abort(change, lock(path))):
        files = write_logs(change, added, deleted)
        extension.publish(change, files, change.before.coverage, lock(path))


def write_logs(change: Change, added: Pairs, deleted: Pairs) -> list[WrittenFile]:
    files = []
    tombstones = [(key, payloads.secondary_tombstone()) for key, _ in city_cells(deleted)]
    cells = sorted([*city_cells(added), *tombstones])
    gone = {key for key, _ in key_cells(deleted)} - {key for key, _ in key_cells(added)}
    for number in range(_SHARDS):
        own = sharded(_CITY, cells, number)
        if own:
            content = log_writer.records(change.instant, own)
            files.append(log(change, _CITY, number, content))
        kept = sharded(_KEYS, key_cells(added), number)
        lost = [key for key in sorted(gone) if shard(key.decode(), _SHARDS) == number]
        content = log_writer.deletes(change.instant, lost) if lost else b""
        content += log_writer.records(change.instant, kept) if kept else b""
        if content:
            files.append(log(change, _KEYS, number, content))
    return files


def log(change: Change, definition: IndexDefinition, number: int, content: bytes) -> WrittenFile:
    group = group_names.file_id(definition.name, number)
    name = group_names.log_file(group, f"{number}-0-0", change.instant)
    return written(change, definition.name, group, name, content, 1, is_log=True)


def compact(path: str) -> None:
    change = extension.begin_compaction(HudiTable.open(path), lock(path))
    assert change.before is not None
    extension.clean(change)
    files = []
    for definition in (_CITY, _KEYS):
        for number, group in enumerate(change.before.records.groups(definition.name)):
            sink = io.BytesIO()
            hfile_writer.write_batches(sink, compacted(group), RECORD_SCHEMA)
            file_id = group_names.file_id(definition.name, number)
            name = group_names.base_file(file_id, f"{number}-0-0", change.instant)
            files.append(written(change, definition.name, file_id, name, sink.getvalue(), 1))
    extension.publish(change, files, change.before.coverage, lock(path))


def written(
    change: Change,
    partition: str,
    group: str,
    name: str,
    content: bytes,
    records: int,
    *,
    is_log: bool = False,
) -> WrittenFile:
    change.storage.write(f"{partition}/{name}", content)
    return WrittenFile(group, f"{partition}/{name}", len(content), records, is_log=is_log)


def city_cells(content: Pairs) -> list[tuple[bytes, bytes]]:
    return sorted((secondary_key(*pair).encode(), payloads.secondary_entry()) for pair in content)


def key_cells(content: Pairs) -> list[tuple[bytes, bytes]]:
    place = payloads.location("", "b5a1d7e2-0a4b-4f7e-9f8e-0f4e0a6b3c1d-0", 0)
    return sorted({key.encode(): place for _, key in content}.items())


def sharded(
    definition: IndexDefinition, cells: Sequence[tuple[bytes, bytes]], number: int
) -> list[tuple[bytes, bytes]]:
    def own(key: bytes) -> str:
        return key.decode().split("$")[0] + "$" if definition is _CITY else key.decode()

    return [cell for cell in cells if shard(own(cell[0]), _SHARDS) == number]


def opened(path: str) -> Extension:
    found = Extension.open(HudiTable.open(path))
    assert found is not None
    return found


def pairs(path: str) -> list[tuple[str, str]]:
    found = opened(path).records.scan(_CITY.name).keys
    return sorted((value, key) for value, _, key in (text.partition("$") for text in found))


def keys(path: str) -> list[str]:
    return opened(path).records.scan(RECORD_INDEX).keys


def there(path: str) -> list[tuple[str, str]]:
    """The pairs; none where the index is not there."""
    found = Extension.open(HudiTable.open(path))
    return pairs(path) if found is not None and _CITY.name in found.partitions else []


def cells_of_bases(path: str) -> int:
    return sum(group.base_cells for group in opened(path).records.groups(_CITY.name))


def city_files(path: str) -> list[str]:
    folder = Path(path) / EXTENSION_DIR / _CITY.name
    return [file.name for file in folder.glob("*") if "partition_metadata" not in file.name]


def files_by_slice(listing: FileListing) -> list[list[str]]:
    names: list[list[str]] = [[] for _ in range(listing.num_slices)]
    for number, token in zip(listing.file_slice.tolist(), listing.tokens.to_pylist(), strict=True):
        names[number].append(token)
    return names


def lock(path: str) -> TableLock:
    return TableLock(Storage.open(path), wait=0.2)
