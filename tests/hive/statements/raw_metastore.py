"""Calls to the metastore of a HiveServer2 by Thrift, without the hooks of Hive's own client."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyhudi_expr.manage.hive.session import HiveSession
from tests.hive.query_results import QuerySession
from tests.hive.session_jars import compiled_jar

Raw = Callable[[str, str, str, str], str]
"""The SQL of a call to the metastore: its name, database, table, and argument."""

_SOURCE = Path(__file__).with_name("RawMetastore.java")


def raw_calls(session: QuerySession | HiveSession, uri: str, lib: Path, directory: Path) -> Raw:
    """Have a session know the function that calls the metastore. Returns its statements."""
    port = uri.rpartition(":")[2]
    session.run(f"ADD JAR {compiled_jar(_SOURCE, lib, directory)}")
    session.run("CREATE TEMPORARY FUNCTION raw_metastore AS 'RawMetastore'")

    def statement(call: str, database: str, table: str, argument: str) -> str:
        return f"SELECT raw_metastore({port}, '{call}', '{database}', '{table}', '{argument}')"

    return statement
