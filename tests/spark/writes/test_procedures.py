"""Hudi's own procedures keep a table's indexes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable as Written
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.matching_slices import assert_no_row_lost, read
from tests.spark.writes.test_kept_indexes import PREDICATES

pytestmark = pytest.mark.spark


def active(table: Written) -> set[str]:
    """The indexes in Hudi's store that answer."""
    return {
        one.name
        for one in index_statuses(HudiTable.open(table.uri))
        if one.store is Store.HUDI and one.state is State.ACTIVE
    }


def test_a_compaction_keeps_all_indexes(
    session: SparkSession, copied: Callable[[str], Written]
) -> None:
    table = copied("mor")
    session.sql("UPDATE mor SET city = 'new' WHERE id % 90 = 11")
    before = active(table)
    assert "record_index" in before
    session.sql(
        "CALL run_compaction(op => 'scheduleAndExecute', table => 'mor',"
        " options => 'hoodie.compact.inline.max.delta.commits=1')"
    ).collect()
    assert list((table.path / ".hoodie" / "timeline").glob("*.commit"))
    assert active(table) >= before
    rows = read(session, table.path)
    assert_no_row_lost(Pruner(), table.path, rows, PREDICATES)
    assert session.table("mor").count() == rows.count()
