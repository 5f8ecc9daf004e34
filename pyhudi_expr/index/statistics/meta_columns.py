"""Bounds of `_hoodie_commit_time` by file names, and rows without a virtual key.

A base file's name holds the commit that wrote it, a log file's (layout 2) the delta commit. Such a
commit can copy older rows, of commits that were complete by then. Requested times follow no clock
that all writers share, so the bound is the newest requested time among these commits, by their
completion times. Layout 1 does not record completion times, and its log files grow: there names
give no bounds.

Incremental queries are pruned by these bounds where `column_stats` does not have the column, as in
log files.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    arrow_list,
    arrow_scalar,
)
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds, is_known
from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.index.statistics.column_stats import ColumnStats
from pyhudi_expr.index.statistics.statistics_decoding import decode
from pyhudi_expr.tables.hudi_names import COMMIT_TIME
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import columns_without_nulls, key_types, null_key_message
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
        return Bounds(arrow_scalar(None, pa.large_binary()), self._newest)

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
        wrote = arrow_list(list(newest), pa.string())
        bound = arrow_list(list(newest.values()), pa.large_binary())
        return bound.take(pc.index_in(self._listing.file_instants, wrote))


_MOST_FILES = 1_000_000
"""Beyond that the key column is not read for this alone."""


def find_null_key(
    table: HudiTable, listing: FileListing, schema: pa.Schema, stats: ColumnStats
) -> str | None:
    """Return a message about base files in whose rows a key column is null; None if none is known.

    Args:
        table: The table.
        listing: The files.
        schema: The schema of the rows, with the key's columns.
        stats: The statistics of the files.
    """
    columns = columns_without_nulls(table.properties, table.base_path)
    if listing.num_files > _MOST_FILES:
        return None
    for name, type_ in zip(columns, key_types(schema, columns, table.base_path), strict=True):
        domain = domain_of(type_)
        if domain is None:
            continue
        try:
            files = _with_nulls(stats, listing, BoundColumn(name, type_, domain))
        except HudiError:  # a query that needs the index reports it
            return None
        if files:
            return null_key_message(table.base_path, name, files)
    return None


def _with_nulls(stats: ColumnStats, listing: FileListing, column: BoundColumn) -> list[str]:
    """Return the paths of base files with nulls.

    A file without bounds is none of them: Hudi counts values as nulls where a footer has no
    statistics. Neither is a log file, which may leave columns out.
    """
    found = np.zeros(listing.num_files, np.bool_)
    for positions, entries in stats.entries_of(column.name):
        is_log = listing.file_is_log[positions]
        known = is_known(decode(entries, column, is_log).bounds)
        found[positions] = known & ~is_log & (entries.null_count > 0)
    return listing.paths(found) if found.any() else []
