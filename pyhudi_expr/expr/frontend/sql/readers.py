r"""The SQL of each engine in sqlglot: its string literals, and functions that keep their names.

Those of Hive and Spark follow these engines' own unescaping
(``BaseSemanticAnalyzer.unescapeSQLString``, ``unescapeSQLString`` of Spark's ``ParserUtils``):
octal and unicode escapes, ``\Z``, and ``\%`` and ``\_`` kept as they are for LIKE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import Dialect, TokenType, exp
from sqlglot.dialects.hive import Hive
from sqlglot.dialects.presto import Presto
from sqlglot.dialects.spark import Spark
from sqlglot.dialects.trino import Trino
from sqlglot.parser import Parser
from sqlglot.parsers.hive import HiveParser
from sqlglot.parsers.presto import PrestoParser
from sqlglot.parsers.spark import SparkParser
from sqlglot.parsers.trino import TrinoParser
from sqlglot.tokenizer_core import Token

from pyhudi_expr.expr.frontend.common.constants import InexpressibleError
from pyhudi_expr.expr.frontend.sql.syntax import Exact

_REST_OF_ESCAPE = r"|(?P<octal>[01][0-7]{2})|(?P<letter>.))"
_HIVE_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9A-Fa-f]{4})" + _REST_OF_ESCAPE, re.DOTALL)
_SPARK_ESCAPE = re.compile(
    r"\\(?:[uU](?P<code>(?<=u)[0-9A-Fa-f]{4}|(?<=U)[0-9A-Fa-f]{8})" + _REST_OF_ESCAPE, re.DOTALL
)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
#: A kind of constant that `sql.parser` does not have: it becomes `Unknown`.
_UNREAD = TokenType.NATIONAL_STRING


def hive_tokens(tokens: Sequence[Token], text: str) -> list[Token]:
    """Unescape strings as Hive does."""
    return [_unescaped(token, text, _HIVE_ESCAPE) for token in plain_tokens(tokens, text)]


def spark_tokens(tokens: Sequence[Token], text: str) -> list[Token]:
    """Unescape strings as Spark does.

    Two adjacent strings are one text up to Spark 3.5, and one with a quote in it since Spark 4.
    """
    found: list[Token] = []
    for token in plain_tokens(tokens, text):
        last = found[-1] if found else token
        both = _is_string(last) and _is_string(token)
        if both and last.end + 1 == token.start:
            last.token_type, last.end = _UNREAD, token.end
        else:
            found.append(_unescaped(token, text, _SPARK_ESCAPE))
    return found


def plain_tokens(tokens: Sequence[Token], text: str) -> list[Token]:
    """Keep strings as sqlglot reads them. ``0x1f`` is a number in some versions of some engines."""
    found = list(tokens)
    for token in found:
        if token.token_type is TokenType.HEX_STRING and text[token.start] == "0":
            token.token_type = _UNREAD
    return found


def _is_string(token: Token) -> bool:
    return token.token_type in (TokenType.STRING, _UNREAD)


def _unescaped(token: Token, text: str, escape: re.Pattern[str]) -> Token:
    if token.token_type is TokenType.STRING:
        token.text = _unescape(text[token.start + 1 : token.end], escape)
    return token


def _unescape(raw: str, escape: re.Pattern[str]) -> str:
    def replace(match: re.Match[str]) -> str:
        code, octal, letter = match["code"], match["octal"], match["letter"]
        if code:
            return chr(int(code, 16))
        if octal:
            return chr(int(octal, 8))
        return match[0] if letter in "%_" else _ESCAPED.get(letter, letter)

    # A pair of surrogates escaped one by one is one character.
    text = escape.sub(replace, raw)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


#: The functions whose arguments are not just a list.
OF_OWN_SYNTAX: dict[str, Any] = {
    name: Parser.FUNCTION_PARSERS[name]
    for name in ("CAST", "EXTRACT", "OVERLAY", "SUBSTRING", "TRIM", "TRY_CAST")
}
HEX_STRINGS: list[Any] = [("X'", "'"), ("x'", "'")]
_SHIFTS = {(TokenType.LT, TokenType.LT), (TokenType.GT, TokenType.GT)}


class WholeOperators(Parser):
    """Reads a shift only where its two signs adjoin: sqlglot reads ``> >`` as ``>>``, too."""

    def _match_pair(
        self, token_type_a: TokenType, token_type_b: TokenType, advance: bool = True
    ) -> bool:
        if (token_type_a, token_type_b) in _SHIFTS and self._curr.end + 1 < self._next.start:
            return False
        return super()._match_pair(token_type_a, token_type_b, advance)


class HiveReader(Hive):
    """Hive's dialect."""

    class Tokenizer(Hive.Tokenizer):
        """Hive's tokens."""

        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(WholeOperators, HiveParser):
        """Hive's syntax."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX

        def _parse_types(self, *args: object, **options: object) -> exp.Expr | None:
            # Outside of schemas, sqlglot reads char(n) and varchar(n) as string.
            return super()._parse_types(*args, **{**options, "schema": True})  # type: ignore[arg-type]


class SparkReader(Spark):
    """Spark's dialect, in which casts to char and varchar are casts to string."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens."""

        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(WholeOperators, SparkParser):
        """Spark's syntax."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX


class PrestoReader(Presto):
    """Presto's dialect."""

    class Tokenizer(Presto.Tokenizer):
        """Presto's tokens."""

        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(WholeOperators, PrestoParser):
        """Presto's syntax."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX


class TrinoReader(Trino):
    """Trino's dialect."""

    class Tokenizer(Trino.Tokenizer):
        """Trino's tokens."""

        HEX_STRINGS: ClassVar[list[Any]] = HEX_STRINGS

    class Parser(WholeOperators, TrinoParser):
        """Trino's syntax."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = OF_OWN_SYNTAX


@dataclass(frozen=True)
class Reader:
    """How sqlglot reads the texts of a dialect.

    Attributes:
        dialect: The dialect in sqlglot.
        exact: Corrects the tokens of a text.
        check: Refuses syntax that the engine evaluates differently. Raises InexpressibleError.
    """

    dialect: type[Dialect]
    exact: Exact
    check: Callable[[exp.Expr], None]


def _accept_all(node: exp.Expr) -> None:
    """Accept all syntax."""


def _check_presto(node: exp.Expr) -> None:
    """Refuse what Presto 0.287 evaluates differently than documented."""
    match node:
        case exp.Extract() if node.this.name.upper() in ("HOUR", "MINUTE", "SECOND"):
            raise InexpressibleError(
                "not supported: hours of a possible date, for which Presto counts days"
            )
        case exp.Case(this=exp.Expr()) if not _have_one_type(
            [one.this for one in node.args["ifs"]]
        ):
            raise InexpressibleError("not supported: a CASE with values of several types")
        case exp.Case() if any(map(_has_product, _compared_by_case(node))):
            # A product may be a decimal zero with a minus sign, which then equals none of the
            # constants.
            raise InexpressibleError("not supported: a CASE of a product, which may be NULL")


def _compared_by_case(case: exp.Case) -> list[exp.Expr]:
    """Return the terms that Presto looks up among constants: CASE x WHEN c and CASE WHEN x = c."""
    if case.this is not None:
        return [case.this]
    return [one.this for one in case.args["ifs"] if one.this.find(exp.EQ, exp.In) is not None]


def _has_product(term: exp.Expr) -> bool:
    return term.find(exp.Mul) is not None


def _have_one_type(values: list[exp.Expr]) -> bool:
    """Return whether there is one value, or all are constants of one type."""
    kinds = set(map(_kind, values))
    return len(values) == 1 or (len(kinds) == 1 and None not in kinds)


def _kind(value: exp.Expr) -> str | None:
    match value:
        case exp.Neg(this=exp.Literal() as number) | (exp.Literal() as number):
            if number.is_string:
                return "text"
            return "integer" if number.this.isdigit() else None
        case exp.Cast(this=exp.Literal()):
            return str(value.to.sql("presto"))
    return None


READERS = {
    "hive": Reader(HiveReader, hive_tokens, _accept_all),
    "spark": Reader(SparkReader, spark_tokens, _accept_all),
    "trino": Reader(TrinoReader, plain_tokens, _accept_all),
    "presto": Reader(PrestoReader, plain_tokens, _check_presto),
}
