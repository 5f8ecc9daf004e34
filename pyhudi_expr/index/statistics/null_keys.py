"""Rows without a virtual key, as far as `column_stats` show them and can be trusted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import is_known
from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.index.statistics.column_stats import ColumnStats
from pyhudi_expr.index.statistics.statistics_decoding import decode
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.key_columns import columns_without_nulls, key_types, null_key_message
from pyhudi_expr.tables.listing import FileListing

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
