"""Read predicates from a file of SQL: queries or conditions, separated by semicolons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
