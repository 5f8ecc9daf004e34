"""Parse SQL predicates to expressions: one walk over sqlglot's trees for all `dialects`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

import pyarrow as pa
from sqlglot import exp

from pyhudi_expr.expr.frontend.common.constants import (
    NULL,
    as_boolean_term,
    conjunction,
    decimal_literal,
    disjunction,
    integer_literal,
)
from pyhudi_expr.expr.frontend.common.functions import PARTS, as_condition, is_null
from pyhudi_expr.expr.frontend.sql.conditions import PredicateSyntaxError
from pyhudi_expr.expr.frontend.sql.dialects import DIALECTS, HIVE, PRESTO, SPARK, TRINO, SqlDialect
from pyhudi_expr.expr.frontend.sql.syntax import parse
from pyhudi_expr.expr.nodes import (
    Call,
    Case,
    Column,
    Comparison,
    Constant,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Term,
    Truth,
    Unknown,
)
from pyhudi_expr.expr.semantics import Engine

__all__ = [
    "DIALECTS",
    "HIVE",
    "PRESTO",
    "SPARK",
    "TRINO",
    "PredicateSyntaxError",
    "SqlDialect",
    "parse_predicate",
]

_COMPARISONS: dict[type[exp.Expr], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LTEQ,
    exp.GT: Op.GT,
    exp.GTE: Op.GTEQ,
    exp.NullSafeEQ: Op.NULL_SAFE_EQ,
}
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.DPipe: "||",
}
_CONDITIONS: tuple[type[exp.Expr], ...] = (
    exp.And,
    exp.Or,
    exp.Not,
    exp.Between,
    exp.In,
    exp.Is,
    exp.Like,
    exp.RegexpLike,
    *_COMPARISONS,
)
_EXPONENT = frozenset("eE")
#: The fields of a syntax node that this walk supports; a node with other fields is unsupported.
_READ = frozenset(
    {"this", "expression", "expressions", "low", "high", "negate", "to", "is_string", "quoted"}
    | {"table", "db", "catalog", "safe", "coalesce", "typed", "ifs", "default", "true", "false"}
    | {"start", "length"}
)


class _UnsupportedError(ValueError):
    """A part has no equivalent expression; the message says why."""


def parse_predicate(text: str, dialect: SqlDialect = HIVE) -> HudiExpression:
    """Return the expression of a condition, of `WHERE ...`, or of a query's WHERE.

    What has no equivalent becomes `Unknown`.

    Raises:
        PredicateSyntaxError: The text is not a predicate, too long or nested too deeply.
    """
    reader = dialect.reader
    node = parse(text, reader.dialect, reader.exact)
    return dialect.certain(_Walk(dialect).predicate(node))


class _Walk:
    """Converts syntax trees to expressions; all methods but `predicate` raise ValueError."""

    def __init__(self, dialect: SqlDialect) -> None:
        self._dialect = dialect
        self._check = dialect.reader.check

    def predicate(self, node: exp.Expr) -> HudiExpression:
        node = _unwrapped(node)
        try:
            found = self._positive(node)
        except ValueError as reason:
            return Unknown(str(reason))
        subject = node.this if isinstance(node, exp.Escape) else node
        return self._dialect.negated(found) if subject.args.get("negate") else found

    def _positive(self, node: exp.Expr) -> HudiExpression:
        _check_read(node)
        operation = _COMPARISONS.get(type(node))
        if operation is Op.EQ and isinstance(node.this, exp.Tuple):
            return self._rows_equal(node.this, node.expression)
        if operation is not None:
            return self._compared(operation, node.this, node.expression)
        match node:
            case exp.And():
                return conjunction(map(self.predicate, _operands(node, exp.And)))
            case exp.Or():
                return disjunction(map(self.predicate, _operands(node, exp.Or)))
            case exp.Not():
                return self._dialect.negated(self.predicate(node.this))
            case exp.NullSafeNEQ():
                return Not(self._compared(Op.NULL_SAFE_EQ, node.this, node.expression))
            case exp.Between():
                parts = (node.this, node.args["low"], node.args["high"])
                terms = self._dialect.operands(tuple(map(self._term, parts)))
                return self._dialect.between(*terms)
            case exp.In():
                return self._in(node)
            case exp.Is():
                return self._is(node)
            case exp.Like():
                return self._like(node, None)
            case exp.Escape(this=exp.Like() as pattern, expression=exp.Literal() as escape):
                _check_read(pattern)
                return self._like(pattern, escape.this)
            case exp.ILike():
                return self._ilike(node)
            case exp.RegexpLike():
                return self._predicate_function(
                    "rlike", (self._term(node.this), self._term(node.expression))
                )
            case exp.Anonymous() if isinstance(node.this, str):
                return self._predicate_function(
                    node.this.lower(), tuple(map(self._term, node.expressions))
                )
            case exp.Column() | exp.Dot() | exp.Boolean() | exp.Null() | exp.Case() | exp.If():
                return as_condition(self._term(node))
        raise _unsupported(node)

    def _predicate_function(self, name: str, args: tuple[Term, ...]) -> HudiExpression:
        """Return a function as a predicate."""
        found = self._dialect.predicate(name, args)
        return found or as_condition(self._dialect.call(name, args))

    def _compared(self, op: Op, left: exp.Expr, right: exp.Expr) -> Comparison:
        dialect = self._dialect
        as_compared = dialect.null_safe if op is Op.NULL_SAFE_EQ else dialect.operands
        return Comparison(op, *as_compared((self._term(left), self._term(right))))

    def _in(self, node: exp.In) -> HudiExpression:
        if not node.expressions:
            raise _unsupported(node)
        if isinstance(node.this, exp.Tuple):
            return disjunction(self._rows_equal(node.this, option) for option in node.expressions)
        parts = (node.this, *node.expressions)
        term, *options = self._dialect.operands(tuple(map(self._term, parts)))
        return In(term, tuple(options))

    def _rows_equal(self, left: exp.Expr, right: exp.Expr) -> HudiExpression:
        """Return equality of rows, field by field."""
        right = _unwrapped(right)
        if not isinstance(right, exp.Tuple) or len(left.expressions) != len(right.expressions):
            raise _unsupported(right)
        pairs = zip(left.expressions, right.expressions, strict=True)
        return self._dialect.rows_equal([self._compared(Op.EQ, *pair) for pair in pairs])

    def _is(self, node: exp.Is) -> HudiExpression:
        match _unwrapped(node.expression):
            case exp.Null():
                subject = _unwrapped(node.this)
                if isinstance(subject, _CONDITIONS):
                    return IsNull(self.predicate(subject))
                return is_null(self._term(subject))
            case exp.Boolean() as truth:
                return Comparison(Op.NULL_SAFE_EQ, self._term(node.this), self._term(truth))
        raise _unsupported(node)

    def _like(self, node: exp.Like, escape: str | None) -> HudiExpression:
        match node.expression:
            case exp.Any(this=patterns):
                combine = disjunction
            case exp.All(this=patterns):
                combine = conjunction
            case pattern:
                return self._like_one(node, pattern, escape)
        if node.args.get("negate"):
            raise _UnsupportedError("not supported: NOT LIKE ANY, NOT LIKE ALL")
        each = patterns.expressions or [patterns.this]
        return combine([self._like_one(node, pattern, escape) for pattern in each])

    def _like_one(self, node: exp.Like, pattern: exp.Expr, escape: str | None) -> HudiExpression:
        match self._term(pattern):
            case Literal(value=None):
                return Constant(Truth.NULL)
            case Literal(value=str(text)):
                return self._dialect.like(self._term(node.this), text, escape)
        raise _unsupported(node)

    def _ilike(self, node: exp.ILike) -> HudiExpression:
        """Return LIKE of the lower cases, as Spark does."""
        match self._dialect.engine, self._term(node.expression):
            case Engine.SPARK, Literal(value=str(pattern)) if pattern.isascii():
                lower = self._dialect.call("lower", (self._term(node.this),))
                return self._dialect.like(lower, pattern.lower(), None)
        raise _UnsupportedError("not supported: ILIKE")

    def _term(self, node: exp.Expr) -> Term:
        node = _unwrapped(node)
        _check_read(node)
        self._check(node)
        symbol = _ARITHMETIC.get(type(node))
        if symbol in ("+", "-"):
            left, right = _unwrapped(node.this), _unwrapped(node.expression)
            if isinstance(right, exp.Interval):
                return self._shifted(left, right, 1 if symbol == "+" else -1)
            if isinstance(left, exp.Interval) and symbol == "+":
                return self._shifted(right, left, 1)
        if symbol is not None:
            args = (self._term(node.this), self._term(node.expression))
            return self._dialect.arithmetic(symbol, args)
        match node:
            case exp.Column() | exp.Dot():
                return Column(tuple(_path(node)))
            case exp.Neg():
                return _negative(self._term(node.this))
            case exp.Cast():  # TRY_CAST too, which sqlglot uses for Hive's CAST
                return self._dialect.cast(self._term(node.this), node.to)
            case exp.Case():
                return self._case(node)
            case exp.If(this=condition, args={"true": yes}):
                no = node.args.get("false")
                branch = (self.predicate(condition), self._term(yes))
                return Case((branch,), NULL if no is None else self._term(no))
            case exp.CurrentDate(this=None):
                return self._dialect.call("current_date", ())
            case exp.CurrentTimestamp(this=None):
                return self._dialect.call("current_timestamp", ())
            case exp.Bracket(this=exp.Anonymous(this=str(name)), expressions=[place]) if (
                name.lower() == "split"
            ):
                of = map(self._term, (*node.this.expressions, place))
                return self._dialect.call("split item", tuple(of))
            case exp.Anonymous() | exp.Extract() | exp.Trim() | exp.Substring():
                name, parts = _called(node)
                return self._dialect.call(name, tuple(map(self._term, parts)))
        if isinstance(node, _CONDITIONS):
            return as_boolean_term(self.predicate(node))
        return _constant(node)

    def _shifted(self, time: exp.Expr, by: exp.Interval, sign: int) -> Term:
        return self._dialect.plus_interval(self._term(time), by, sign)

    def _case(self, node: exp.Case) -> Term:
        """Return ``CASE x WHEN ...``, which compares x with each value, or ``CASE WHEN ...``."""
        subject, branches = node.this, []
        for branch in node.args["ifs"]:
            if subject is None:
                condition = self.predicate(branch.this)
            else:
                condition = self._compared(Op.EQ, subject, branch.this)
            branches.append((condition, self._term(branch.args["true"])))
        default = node.args.get("default")
        return Case(tuple(branches), NULL if default is None else self._term(default))


def _called(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """Return a function's name in lower case, and its arguments."""
    match node:
        case exp.Anonymous() if isinstance(node.this, str):
            return node.this.lower(), node.expressions
        case exp.Extract() if node.this.name.lower() in PARTS:
            return PARTS[node.this.name.lower()], [node.expression]
        case exp.Substring():
            parts = (node.this, node.args.get("start"), node.args.get("length"))
            return "substring", [part for part in parts if part is not None]
        case exp.Trim(expression=None):
            return "trim", [node.this]
    raise _unsupported(node)


def _constant(node: exp.Expr) -> Literal:
    match node:
        case exp.Literal():
            return Literal(node.this, pa.string()) if node.is_string else _number(node.this)
        case exp.RawString():
            return Literal(node.this, pa.string())
        case exp.Boolean():
            return Literal(bool(node.this), pa.bool_())
        case exp.Null():
            return NULL
        case exp.HexString():
            return Literal(bytes.fromhex(node.this), pa.binary())
        case exp.Concat() if all(isinstance(part, exp.Literal) for part in node.expressions):
            return Literal("".join(part.this for part in node.expressions), pa.string())
    raise _unsupported(node)


def _number(text: str) -> Literal:
    if _EXPONENT & set(text):
        return Literal(float(text), pa.float64())
    if "." not in text:
        return integer_literal(int(text))
    try:
        return decimal_literal(Decimal(text))
    except InvalidOperation as error:  # which sqlglot returns for `.1.5`
        raise _UnsupportedError(f"{text[:100]!r} is not a number") from error


def _negative(term: Term) -> Term:
    match term:
        case Literal(value=float(value), type=type_):
            return Literal(-value, type_)
        case Literal(value=Decimal() as value):
            return Literal(value.copy_negate(), term.type)
        case Literal(value=int(value)) if not isinstance(value, bool):
            return integer_literal(-value)
    return Call("-", (term,))


def _path(node: exp.Expr) -> Iterator[str]:
    for part in node.parts if isinstance(node, exp.Column | exp.Dot) else ():
        if not isinstance(part, exp.Identifier):
            raise _unsupported(node)
        yield part.name


def _operands(node: exp.Expr, kind: type[exp.Connector]) -> Iterator[exp.Expr]:
    """Return the operands of a chain of one connective, left to right, whatever its length."""
    stack = [node]
    while stack:
        top = _unwrapped(stack.pop())
        if isinstance(top, kind):
            stack += (top.expression, top.this)
        else:
            yield top


def _unwrapped(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _check_read(node: exp.Expr) -> None:
    if not {name for name, value in node.args.items() if value} <= _READ:
        raise _unsupported(node)


def _unsupported(node: exp.Expr) -> _UnsupportedError:
    return _UnsupportedError(f"not supported: {node.sql('hive')[:100]}")
