"""Statements about a Hudi table, what Hive answers to each, and the files as the witness."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.hive_versions import HIVE_3
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.query_results import Hive
from tests.hive.statements.manifest import manifest

NAME = "files_kept"
REFUSED = "Hudi table"


@dataclass(frozen=True)
class Case:
    """Statements about the table `{t}`.

    Attributes:
        done: Hive executes these.
        refused: Hive refuses each of these.
    """

    name: str
    done: Sequence[str] = ()
    refused: Sequence[str] = ()

    def __str__(self) -> str:
        """The id of the test."""
        return self.name


CASES = (
    Case("drop", done=("DROP TABLE {t}",)),
    Case("drop and purge", done=("DROP TABLE {t} PURGE",)),
    Case(
        "comment, then drop",
        done=("ALTER TABLE {t} SET TBLPROPERTIES ('comment'='hello')", "DROP TABLE {t} PURGE"),
    ),
    Case(
        "purge by a property",
        refused=("ALTER TABLE {t} SET TBLPROPERTIES ('external.table.purge'='true')",),
    ),
    Case("managed", refused=("ALTER TABLE {t} SET TBLPROPERTIES ('EXTERNAL'='FALSE')",)),
    Case(
        "managed, beside another property",
        refused=("ALTER TABLE {t} SET TBLPROPERTIES ('EXTERNAL'='false', 'x'='y')",),
    ),
    Case("managed by UNSET", refused=("ALTER TABLE {t} UNSET TBLPROPERTIES ('EXTERNAL')",)),
    Case(
        "without its handler",
        refused=("ALTER TABLE {t} UNSET TBLPROPERTIES ('storage_handler')",),
    ),
)
"""Under all of them no byte of the table changes."""
WRITES = ("TRUNCATE TABLE {t}", "INSERT INTO {t} SELECT * FROM {t}", "DELETE FROM {t}")
"""Refused, too, in words of Hive's own."""


@contextmanager
def kept(hive: Hive, seed: Path, directory: Path) -> Iterator[str]:
    """Register a copy of a table. Afterwards its directory has each byte that it had before.

    Args:
        hive: Where.
        seed: The table.
        directory: For the copy.
    """
    path = shutil.copytree(seed, directory / "table")
    before = manifest(path)
    hive.run(create_with_handler(NAME, path))
    try:
        yield NAME
    finally:
        hive.run(f"DROP TABLE IF EXISTS {NAME}")
    assert manifest(path) == before


def drops_databases(hive: Hive) -> bool:
    """Whether the Hive of the tests has what DROP DATABASE needs."""
    return hive.server.line is HIVE_3 or any(hive.server.line.lib.glob("spring-jdbc-*.jar"))


def drop_database_around(hive: Hive, seed: Path, directory: Path) -> None:
    """Drop a database in whose directory a registered Hudi table lies, and one beside it.

    Args:
        hive: Where.
        seed: The table of which copies are registered.
        directory: For the copies.
    """
    inside, beside = directory / "database" / "table", directory / "beside"
    for path in (inside, beside):
        shutil.copytree(seed, path)
    before = manifest(directory)
    hive.run(
        f"CREATE DATABASE kept_around LOCATION '{directory / 'database'}'",
        create_with_handler("kept_around.inside", inside),
    )
    assert REFUSED in refusal(hive, "DROP DATABASE kept_around CASCADE")
    hive.run(
        "DROP TABLE IF EXISTS kept_around.inside",
        f"CREATE DATABASE kept_beside LOCATION '{directory / 'other'}'",
        create_with_handler("kept_beside.t", beside),
        "DROP DATABASE kept_beside CASCADE",
    )
    assert manifest(directory) == before


def run_case(hive: Hive, table: str, case: Case) -> None:
    """Run the statements of a case. A table whose change is refused is still read."""
    for statement in case.done:
        hive.run(statement.format(t=table))
    for statement in case.refused:
        assert REFUSED in refusal(hive, statement.format(t=table))
        assert hive.query(f"SELECT txn_id FROM {table} WHERE region = 'us'").rows


def refusal(hive: Hive, statement: str) -> str:
    """Why Hive refuses a statement."""
    with pytest.raises(QueryError) as caught:
        hive.run(statement)
    return caught.value.reason
