"""`column_stats` of the columns that a layout orders rows by, so that files are skipped by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.layout.ordered_statistics import (
    columns_without_statistics,
    statistics_plan,
)
from pyhudi_expr.spark.indexes import carry_out
from pyhudi_expr.tables.hudi_table import HudiTable


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
        plan = statistics_plan(opened, columns)
        built = None if plan is None else carry_out(spark, plan, BuildOptions())
    except HudiError as error:
        yield f"column_stats of {names}, without which no file is skipped, failed: {error}"
        return
    if built is not None:
        yield f"built column_stats of {names}; Hudi's writers keep them by writer_options"
        yield from built.notes
