"""What is kept on disk of a synthetic table, made without the table: for sizes of 10,000,000 files.

The columns are those of `synthetic` that have ordinals (`id`, `spread`, `amount`), with the same
bounds. Everything but the listing and these bounds comes from a small table of the same schema.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.tables import synthetic
from pyhudi_expr.arrays import AnyArray, arrow_buffer
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds, domain_of, float_ordinals
from pyhudi_expr.index.opening import SnapshotOptions
from pyhudi_expr.index.partition_values import PartitionValues, path_layout
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.spark_partition_values import SparkPartitionColumns, SparkPathValues
from pyhudi_expr.index.statistics.column_bounds import BoundsSnapshots, KeptBounds
from pyhudi_expr.index.statistics.column_stats import WholeColumnStats
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, ListingPart, TableView
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache, Identity
from pyhudi_expr.tables.mdt.store.listing_state import kept_listing

_INSTANT = "20240601000000000"
_FILE_BYTES = 8_000_000
_LIMIT = 16 << 30
Ints = npt.NDArray[np.int64]


def snapshot_of(small: Path, directory: Path, files: int, partitions: int) -> TableSnapshot:
    """Return the snapshot of a table of so many files, mapped from a directory.

    Args:
        small: A table of `synthetic.write_table`.
        directory: Where the arrays are kept: they are written if they are missing.
        files: A multiple of `partitions`.
        partitions: At most 10,000.
    """
    cache = DiskCache(directory, _LIMIT)
    of_table = TableSnapshot.open(HudiTable.open(str(small)), SnapshotOptions())
    identity = Identity("synthetic", files, partitions, "", "listing")
    listing = kept_listing(cache, identity, lambda: _listing(files, partitions))
    kept = BoundsSnapshots(cache, listing, f"synthetic {files} {partitions}")
    for name, bounds in _bounds(files).items():
        column = _column(of_table, name)
        if kept.find(column) is None:
            everywhere = np.ones(files, np.bool_)
            ends = Bounds(*bounds, everywhere, ~everywhere)
            kept.keep(column, KeptBounds(ends, np.zeros(files, np.bool_)))
    stats = WholeColumnStats(None, listing, of_table.table.storage)
    stats.__dict__["_kept"] = kept
    return replace(
        of_table,
        listing=listing,
        values=PartitionValues(listing.partition_paths, path_layout(of_table.table.properties)),
        partition_stats=None,
        column_stats=stats,
        _paths=SparkPathValues(
            listing.partition_paths, SparkPartitionColumns.of(of_table.table.properties)
        ),
    )


def _column(snapshot: TableSnapshot, name: str) -> BoundColumn:
    type_ = snapshot.schema.field(name).type
    domain = domain_of(type_)
    assert domain is not None
    return BoundColumn(name, type_, domain)


def _bounds(files: int) -> dict[str, tuple[Ints, Ints]]:
    first = np.arange(files, dtype=np.int64) * synthetic.ROWS_PER_FILE
    random = np.random.default_rng(27)
    spread, other = random.permutation(first), random.permutation(first)
    last = synthetic.ROWS_PER_FILE - 1
    amounts = float_ordinals(other / 4), float_ordinals((other + last) / 4)
    return {"id": (first, first + last), "spread": (spread, spread + last), "amount": amounts}


def _listing(files: int, partitions: int) -> FileListing:
    per_partition = files // partitions
    partition = np.repeat(np.arange(partitions, dtype=np.int32), per_partition)
    days = np.datetime64("2000-01-01") + np.arange(partitions)
    part = ListingPart(
        partitions=pa.array([f"day={day}" for day in days.tolist()], pa.string()),
        slice_partition=partition,
        slice_file_id=_numbered(files, "", "-0000-0000-0000-000000000000-0"),
        slice_base_instant=_numbered(files, _INSTANT, "", digits=0),
        file_slice=np.arange(files, dtype=np.int32),
        file_name=_numbered(files, "", f"-0000-0000-0000-000000000000-0_0-11-0_{_INSTANT}.parquet"),
        file_size=np.full(files, _FILE_BYTES, np.int64),
        file_is_log=np.zeros(files, np.bool_),
    )
    return FileListing.of(_INSTANT, TableView.SNAPSHOT, part)


def _numbered(size: int, before: str, after: str, digits: int = 8) -> AnyArray:
    """Return the numbers up to `size` with leading zeros, as texts between others."""
    width = len(before) + digits + len(after)
    template = np.frombuffer((before + "0" * digits + after).encode(), np.uint8)
    content = np.tile(template, (size, 1))
    numbers = np.arange(size, dtype=np.int64)
    for place in range(digits):
        content[:, len(before) + digits - 1 - place] += (numbers % 10).astype(np.uint8)
        numbers //= 10
    offsets = np.arange(size + 1, dtype=np.int32) * np.int32(width)
    buffers = [None, arrow_buffer(offsets), arrow_buffer(content)]
    return pa.Array.from_buffers(pa.string(), size, buffers)
