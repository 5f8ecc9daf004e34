"""Whether a table has `column_stats` of the columns that its rows are laid out by.

An order of the rows alone skips nothing: files are skipped by the bounds of their columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State, index_statuses
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.index_plan import plan_index
from pyhudi_expr.manage.indexing.preparation import BuildPlan, prepare_create
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, META_COLUMNS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes.index_definitions import index_definitions
from pyhudi_expr.tables.mdt.changes.partitions import check_restores


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


def statistics_plan(table: HudiTable, columns: Sequence[str]) -> BuildPlan | None:
    """Return what to build: a new `column_stats`, or the one that there is with more columns.

    Raises:
        HudiError: The table cannot be read, or another writer is at work.
    """
    of_hudi = [one for one in statistics_indexes(table) if one.store is Store.HUDI]
    if not of_hudi:
        request = CreateIndex(COLUMN_STATS, table.base_path, COLUMN_STATS, tuple(columns))
        return prepare_create(request, BuildOptions())
    (status,) = of_hudi
    there = () if status.state is State.DROPPED else indexed_columns(table, status) or ()
    every = dict.fromkeys(each for each in (*there, *columns) if each not in META_COLUMNS)
    request = CreateIndex(status.name, table.base_path, COLUMN_STATS, tuple(every))
    check_restores(table)
    BuildOptions().lock(table.storage).check()
    planned = plan_index(table, request)
    names = {*status.partitions, *(partition.name for partition in planned.partitions)}
    return BuildPlan(table, planned, tuple(sorted(names & table.properties.metadata_partitions)))
