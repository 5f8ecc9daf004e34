"""`column_stats` of the columns that a layout orders rows by, so that files are skipped by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import State
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.index_plan import plan_index
from pyhudi_expr.manage.indexing.preparation import BuildPlan, prepare_create
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.manage.layout.ordered_statistics import (
    columns_without_statistics,
    indexed_columns,
    statistics_indexes,
)
from pyhudi_expr.spark.indexes import carry_out
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, META_COLUMNS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes.partitions import check_restores


def ordered_statistics(spark: SparkSession, table: str, columns: Sequence[str]) -> Iterator[str]:
    """Build `column_stats` of the columns where there are none, and yield what was done.

    An existing index is built anew with these columns more. A failure is one of the notes: the
    rows are laid out by then.
    """
    opened = HudiTable.open(table)
    missing = columns_without_statistics(opened, columns)
    if not missing:
        return
    names = ", ".join(missing)
    try:
        plan = _plan(opened, columns)
        built = None if plan is None else carry_out(spark, plan, BuildOptions())
    except HudiError as error:
        yield f"column_stats of {names}, without which no file is skipped, failed: {error}"
        return
    if built is not None:
        yield f"built column_stats of {names}; Hudi's writers keep them by writer_options"
        yield from built.notes


def _plan(table: HudiTable, columns: Sequence[str]) -> BuildPlan | None:
    """Return what to build: a new index, or the one that there is with more columns."""
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
    left = sorted(set(status.partitions) & table.properties.metadata_partitions)
    return BuildPlan(table, plan_index(table, request), tuple(left))
