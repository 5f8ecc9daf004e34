"""Parse a predicate's text to sqlglot's syntax tree, within limits; errors have positions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from sqlglot import Dialect, TokenType, exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token

from pyhudi_expr.expr.frontend.sql.conditions import PredicateSyntaxError, condition_tokens

#: Limits of a predicate's characters, and of levels of parentheses.
MAX_TEXT = 1 << 20
MAX_NESTING = 100

Exact = Callable[[Sequence[Token], str], list[Token]]
"""The tokens of a text as the dialect means them: what its strings say, above all."""

_QUOTED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/""", re.DOTALL
)
_INSTEAD = {"&&": "; write AND", "!": "; write <> or NOT", "=>": "; write >="}
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.TILDE, TokenType.PLUS}


def parse(text: str, reader: type[Dialect], exact: Exact) -> exp.Expr:
    """Return the syntax tree of one predicate, also that of `WHERE ...` or of a query's WHERE.

    Raises:
        PredicateSyntaxError: The text is none of these, too long, or nested too deeply.
    """
    try:
        return _parsed(text, reader, exact)
    except PredicateSyntaxError as error:
        raise error.of(text) from None


def _parsed(text: str, reader: type[Dialect], exact: Exact) -> exp.Expr:
    if len(text) > MAX_TEXT:
        raise PredicateSyntaxError(f"the text is longer than {MAX_TEXT} characters", 1, 1)
    dialect = reader()
    try:
        tokens = condition_tokens(exact(dialect.tokenize(text), text))
        _check_nesting(tokens)
        trees = dialect.parser().parse_into(exp.Condition, tokens, text)
    except TokenError:
        raise _at("an open quote, or text that is not SQL", text, _open_quote(text)) from None
    except ParseError as error:
        first = error.errors[0]
        # sqlglot counts to the last character of the token.
        found = first.get("highlight") or ""
        column = max(1, first["col"] - len(found or " ") + 1)
        problem = _problem(first["description"], found)
        raise PredicateSyntaxError(problem, first["line"], column) from None
    except RecursionError:
        raise _too_deep(1, 1) from None
    if len(trees) != 1 or trees[0] is None:
        found = "nothing" if not trees or trees[0] is None else "more than one"
        raise PredicateSyntaxError(f"one condition is expected, there is {found}", 1, 1)
    _check_depth(trees[0])
    return trees[0]


def _problem(description: str, found: str) -> str:
    """Return what is wrong in a user's words, given the parser's message and the text there."""
    if description.startswith("Required keyword"):
        return "an operand is missing"
    if description.startswith("Invalid expression") and found:
        return f"{found!r} is not expected here{_INSTEAD.get(found, '')}"
    closing = re.fullmatch(r"Expecting (\S+)", description)
    return f"{closing[1]!r} is missing after this" if closing else description


def _check_nesting(tokens: Iterable[Token]) -> None:
    """Limit the parser's own recursion."""
    depth = prefixes = 0
    for token in tokens:
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth + prefixes > MAX_NESTING:
            raise _too_deep(token.line, token.col)


def _check_depth(tree: exp.Expr) -> None:
    """Limit the recursion of the tree's callers."""
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_NESTING:
            raise _too_deep(1, 1)
        for child in node.iter_expressions():
            level = isinstance(node, exp.Connector) and type(node) is type(child)
            stack.append((child, depth if level or isinstance(child, exp.Paren) else depth + 1))


def _too_deep(line: int, column: int) -> PredicateSyntaxError:
    return PredicateSyntaxError("the predicate is nested too deeply", line, column)


def _open_quote(text: str) -> int:
    masked = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    return next((at for at, letter in enumerate(masked) if letter in "'\"`"), 0)


def _at(problem: str, text: str, offset: int) -> PredicateSyntaxError:
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return PredicateSyntaxError(problem, line, column)
