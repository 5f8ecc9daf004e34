"""`partition_stats`: statistics of each column of each partition (RFC-27), and where they hold.

An index that is created for a table with files has to read them. Hudi 1.2 does not always do so:
where statistics come with another index that CREATE INDEX builds, `column_stats` has no entries for
the older files, and `partition_stats` has the bounds of the later files for all of them. A missing
entry is noticed; bounds that are too narrow are not. Files written once an index exists enter it by
Hudi's protocol. So aggregates are used only for partitions without older files.

A write computes the aggregates of its partitions anew, of the files that it sees when it begins. Of
two writers at once that add files to a partition, the later one leaves out the values of the other
one's files. So aggregates are not used where the last write to a partition had begun before another
one was complete.

One small look-up excludes whole partitions before any file's entry is read. Other partitions are
left to `column_stats`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, Int64Array, numpy_numbers
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries, decode_merged
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_MARKER, PARTITION_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import TableType, load_properties

_COMPLETION_TIMES_LAYOUT = 2


def has_aggregates(table: HudiTable) -> bool:
    """Return whether `partition_stats` may be of all rows of a table's partitions.

    An aggregate covers the files of its writes: the newest slices, base files and log files alike.
    """
    return table.properties.table_type is TableType.COPY_ON_WRITE


def tracked_partitions(mdt: MetadataTable, listing: FileListing) -> BoolArray:
    """Return for each partition of a listing whether its aggregates are of all its files.

    They are if all its files were written after the statistics were created, and the last write to
    it began when the others were complete.

    Raises:
        HudiError: The timeline cannot be read.
    """
    partitions = np.zeros(len(listing.partitions), np.bool_)
    starts = [_start_time(mdt, name) for name in (PARTITION_STATS, COLUMN_STATS)]
    if mdt.table.properties.timeline_layout != _COMPLETION_TIMES_LAYOUT or None in starts:
        return partitions
    created = max(str(time) for time in starts)
    of_partition, instants = listing.partition_instants
    writes = instants.unique()
    began, ended = _times(mdt, writes.to_pylist(), created)
    write = numpy_numbers(pc.index_in(instants, writes), 0).astype(np.int64)
    newest = np.full(len(partitions), -1)
    np.maximum.at(newest, of_partition, ended[write])
    is_newest = ended[write] == newest[of_partition]
    since = np.full(len(partitions), 2 * len(began))
    np.minimum.at(since, of_partition[is_newest], began[write[is_newest]])
    is_unseen = ~is_newest & (ended[write] >= since[of_partition])
    partitions[:] = True
    partitions[of_partition[(ended[write] < 0) | is_unseen]] = False
    return partitions


def _times(
    mdt: MetadataTable, requested: Sequence[str | None], created: str
) -> tuple[Int64Array, Int64Array]:
    """Return when writes began and ended, as ranks; -1: not known, or before the creation."""
    completed = [None if one is None else mdt.table.completion_time(one) for one in requested]
    times = sorted({one for one in (*requested, *completed) if one is not None})
    ranks = {time: rank for rank, time in enumerate(times)}
    began = [-1 if one is None else ranks[one] for one in requested]
    ended = [-1 if one is None or one <= created else ranks[one] for one in completed]
    return np.array(began, np.int64), np.array(ended, np.int64)


def _start_time(mdt: MetadataTable, name: str) -> str | None:
    """Return when the commit that created the metadata partition completed; None if unknown."""
    marker = mdt.metadata.storage.read(f"{name}/{PARTITION_MARKER}")
    instant = str(load_properties(marker).get("commitTime", ""))
    for commit in mdt.metadata.timeline.writes:
        if commit.requested == instant:
            return commit.completed
    return mdt.metadata.archived_times.get(instant)


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
        return tracked_partitions(self._mdt, self._listing)
