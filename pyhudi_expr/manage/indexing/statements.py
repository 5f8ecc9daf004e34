"""RFC-77's statements about indexes, from text to values.

::

    CREATE INDEX [IF NOT EXISTS] name ON [TABLE] table
        [USING kind] [(column, ...)] [OPTIONS (key = value, ...)]
    DROP INDEX [IF EXISTS] name [ON [TABLE] table]
    SHOW INDEXES {ON | FROM | IN} [TABLE] table
    REFRESH INDEX name ON [TABLE] table

`kind` is one of `kinds.KINDS`, `secondary_index` where there is none. A table is ``db.name``, or a
path in quotes or backquotes; a column may be nested (``address.city``). The text is cut into tokens
by sqlglot, with Hive's rules for quotes and comments. An index is dropped without ON only if one
table of the session's database alone has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pyhudi_expr.manage.indexing.statement_reader import StatementError, StatementReader
from pyhudi_expr.tables.hudi_names import SECONDARY_INDEX

__all__ = [
    "CreateIndex",
    "DropIndex",
    "RefreshIndex",
    "ShowIndexes",
    "Statement",
    "StatementError",
    "parse",
    "read_statement",
]


@dataclass(frozen=True)
class CreateIndex:
    """A CREATE INDEX statement.

    Attributes:
        table: A name or a path.
        kind: The kind as written, in lower case.
        is_kind_implied: Whether the statement names no kind. Hudi makes a record index then, if the
            columns are the record key.
    """

    name: str
    table: str
    kind: str = SECONDARY_INDEX
    columns: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False
    is_kind_implied: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class DropIndex:
    """A DROP INDEX statement.

    Attributes:
        table: "" if the statement names none.
    """

    name: str
    table: str
    if_exists: bool = False


@dataclass(frozen=True)
class ShowIndexes:
    """A SHOW INDEXES statement."""

    table: str


@dataclass(frozen=True)
class RefreshIndex:
    """A REFRESH INDEX statement."""

    name: str
    table: str


_INDEX = "the index's name"

Statement: TypeAlias = CreateIndex | DropIndex | ShowIndexes | RefreshIndex


def parse(text: str) -> Statement:
    """Parse a statement.

    Raises:
        StatementError: The text is not a statement about indexes.
    """
    reader = StatementReader.of(text)
    statement = read_statement(reader)
    if statement is None:
        raise reader.error("CREATE INDEX, DROP INDEX, SHOW INDEXES or REFRESH INDEX")
    reader.end()
    return statement


def read_statement(reader: StatementReader) -> Statement | None:
    """Read the statement that is next; None if its first words are those of none.

    Raises:
        StatementError: Its further words are not.
    """
    if reader.has("CREATE", "INDEX"):
        return _create(reader)
    if reader.has("DROP", "INDEX"):
        if_exists = reader.has("IF", "EXISTS")
        name = reader.name(_INDEX)
        table = reader.on() if reader.sees("ON") or not reader.is_at_end() else ""
        return DropIndex(name, table, if_exists)
    if reader.has("SHOW", "INDEXES"):
        return ShowIndexes(reader.of_table())
    if reader.has("REFRESH", "INDEX"):
        return RefreshIndex(reader.name(_INDEX), reader.on())
    return None


def _create(reader: StatementReader) -> CreateIndex:
    if_not_exists = reader.has("IF", "NOT", "EXISTS")
    name, table = reader.name(_INDEX), reader.on()
    is_implied = not reader.has("USING")
    kind = SECONDARY_INDEX if is_implied else reader.name("a kind of index").lower()
    columns = reader.listed(reader.column) if reader.sees("(") else []
    options = reader.listed(reader.option) if reader.has("OPTIONS") else []
    return CreateIndex(
        name, table, kind, tuple(columns), dict(options), if_not_exists, is_kind_implied=is_implied
    )
