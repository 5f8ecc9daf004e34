"""Statements word by word: the text is cut into tokens by sqlglot, with Hive's rules for quotes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from sqlglot.dialects.hive import Hive
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from pyhudi_expr.errors import HudiError

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
