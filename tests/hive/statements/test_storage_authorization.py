"""Who may do what with a table: storage-based authorisation, by who may read and write its files.

The metastore checks each user's rights on the directories of database and table. What it allows and
refuses for a table of the handler is what it allows and refuses for any external table there.
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
from pyhudi_expr.hive.session import QueryError

pytestmark = [pytest.mark.hive, pytest.mark.long]

SECURITY = "org.apache.hadoop.hive.ql.security"
BY_STORAGE: Mapping[str, str] = {
    "hive.metastore.pre.event.listeners": f"{SECURITY}.authorization.AuthorizationPreEventListener",
    "hive.security.metastore.authorization.manager": f"{SECURITY}.authorization"
    ".StorageBasedAuthorizationProvider",
    "hive.security.metastore.authenticator.manager": f"{SECURITY}"
    ".HadoopDefaultMetastoreAuthenticator",
    # Rights are those of the session's user.
    "hive.server2.enable.doAs": "true",
}
OWNER, STRANGER = getpass.getuser(), "stranger"


@dataclass(frozen=True)
class Lake:
    """A server, and a Hudi table that is registered in it twice: `plain` and with the handler."""

    server: HiveServer
    path: Path

    def creations(self) -> Mapping[str, str]:
        """The statement that makes each table."""
        return {
            "plain": "CREATE EXTERNAL TABLE lake.plain (txn_id string) STORED AS PARQUET "
            f"LOCATION '{self.path}'",
            "handled": create_with_handler("lake.handled", self.path),
        }

    def refusal(self, user: str, statement: str) -> str | None:
        """Why the user may not; None: it was done."""
        try:
            with self.server.session(user=user) as session:
                session.run(statement)
        except QueryError as error:
            return str(error)
        return None

    def allowed(self, user: str, statement: str) -> bool:
        """Whether the user may do it with either table; `{}` is the table's name.

        A refusal has to name the rights that lack.
        """
        told = [self.refusal(user, statement.format(f"lake.{name}")) for name in self.creations()]
        assert all(
            refusal is None or f"Permission denied: user={user}" in refusal for refusal in told
        )
        is_allowed = {refusal is None for refusal in told}
        assert len(is_allowed) == 1, told
        return is_allowed.pop()


@pytest.fixture(scope="module")
def lake(golden: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Both tables, made by the owner of all directories."""
    root = tmp_path_factory.mktemp("by_storage")
    path = root / "table"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    for entry in (path, *path.rglob("*")):
        entry.chmod(0o755 if entry.is_dir() else 0o644)
    with HiveServer(root / "server", settings=BY_STORAGE) as server:
        made = Lake(server, path)
        assert made.refusal(OWNER, "CREATE DATABASE lake") is None
        for statement in made.creations().values():
            assert "Permission denied" in (made.refusal(STRANGER, statement) or "")
            assert made.refusal(OWNER, statement) is None
        yield made


def test_who_may_read_the_files_reads_the_table(lake: Lake) -> None:
    assert lake.allowed(STRANGER, "SELECT txn_id FROM {}")
    assert lake.allowed(STRANGER, "DESCRIBE {}")
    lake.path.chmod(0o700)
    try:
        assert not lake.allowed(STRANGER, "SELECT txn_id FROM {}")
        assert not lake.allowed(STRANGER, "DESCRIBE {}")
        assert lake.allowed(OWNER, "SELECT txn_id FROM {}")
    finally:
        lake.path.chmod(0o755)


def test_only_who_may_write_the_files_changes_or_drops_the_table(lake: Lake) -> None:
    properties = "ALTER TABLE {} SET TBLPROPERTIES ('note'='mine')"
    assert not lake.allowed(STRANGER, properties)
    assert lake.allowed(OWNER, properties)
    assert not lake.allowed(STRANGER, "DROP TABLE {}")
    assert lake.allowed(OWNER, "DROP TABLE {}")
    assert (lake.path / ".hoodie" / "hoodie.properties").is_file()
