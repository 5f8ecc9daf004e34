"""Hudi 1.0.2 reads and maintains the indexes of its own table of version 8."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from devtools.runtime import other_hudi_bundle
from devtools.spark import spark_session
from devtools.tables import TableType
from pyhudi_expr.spark.indexes import execute
from tests.spark.builds.test_hudi_reads_indexes import (
    STATEMENTS,
    Layout,
    assert_maintained_by_hudi,
    assert_same_rows,
    plain,
    slices,
)

pytestmark = [pytest.mark.spark, pytest.mark.long]

_VERSION = "1.0.2"
_PREDICATES = ("id = '1234'", "city = 'c7'", "ts = 77")
_LAYOUT = Layout(8, TableType.COW, ("city", "ranges"))


def test_hudi_1_0_reads_and_maintains_our_indexes(tmp_path: Path) -> None:
    """In a separate process: each process has one JVM with one Hudi."""
    other_hudi_bundle(_VERSION)
    command = [sys.executable, "-m", "tests.spark.builds.test_older_hudi", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]


def main(root: Path) -> None:
    """The program of the process."""
    with spark_session("hudi-1.0", bundle=other_hudi_bundle(_VERSION)) as spark:
        table = plain(spark, _LAYOUT, "older", root)
        path = str(table.path)
        unindexed = {text: slices(spark, table, text) for text in _PREDICATES}
        for name in _LAYOUT.indexes:
            execute(spark, STATEMENTS[name].format(path=path))
        assert_same_rows(spark, table, _PREDICATES)
        assert all(slices(spark, table, text) < unindexed[text] for text in _PREDICATES)

        assert_maintained_by_hudi(spark, table)
        assert slices(spark, table, "city = 'c7'") < unindexed["city = 'c7'"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
