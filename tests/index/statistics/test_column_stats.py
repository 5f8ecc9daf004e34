"""Look-ups read only the entries that a predicate needs, and each file gets its own entry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from bench.tables.synthetic import ROWS_PER_FILE, write_table
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.index.statistics.column_stats import WholeColumnStats
from pyhudi_expr.index.statistics.partition_stats import PartitionStats
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from tests.index.statistics_entries import UNKNOWN, column, plain

FILES, PARTITIONS = 10_000, 20
PER_PARTITION = FILES // PARTITIONS

ID = column(pa.int64(), "id")
CODE = column(pa.string(), "code")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("synthetic") / "table"
    write_table(target, files=FILES, partitions=PARTITIONS)
    return target


@pytest.fixture
def mdt(path: Path) -> MetadataTable:
    found = MetadataTable.open(HudiTable.open(str(path)))
    assert found is not None
    return found


def statistics(mdt: MetadataTable) -> WholeColumnStats:
    listing = current_listing(mdt.table, mdt, TableView.SNAPSHOT)
    return WholeColumnStats(mdt, listing, mdt.table.storage)


def flags(*partitions: int) -> npt.NDArray[np.bool_]:
    chosen = np.zeros(PARTITIONS, np.bool_)
    chosen[list(partitions)] = True
    return chosen


ALL = flags(*range(PARTITIONS))


def test_bounds_are_unknown_until_they_are_loaded(mdt: MetadataTable) -> None:
    found = statistics(mdt)
    before = mdt.bytes_read
    assert mdt.bytes_read == before
    assert found.nbytes == 0


def test_every_file_gets_the_bounds_of_its_own_entry(mdt: MetadataTable) -> None:
    found = statistics(mdt)
    bounds = found.load([ID], ALL, 0).bounds(ID)
    assert bounds is not None
    rows = plain(bounds)
    assert {entry[1] - entry[0] for entry in rows} == {ROWS_PER_FILE - 1}
    assert sorted(entry[0] for entry in rows) == list(range(0, FILES * 1000, 1000))
    # Ranges of ids depend on the partition, so another file's entry would be noticed.
    stretch = PER_PARTITION * ROWS_PER_FILE
    assert [entry[0] // stretch for entry in rows] == [n // PER_PARTITION for n in range(FILES)]


def test_only_the_requested_partitions_are_loaded(mdt: MetadataTable) -> None:
    found = statistics(mdt)
    bounds = found.load([ID], flags(3, 5), 0).bounds(ID)
    assert bounds is not None
    known = {n // PER_PARTITION for n, entry in enumerate(plain(bounds)) if entry != UNKNOWN}
    assert known == {3, 5}
    bounds = found.load([ID], flags(5, 7), 0).bounds(ID)
    assert bounds is not None
    known = {n // PER_PARTITION for n, entry in enumerate(plain(bounds)) if entry != UNKNOWN}
    assert known == {3, 5, 7}


def cost(path: Path, bound_column: BoundColumn, partitions: npt.NDArray[np.bool_]) -> int:
    """Bytes read from the metadata table by one look-up, with its files open."""
    mdt = MetadataTable.open(HudiTable.open(str(path)))
    assert mdt is not None
    found = statistics(mdt)
    mdt.statistics(COLUMN_STATS, ["none begins so"])
    before = mdt.bytes_read
    found.load([bound_column], partitions, 0)
    return mdt.bytes_read - before


def test_a_look_up_reads_the_blocks_of_its_column_and_partitions_only(path: Path) -> None:
    stored = sum(f.stat().st_size for f in (path / ".hoodie/metadata/column_stats").glob("*.hfile"))
    one_partition, one_column = cost(path, ID, flags(3)), cost(path, ID, ALL)
    assert 0 < one_partition < one_column < stored
    assert one_partition < stored / 2


def test_loaded_columns_are_not_read_again(mdt: MetadataTable) -> None:
    found = statistics(mdt)
    found.load([ID], ALL, 0)
    before = mdt.bytes_read
    found.load([ID], ALL, 0)
    found.load([ID], flags(2), 0)
    found.load([ID], flags(), 0)
    assert mdt.bytes_read == before
    assert found.nbytes > 0


def test_a_column_without_entries_is_unknown(mdt: MetadataTable) -> None:
    found = statistics(mdt)
    missing = column(pa.int32(), "missing")
    bounds = found.load([missing], ALL, 0).bounds(missing)
    assert bounds is not None
    assert set(plain(bounds)) == {UNKNOWN}


def test_partition_aggregates_hold_the_ranges_of_their_files(mdt: MetadataTable) -> None:
    listing = current_listing(mdt.table, mdt, TableView.SNAPSHOT)
    found = PartitionStats(mdt, listing)
    assert found.bounds(ID) is None
    found.load(ID)
    found.load(CODE)
    bounds = found.bounds(ID)
    assert bounds is not None
    stretch = PER_PARTITION * ROWS_PER_FILE
    expected = [(n * stretch, (n + 1) * stretch - 1, True, True) for n in range(PARTITIONS)]
    assert plain(bounds) == expected
    texts = found.bounds(CODE)
    assert texts is not None
    assert all(low < high for low, high, _, _ in plain(texts))
    before = mdt.bytes_read
    found.load(ID)
    assert mdt.bytes_read == before
