"""`partition_stats`: statistics of each column of each partition (RFC-27), and where they hold.

An index that is created for a table with files has to read them. Hudi 1.2 does not always do so:
where statistics come with another index that CREATE INDEX builds, `column_stats` has no entries for
the older files, and `partition_stats` has the bounds of the later files for all of them. A missing
entry is noticed; bounds that are too narrow are not. Files written once an index exists enter it by
Hudi's protocol. So aggregates are used only for partitions without older files.

One small look-up excludes whole partitions before any file's entry is read. Partitions with files
that are older than the index are left to `column_stats`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    BoolArray,
    arrow_list,
    numpy_flags,
    numpy_numbers,
)
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries, decode_merged
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_MARKER, PARTITION_STATS
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import load_properties

_COMPLETION_TIMES_LAYOUT = 2


def tracked_partitions(mdt: MetadataTable, listing: FileListing, names: Iterable[str]) -> BoolArray:
    """Return for each partition of the listing whether the metadata partitions are older.

    That is, whether all its files were written after the metadata partitions `names` were created.

    Raises:
        HudiError: The timeline cannot be read.
    """
    partitions = np.zeros(len(listing.partitions), np.bool_)
    starts = [_start_time(mdt, name) for name in names]
    if mdt.table.properties.timeline_layout != _COMPLETION_TIMES_LAYOUT or None in starts:
        return partitions
    last = max(str(time) for time in starts)
    of_partition, instants = listing.partition_instants
    later = [i for i in instants.unique().to_pylist() if _completed_after(mdt, i, last)]
    followed = numpy_flags(pc.is_in(instants, arrow_list(later, pa.string())))
    partitions[:] = True
    partitions[of_partition[~followed]] = False
    return partitions


def _start_time(mdt: MetadataTable, name: str) -> str | None:
    """Return when the commit that created the metadata partition completed; None if unknown."""
    marker = mdt.metadata.storage.read(f"{name}/{PARTITION_MARKER}")
    instant = str(load_properties(marker).get("commitTime", ""))
    for commit in mdt.metadata.timeline.writes:
        if commit.requested == instant:
            return commit.completed
    return mdt.metadata.archived_times.get(instant)


def _completed_after(mdt: MetadataTable, instant: str | None, time: str) -> bool:
    completed = None if instant is None else mdt.table.completion_time(instant)
    return completed is not None and completed > time


class PartitionStats:
    """Bounds over the partitions of a listing (a `Statistics`). Thread safe."""

    def __init__(self, mdt: MetadataTable, listing: FileListing) -> None:
        self._mdt = mdt
        self._listing = listing
        self._columns: dict[BoundColumn, Bounds] = {}
        self._lock = threading.Lock()

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the loaded bounds of a column, see `pyhudi_expr.expr.evaluate.Statistics`."""
        with self._lock:
            return self._columns.get(column)

    def load(self, column: BoundColumn) -> None:
        """Load the column's entries.

        Raises:
            HudiError: The index cannot be read.
        """
        with self._lock:
            if column in self._columns:
                return
            found = self._mdt.statistics(PARTITION_STATS, [column_prefix(column.name)])
            positions = pc.index_in(found.file_name, self._listing.partitions)
            where = numpy_numbers(positions, -1).astype(np.int64)
            listed = where >= 0
            listed[listed] = self._followed[where[listed]]
            decoded = decode_merged(StatisticsEntries.of(found).filter(listed), column)
            store = ColumnBounds(len(self._listing.partitions), column.domain)
            store.put(where[listed], decoded.bounds)
            self._columns[column] = store.bounds()

    @computed_once
    def _followed(self) -> BoolArray:
        return tracked_partitions(self._mdt, self._listing, (PARTITION_STATS, COLUMN_STATS))
