"""Whether a table has `column_stats` of the columns that its rows are laid out by.

An order of the rows alone skips nothing: files are skipped by the bounds of their columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State, index_statuses
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes.index_definitions import index_definitions


def columns_without_statistics(table: HudiTable, columns: Sequence[str]) -> tuple[str, ...]:
    """Return those of the columns that no `column_stats` of the table has, in their order.

    Raises:
        HudiError: The table cannot be read.
    """
    left = list(columns)
    for status in statistics_indexes(table):
        if status.state in (State.ACTIVE, State.LAGGING):
            covered = indexed_columns(table, status)
            left = [] if covered is None else [each for each in left if each not in covered]
    return tuple(left)


def statistics_indexes(table: HudiTable) -> list[IndexStatus]:
    """Return the `column_stats` of both metadata tables. Raises HudiError."""
    return [status for status in index_statuses(table) if status.kind == COLUMN_STATS]


def indexed_columns(table: HudiTable, status: IndexStatus) -> tuple[str, ...] | None:
    """Return the columns of a `column_stats`; None if it has all that it can.

    Raises:
        CorruptFile: The index definitions cannot be read.
    """
    if status.store is Store.HUDI:
        definition = index_definitions(table).get(COLUMN_STATS)
        if definition is not None:
            return definition.fields
    return status.columns or None
