"""What is done to a table in Hive: our command registers it, and its users change that."""

from __future__ import annotations

import shutil
from contextlib import suppress
from random import Random

from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.statements.manifest import manifest
from tests.hive.statements.random_statements import KINDS, HarmedError
from tests.hive.statements.random_statements import Life as Users
from tests.hive.statements.raw_metastore import raw_calls
from tests.lives.life import Harm, Life
from tests.lives.operations.operation import Operation, Owner

_STATEMENTS = 6


def _register(life: Life, random: Random) -> None:
    """A registration leaves all of its tables or none; those that describe one need a service."""
    name, before = f"{life.name}_registered", manifest(life.path)
    where = ("--hs2", f"127.0.0.1:{life.sessions.hive.port}", "--auth", "nosasl")
    describing = random.choice([(), ("--metadata",)])
    try:
        life.ours("hive", "register", life.uri, "--name", name, *describing, *where, "--yes")
        life.ours("hive", "unregister", name, *where, "--yes")
    finally:
        with life.sessions.hive_session() as session:
            tables = (row[0] for row in session.run("SHOW TABLES"))
            left = [table for table in tables if table.startswith(name)]
            for each in left:
                with suppress(QueryError):
                    session.run(f"DROP TABLE {each}")
        if left:
            raise Harm("registration", f"it was refused or undone, and has left {left}")
        if manifest(life.path) != before:
            raise Harm("hive", "a registration has changed the table's directory")


def _change(life: Life, random: Random) -> None:
    """Statements of DDL about a copy of the table, executed or refused, keep each byte of it."""
    sessions, scratch = life.sessions, life.path.with_name(f"{life.name}_hive")
    scratch.mkdir(exist_ok=True)
    try:
        with sessions.hive_session() as session:
            raw = raw_calls(session, sessions.metastore, sessions.hive.line.lib, scratch)
            seed = random.randrange(1 << 32)
            users = Users(session, life.path, scratch / "copy", raw, KINDS["4.0"], seed)
            users.run(_STATEMENTS)
    except HarmedError as harmed:
        raise Harm("hive", str(harmed)) from harmed
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


OPERATIONS = (
    Operation("hive-register", Owner.OURS, _register),
    Operation("hive-statements", Owner.WORLD, _change),
)
