"""Read predicates from files of SQL, from the service's query logs, and from Hive's history."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, parse_predicate
from pyhudi_expr.expr.nodes import HudiExpression


@dataclass(frozen=True)
class ObservedQuery:
    """A query's predicate on the table.

    Attributes:
        text: Its condition, for display.
    """

    text: str
    predicate: HudiExpression


@dataclass(frozen=True)
class ObservedQueries:
    """The predicates of all queries, repeated ones included.

    Attributes:
        notes: What could not be read.
    """

    queries: tuple[ObservedQuery, ...]
    notes: tuple[str, ...]


def read_queries(text: str, dialect: str = "hive", table: str | None = None) -> ObservedQueries:
    """Read the conditions of queries on one table.

    Args:
        text: The SQL.
        dialect: One of `DIALECTS`.
        table: The table's name in the queries; queries of other tables are skipped. None: every
            query that reads one table is on this one.

    Raises:
        HudiError: Nothing of the text is SQL.
    """
    try:
        statements = [each for each in sqlglot.parse(text, read=dialect) if each is not None]
    except SqlglotError as error:
        raise HudiError(f"the queries cannot be read: {' '.join(str(error).split())}") from error
    queries: list[ObservedQuery] = []
    notes: list[str] = []
    for statement in statements:
        if not isinstance(statement, exp.Condition) and statement.find(exp.Select) is None:
            notes.append(f"{statement.sql()[:80]} is not a query")
            continue
        for condition in _conditions(statement, table):
            shown = condition.sql(dialect=dialect)
            try:
                queries.append(ObservedQuery(shown, parse_predicate(shown, DIALECTS[dialect])))
            except ValueError as error:
                notes.append(f"{shown}: {error}")
    return ObservedQueries(tuple(queries), tuple(notes))


def _conditions(statement: exp.Expr, table: str | None) -> Iterator[exp.Expr]:
    """Return a condition itself, or those of the queries that read the table alone."""
    selects = list(statement.find_all(exp.Select))
    if not selects:
        yield statement
    for select in selects:
        # A subquery's tables are its own.
        tables = [each for each in select.find_all(exp.Table) if each.parent_select is select]
        where = select.args.get("where")
        if where is None or len(tables) != 1 or (table and tables[0].name != table):
            continue
        names = {tables[0].name, tables[0].alias_or_name}
        yield where.this.transform(_unqualified, names)


def _unqualified(node: exp.Expr, names: set[str]) -> exp.Expr:
    if isinstance(node, exp.Column) and node.table in names:
        return exp.column(node.this)
    return node


_STARTED = re.compile(r'^QueryStart .*?QUERY_STRING="(.*?)"(?= \w+="|\s*$)', re.MULTILINE)
_READS = re.compile(r"\bselect\b", re.IGNORECASE)


def merge_queries(parts: Iterable[ObservedQueries]) -> ObservedQueries:
    """Concatenate queries."""
    every = list(parts)
    queries = tuple(each for part in every for each in part.queries)
    return ObservedQueries(queries, tuple(note for part in every for note in part.notes))


def read_query_log(text: str, base_path: str) -> ObservedQueries:
    """Read the predicates on a table from a query log (`service.query_log` has the format).

    Lines about other tables are skipped. Lines that cannot be read become notes.
    """
    # On use: Thrift comes with an extra that SQL and Hive's history do not need.
    from pyhudi_expr.protocol.conversion.encoder import read_filter

    queries: list[ObservedQuery] = []
    notes: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
            if _place(entry["table"]) != _place(base_path):
                continue
            predicate = read_filter(entry["predicate"])
        except (ValueError, KeyError, TypeError) as error:
            notes.append(f"line {number} of the query log cannot be read: {error}")
            continue
        queries.append(ObservedQuery(f"line {number} of the query log", predicate))
    return ObservedQueries(tuple(queries), tuple(notes))


def read_hive_history(text: str, table: str | None) -> ObservedQueries:
    """Read the conditions on a table from a file of Hive's session history.

    The history is written with `hive.session.history.enabled`. Statements that read nothing are
    skipped. Statements that cannot be parsed become notes.

    Args:
        text: The contents of the file.
        table: The name of the table in Hive.
    """
    parts = []
    for statement in _STARTED.findall(text):
        if not _READS.search(statement):
            continue
        try:
            parts.append(read_queries(statement, "hive", table))
        except HudiError as error:
            parts.append(ObservedQueries((), (str(error),)))
    return merge_queries(parts)


def history_files(path: Path) -> Iterator[Path]:
    """Return the file, or the files of a directory: Hive writes one for each session."""
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*") if file.is_file())
    else:
        yield path


def _place(table: str) -> str:
    """Return a base path in one form: Hive writes file:/warehouse/trips."""
    parts = urlsplit(table)
    where = parts.path.rstrip("/")
    return where if parts.scheme in ("", "file") else f"{parts.scheme}://{parts.netloc}{where}"
