"""The condition of a text that users write: a condition, `WHERE ...`, or a query on one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import TokenType
from sqlglot.tokenizer_core import Token

from pyhudi_expr.errors import HudiError

_SHOWN = 30
"""Characters on either side of the place."""


class PredicateSyntaxError(HudiError, ValueError):
    """The text is not a predicate; the message has its position.

    Attributes:
        problem: What is wrong.
        line: The line, from 1.
        column: The character in it, from 1.
        text: The whole text.
    """

    def __init__(self, problem: str, line: int, column: int, text: str = "") -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.problem = problem
        self.line = line
        self.column = column
        self.text = text

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what it is made of, as an error of another process is."""
        return PredicateSyntaxError, (self.problem, self.line, self.column, self.text)

    def of(self, text: str) -> PredicateSyntaxError:
        """Return the error with the text that it is about."""
        return PredicateSyntaxError(self.problem, self.line, self.column, text)

    @property
    def marked(self) -> str:
        """The line of the text, and below it a caret at the place."""
        lines = self.text.splitlines()
        line = lines[self.line - 1] if self.line <= len(lines) else ""
        start = max(0, self.column - 1 - _SHOWN)
        before = "..." if start else ""
        after = "..." if len(line) > self.column + _SHOWN else ""
        shown = line[start : self.column + _SHOWN].replace("\t", " ")
        return f"{before}{shown}{after}\n{' ' * (len(before) + self.column - 1 - start)}^"


_QUERIES = {TokenType.SELECT, TokenType.WITH}
_STATEMENTS = {
    *("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "TRUNCATE", "CREATE", "DROP", "ALTER"),
    *("DESCRIBE", "ANALYZE", "REFRESH", "SET", "USE"),
}
_COMMANDS = {TokenType.COMMAND, TokenType.SHOW}
"""Of which sqlglot does not read the rest: EXPLAIN, CALL, SHOW and others."""
_OPENING, _CLOSING = TokenType.L_PAREN, TokenType.R_PAREN
_AFTER_STATEMENTS = {
    *(TokenType.VAR, TokenType.IDENTIFIER, TokenType.TABLE, TokenType.VIEW, TokenType.INDEX),
    *(TokenType.FROM, TokenType.INTO, TokenType.OVERWRITE, TokenType.DATABASE, TokenType.SELECT),
}
_NAMES = {TokenType.VAR, TokenType.IDENTIFIER}
_SET_OPERATIONS = {TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT}
_AFTER_WHERE = {
    *(TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT),
    *(TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.WINDOW),
    *(TokenType.QUALIFY, TokenType.OFFSET, TokenType.FETCH),
}
_MORE_TABLES = {TokenType.JOIN, TokenType.COMMA, TokenType.LATERAL, TokenType.L_PAREN}
_ALONE = "write the condition alone, as after WHERE"


def condition_tokens(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of the condition; columns lose the name of the query's table.

    Raises:
        PredicateSyntaxError: There is a query without a WHERE, or of a kind that is not read.
    """
    given = list(tokens)
    while given and given[-1].token_type is TokenType.SEMICOLON:
        given.pop()
    while _is_query_in_parentheses(given):
        given = given[1:-1]
    if given and given[0].token_type is TokenType.WHERE:
        return _not_empty(given, 0)
    if given and given[0].token_type in _QUERIES:
        return _of_query(given)
    if len(given) > 1 and _is_statement(given):
        kind = given[0].text.upper()
        raise _error(f"a condition is expected, not a statement ({kind}); {_ALONE}", given[0])
    return given


def _is_query_in_parentheses(tokens: Sequence[Token]) -> bool:
    first = next((t.token_type for t in tokens if t.token_type is not _OPENING), None)
    opening, closing = tokens[:1], tokens[-1:]
    return (
        first in _QUERIES
        and [token.token_type for token in (*opening, *closing)] == [_OPENING, _CLOSING]
        and not list(_outermost(tokens))[:-1]
    )


def _is_statement(tokens: Sequence[Token]) -> bool:
    """Return whether the text is a statement: columns may be called update or merge, too."""
    first, second = tokens[0], tokens[1]
    return first.token_type in _COMMANDS or (
        first.text.upper() in _STATEMENTS
        and first.token_type is not TokenType.IDENTIFIER
        and second.token_type in _AFTER_STATEMENTS
    )


def _of_query(tokens: list[Token]) -> list[Token]:
    outer = list(_outermost(tokens))
    for place in outer:
        if tokens[place].token_type in {TokenType.WITH, *_SET_OPERATIONS}:
            kind = tokens[place].text.upper()
            raise _error(f"a query with {kind} is not read; {_ALONE}", tokens[place])
    found = {tokens[place].token_type: place for place in reversed(outer)}
    where, start = found.get(TokenType.WHERE), found.get(TokenType.FROM)
    if where is None:
        raise _error(f"the query has no WHERE; {_ALONE}", tokens[-1])
    if start is None or start > where:
        raise _error(f"the query has no FROM; {_ALONE}", tokens[where])
    table = tokens[start + 1 : where]
    others = [token for token in table if token.token_type in _MORE_TABLES]
    if others:
        raise _error(f"the query reads more than one table; {_ALONE}", others[0])
    ends = [p for p in outer if p > where and tokens[p].token_type in _AFTER_WHERE]
    condition = _not_empty(tokens[: ends[0]] if ends else tokens, where)
    return list(_unqualified(condition, _qualifiers(table)))


def _not_empty(tokens: list[Token], where: int) -> list[Token]:
    if where + 1 >= len(tokens):
        raise _error("the condition after WHERE is missing", tokens[where])
    return tokens[where + 1 :]


def _outermost(tokens: Sequence[Token]) -> Iterator[int]:
    """Return the places of the tokens that are in no parentheses."""
    depth = 0
    for place, token in enumerate(tokens):
        depth -= token.token_type is _CLOSING
        if depth == 0 and token.token_type is not _OPENING:
            yield place
        depth += token.token_type is _OPENING


def _qualifiers(table: Sequence[Token]) -> list[list[str]]:
    """Return how columns of `FROM db.name AS alias` can be qualified, the longest way first."""
    names = [token.text.lower() for token in table if token.token_type in _NAMES]
    length = 0
    for place, token in enumerate(table):
        is_name = place % 2 == 0 and token.token_type is not TokenType.DOT
        if not is_name and token.token_type is not TokenType.DOT:
            break
        length += is_name
    full, aliases = names[:length], names[length:]
    return [*(full[place:] for place in range(len(full))), *([alias] for alias in aliases)]


def _unqualified(tokens: Sequence[Token], qualifiers: Sequence[list[str]]) -> Iterator[Token]:
    place = 0
    while place < len(tokens):
        if place == 0 or tokens[place - 1].token_type is not TokenType.DOT:
            place += next((2 * len(q) for q in qualifiers if _begins(tokens, place, q)), 0)
        yield tokens[place]
        place += 1


def _begins(tokens: Sequence[Token], place: int, qualifier: Sequence[str]) -> bool:
    """Return whether the tokens from a place on are the qualifier, a dot, and something else."""
    length = 2 * len(qualifier)
    given = tokens[place : place + length]
    return (
        len(tokens) > place + length
        and [token.text.lower() for token in given[::2]] == [*qualifier]
        and all(token.token_type in _NAMES for token in given[::2])
        and all(token.token_type is TokenType.DOT for token in given[1::2])
    )


def _error(problem: str, token: Token) -> PredicateSyntaxError:
    return PredicateSyntaxError(problem, token.line, token.col - len(token.text) + 1)
