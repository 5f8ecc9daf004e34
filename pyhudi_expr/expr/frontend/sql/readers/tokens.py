r"""The string literals of each dialect, where sqlglot differs from the engine.

Those of Hive and Spark follow these engines' own unescaping
(``BaseSemanticAnalyzer.unescapeSQLString``, ``unescapeSQLString`` of Spark's ``ParserUtils``):
octal and unicode escapes, ``\Z``, and ``\%`` and ``\_`` kept as they are for LIKE.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

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
