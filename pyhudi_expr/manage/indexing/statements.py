"""RFC-77's statements about indexes, and those of Spark's session extension, as values.

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias, TypeVar

from sqlglot.dialects.hive import Hive
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import SECONDARY_INDEX

_Item = TypeVar("_Item")


class StatementError(HudiError):
    """The text is not a statement of ours; the message says where parsing fails."""


class _Tokenizer(Hive.Tokenizer):
    # Hive's tokenizer takes everything after SHOW as one text.
    COMMANDS: ClassVar[set[TokenType]] = set()


class StatementReader:
    """A text with a position in it. What is read is skipped."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        """Start at the first token of the text."""
        self._text = text
        self._tokens = tokens
        self._at = 0

    @staticmethod
    def of(text: str) -> StatementReader:
        """Return a reader of a text. Raises StatementError if it cannot be cut into tokens."""
        try:
            return StatementReader(text, _Tokenizer().tokenize(text))
        except TokenError as error:
            raise StatementError(f"no statement about indexes: {error}") from error

    def is_at_end(self) -> bool:
        """Return whether nothing but a semicolon is left."""
        return self._at == len(self._tokens) or self.sees(";")

    def end(self) -> None:
        """Check that nothing but a semicolon is left. Raises StatementError."""
        self.has(";")
        if self._at < len(self._tokens):
            raise self.error("the end")

    def sees(self, *words: str) -> bool:
        """Return whether these words, in upper case and without quotes, are next."""
        tokens = self._tokens[self._at : self._at + len(words)]
        return len(tokens) == len(words) and all(
            token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
            and token.text.upper() == word
            for token, word in zip(tokens, words, strict=True)
        )

    def has(self, *words: str) -> bool:
        """Skip the words if they are next, and return whether they were."""
        there = self.sees(*words)
        self._at += len(words) if there else 0
        return there

    def expect(self, *words: str) -> None:
        """Skip the words. Raises StatementError if they are not next."""
        if not self.has(*words):
            raise self.error(" ".join(words))

    def on(self) -> str:
        """Read ON and a table. Raises StatementError."""
        if not self.has("ON"):
            raise self.error("ON and a table")
        return self.table()

    def of_table(self) -> str:
        """Read ON, FROM or IN, and a table. Raises StatementError."""
        if not (self.has("ON") or self.has("FROM") or self.has("IN")):
            raise self.error("ON and a table")
        return self.table()

    def table(self) -> str:
        """Read the name of a table, or its path in quotes. Raises StatementError."""
        self.has("TABLE")
        return ".".join(self._path("a table"))

    def column(self) -> str:
        """Read the name of a column. Raises StatementError."""
        return ".".join(self._path("a column"))

    def option(self) -> tuple[str, str]:
        """Read the key and the value of an option. Raises StatementError."""
        key = ".".join(self._path("an option's name"))
        if not (self.has("=") or self.has("=>")):
            raise self.error("= and a value")
        return key, self.name("a value")

    def listed(self, item: Callable[[], _Item]) -> list[_Item]:
        """Read items in parentheses, with commas in between. Raises StatementError."""
        self.expect("(")
        items = [item()]
        while self.has(","):
            items.append(item())
        self.expect(")")
        return items

    def name(self, expected: str) -> str:
        """Read a word, a number or a text in quotes. Raises StatementError."""
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            is_quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
            if token.text and (is_quoted or token.text.replace("_", "a").isalnum()):
                self._at += 1
                return str(token.text)
        raise self.error(expected)

    def text_until(self, expected: str, stops: Sequence[tuple[str, ...]]) -> str:
        """Read the text before the first of the stops outside of parentheses, or before the end.

        Raises:
            StatementError: There is none.
        """
        first, depth = self._at, 0
        while not self.is_at_end() and (depth or not any(self.sees(*stop) for stop in stops)):
            depth += self.sees("(") - self.sees(")")
            self._at += 1
        if first == self._at:
            raise self.error(expected)
        return self._text[self._tokens[first].start : self._tokens[self._at - 1].end + 1]

    def error(self, expected: str) -> StatementError:
        """Return the error that something else was expected here."""
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            found = f"found {token.text!r} in line {token.line}, column {token.col}"
        else:
            found = "it ends"
        return StatementError(f"expected {expected}, but {found}: {self._text.strip()}")

    def _path(self, expected: str) -> list[str]:
        parts = [self.name(expected)]
        while self.has("."):
            parts.append(self.name(expected))
        return parts


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


def parse_session_statement(text: str) -> SessionStatement:
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
