"""A compacted file group has the records of the merged one; memory holds a part of each file."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.hfile import reader as hfile
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import COLUMN_STATS, decode
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.records.value_types import value_type
from pyhudi_expr.tables.mdt.store.compaction import compact_group
from pyhudi_expr.tables.mdt.store.file_group import FileGroup, StoredFile, all_cells
from pyhudi_expr.tables.storage import Storage
from tests.example_counts import examples
from tests.tables.mdt.records.tombstones import deleted_statistics

_INSTANT = "20260101000000000"
_FILE_ID = "b5a1d7e2-0a4b-4f7e-9f8e-0f4e0a6b3c1d-0"
_LONG = value_type(pa.int64(), "V2")
assert _LONG is not None


def ranges(low: int, *, is_tight: bool) -> bytes:
    stats = payloads.Statistics("f", "c", _LONG, (low, low + 9), 9, 0, 72, 72, is_tight)
    return payloads.statistics(COLUMN_STATS, stats)


_PLACES = [payloads.location(f"p{n}", _FILE_ID, n) for n in range(3)]
_ENTRIES = [payloads.secondary_entry(), payloads.secondary_tombstone()]
_RANGES = [
    *(ranges(n, is_tight=tight) for n in (0, 50) for tight in (False, True)),
    deleted_statistics(COLUMN_STATS, "f", "c"),
]
_DELETED = (_ENTRIES[-1], _RANGES[-1])
"""Entries that base files do not have."""
_KEYS = st.integers(0, 40).map(lambda n: b"key-%02d" % n)


@st.composite
def contents(draw: st.DrawFn) -> tuple[dict[bytes, bytes], list[dict[bytes, bytes] | list[bytes]]]:
    """A base file's records, and those of log blocks or the keys that these delete."""
    values = st.sampled_from(draw(st.sampled_from([_PLACES, _ENTRIES, _RANGES])))
    records = st.dictionaries(_KEYS, values, max_size=30)
    logs = st.lists(st.one_of(records, st.lists(_KEYS, max_size=9)), max_size=6)
    base = {key: value for key, value in draw(records).items() if value not in _DELETED}
    return base, draw(logs)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents())
def test_a_compacted_group_equals_the_merged_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: tuple[dict[bytes, bytes], list[dict[bytes, bytes] | list[bytes]]],
) -> None:
    monkeypatch.setattr(hfile_writer, "BLOCK_BYTES", 200)
    monkeypatch.setattr(hfile, "_CHUNK_BYTES", 1)  # some records at a time
    base, logs = content
    group = written(tmp_path, base, [block(one) for one in logs])
    found = list(cells(compact_group(group)))
    keys = [key for key, _ in found]
    assert keys == sorted(set(keys))
    values = decode(RECORD_SCHEMA, [value for _, value in found], "compacted")
    assert dict(zip(keys, values, strict=True)) == group.read(all_cells)


def test_memory_does_not_grow_with_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hfile_writer, "BLOCK_BYTES", 1 << 14)
    for name in ("_CHUNK_BYTES", "_RUN_BYTES"):
        monkeypatch.setattr(hfile, name, 1 << 16)

    def most_memory(count: int) -> int:
        """Of a base file and three logs, which repeat half of its keys and add others."""
        logs = [
            log_writer.records(_INSTANT, numbered(range(first, 2 * count, 6)))
            for first in (0, 1, 2)
        ]
        directory = tmp_path / str(count)
        directory.mkdir()
        group = written(directory, dict(numbered(range(0, 2 * count, 2))), logs)
        tracemalloc.start()
        try:
            found = sum(len(keys) for keys, _ in compact_group(group))
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert found > count
        return most

    assert most_memory(40_000) < 1.5 * most_memory(10_000)


def test_records_of_another_schema_are_refused(tmp_path: Path) -> None:
    content = io.BytesIO()
    hfile_writer.write(content, [(b"k", b"\0")], '"null"')
    (tmp_path / "base.hfile").write_bytes(content.getvalue())
    base = StoredFile("base.hfile", len(content.getvalue()))
    group = FileGroup(Storage.open(str(tmp_path)), base, (), frozenset())
    with pytest.raises(CorruptFile, match=r"base\.hfile.*of another schema"):
        list(compact_group(group))


def block(content: dict[bytes, bytes] | list[bytes]) -> bytes:
    """The block of a log file: records, or keys that it deletes."""
    if isinstance(content, list):
        return log_writer.deletes(_INSTANT, content)
    return log_writer.records(_INSTANT, sorted(content.items()))


def written(directory: Path, base: Mapping[bytes, bytes], logs: Iterable[bytes]) -> FileGroup:
    """A file group of one base file, and a log file for each block."""
    content = io.BytesIO()
    hfile_writer.write(content, sorted(base.items()), RECORD_SCHEMA)
    files = {"base.hfile": content.getvalue()}
    files |= {f"{number}.log": log for number, log in enumerate(logs)}
    for name, bytes_ in files.items():
        (directory / name).write_bytes(bytes_)
    stored, *others = [StoredFile(name, len(bytes_)) for name, bytes_ in files.items()]
    counting = tuple((log, _INSTANT) for log in others)
    return FileGroup(Storage.open(str(directory)), stored, counting, frozenset({_INSTANT}))


def numbered(numbers: Iterable[int]) -> Iterator[tuple[bytes, bytes]]:
    return ((b"key-%09d" % number, _PLACES[number % 3]) for number in numbers)


def cells(parts: Iterable[tuple[ByteStrings, ByteStrings]]) -> Iterator[tuple[bytes, bytes]]:
    for keys, values in parts:
        yield from zip(keys.to_list(), values.to_list(), strict=True)
