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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias, TypeVar

from sqlglot.dialects.hive import Hive
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import SECONDARY_INDEX

_Item = TypeVar("_Item")


class StatementError(HudiError):
    """The text is not a statement about indexes; the message says where parsing fails."""


@dataclass(frozen=True)
class CreateIndex:
    """A CREATE INDEX statement.

    Attributes:
        table: A name or a path.
        kind: The kind as written, in lower case.
    """

    name: str
    table: str
    kind: str = SECONDARY_INDEX
    columns: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False


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


Statement: TypeAlias = CreateIndex | DropIndex | ShowIndexes | RefreshIndex


def parse(text: str) -> Statement:
    """Parse a statement.

    Raises:
        StatementError: The text is not a statement about indexes.
    """
    try:
        tokens = _Tokenizer().tokenize(text)
    except TokenError as error:
        raise StatementError(f"no statement about indexes: {error}") from error
    return _Reader(text, tokens).statement()


class _Tokenizer(Hive.Tokenizer):
    # Hive's tokenizer takes everything after SHOW as one text.
    COMMANDS: ClassVar[set[TokenType]] = set()


class _Reader:
    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0

    def statement(self) -> Statement:
        if self._has("CREATE", "INDEX"):
            statement: Statement = self._create()
        elif self._has("DROP", "INDEX"):
            if_exists = self._has("IF", "EXISTS")
            name = self._name("the index's name")
            table = self._on() if self._sees("ON") or not self._is_at_end() else ""
            statement = DropIndex(name, table, if_exists)
        elif self._has("SHOW", "INDEXES"):
            if not (self._has("ON") or self._has("FROM") or self._has("IN")):
                raise self._error("ON and a table")
            statement = ShowIndexes(self._table())
        elif self._has("REFRESH", "INDEX"):
            statement = RefreshIndex(self._name("the index's name"), self._on())
        else:
            raise self._error("CREATE INDEX, DROP INDEX, SHOW INDEXES or REFRESH INDEX")
        self._has(";")
        if self._at < len(self._tokens):
            raise self._error("the end")
        return statement

    def _is_at_end(self) -> bool:
        return self._at == len(self._tokens) or self._sees(";")

    def _create(self) -> CreateIndex:
        if_not_exists = self._has("IF", "NOT", "EXISTS")
        name, table = self._name("the index's name"), self._on()
        kind = self._name("a kind of index").lower() if self._has("USING") else SECONDARY_INDEX
        columns = self._listed(self._column) if self._sees("(") else []
        options = self._listed(self._option) if self._has("OPTIONS") else []
        return CreateIndex(name, table, kind, tuple(columns), dict(options), if_not_exists)

    def _on(self) -> str:
        if not self._has("ON"):
            raise self._error("ON and a table")
        return self._table()

    def _table(self) -> str:
        self._has("TABLE")
        return ".".join(self._path("a table"))

    def _column(self) -> str:
        return ".".join(self._path("a column"))

    def _option(self) -> tuple[str, str]:
        key = ".".join(self._path("an option's name"))
        if not (self._has("=") or self._has("=>")):
            raise self._error("= and a value")
        return key, self._name("a value")

    def _path(self, expected: str) -> list[str]:
        parts = [self._name(expected)]
        while self._has("."):
            parts.append(self._name(expected))
        return parts

    def _listed(self, item: Callable[[], _Item]) -> list[_Item]:
        self._expect("(")
        items = [item()]
        while self._has(","):
            items.append(item())
        self._expect(")")
        return items

    def _name(self, expected: str) -> str:
        """Read a word, a number or a text in quotes."""
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            is_quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
            if token.text and (is_quoted or token.text.replace("_", "a").isalnum()):
                self._at += 1
                return str(token.text)
        raise self._error(expected)

    def _expect(self, symbol: str) -> None:
        if not self._has(symbol):
            raise self._error(symbol)

    def _sees(self, *words: str) -> bool:
        tokens = self._tokens[self._at : self._at + len(words)]
        return len(tokens) == len(words) and all(
            token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
            and token.text.upper() == word
            for token, word in zip(tokens, words, strict=True)
        )

    def _has(self, *words: str) -> bool:
        """Skip the words if they are next, and return whether they were."""
        there = self._sees(*words)
        self._at += len(words) if there else 0
        return there

    def _error(self, expected: str) -> StatementError:
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            found = f"found {token.text!r} in line {token.line}, column {token.col}"
        else:
            found = "it ends"
        return StatementError(f"expected {expected}, but {found}: {self._text.strip()}")
