"""A clustering whose tasks fail: what is reported, and that the table is as before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, create
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.layout import Layout
from pyhudi_expr.spark.clustering.clustering import cluster
from pyhudi_expr.tables.hudi_table import HudiTable

pytestmark = [pytest.mark.spark, pytest.mark.long]


def test_a_module_that_workers_lack_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.range(0, 1000, numPartitions=2).selectExpr(
        "CAST(id AS string) AS id", "pmod(hash(id), 1000) AS a", "0 AS v"
    )
    table = create(rows, TableSpec("bare", stats_columns=None), tmp_path)
    before = HudiTable.open(str(table.path)).timeline.last_write
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(tmp_path / "v" / "bin" / "python"))
    with pytest.raises(
        HudiError, match=r"workers lacks the module \w+: set spark\.pyspark\.python"
    ):
        cluster(spark, str(table.path), Layout(("a",)))
    assert HudiTable.open(str(table.path)).timeline.last_write == before
