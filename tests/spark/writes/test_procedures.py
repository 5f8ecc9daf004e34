"""Hudi's own procedures, and streams, keep a table's indexes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable as Written
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.matching_slices import assert_no_row_lost, read
from tests.spark.writes.conftest import ROWS
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


def test_a_stream_keeps_all_indexes(
    session: SparkSession, copied: Callable[[str], Written], tmp_path: Path
) -> None:
    table = copied("cow")
    source = tmp_path / "rows"
    new = f"SELECT id + 5000 AS id, city, a, p FROM ({ROWS}) WHERE id < 5"
    session.sql(new).write.parquet(str(source))
    before = active(table)
    options = {
        name: value
        for name, value in table.spec.options().items()
        if name == "hoodie.table.name"
        or name.endswith(("field", "table.type", "keygenerator.class"))
    }
    stream = (
        session.readStream.schema("id bigint, city string, a bigint, p bigint")
        .parquet(str(source))
        .writeStream.format("hudi")
        .options(**options)
        .option("path", table.uri)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert stream.awaitTermination(120)
    assert active(table) >= before
    assert read(session, table.path).where("id >= 5000").count() == 5
    rows = read(session, table.path)
    assert_no_row_lost(Pruner(), table.path, rows, PREDICATES)
    assert session.table(table.spec.name).count() == rows.count()
