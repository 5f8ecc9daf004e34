"""A table gets other readers as a whole, or the metastore holds what it held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.hive.adopting import adopt_all, adopting, undo_all, undoing_adoption
from pyhudi_expr.manage.hive.metastore_table import TableName
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.manage.operations import carry_out, run
from tests.hive.adoption.adopt_command import HUDI_MERGED
from tests.hive.adoption.metastore_state import input_formats, metastore_state
from tests.hive.query_results import Hive

pytestmark = pytest.mark.hive

NAME = TableName("readers", "synced")
_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"
_CLASSES = (
    f"INPUTFORMAT 'org.apache.hudi.hadoop.%s' OUTPUTFORMAT '{_PARQUET}.MapredParquetOutputFormat'"
)
SYNCED = (
    f"CREATE EXTERNAL TABLE {NAME} (txn_id string) PARTITIONED BY (region string)"
    f" ROW FORMAT SERDE '{_PARQUET}.serde.ParquetHiveSerDe'"
    f" STORED AS {_CLASSES % 'HoodieParquetInputFormat'} LOCATION '{{path}}'"
)
REGIONS = ("apac", "eu", "us")


@pytest.fixture
def session(hive: Hive, golden: Mapping[str, Path]) -> Iterator[HiveSession]:
    """A session with a table of Hudi's sync, one of whose partitions has another input format."""
    path = golden["cow_v9_txns_simple_meta"]
    partition = f"ALTER TABLE {NAME} PARTITION (region='us') SET FILEFORMAT"
    with hive.server.session() as session:
        session.run(f"CREATE DATABASE IF NOT EXISTS {NAME.database}")
        session.run(SYNCED.format(path=path))
        for region in REGIONS:
            place = f"{path}/region={region}"
            session.run(f"ALTER TABLE {NAME} ADD PARTITION (region='{region}') LOCATION '{place}'")
        merged = _CLASSES % f"realtime.{HUDI_MERGED}"
        session.run(f"{partition} {merged} SERDE '{_PARQUET}.serde.ParquetHiveSerDe'")
        try:
            yield session
        finally:
            session.run(f"DROP TABLE IF EXISTS {NAME}")


def test_whichever_statement_is_the_last_the_metastore_holds_what_it_held(
    session: HiveSession,
) -> None:
    for operation in (adopting(session, NAME), undoing_adoption(session, NAME)):
        before = metastore_state(session, str(NAME))
        plan = operation.plan()
        todo = plan.todo.statements
        assert len(todo) > 2
        for count in range(1, len(todo) + 1):
            operation.check(plan)
            for statement in todo[:count]:
                session.run(statement)
            assert operation.restore(plan) == "the table and its partitions are as before"
            assert metastore_state(session, str(NAME)) == before, f"after {count} of {todo}"
        carry_out(operation, plan)


def test_to_undo_an_adoption_gives_everything_back(session: HiveSession) -> None:
    before = metastore_state(session, str(NAME))
    (adopted,) = adopt_all(session, [NAME], dry_run=False)
    assert (adopted.outcome.value, adopted.partitions) == ("changed", 3)
    assert set(input_formats(metastore_state(session, str(NAME))).values()) == {
        "HudiCopyOnWriteInputFormat"
    }
    (undone,) = undo_all(session, [NAME], dry_run=False)
    assert undone.outcome.value == "changed"
    assert metastore_state(session, str(NAME)) == before


@pytest.mark.smoke
def test_a_table_that_has_changed_since_the_plan_is_left_alone(session: HiveSession) -> None:
    operation = adopting(session, NAME)
    plan = operation.plan()
    run(adopting(session, NAME))
    state = metastore_state(session, str(NAME))
    with pytest.raises(HudiError, match="changed meanwhile"):
        carry_out(operation, plan)
    assert metastore_state(session, str(NAME)) == state
