"""Parse the predicates that most people write, without sqlglot, whose import takes long.

Comparisons of columns and constants, IN, BETWEEN, IS NULL, AND, OR, NOT and parentheses mean the
same in every dialect. Any other text is left to sqlglot (`parser`), and so is all that is doubtful:
what this reads has the tree that sqlglot's tree gives, as a property test shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa

from pyhudi_expr.expr.frontend.common.constants import (
    conjunction,
    decimal_literal,
    disjunction,
    integer_literal,
)
from pyhudi_expr.expr.frontend.common.functions import is_null
from pyhudi_expr.expr.frontend.sql.dialects import HIVE, SqlDialect
from pyhudi_expr.expr.nodes import Column, Comparison, HudiExpression, In, Literal, Op, Term

_MAX_TEXT, _MAX_NESTING, _MAX_PATH = 1 << 16, 20, 3
_COMPARISONS = {
    **{"=": Op.EQ, "<>": Op.NE, "!=": Op.NE},
    **{"<": Op.LT, "<=": Op.LTEQ, ">": Op.GT, ">=": Op.GTEQ},
}
_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<number>-?\d{1,30}(?:\.\d{1,8})?(?![\w.]))
      | '(?P<text>[^'\\\ud800-\udfff]*)'
      | (?P<word>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?![.'"`\[(])
      | (?P<sign><=(?!>)|>=|<>|!=|<(?![<=])|>(?!>)|=(?![=>])|[(),])
    )[ \t\r\n]*""",
    re.VERBOSE | re.ASCII,
)
_TRUTHS = {"TRUE": True, "FALSE": False}
_GRAMMAR = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", *_TRUTHS})
#: Words that begin or continue something else than a column's name, in one of the dialects.
_RESERVED = re.compile(
    r"""\b(?:
    ALTER | AND | ANY | ARRAY | AS | BETWEEN | CALL | CASE | CONNECT_BY_ROOT | CREATE |
    CROSS | CURRENT_CATALOG | CURRENT_DATE | CURRENT_TIME | CURRENT_TIMESTAMP |
    CURRENT_USER | DESCRIBE | DISTINCT | DROP | ELSE | EXCEPT | EXECUTE | EXPLAIN | FALSE
    | FETCH | FOR | FROM | GLOB | GRANT | HAVING | IF | ILIKE | IN | INNER | INSERT |
    INTERSECT | INTERVAL | INTO | IS | JOIN | LATERAL | LIKE | LIST | LOCALTIME |
    LOCALTIMESTAMP | MAP | MATCH_RECOGNIZE | MINUS | NOT | NOTNULL | NULL | NULLABLE |
    OBJECT | ON | OPTIMIZE | OR | OUTER | PARTITIONED_BY | PREPARE | QUALIFY | RANGE |
    REGEXP | RENAME | RETURNING | REVOKE | RLIKE | ROLLBACK | ROW | SELECT |
    SERDEPROPERTIES | SESSION_USER | SHOW | STRUCT | TABLESAMPLE | THEN | TRUE | UNCACHE |
    UNION | USING | VACUUM | VALUES | WHEN | WHERE | WITH | XOR
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_QUERY = re.compile(r"[\s(]*select\b", re.IGNORECASE)

#: Predicates that AND or OR joins; of one alone the word is empty.
_Chain = tuple[str, list[HudiExpression]]


class _NotPlainError(ValueError):
    """The text is left to sqlglot."""


def is_query(text: str) -> bool:
    """Return whether a text is a whole query, of which only the WHERE is taken."""
    return _QUERY.match(text) is not None


def parse_predicate(text: str, dialect: SqlDialect = HIVE) -> HudiExpression:
    """Return the expression of a condition, of `WHERE ...`, or of a query's WHERE.

    What has no equivalent becomes `Unknown`.

    Raises:
        PredicateSyntaxError: The text is not a predicate, too long or nested too deeply.
    """
    found = parse_plain(text, dialect)
    if found is not None:
        return found
    from pyhudi_expr.expr.frontend.sql import parser

    return parser.parse_predicate(text, dialect)


def parse_plain(text: str, dialect: SqlDialect) -> HudiExpression | None:
    """Return the expression of a plain predicate; None for any other text."""
    try:
        return dialect.certain(_Reader(_tokens(text), dialect).whole())
    except ValueError:  # of a constant or a rule of the dialect, too
        return None


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return kinds and texts; a word of the grammar is a kind of its own."""
    tokens, place = list[tuple[str, str]](), 0
    while place < len(text) <= _MAX_TEXT:
        found = _TOKEN.match(text, place)
        if found is None:
            raise _NotPlainError
        kind, value = str(found.lastgroup), found[str(found.lastgroup)]
        if kind == "sign" or (kind == "word" and value.upper() in _GRAMMAR):
            kind = value.upper()
        tokens.append((kind, value))
        place = found.end()
    return [*tokens, ("end", "")]


class _Reader:
    """Reads tokens from left to right; all methods raise ValueError."""

    def __init__(self, tokens: list[tuple[str, str]], dialect: SqlDialect) -> None:
        self._tokens = tokens
        self._dialect = dialect
        self._place = 0
        self._depth = 0

    def whole(self) -> HudiExpression:
        found = _tree(self._disjunction())
        self._expect("end")
        return found

    def _disjunction(self) -> _Chain:
        return self._chain("OR", lambda: self._chain("AND", self._negation))

    def _chain(self, word: str, operand: Callable[[], _Chain]) -> _Chain:
        parts = [operand()]
        while self._takes(word):
            parts.append(operand())
        if len(parts) == 1:
            return parts[0]
        return word, [
            tree
            for joined, trees in parts
            for tree in (trees if joined == word else [_tree((joined, trees))])
        ]

    def _negation(self) -> _Chain:
        if self._takes("NOT"):
            return "", [self._dialect.negated(_tree(self._within(self._negation)))]
        if self._takes("("):
            found = self._within(self._disjunction)
            self._expect(")")
            return found
        return "", [self._predicate()]

    def _within(self, part: Callable[[], _Chain]) -> _Chain:
        self._depth += 1
        if self._depth > _MAX_NESTING:
            raise _NotPlainError
        found = part()
        self._depth -= 1
        return found

    def _predicate(self) -> HudiExpression:
        left = self._operand()
        kind, _ = self._tokens[self._place]
        if kind in _COMPARISONS:
            self._place += 1
            return Comparison(_COMPARISONS[kind], *self._dialect.operands((left, self._operand())))
        if self._takes("IS"):
            is_negated = self._takes("NOT")
            self._expect("NULL")
            found = is_null(left)
        else:
            is_negated = self._takes("NOT")
            found = self._among(left)
        return self._dialect.negated(found) if is_negated else found

    def _among(self, left: Term) -> HudiExpression:
        """Read the rest of BETWEEN or IN."""
        if self._takes("BETWEEN"):
            low = self._operand()
            self._expect("AND")
            return self._dialect.between(*self._dialect.operands((left, low, self._operand())))
        self._expect("IN")
        self._expect("(")
        options = [self._operand()]
        while self._takes(","):
            options.append(self._operand())
        self._expect(")")
        term, *others = self._dialect.operands((left, *options))
        return In(term, tuple(others))

    def _operand(self) -> Term:
        kind, value = self._tokens[self._place]
        self._place += 1
        match kind:
            case "word":
                path = tuple(value.split("."))
                if len(path) > _MAX_PATH or _RESERVED.search(value):
                    raise _NotPlainError
                return Column(path)
            case "text":
                return Literal(value, pa.string())
            case "number" if "." in value:
                return decimal_literal(Decimal(value))
            case "number":
                return integer_literal(int(value))
            case "TRUE" | "FALSE":
                return Literal(_TRUTHS[kind], pa.bool_())
        raise _NotPlainError

    def _takes(self, kind: str) -> bool:
        """Pass over a token if it is of a kind, and return whether it is."""
        is_next = self._tokens[self._place][0] == kind
        self._place += is_next
        return is_next

    def _expect(self, kind: str) -> None:
        if not self._takes(kind):
            raise _NotPlainError


def _tree(chain: _Chain) -> HudiExpression:
    match chain:
        case "AND", trees:
            return conjunction(trees)
        case "OR", trees:
            return disjunction(trees)
    return chain[1][0]
