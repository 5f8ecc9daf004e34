"""Metadata tables written by Apache Hudi: every record is found under its computed key."""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import StoredFiles, TableView
from pyhudi_expr.tables.mdt.bytes.keys import (
    column_partition_prefix,
    column_stats_key,
    partition_stats_key,
    split_secondary_key,
)
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics
from tests.conftest import GOLDEN_DATA
from tests.tables.mdt.entry_rows import bounds_of

pytestmark = pytest.mark.usefixtures("engine")

TABLES = [
    "cow_v9_timebasedkeygen_nonhivestyle",
    "cow_v9_txns_simple_meta",
    "mor_v6_metadata_pending_compaction",
    "mor_v8_metadata_pending_compaction",
    "mor_v9_txns_simple_meta",
]
READ_BY_HUDI = sorted(GOLDEN_DATA.glob("expected/*.metadata.json"))


def opened(path: Path) -> MetadataTable:
    metadata = MetadataTable.open(HudiTable.open(str(path)))
    assert metadata is not None
    return metadata


@pytest.fixture(scope="module", params=TABLES)
def metadata(request: pytest.FixtureRequest, golden: Mapping[str, Path]) -> MetadataTable:
    return opened(golden[request.param])


def test_the_metadata_covers_the_newest_write(metadata: MetadataTable) -> None:
    assert metadata.instant == metadata.table.instant
    assert metadata.lists_files
    assert not metadata.covers("29991231000000000")


@pytest.mark.parametrize("view", list(TableView))
def test_the_metadata_lists_the_files_of_the_storage(
    metadata: MetadataTable, view: TableView
) -> None:
    table = metadata.table
    from_metadata, from_storage = current_listing(table, metadata, view), table.listing(view)
    assert from_metadata.tokens.equals(from_storage.tokens)
    assert from_metadata.partitions.equals(from_storage.partitions)
    digests = [from_metadata.digest(p) for p in range(len(from_metadata.partitions))]
    assert digests == [from_storage.digest(p) for p in range(len(from_storage.partitions))]


def test_every_key_is_found_in_its_shard(metadata: MetadataTable) -> None:
    for partition in metadata.partitions:
        if not partition.startswith("secondary_index"):
            everything = metadata.scan(partition)
            found = metadata.lookup(partition, everything.keys)
            assert (found.keys, found.payloads) == (everything.keys, everything.payloads)
            assert not len(metadata.lookup(partition, ["no such key"]))


def test_every_statistics_key_can_be_computed(metadata: MetadataTable) -> None:
    stored = metadata.stored_files()
    paths = stored.partitions.take(pa.array(stored.partition)).to_pylist()
    partition_of = dict(zip(stored.name.to_pylist(), paths, strict=True))
    stats = metadata.statistics(COLUMN_STATS, [""])
    assert len(stats)
    names, columns = stats.file_name.to_pylist(), stats.column_name.to_pylist()
    for key, name, column in zip(stats.key.to_pylist(), names, columns, strict=True):
        assert key == column_stats_key(column, partition_of[name], name)
    if PARTITION_STATS in metadata.partitions:
        stats = metadata.statistics(PARTITION_STATS, [""])
        names, columns = stats.file_name.to_pylist(), stats.column_name.to_pylist()
        for key, name, column in zip(stats.key.to_pylist(), names, columns, strict=True):
            assert key == partition_stats_key(column, name)


def test_a_key_prefix_selects_one_columns_entries_in_one_partition(metadata: MetadataTable) -> None:
    stats = metadata.statistics(COLUMN_STATS, [""])
    for partition in metadata.table.listing().partitions.to_pylist():
        for column in set(stats.column_name.to_pylist()):
            prefix = column_partition_prefix(column, partition)
            found = metadata.statistics(COLUMN_STATS, [prefix])
            keys = [key for key in stats.key.to_pylist() if key.startswith(prefix)]
            assert sorted(found.key.to_pylist()) == sorted(keys)


def test_statistics_equal_those_of_the_files(metadata: MetadataTable) -> None:
    """For types that Parquet and Hudi represent alike, in the base files of a snapshot query."""
    listing = metadata.table.listing(TableView.READ_OPTIMIZED)
    stats = metadata.statistics(COLUMN_STATS, [""])
    row_of = {
        entry: row
        for row, entry in enumerate(
            zip(stats.file_name.to_pylist(), stats.column_name.to_pylist(), strict=True)
        )
    }
    compared = 0
    for number, name in enumerate(listing.file_name.to_pylist()):
        partition = listing.partitions[int(listing.file_partition[number])].as_py()
        file = pq.ParquetFile(Path(metadata.table.base_path, partition, name))
        table = file.read()
        for column in table.column_names:
            row = row_of.get((name, column))
            if row is None:
                continue
            wrapper, *bounds = bounds_of(stats, row)
            if wrapper not in ("IntWrapper", "StringWrapper"):
                continue
            if pa.types.is_date(table.schema.field(column).type):
                values = table.column(column).cast(pa.int32()).drop_null().to_pylist()
            else:
                values = table.column(column).drop_null().to_pylist()
            assert bounds == [min(values), max(values)]
            assert stats.null_count[row].as_py() == table.num_rows - len(values)
            assert stats.value_count[row].as_py() == table.num_rows
            compared += 1
    assert compared


def test_every_row_is_in_the_record_index(golden: Mapping[str, Path]) -> None:
    metadata = opened(golden["mor_v9_txns_simple_meta"])
    listing = metadata.table.listing(TableView.READ_OPTIMIZED)
    keys = set()
    for number, name in enumerate(listing.file_name.to_pylist()):
        partition = listing.partitions[int(listing.file_partition[number])].as_py()
        file = Path(metadata.table.base_path, partition, name)
        keys |= set(pq.read_table(file, columns=["txn_id"]).column(0).to_pylist())
    assert set(metadata.scan("record_index").keys) == keys
    secondary = metadata.scan("secondary_index_merchant_idx").keys
    assert {split_secondary_key(key)[1] for key in secondary} == keys


@pytest.mark.parametrize("expected", READ_BY_HUDI, ids=lambda file: file.stem)
def test_records_equal_those_that_hudi_reads(expected: Path, golden: Mapping[str, Path]) -> None:
    expected_records = json.loads(expected.read_text())
    metadata = opened(golden[expected.stem.removesuffix(".metadata")])
    assert metadata.scan("record_index").keys == sorted(expected_records["record_keys"])

    records = metadata.scan("files")
    files = {
        key: {n: f["size"] for n, f in payload["filesystemMetadata"].items() if not f["isDeleted"]}
        for key, payload in zip(records.keys, records.payloads, strict=True)
    }
    assert files == expected_records["files"]

    found = {}
    for partition in metadata.partitions & {COLUMN_STATS, PARTITION_STATS}:
        stats = metadata.statistics(partition, [""])
        for row, key in enumerate(stats.key.to_pylist()):
            wrapper, *ends = bounds_of(stats, row)
            bounds = [_text(wrapper, end) for end in ends]
            names = [c[row].as_py() for c in (stats.file_name, stats.column_name)]
            counts = [c[row].as_py() for c in (stats.value_count, stats.null_count)]
            found[key] = [*names, *bounds, *counts]
    assert found == expected_records["statistics"]


def _text(wrapper: str, value: object) -> str | None:
    if wrapper == "DecimalWrapper":
        assert isinstance(value, bytes)
        return str(Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-15))
    return None if value is None else str(value)


@pytest.mark.parametrize("name", TABLES)
def test_cached_answers_are_the_same(
    name: str, golden: Mapping[str, Path], tmp_path: Path, engine: str
) -> None:
    table = HudiTable.open(str(golden[name]))
    plain = opened(golden[name])
    for _ in range(2):
        cached = MetadataTable.open(table, DiskCache(tmp_path, 1 << 30))
        assert cached is not None
        assert _rows(cached.stored_files()) == _rows(plain.stored_files())
        for partition in plain.partitions & {COLUMN_STATS, PARTITION_STATS}:
            everything = _entries(plain.statistics(partition, [""]))
            assert _entries(cached.statistics(partition, [""])) == everything
    # Without the kernel, lists of files are read one by one, and not cached.
    assert list(tmp_path.iterdir()) or engine == "numpy"


def _rows(files: StoredFiles) -> list[tuple[str, str, int]]:
    paths, names = files.partitions.to_pylist(), files.name.to_pylist()
    numbers = files.partition.tolist()
    return sorted(zip((paths[n] for n in numbers), names, files.size.tolist(), strict=True))


def _entries(found: ColumnStatistics) -> list[tuple[Any, ...]]:
    columns: list[Any] = [found.key, found.file_name, found.column_name]
    columns += [found.value_count, found.null_count]
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return sorted((*row, *bounds_of(found, number)) for number, row in enumerate(rows))
