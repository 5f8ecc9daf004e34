"""Bounds of `_hoodie_commit_time` from file names: no row is newer than its file.

A base file's name holds the commit that wrote it, a log file's (layout 2) the delta commit. Such a
commit can copy older rows, of commits that were complete by then. Requested times follow no clock
that all writers share, so the bound is the newest requested time among these commits, by their
completion times. Layout 1 does not record completion times, and its log files grow: there names
give no bounds.

Incremental queries are pruned by these bounds where `column_stats` does not have the column, as in
log files.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.tables.hudi_names import COMMIT_TIME
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing

_COMPLETION_TIMES_LAYOUT = 2


class CommitTimes:
    """Upper bounds of commit times over the files of a listing (a `Statistics`)."""

    def __init__(self, table: HudiTable, listing: FileListing) -> None:
        self._table = table
        self._listing = listing

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of the column, see `pyhudi_expr.expr.evaluate.Statistics`."""
        kept = self._table.properties
        if column.name != COMMIT_TIME or kept.timeline_layout != _COMPLETION_TIMES_LAYOUT:
            return None
        return Bounds(pa.scalar(None, pa.large_binary()), self._newest)

    @computed_once
    def _newest(self) -> AnyArray:
        """For each file the newest commit that its rows can be of; null if unknown."""
        writes = [write for write in self._table.timeline.writes if write.completed]
        by_completion = sorted(writes, key=lambda write: str(write.completed))
        newest: dict[str, bytes] = {}
        seen = ""
        for write in by_completion:
            seen = max(seen, write.requested)
            newest[write.requested] = seen.encode()
        wrote = pa.array(list(newest), pa.string())
        bound = pa.array(list(newest.values()), pa.large_binary())
        return bound.take(pc.index_in(self._listing.file_instants, wrote))
