"""The documents' statements, one after the other, on a table that Hudi writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.spark import session_settings
from devtools.tables import TableSpec, create
from pyhudi_expr.index.prune import Pruner
from tests.docs.documents import Runner, pieces
from tests.index.prune.matching_slices import assert_no_row_lost, read
from tests.spark.statements.conftest import OURS

pytestmark = [pytest.mark.spark, pytest.mark.long]

_ROWS = """
SELECT id, id AS ts, 'rider ' || id % 9 AS rider, 'c' || id % 7 AS city,
  cast(id AS double) AS fare, '2024-05-0' || (1 + id % 2) AS day
FROM range(0, 400, 1, 4)
"""


def test_the_statements_run(spark: SparkSession, tmp_path: Path) -> None:
    spec = TableSpec("trips", ordering="ts", partitions=("day",), stats_columns=None)
    table = create(spark.sql(_ROWS), spec, tmp_path)
    with session_settings(spark, OURS):
        spark.sql("CREATE DATABASE warehouse")
        spark.sql(f"CREATE TABLE warehouse.trips USING hudi LOCATION '{table.uri}'")
        for piece in pieces(Runner.STATEMENTS, "sql"):
            spark.sql(piece.text).collect()
            rows = read(spark, table.path)
            assert rows.count() == 400
            assert_no_row_lost(Pruner(), table.path, rows, ["fare > 300", "rider = 'rider 3'"])
        spark.sql("DROP DATABASE warehouse CASCADE")
