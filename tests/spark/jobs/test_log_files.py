"""Entries as log files: they are read back unchanged, in blocks of any size."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi_expr.spark.jobs.batch_runner import LocalBatches
from pyhudi_expr.spark.jobs.log_files import LOG_ENTRY_SCHEMA, LogTarget, write_logs
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.log_files import BlockKind, LogFile

_INSTANT = "20260101000000000"
_Entry = tuple[str, int, bytes, bytes]
_ENTRIES: list[_Entry] = [
    (partition, shard, f"{shard}-{number:03}".encode(), bytes(number % 5))
    for partition in ("record_index", "secondary_index_i")
    for shard in (0, 3)
    for number in range(40)
]
"""Every fifth entry has an empty payload: its key is deleted."""


@dataclass(frozen=True)
class _InBatches(LocalBatches):
    """Steps receive this many rows at once."""

    size: int = 1

    def ordered(self, *columns: str) -> LocalBatches:
        rows = pa.Table.from_batches(list(super().ordered(*columns).batches))
        return LocalBatches(rows.to_batches(max_chunksize=self.size))


def batches(size: int) -> LocalBatches:
    """The entries, out of order."""
    columns = list(zip(*_ENTRIES[::-1], strict=True))
    arrays = [pa.array(c, f.type) for c, f in zip(columns, LOG_ENTRY_SCHEMA, strict=True)]
    return _InBatches([pa.RecordBatch.from_arrays(arrays, schema=LOG_ENTRY_SCHEMA)], size)


def logged(root: Path, path: str) -> tuple[dict[bytes, bytes], list[bytes], int]:
    """A log's records, its deleted keys, and the largest number of records in a block."""
    content = (root / path).read_bytes()
    log = LogFile(pa.BufferReader(content), len(content), path)
    records: dict[bytes, bytes] = {}
    deleted_keys, most = [], 0
    for block in log.blocks:
        assert block.instant == _INSTANT
        if block.kind == BlockKind.DELETE:
            deleted_keys += log.deleted_keys(block)
        else:
            cells = HFile(pa.BufferReader(log.content(block)), block.length, path).scan()
            own = [cell for part in cells for cell in zip(part.keys, part.values, strict=True)]
            assert own == sorted(own)
            records.update(own)
            most = max(most, len(own))
    return records, deleted_keys, most


def expected(partition: str, shard: int) -> tuple[dict[bytes, bytes], list[bytes]]:
    own = {key: value for name, at, key, value in _ENTRIES if (name, at) == (partition, shard)}
    kept = {key: value for key, value in own.items() if value}
    return kept, [key for key in own if key not in kept]


@pytest.mark.parametrize(
    ("block_bytes", "size", "most"), [(1, 1, 1), (300, 7, 28), (1 << 20, 50, 32)]
)
def test_each_file_group_has_its_entries_in_blocks(
    tmp_path: Path, block_bytes: int, size: int, most: int
) -> None:
    target = LogTarget(str(tmp_path), _INSTANT, _INSTANT, block_bytes=block_bytes)
    written = write_logs(batches(size), 1, target)
    assert len(written) == 4
    assert {file.path for file in written} == {
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    }
    for file in written:
        shard = int(file.file_id.split("-")[-2])
        records, deleted_keys, largest = logged(tmp_path, file.path)
        assert (records, deleted_keys) == expected(file.partition, shard)
        assert largest <= most
        assert file.bytes == (tmp_path / file.path).stat().st_size
        assert file.records == len(records) + len(deleted_keys)


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_a_key_is_deleted_before_it_is_written_again(tmp_path: Path, block_bytes: int) -> None:
    keys = [b"a", b"b", b"c"]
    again: list[_Entry] = [("p", 0, key, value) for value in (b"new", b"") for key in keys]
    columns = list(zip(*again, strict=True))
    arrays = [pa.array(c, f.type) for c, f in zip(columns, LOG_ENTRY_SCHEMA, strict=True)]
    entries = _InBatches([pa.RecordBatch.from_arrays(arrays, schema=LOG_ENTRY_SCHEMA)])
    target = LogTarget(str(tmp_path), _INSTANT, _INSTANT, block_bytes=block_bytes)
    (one,) = write_logs(entries, 1, target)
    content = (tmp_path / one.path).read_bytes()
    log = LogFile(pa.BufferReader(content), len(content), one.path)
    expected_values: dict[bytes, list[bytes]] = {key: [] for key in keys}
    for block in log.blocks:
        if block.kind == BlockKind.DELETE:
            for key in log.deleted_keys(block):
                expected_values[key].append(b"")
        else:
            for part in HFile(pa.BufferReader(log.content(block)), block.length, "log").scan():
                for key, value in zip(part.keys, part.values, strict=True):
                    expected_values[key].append(value)
    assert expected_values == {key: [b"", b"new"] for key in keys}


def test_without_entries_no_file_is_written(tmp_path: Path) -> None:
    target = LogTarget(str(tmp_path), _INSTANT, _INSTANT)
    none = LocalBatches([pa.RecordBatch.from_pylist([], schema=LOG_ENTRY_SCHEMA)])
    assert write_logs(none, 1, target) == []
    assert list(tmp_path.iterdir()) == []
