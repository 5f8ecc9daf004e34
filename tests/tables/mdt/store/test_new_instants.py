"""For a new instant, only its added log blocks are read, and the results are current."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bench.tables import synthetic
from bench.tables.synthetic import ROWS_PER_FILE
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES, METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix, column_stats_key, shard
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import COLUMN_STATS as STATS_RECORD
from pyhudi_expr.tables.mdt.records.value_types import value_type
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.tables.mdt.file_bytes import log_block
from tests.tables.mdt.store.test_metadata_table import Tables, content

FILES_BEFORE, PARTITIONS, SHARDS = 2_000, 4, 2
COLUMNS = ("id", "spread")
LONG = value_type(pa.int64(), "V2")
assert LONG is not None
STATISTICS = payloads.Statistics("", "", LONG, None, 9, 0, 72, 72, is_tight=True)


class GrowingTable:
    """A synthetic table with successive commits. Each writes a file to one partition, and rewrites
    the statistics of another one.
    """

    def __init__(self, path: Path) -> None:
        synthetic.write_table(path, files=FILES_BEFORE, partitions=PARTITIONS)
        self.path = path
        self.metadata = path / METADATA_DIR
        self.partition = "day=2020-01-01"
        self.names: list[str] = []
        self.logs: list[Path] = []

    def commit(self) -> None:
        number = len(self.names)
        instant, completed = f"202407010000{number:02d}000", f"202407010000{number:02d}500"
        self.names.append(f"file{number}-0_0-1-1_{instant}.parquet")
        cells: dict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
        for column, name in ((c, name) for c in COLUMNS for name in self.names[-2:]):
            key = column_stats_key(column, self.partition, name)
            stats = replace(STATISTICS, described=name, column=column, bounds=(number, number + 10))
            record = payloads.statistics(STATS_RECORD, stats)
            cells[shard(key, SHARDS)].append((key.encode(), record))
        for own, held in cells.items():
            self._log(COLUMN_STATS, f"col-stats-{own:04d}-0", instant, sorted(held))
        added = payloads.file_list({self.names[-1]: 5})
        self._log(FILES, "files-0000-0", instant, [(self.partition.encode(), added)])
        for hoodie, action in ((self.metadata / ".hoodie", "deltacommit"), (self.hoodie, "commit")):
            timeline = hoodie / "timeline"
            synthetic.write_instant(timeline, instant, completed, action, "INSERT", "{}")

    @property
    def hoodie(self) -> Path:
        return self.path / ".hoodie"

    def _log(
        self, partition: str, group: str, instant: str, cells: list[tuple[bytes, bytes]]
    ) -> None:
        file = self.metadata / partition / f".{group}_{instant}.log.1_0-1-2"
        file.write_bytes(log_writer.records(instant, cells))
        self.logs.append(file)

    def open(
        self, cache: DiskCache | None = None, earlier: MetadataTable | None = None
    ) -> MetadataTable:
        found = MetadataTable.open(HudiTable.open(str(self.path)), cache, earlier)
        assert found is not None
        return found


def contents_of(metadata: MetadataTable) -> list[list[tuple[Any, ...]]]:
    """All column statistics and files in the metadata table, in a fixed order."""
    found = []
    for column in COLUMNS:
        stats = metadata.statistics(COLUMN_STATS, [column_prefix(column)])
        least, greatest = (
            side["LongWrapper"].to_pylist() for side in (stats.minimum, stats.maximum)
        )
        found.append(sorted(zip(stats.key.to_pylist(), least, greatest, strict=True)))
    files = metadata.stored_files()
    found.append(sorted(zip(files.name.to_pylist(), files.size.tolist(), strict=True)))
    return found


@pytest.fixture
def table(tmp_path: Path) -> GrowingTable:
    return GrowingTable(tmp_path / "table")


@pytest.fixture(params=[True, False], ids=["kept on disk", "not kept"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> DiskCache | None:
    return DiskCache(tmp_path / "cache", 1 << 30) if request.param else None


def test_each_instant_has_the_same_content_for_a_new_reader(
    table: GrowingTable, cache: DiskCache | None
) -> None:
    current = table.open(cache)
    for _ in range(5):
        contents_of(current)
        table.commit()
        current = table.open(cache, current)
        assert contents_of(current) == contents_of(table.open())
        assert table.names[-1] in current.stored_files().name.to_pylist()


def test_log_blocks_are_read_once(table: GrowingTable, cache: DiskCache | None) -> None:
    for _ in range(3):
        table.commit()
    current = table.open(cache)
    contents_of(current)
    for log in table.logs:
        wiped(log)
    table.commit()
    ids, _, files = contents_of(table.open(cache, current))
    assert len(files) == FILES_BEFORE + 4
    # The first file, and the last statistics of the four commits.
    assert sorted(low for _, low, _ in ids if low < ROWS_PER_FILE) == [0, 1, 2, 3, 3]


@pytest.mark.slow
def test_the_bytes_read_do_not_grow_with_the_logs(table: GrowingTable, tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache", 1 << 30)
    current, costs, afresh = table.open(cache), [], 0
    for _ in range(10):
        contents_of(current)
        table.commit()
        current = table.open(cache, current)
        contents_of(current)
        costs.append(current.bytes_read)
        newcomer = table.open(cache)
        contents_of(newcomer)
        afresh = newcomer.bytes_read
    assert costs[-1] <= 1.2 * costs[1]
    assert costs[-1] < afresh / 2


def test_a_growing_log_file_is_read_incrementally(tmp_path: Path) -> None:
    tables = Tables(tmp_path / "t", 6)
    tables.base(content(a=["f0"]))
    tables.write("201", "202")
    current = tables.open()
    for number in range(203, 206):
        list(current.groups(FILES)[0].log_pieces(HFile.scan))
        tables.log(str(number), log_block(str(number), content(a=[f"f{number}"])))
        tables.write(str(number), str(number))
        opened = MetadataTable.open(tables.data.open(), None, current)
        assert opened is not None
        current = opened
        assert current.scan(FILES).payloads == tables.open().scan(FILES).payloads
        assert f"f{number}" in current.scan(FILES).payloads[0]["filesystemMetadata"]


def wiped(file: Path) -> None:
    times = file.stat()
    file.write_bytes(bytes(times.st_size))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
