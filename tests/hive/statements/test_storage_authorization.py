"""Access to tables under storage-based authorisation, by the permissions of their files.

The metastore checks each user's rights on the directories of database and table. For a table of the
handler, it allows and refuses the same as for any external table there.
"""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from pyhudi_expr.manage.hive.session import QueryError

pytestmark = [pytest.mark.hive, pytest.mark.long]

SECURITY = "org.apache.hadoop.hive.ql.security"
BY_STORAGE: Mapping[str, str] = {
    "hive.metastore.pre.event.listeners": f"{SECURITY}.authorization.AuthorizationPreEventListener",
    "hive.security.metastore.authorization.manager": f"{SECURITY}.authorization"
    ".StorageBasedAuthorizationProvider",
    "hive.security.metastore.authenticator.manager": f"{SECURITY}"
    ".HadoopDefaultMetastoreAuthenticator",
    # The rights are those of the session's user.
    "hive.server2.enable.doAs": "true",
}
OWNER, STRANGER = getpass.getuser(), "stranger"


@dataclass(frozen=True)
class Lake:
    """A server, and a Hudi table that is registered in it twice: `plain` and with the handler."""

    server: HiveServer
    path: Path

    def creations(self) -> Mapping[str, str]:
        """The statement that creates each table."""
        return {
            "plain": "CREATE EXTERNAL TABLE lake.plain (txn_id string) STORED AS PARQUET "
            f"LOCATION '{self.path}'",
            "handled": create_with_handler("lake.handled", self.path),
        }

    def refusal(self, user: str, statement: str) -> str | None:
        """Why the user may not run it; None: it succeeded."""
        try:
            with self.server.session(user=user) as session:
                session.run(statement)
        except QueryError as error:
            return str(error)
        return None

    def allowed(self, user: str, statement: str) -> bool:
        """Whether the user may run it for either table; `{}` is the table's name.

        A refusal has to name the missing rights.
        """
        refusals = [
            self.refusal(user, statement.format(f"lake.{name}")) for name in self.creations()
        ]
        assert all(
            refusal is None or f"Permission denied: user={user}" in refusal for refusal in refusals
        )
        is_allowed = {refusal is None for refusal in refusals}
        assert len(is_allowed) == 1, refusals
        return is_allowed.pop()


@pytest.fixture(scope="module")
def lake(golden: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Both tables, created by the owner of all directories."""
    root = tmp_path_factory.mktemp("by_storage")
    path = root / "table"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    for entry in (path, *path.rglob("*")):
        entry.chmod(0o755 if entry.is_dir() else 0o644)
    with HiveServer(root / "server", settings=BY_STORAGE) as server:
        started_lake = Lake(server, path)
        assert started_lake.refusal(OWNER, "CREATE DATABASE lake") is None
        for statement in started_lake.creations().values():
            assert "Permission denied" in (started_lake.refusal(STRANGER, statement) or "")
            assert started_lake.refusal(OWNER, statement) is None
        yield started_lake


def test_reading_a_table_requires_read_access_to_its_files(lake: Lake) -> None:
    assert lake.allowed(STRANGER, "SELECT txn_id FROM {}")
    assert lake.allowed(STRANGER, "DESCRIBE {}")
    lake.path.chmod(0o700)
    try:
        assert not lake.allowed(STRANGER, "SELECT txn_id FROM {}")
        assert not lake.allowed(STRANGER, "DESCRIBE {}")
        assert lake.allowed(OWNER, "SELECT txn_id FROM {}")
    finally:
        lake.path.chmod(0o755)


def test_changing_a_table_requires_write_access_to_its_files(lake: Lake) -> None:
    properties = "ALTER TABLE {} SET TBLPROPERTIES ('note'='mine')"
    assert not lake.allowed(STRANGER, properties)
    assert lake.allowed(OWNER, properties)
    assert not lake.allowed(STRANGER, "DROP TABLE {}")
    assert lake.allowed(OWNER, "DROP TABLE {}")
    assert (lake.path / ".hoodie" / "hoodie.properties").is_file()
