"""Access to tables under Hive's SQL standard based authorisation.

The tables are Hudi's, of tests/data/golden.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.session import HiveSession, QueryError

pytestmark = pytest.mark.hive

PLUGIN = "org.apache.hadoop.hive.ql.security.authorization"
AUTHORISED: Mapping[str, str] = {
    "hive.security.authorization.enabled": "true",
    "hive.security.authorization.manager": f"{PLUGIN}.plugin.sqlstd.SQLStdHiveAuthorizerFactory",
    "hive.security.authenticator.manager": "org.apache.hadoop.hive.ql.security"
    ".SessionStateUserAuthenticator",
    "hive.users.in.admin.role": "chief",
    # The settings that sessions may change under this authorisation; docs/hive.md names it.
    "hive.security.authorization.sqlstd.confwhitelist.append": r"hudi\.pruning\..*|hudi\.view"
    r"|hudi\.as\.of|hudi\.timeline\.zone|hoodie\..*\.consume\..*",
}
OWNER, READER, STRANGER = "owner", "reader", "stranger"
READ = "SELECT txn_id, amount FROM lake.guarded WHERE region = 'us'"


class Users:
    """The sessions of each user, opened at their first use."""

    def __init__(self, server: HiveServer, settings: Mapping[str, str]) -> None:
        self._server = server
        self._settings = settings

    def run(self, user: str, *statements: str) -> list[tuple[object, ...]]:
        """The rows of the last statement."""
        rows: list[tuple[object, ...]] = []
        with self._server.session(self._settings, user) as session:
            for statement in statements:
                rows = session.run(statement)
        return rows


def as_admin(session: HiveSession, *statements: str) -> None:
    for statement in ("SET ROLE admin", *statements):
        session.run(statement)


@pytest.fixture(scope="module")
def guarded(golden: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base path of a table for these tests, which everybody may write."""
    path = tmp_path_factory.mktemp("guarded") / "table"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    for file in (path, *path.rglob("*")):
        file.chmod(0o777)
    return path


@pytest.fixture(scope="module")
def users(
    guarded: Path,
    pruning_service: ServiceProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Users]:
    """A HiveServer2 with authorisation: `owner` owns a database and has created lake.guarded."""
    service = {
        "hudi.pruning.service.addresses": pruning_service.address,
        "hudi.pruning.timeout.ms": "30000",
    }
    with HiveServer(tmp_path_factory.mktemp("authorised"), settings=AUTHORISED) as server:
        everyone = Users(server, service)
        with server.session(service, "chief") as chief:
            as_admin(chief, "CREATE DATABASE lake", f"ALTER DATABASE lake SET OWNER USER {OWNER}")
        everyone.run(OWNER, create_with_handler("lake.guarded", guarded))
        yield everyone


def refused(users: Users, user: str, statement: str) -> str:
    with pytest.raises(QueryError) as error:
        users.run(user, statement)
    return str(error.value)


def test_reading_and_explaining_require_the_select_privilege(users: Users) -> None:
    own = users.run(OWNER, READ)
    assert own
    for statement in (READ, f"EXPLAIN {READ}", "SELECT count(*) FROM lake.guarded"):
        assert "Permission denied" in refused(users, READER, statement)
    users.run(OWNER, f"GRANT SELECT ON TABLE lake.guarded TO USER {READER}")
    assert sorted(users.run(READER, READ)) == sorted(own)
    explained = "\n".join(str(row[0]) for row in users.run(READER, f"EXPLAIN {READ}"))
    assert "hudi.pruning" in explained
    assert "PRUNED, reads 2 of 5 files" in explained
    assert "Permission denied" in refused(users, STRANGER, READ)


def test_only_the_owner_changes_and_drops_a_table(users: Users, guarded: Path) -> None:
    for statement in (
        "DROP TABLE lake.guarded",
        "ALTER TABLE lake.guarded ADD COLUMNS (extra int)",
    ):
        assert "Permission denied" in refused(users, READER, statement), statement
    users.run(
        OWNER,
        create_with_handler("lake.short", guarded),
        "DROP TABLE lake.short",
    )
    assert (guarded / ".hoodie" / "hoodie.properties").is_file()


def test_creating_a_table_requires_write_access_to_its_location(
    users: Users, guarded: Path
) -> None:
    statement = create_with_handler("lake.other", guarded)
    assert "Permission denied" in refused(users, STRANGER, statement)
    guarded.chmod(0o755)
    try:
        assert "Permission denied" in refused(users, OWNER, statement)
    finally:
        guarded.chmod(0o777)
    users.run(OWNER, statement, "DROP TABLE lake.other")


@pytest.mark.smoke
def test_an_owner_changes_table_properties_as_for_any_storage_handler(
    users: Users,
) -> None:
    """Hive checks rights on the objects that the handler names, and SQL standard authorisation does
    not support them.

    With hive.security.authorization.tables.on.storagehandlers=false it does not check.
    """
    statement = "ALTER TABLE lake.guarded SET TBLPROPERTIES ('hudi.view'='snapshot')"
    assert "STORAGEHANDLER_URI" in refused(users, OWNER, statement)


def test_a_table_without_a_location_is_refused_with_authorisation(users: Users) -> None:
    statement = "CREATE EXTERNAL TABLE lake.nowhere STORED BY 'io.pyhudi.hive.HudiStorageHandler'"
    assert "Hudi" in refused(users, OWNER, statement)
