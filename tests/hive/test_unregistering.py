"""A table is unregistered with those that describe it, or Hive's tables are what they were."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.metastore_table import TableName, metastore_table, without_notes
from pyhudi_expr.manage.hive.registering import HiveRegistration, HiveUnregistration
from pyhudi_expr.manage.hive.registration import (
    RegistrationRefused,
    registration,
    view_registrations,
)
from pyhudi_expr.manage.hive.session import HiveSession
from pyhudi_expr.manage.operations import OperationFailed, carry_out, run
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.tables.directory_contents import contents

pytestmark = pytest.mark.hive

DATABASE = "unregistering"
NAME = TableName(DATABASE, "trips")
OTHER = TableName(DATABASE, "trips__other")


@pytest.fixture
def path(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    """A Hudi table that is nobody else's."""
    return shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "trips")


@pytest.fixture
def session(
    hive_server: HiveServer, pruning_service: ServiceProcess, path: Path, tmp_path: Path
) -> Iterator[HiveSession]:
    """A session in which the table is registered with those that describe it, and another one."""
    with _database(hive_server, pruning_service, tmp_path) as session:
        target = registration(HudiTable.open(str(path)), NAME, str(path))
        targets = (target, *view_registrations(target))
        run(HiveRegistration(session, str(path), targets, replacing=False))
        session.run(f"CREATE EXTERNAL TABLE {OTHER} (a int) LOCATION '{tmp_path}/other'")
        yield session


@contextmanager
def _database(
    hive_server: HiveServer, pruning_service: ServiceProcess, directory: Path
) -> Iterator[HiveSession]:
    settings = {"hudi.pruning.service.addresses": pruning_service.address}
    with hive_server.session(settings) as session:
        session.run(f"CREATE DATABASE {DATABASE} LOCATION '{directory}/database'")
        try:
            yield session
        finally:
            for row in session.run(f"SHOW TABLES IN {DATABASE}"):
                session.run(f"DROP TABLE IF EXISTS {DATABASE}.{row[0]}")
            session.run(f"DROP DATABASE {DATABASE}")


def state(session: HiveSession) -> Mapping[str, object]:
    """The tables of the database, but for what Hive itself notes."""
    found = {}
    for row in session.run(f"SHOW TABLES IN {DATABASE}"):
        table = metastore_table(session, TableName(DATABASE, row[0]))
        assert table is not None
        found[row[0]] = without_notes(table)
    return found


@pytest.mark.smoke
def test_the_table_and_those_that_describe_it_are_dropped_and_no_file(
    session: HiveSession, path: Path
) -> None:
    before = contents(path)
    dropped = run(HiveUnregistration(session, NAME))
    assert [name.table for name in dropped] == [
        *("trips__files", "trips__history", "trips__indexes", "trips__column_ranges", "trips")
    ]
    assert set(state(session)) == {OTHER.table}
    assert contents(path) == before
    with pytest.raises(RegistrationRefused, match="Hive has no table"):
        HiveUnregistration(session, NAME).plan()


def test_whichever_table_was_the_last_hives_tables_are_what_they_were(session: HiveSession) -> None:
    operation, before = HiveUnregistration(session, NAME), state(session)
    plan = operation.plan()
    for count in range(len(plan.dropped) + 1):
        for name, _ in plan.dropped[:count]:
            session.run(f"DROP TABLE {name}")
        assert operation.restore(plan) == "Hive's tables are as before"
        assert state(session) == before


def test_a_table_that_has_changed_since_the_plan_is_not_dropped(session: HiveSession) -> None:
    operation = HiveUnregistration(session, NAME)
    plan = operation.plan()
    session.run(f"ALTER TABLE {NAME} SET TBLPROPERTIES ('owner'='y')")
    with pytest.raises(OperationFailed, match="`trips` is not as before"):
        carry_out(operation, plan)
    assert {*state(session)} == {one.table for one, _ in plan.dropped} | {OTHER.table}


def test_tables_of_other_readers_are_not_dropped(session: HiveSession) -> None:
    before = state(session)
    for name in (OTHER, TableName(DATABASE, "trips__files")):
        with pytest.raises(RegistrationRefused, match="is not a Hudi table that the storage"):
            HiveUnregistration(session, name).plan()
    assert state(session) == before
