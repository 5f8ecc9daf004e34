"""Logs of any size are merged within a memory limit, with the same result as in memory."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import hashes
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords, FileGroup, StoredFile
from pyhudi_expr.tables.mdt.store.hashed_records import newest
from pyhudi_expr.tables.storage import Storage
from tests.tables.mdt.file_bytes import delete_block, log_block

#: Key -> value; None deletes the key, by a delete block or by a record.
Written = dict[str, int | None]

_DELETED = b"gone"


def read(records: EncodedRecords) -> pa.Table:
    """A row with the key's hash and the value, whose text stands for Avro."""
    values = records.cells.values
    return pa.table(
        {
            "id": hashes(records.cells.key_strings),
            "deleted": [value == _DELETED for value in values],
            "value": pa.array([0 if value == _DELETED else int(value) for value in values]),
        }
    )


def content(written: Written) -> bytes:
    cells = sorted(
        (key.encode(), _DELETED if value is None else str(value).encode())
        for key, value in written.items()
    )
    sink = io.BytesIO()
    hfile_writer.write(sink, cells, '"bytes"')
    return sink.getvalue()


def group(directory: Path, base: Written, logs: Sequence[Written], blocks: bool) -> FileGroup:
    """blocks: deletes are separate blocks, before the records of the same instant."""
    files = {"base.hfile": content(base)}
    for number, log in enumerate(logs):
        instant = f"{number:03}"
        deleted_keys = [key for key, value in log.items() if value is None]
        kept = {key: value for key, value in log.items() if value is not None}
        data = log_block(instant, content(kept if blocks else log))
        files[f"log.{number}"] = (
            delete_block(instant, deleted_keys) if blocks and deleted_keys else b""
        ) + data
    for name, data in files.items():
        if not (directory / name).exists():  # a base file never changes
            (directory / name).write_bytes(data)
    stored = [StoredFile(name, len(data)) for name, data in files.items()]
    return FileGroup(
        storage=Storage.open(str(directory)),
        base=stored[0],
        logs=tuple((file, f"{n:03}") for n, file in enumerate(stored[1:])),
        valid=frozenset(f"{n:03}" for n in range(len(logs))),
    )


def found(
    file_group: FileGroup, cache: DiskCache | None = None, rows_in_memory: int = 1000
) -> dict[int, int]:
    rows: list[tuple[int, int]] = []
    for table in newest(file_group, "test", read, cache, rows_in_memory):
        ids, values = table.column("id").to_pylist(), table.column("value").to_pylist()
        rows += zip(ids, values, strict=True)
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def expected(base: Written, logs: Sequence[Written]) -> dict[int, int]:
    state: Written = dict(base)
    for log in logs:
        state.update(log)
    live = {key: value for key, value in state.items() if value is not None}
    ids = hashes(ByteStrings.of([key.encode() for key in live])).tolist()
    return dict(zip(ids, live.values(), strict=True))


writes = st.dictionaries(
    st.text("abcde", min_size=1, max_size=2), st.none() | st.integers(0, 99), max_size=8
)


@given(writes, st.lists(writes, max_size=5), st.integers(1, 20), st.booleans())
def test_the_newest_row_of_each_record(
    tmp_path_factory: pytest.TempPathFactory,
    base: Written,
    logs: list[Written],
    rows_in_memory: int,
    blocks: bool,
) -> None:
    base = {key: value for key, value in base.items() if value is not None}
    file_group = group(tmp_path_factory.mktemp("group"), base, logs, blocks)
    assert found(file_group, rows_in_memory=rows_in_memory) == expected(base, logs)


def test_a_log_much_larger_than_the_memory_limit(tmp_path: Path) -> None:
    base: Written = {f"k{n}": n for n in range(500)}
    logs: list[Written] = [
        {f"k{n}": None if n % 7 == 0 else n + 1000 * (log + 1) for n in range(log * 90, 600)}
        for log in range(6)
    ]
    file_group = group(tmp_path, base, logs, blocks=False)
    tables = list(newest(file_group, "test", read, None, rows_in_memory=50))
    # The rest of the base file, and one range after the other.
    assert len(tables) > 10
    assert all(len(table) <= 100 for table in tables[1:])
    assert found(file_group, rows_in_memory=50) == expected(base, logs)


def test_a_base_file_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "group").mkdir()
    base: Written = {"a": 1, "b": 2}
    cache = DiskCache(tmp_path / "cache", 1 << 20)
    assert found(group(tmp_path / "group", base, [], False), cache) == expected(base, [])
    again = group(tmp_path / "group", base, [{"a": None, "c": 3}], False)
    assert found(again, cache) == expected(base, [{"a": None, "c": 3}])
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_group_without_a_base_file(tmp_path: Path) -> None:
    file_group = group(tmp_path, {}, [{"a": 1}, {"b": 2, "a": None}], False)
    logs_only = FileGroup(file_group.storage, None, file_group.logs, file_group.valid)
    assert found(logs_only) == expected({}, [{"b": 2}])
