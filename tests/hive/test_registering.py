"""Tables are registered in Hive as a whole, or Hive's tables are what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.metastore_table import (
    STORAGE_HANDLER,
    TableName,
    metastore_table,
    without_notes,
)
from pyhudi_expr.manage.hive.registering import HiveRegistration
from pyhudi_expr.manage.hive.registration import (
    RegistrationRefused,
    registration,
    view_registrations,
)
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.manage.operations import OperationFailed, carry_out, run
from pyhudi_expr.tables.hudi_table import HudiTable

pytestmark = pytest.mark.hive

DATABASE = "registering"
NAME = TableName(DATABASE, "trips")


@dataclass(frozen=True)
class Before:
    """What Hive has before a registration.

    Attributes:
        statements: They make it of {there}, the Hudi table, {other}, another one, and {empty}, a
            directory.
        properties: Those of the registration.
        described: Whether the tables that describe the table are registered, too.
    """

    statements: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    described: bool = False


HANDLED = f"CREATE EXTERNAL TABLE {NAME} STORED BY '{STORAGE_HANDLER}' LOCATION"
BEFORE = {
    "nothing": Before(described=True),
    "a native table": Before(
        (
            f"CREATE EXTERNAL TABLE {NAME} (a int COMMENT 'said') PARTITIONED BY (p string)"
            " STORED AS PARQUET LOCATION '{empty}' TBLPROPERTIES ('owner'='x')",
            f"ALTER TABLE {NAME} ADD PARTITION (p='1') LOCATION '{{empty}}/elsewhere'",
        )
    ),
    "another table of the handler": Before(
        (f"{HANDLED} '{{other}}' TBLPROPERTIES ('hudi.view'='snapshot', 'owner'='x')",)
    ),
    "other properties": Before(
        (f"{HANDLED} '{{there}}' TBLPROPERTIES ('hudi.view'='snapshot', 'owner'='x')",),
        {"hudi.view": "read_optimized", "hudi.pruning.timeout.ms": "1999"},
    ),
}

State = Mapping[str, object]


@dataclass(frozen=True)
class Registering:
    """A database of which only these tests know."""

    session: HiveSession
    path: Path

    def operation(self, before: Before) -> HiveRegistration:
        """The registration of the table."""
        hudi = HudiTable.open(str(self.path))
        target = registration(hudi, NAME, str(self.path), before.properties)
        views = view_registrations(target) if before.described else ()
        return HiveRegistration(self.session, str(self.path), (target, *views), replacing=True)

    def state(self) -> State:
        """All tables of the database, with their partitions, but for what Hive itself notes."""
        names = [row[0] for row in self.session.run(f"SHOW TABLES IN {DATABASE}")]
        return {name: self._table(TableName(DATABASE, name)) for name in names}

    def _table(self, name: TableName) -> object:
        table = metastore_table(self.session, name)
        assert table is not None
        parts = self.session.run(f"SHOW PARTITIONS {name}") if table.partition_keys else []
        clauses = [f"PARTITION (p='{row[0].partition('=')[2]}')" for row in parts]
        described = [self.session.run(f"DESCRIBE FORMATTED {name} {each}") for each in clauses]
        places = [row for rows in described for row in rows if str(row[0]).startswith("Location")]
        return without_notes(table), places


Prepare = Callable[[Before], Registering]


@pytest.fixture
def prepared(
    hive_server: HiveServer,
    pruning_service: ServiceProcess,
    golden: Mapping[str, Path],
    tmp_path: Path,
) -> Iterator[Prepare]:
    """The database, with what is there before a registration."""
    there, other = golden["cow_v9_txns_simple_meta"], golden["mor_v9_txns_simple_meta"]

    @contextmanager
    def database() -> Iterator[HiveSession]:
        settings = {"hudi.pruning.service.addresses": pruning_service.address}
        with hive_server.session(settings) as session:
            session.run(f"CREATE DATABASE IF NOT EXISTS {DATABASE} LOCATION '{tmp_path}/database'")
            try:
                yield session
            finally:
                for row in session.run(f"SHOW TABLES IN {DATABASE}"):
                    session.run(f"DROP TABLE IF EXISTS {DATABASE}.{row[0]}")

    with database() as session:

        def prepare(before: Before) -> Registering:
            for statement in before.statements:
                session.run(statement.format(there=there, other=other, empty=tmp_path / "empty"))
            return Registering(session, there)

        yield prepare


@pytest.mark.parametrize("name", BEFORE)
def test_whichever_statement_is_the_last_hives_tables_are_what_they_were(
    prepared: Prepare, name: str
) -> None:
    registering = prepared(BEFORE[name])
    operation, before = registering.operation(BEFORE[name]), registering.state()
    plan = operation.plan()
    todo = [each for step in plan.steps[::-1] for each in step.statements.registering]
    assert todo
    for count in range(len(todo) + 1):
        operation.check(plan)
        for statement in todo[:count]:
            registering.session.run(statement)
        assert "as before" in operation.restore(plan)
        assert registering.state() == before, f"after {count} of {todo}"


@pytest.mark.smoke("other properties")
@pytest.mark.parametrize("name", BEFORE)
def test_afterwards_the_tables_are_there_and_nothing_else(prepared: Prepare, name: str) -> None:
    registering = prepared(BEFORE[name])
    operation = registering.operation(BEFORE[name])
    run(operation)
    assert set(registering.state()) == {each.name.table for each in operation.targets}
    assert not operation.plan().changes
    assert registering.session.run(f"SELECT txn_id FROM {NAME} WHERE region = 'us'")


@pytest.mark.parametrize("name", BEFORE)
def test_what_the_handler_refuses_changes_nothing(prepared: Prepare, name: str) -> None:
    before = BEFORE[name]
    registering = prepared(before)
    state = registering.state()
    deleting = Before(before.statements, {"external.table.purge": "true"}, before.described)
    with pytest.raises(OperationFailed, match="Hive's tables are as before"):
        run(registering.operation(deleting))
    assert registering.state() == state


def test_a_table_that_has_changed_since_the_plan_is_left_alone(prepared: Prepare) -> None:
    registering = prepared(BEFORE["a native table"])
    operation = registering.operation(Before())
    plan = operation.plan()
    registering.session.run(f"ALTER TABLE {NAME} SET TBLPROPERTIES ('owner'='y')")
    with pytest.raises(RegistrationRefused, match="changed meanwhile"):
        carry_out(operation, plan)


def test_a_table_that_a_dead_registration_has_left_is_named(prepared: Prepare) -> None:
    registering = prepared(BEFORE["a native table"])
    operation = registering.operation(Before())
    plan = operation.plan()
    registering.session.run(plan.steps[0].statements.registering[0])
    registering.session.run(
        f"CREATE EXTERNAL TABLE {NAME} (b int) STORED AS PARQUET LOCATION '{registering.path}'"
    )
    state = registering.state()
    with pytest.raises(RegistrationRefused, match="trips__registering`, which may be left"):
        run(operation)
    assert registering.state() == state
