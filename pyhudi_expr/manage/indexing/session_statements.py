"""The statements that Spark's session extension understands, from text to values.

Those about single indexes (`statements`), and::

    REFRESH INDEXES {ON | FROM | IN} [TABLE] table
    OPTIMIZE [TABLE] table [WHERE condition] {ZORDER | HILBERT | LINEAR} BY (column, ...)
        [WHERE condition] [OPTIONS (key = value, ...)]
    ANALYZE INDEXES [ON | FROM | IN] [TABLE] table [FOR query, ...]

The condition of OPTIMIZE is on partition columns, in Spark's language. A query of ANALYZE INDEXES
is a text in quotes: a query or a condition, or the path of a file with several; without one it is
about the conditions that the application has asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pyhudi_expr.manage.indexing.statement_reader import StatementReader
from pyhudi_expr.manage.indexing.statements import Statement, read_statement

_CURVES = {"ZORDER": "z-order", "HILBERT": "hilbert", "LINEAR": "linear"}
_ORDERS = tuple((word, "BY") for word in _CURVES)
_EXPECTED = (
    "CREATE INDEX, DROP INDEX, SHOW INDEXES, REFRESH INDEX, REFRESH INDEXES, ANALYZE INDEXES or"
    " OPTIMIZE"
)


@dataclass(frozen=True)
class RefreshIndexes:
    """A REFRESH INDEXES statement: bring up all indexes of the extension that lag."""

    table: str


@dataclass(frozen=True)
class Optimize:
    """An OPTIMIZE statement.

    Attributes:
        condition: On partition columns; "" for all partitions.
        curve: The value of a `pyhudi_expr.manage.layout.curves.Curve`.
        columns: The most significant first.
        options: As written.
    """

    table: str
    condition: str
    curve: str
    columns: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AnalyzeIndexes:
    """An ANALYZE INDEXES statement.

    Attributes:
        queries: Texts of queries or conditions, or paths of files with them; empty: what the
            application has asked.
    """

    table: str
    queries: tuple[str, ...]


SessionStatement: TypeAlias = Statement | RefreshIndexes | Optimize | AnalyzeIndexes


def parse(text: str) -> SessionStatement:
    """Parse a statement.

    Raises:
        StatementError: The text is none of the statements.
    """
    reader = StatementReader.of(text)
    statement = _read(reader)
    reader.end()
    return statement


def _read(reader: StatementReader) -> SessionStatement:
    if reader.has("OPTIMIZE"):
        return _optimize(reader)
    if reader.has("ANALYZE", "INDEXES"):
        return _analyze(reader)
    if reader.has("REFRESH", "INDEXES"):
        return RefreshIndexes(reader.of_table())
    statement = read_statement(reader)
    if statement is None:
        raise reader.error(_EXPECTED)
    return statement


def _analyze(reader: StatementReader) -> AnalyzeIndexes:
    is_plain = not any(reader.sees(word) for word in ("ON", "FROM", "IN"))
    table = reader.table() if is_plain else reader.of_table()
    queries = [reader.name("a query in quotes")] if reader.has("FOR") else []
    while queries and reader.has(","):
        queries.append(reader.name("a query in quotes"))
    return AnalyzeIndexes(table, tuple(queries))


def _optimize(reader: StatementReader) -> Optimize:
    table = reader.table()
    condition = reader.text_until("a condition", _ORDERS) if reader.has("WHERE") else ""
    curve = next((_CURVES[word] for word, by in _ORDERS if reader.has(word, by)), None)
    if curve is None:
        raise reader.error("ZORDER BY, HILBERT BY or LINEAR BY, and columns")
    columns = reader.listed(reader.column)
    if not condition and reader.has("WHERE"):
        condition = reader.text_until("a condition", [("OPTIONS", "(")])
    options = reader.listed(reader.option) if reader.has("OPTIONS") else []
    return Optimize(table, condition, curve, tuple(columns), dict(options))
