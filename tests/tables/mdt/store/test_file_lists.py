"""The table's files in the partition `files`: bulk decoding equals record-by-record decoding."""

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyhudi_expr.tables.listing import StoredFiles
from pyhudi_expr.tables.mdt.bytes.keys import ALL_PARTITIONS
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store import file_group, file_lists
from pyhudi_expr.tables.mdt.store.file_group import FileGroup, StoredFile
from pyhudi_expr.tables.storage import Storage
from tests.example_counts import examples
from tests.tables.mdt.file_bytes import delete_block, hfile, log_block

pytestmark = pytest.mark.usefixtures("engine")

_PARSED = fastavro.parse_schema(json.loads(RECORD_SCHEMA))
_NAMES = st.sampled_from(["a", "b", "é", "d" * 40])
_INFOS = st.booleans().flatmap(
    lambda deleted: st.builds(
        lambda size: {"size": 0 if deleted else size, "isDeleted": deleted}, st.integers(0, 9)
    )
)
_LISTS = st.dictionaries(_NAMES, _INFOS, max_size=4)
_PARTS = st.dictionaries(st.sampled_from(["p=1", "p=2", ".", ALL_PARTITIONS]), _LISTS | st.none())
_PARTITIONS = {name: {"size": 0, "isDeleted": False} for name in ("p=1", "p=2", ".")}


def written(lists: dict[str, dict[str, Any] | None]) -> bytes:
    cells = []
    for key, files in lists.items():
        out = io.BytesIO()
        record = {"key": "", "type": 2, "filesystemMetadata": files}
        fastavro.schemaless_writer(out, _PARSED, record)
        cells.append((key.encode(), out.getvalue()))
    return hfile(sorted(cells), schema=RECORD_SCHEMA)


def group_of(path: Path, base: bytes | None, logs: list[bytes]) -> FileGroup:
    def stored(name: str, content: bytes) -> StoredFile:
        (path / name).write_bytes(content)
        return StoredFile(name, len(content))

    return FileGroup(
        storage=Storage.open(str(path)),
        base=None if base is None else stored("base.hfile", base),
        logs=tuple((stored(f"{at}.log", content), None) for at, content in enumerate(logs)),
        valid=frozenset({"001"}),
    )


def rows(files: StoredFiles) -> list[tuple[str, str, int]]:
    paths: list[Any] = files.partitions.to_pylist()
    names: list[Any] = files.name.to_pylist()
    sizes = files.size.tolist()
    return sorted(
        (paths[p], name, size)
        for p, name, size in zip(files.partition.tolist(), names, sizes, strict=True)
    )


@settings(max_examples=examples(60))
@given(base=st.none() | _PARTS, logs=st.lists(_PARTS, max_size=3), is_deleted=st.booleans())
def test_the_last_record_of_a_file_wins(
    base: dict[str, Any] | None, logs: list[dict[str, Any]], is_deleted: bool
) -> None:
    every = {ALL_PARTITIONS: _PARTITIONS}
    contents = [log_block("001", written(log)) for log in (every, *logs)]
    if is_deleted:
        contents.insert(1, delete_block("001", ["p=1"]))
    with TemporaryDirectory() as path:
        group = group_of(Path(path), None if base is None else written(base), contents)
        found = file_lists.stored_files([group])
        slowly = file_lists._one_by_one([group])
    assert rows(found) == rows(slowly)
    assert sorted(found.partitions.to_pylist()) == sorted(slowly.partitions.to_pylist())


@pytest.mark.parametrize("few", [0, 1_000])
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    base=st.none() | _PARTS,
    logs=st.lists(_PARTS, max_size=3),
    asked=st.sets(st.sampled_from(["p=1", "p=2", "", "p=3"])),
)
def test_some_partitions_are_found_as_all_are(
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    few: int,
    base: dict[str, Any] | None,
    logs: list[dict[str, Any]],
    asked: set[str],
) -> None:
    monkeypatch.setattr(file_group, "_FEW_CELLS", few)
    contents = [log_block("001", written(log)) for log in ({ALL_PARTITIONS: _PARTITIONS}, *logs)]
    with TemporaryDirectory() as path:
        group = group_of(Path(path), None if base is None else written(base), contents)
        expected = [row for row in rows(file_lists.stored_files([group])) if row[0] in asked]
        for _ in range(2):  # from the cache, then
            found = file_lists.stored_files_of([group], asked)
            # Unusual records are left to the reader of all, and without the kernel all maps are.
            usual = None not in [value for part in (base or {}, *logs) for value in part.values()]
            assert found is not None or engine == "numpy" or not usual
            assert found is None or rows(found) == expected


def test_the_newest_record_of_each_key_is_streamed(tmp_path: Path) -> None:
    base = written({"a": {"1": {"size": 1, "isDeleted": False}}, "b": {}, "c": {}})
    newer = written({"a": {"2": {"size": 2, "isDeleted": False}}, "d": {}})
    newest = written({"d": {"3": {"size": 3, "isDeleted": False}}})
    logs = [log_block("001", newer), delete_block("001", ["b", "d"]), log_block("001", newest)]
    group = group_of(tmp_path, base, logs)
    found = {
        key: payload["filesystemMetadata"]
        for part in group.newest(lambda file: file.scan())
        for key, payload in zip(part.cells.keys, part.decoded(), strict=True)
    }
    assert found == {
        b"a": {"2": {"size": 2, "isDeleted": False}},
        b"c": {},
        b"d": {"3": {"size": 3, "isDeleted": False}},
    }
