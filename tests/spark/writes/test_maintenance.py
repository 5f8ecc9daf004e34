"""Nothing that a session with our extension does to a table loses an index or a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable as Written
from devtools.tables import TableSpec, TableType, create
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.manage.audit.runner import AuditOptions, audit
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.matching_slices import assert_no_row_lost, read
from tests.spark.writes.conftest import ROWS, SPECS
from tests.spark.writes.maintenance_steps import SERVICES, WRITES, Step, last_instant
from tests.spark.writes.test_kept_indexes import PREDICATES

pytestmark = pytest.mark.spark


def active(table: Written) -> set[str]:
    """The indexes in Hudi's store that answer; those of the extension lag after each commit."""
    return {
        one.name
        for one in index_statuses(HudiTable.open(table.uri))
        if one.store is Store.HUDI and one.state is State.ACTIVE
    }


def take(step: Step, session: SparkSession, table: Written, number: int) -> None:
    """Take a step; the table keeps its indexes."""
    before = active(table)
    assert before
    step.run(session, table.spec.name, number)
    assert active(table) >= before - step.drops, step.name


def check_rows(session: SparkSession, table: Written) -> None:
    rows = read(session, table.path)
    assert_no_row_lost(Pruner(), table.path, rows, PREDICATES)
    assert session.table(table.spec.name).count() == rows.count()


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
@pytest.mark.parametrize("step", SERVICES, ids=lambda step: step.name)
def test_a_service_keeps_all_indexes(
    session: SparkSession, copied: Callable[[str], Written], spec: TableSpec, step: Step
) -> None:
    if spec.type not in step.types:
        pytest.skip("there are no log files")
    table = copied(spec.name)
    for number, write in enumerate(WRITES, 100):
        write.run(session, table.spec.name, number)
    take(step, session, table, 7)
    check_rows(session, table)
    WRITES[1].run(session, table.spec.name, 8)
    check_rows(session, table)


def test_a_savepoint_is_restored_and_its_indexes_can_be_refreshed(
    session: SparkSession, copied: Callable[[str], Written]
) -> None:
    """Hudi makes the metadata table anew, with a part of its indexes."""
    table = copied("cow")
    name, before = table.spec.name, active(table)
    WRITES[0].run(session, name, 100)
    instant = last_instant(session, name)
    for text in (
        f"CALL create_savepoint(table => '{name}', commit_time => '{instant}')",
        f"UPDATE {name} SET city = 'gone' WHERE id < 9",
    ):
        take(Step(text, text), session, table, 0)
    text = f"CALL rollback_to_savepoint(table => '{name}', instant_time => '{instant}')"
    take(Step(text, text, drops=frozenset({"cities", "filters"})), session, table, 0)
    check_rows(session, table)
    assert session.table(name).where("city = 'gone'").count() == 0
    for index in sorted(before - active(table)):
        session.sql(f"REFRESH INDEX {index} ON {name}").collect()
    assert active(table) >= before
    check_rows(session, table)


def test_a_restore_makes_no_index_that_is_not_there(
    session: SparkSession, copied: Callable[[str], Written]
) -> None:
    """Hudi 1.2 makes column_stats, and then takes its files back, or fails by it."""
    table = copied("cow")
    name = table.spec.name
    WRITES[0].run(session, name, 100)
    instant = last_instant(session, name)
    session.sql(f"CALL create_savepoint(table => '{name}', commit_time => '{instant}')")
    for index in ("partition_stats", "column_stats"):
        execute(session, f"DROP INDEX IF EXISTS {index} ON '{table.uri}'")
    session.sql(f"CALL rollback_to_savepoint(table => '{name}', instant_time => '{instant}')")
    opened = HudiTable.open(table.uri)
    assert not opened.properties.metadata_partitions & {"column_stats", "partition_stats"}
    assert not audit(opened, AuditOptions()).findings
    check_rows(session, table)


_OF_A_PARTITION = pytest.mark.parametrize(
    "text",
    ["ALTER TABLE {0} DROP PARTITION (p = 1)", "TRUNCATE TABLE {0} PARTITION (p = 1)"],
    ids=["drop", "truncate"],
)


@_OF_A_PARTITION
def test_a_partition_that_goes_leaves_the_indexes(
    session: SparkSession, tmp_path: Path, text: str
) -> None:
    spec = TableSpec("keyed", TableType.MOR, partitions=("p",), stats_columns=None)
    table = create(session.sql(ROWS), spec, tmp_path)
    execute(session, f"CREATE INDEX keys ON '{table.uri}' USING record_index")
    session.sql(f"CREATE TABLE keyed USING hudi LOCATION '{table.uri}'")
    assert "keys" in active(table)
    take(Step(text, text), session, table, 0)
    assert session.table("keyed").count() == 200
    check_rows(session, table)


@_OF_A_PARTITION
@pytest.mark.parametrize("keeps", ["true", "false"])
def test_hudi_refuses_that_where_there_is_a_secondary_index(
    session: SparkSession, copied: Callable[[str], Written], text: str, keeps: str
) -> None:
    """With the index options, and without, where it deletes indexes before it refuses."""
    table = copied("mor")
    before = active(table)
    settings = {"spark.pyhudi.indexes.keep": keeps}
    refused = pytest.raises((PySparkException, Py4JJavaError))
    with session_settings(session, settings), refused:
        Step(text, text).run(session, "mor", 0)
    assert (active(table) >= before) == (keeps == "true")
    assert session.table("mor").count() == 400
    check_rows(session, table)


def test_without_the_extension_a_compaction_deletes_an_index(
    session: SparkSession, copied: Callable[[str], Written]
) -> None:
    """What the tests of this module are about."""
    table = copied("mor")
    WRITES[1].run(session, table.spec.name, 100)
    with session_settings(session, {"spark.pyhudi.indexes.keep": "false"}):
        SERVICES[0].run(session, table.spec.name, 0)
    assert "record_index" not in HudiTable.open(table.uri).properties.metadata_partitions


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
    check_rows(session, table)
