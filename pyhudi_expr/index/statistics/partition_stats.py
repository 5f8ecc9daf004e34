"""`partition_stats`: aggregated statistics of each column of each partition (RFC-27).

One small look-up excludes whole partitions before any file's entry is read. Partitions with files
that are older than the index are left to `column_stats`, see `tracked_partitions`.
"""

from __future__ import annotations

import threading

import numpy as np
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries, decode_merged
from pyhudi_expr.index.statistics.tracked_partitions import tracked_partitions
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable


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
            positions = pc.index_in(found.file_name, self._listing.partitions).fill_null(-1)
            where = np.asarray(positions.to_numpy(), dtype=np.int64)
            listed = where >= 0
            listed[listed] = self._followed[where[listed]]
            decoded = decode_merged(StatisticsEntries.of(found).filter(listed), column)
            store = ColumnBounds(len(self._listing.partitions), column.domain)
            store.put(where[listed], decoded.bounds)
            self._columns[column] = store.bounds()

    @computed_once
    def _followed(self) -> BoolArray:
        return tracked_partitions(self._mdt, self._listing, (PARTITION_STATS, COLUMN_STATS))
