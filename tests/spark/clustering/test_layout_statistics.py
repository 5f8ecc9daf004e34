"""A layout leaves `column_stats` of its columns behind: built, or with these columns more."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, create, upsert
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.manage.layout import Layout
from pyhudi_expr.manage.layout.selection import Size
from pyhudi_expr.spark.clustering.clustering import ClusterOptions, cluster
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.index_definitions import index_definitions
from tests.index.prune.matching_slices import assert_no_row_lost, read

pytestmark = [pytest.mark.spark, pytest.mark.long]

_ROWS = "SELECT id, id * 7 % 400 AS a, id * 11 % 400 AS b, id % 3 AS d FROM range(0, 400, 1, 4)"
_PREDICATES = ("a < 50 AND b < 50", "d = 1", "id = 7")


@pytest.mark.parametrize("columns", [None, ("d",)], ids=["none", "others"])
def test_statistics_get_the_columns_that_they_lack(
    spark: SparkSession, tmp_path: Path, columns: tuple[str, ...] | None
) -> None:
    rows = spark.sql(_ROWS)
    table = create(rows, TableSpec("some", stats_columns=columns), tmp_path)
    size = Size(files=8)
    without = cluster(spark, table.uri, Layout(("a",)), ClusterOptions(size=size, statistics=False))
    assert not any("column_stats" in note for note in without.notes)
    done = cluster(spark, table.uri, Layout(("a", "b")), ClusterOptions(size=size))
    assert any(note.startswith("built column_stats of a, b") for note in done.notes)
    found = read(spark, table.path)
    kept = assert_no_row_lost(Pruner(), table.path, found, _PREDICATES)
    assert kept["a < 50 AND b < 50"] <= 3
    fields = index_definitions(HudiTable.open(table.uri))["column_stats"].fields
    assert {*(columns or ()), "a", "b"} <= set(fields)
    upsert(table, rows.where("id < 9"))
    assert_no_row_lost(Pruner(), table.path, read(spark, table.path), _PREDICATES)
