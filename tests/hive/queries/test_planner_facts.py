"""Table statistics for Hive's planner."""

import re

import pytest

from devtools.matrix import Matrices
from devtools.tables import TableType
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.hive.query_results import MR, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive]


@pytest.mark.smoke("cow")
@pytest.mark.parametrize("type_", TableType, ids=lambda type_: type_.name.lower())
def test_the_planner_counts_the_newest_slices_only(
    hive: Hive, matrices: Matrices, type_: TableType
) -> None:
    """Old versions and metadata, which are also below the location, do not count."""
    table = matrices.get(type_).table
    name = hive.register(table)
    newest = HudiTable.open(str(table.path)).listing()
    as_stored = {"hive.stats.deserialization.factor": "1"}
    plan = hive.query(f"EXPLAIN SELECT * FROM {name}", MR, settings=as_stored).rows
    sizes = re.findall(r"Data size: (\d+)", "\n".join(row[0] for row in plan))
    assert set(sizes) == {str(newest.file_size.sum())}
