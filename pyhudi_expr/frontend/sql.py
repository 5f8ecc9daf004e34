"""SQL predicates as expressions.

The dialect is Hive's (`pyhudi_expr.frontend.hive_dialect`); another one needs a parser of its own
that gives sqlglot's tree, and shares the walk below.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from pyhudi_expr.expr.nodes import (
    Between,
    Call,
    Case,
    Cast,
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
from pyhudi_expr.frontend import hive_dialect
from pyhudi_expr.frontend.calls import call, is_null, truth_of
from pyhudi_expr.frontend.constants import decimal_number, fold, whole_number
from pyhudi_expr.frontend.hive_dialect import PredicateSyntaxError
from pyhudi_expr.frontend.hive_types import parse_type
from pyhudi_expr.frontend.intervals import plus_interval
from pyhudi_expr.frontend.like import like
from pyhudi_expr.frontend.trees import conjunction, disjunction

__all__ = ["PredicateSyntaxError", "parse_predicate"]

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
    *_COMPARISONS,
)
_EXPONENT = frozenset("eE")
#: What the walk below reads of a syntax node; any other thing a parser says there is unsupported.
_READ = frozenset(
    {"this", "expression", "expressions", "low", "high", "negate", "to", "is_string", "quoted"}
    | {"table", "db", "catalog", "safe", "coalesce", "typed", "ifs", "default", "true", "false"}
)
_LOCAL_TIME_ZONE = {"TIMESTAMPLTZ": "timestamp with local time zone"}


class _UnsupportedError(ValueError):
    """Why a piece has no expression."""


def parse_predicate(text: str) -> HudiExpression:
    """The expression of a WHERE clause's text.

    What the language cannot say becomes `Unknown`. Raises PredicateSyntaxError where the text is
    no predicate, too long or nested too deeply.
    """
    return _predicate(hive_dialect.parse(text))


def _predicate(node: exp.Expr) -> HudiExpression:
    node = _unwrapped(node)
    try:
        found = _positive(node)
    except ValueError as reason:
        return Unknown(str(reason))
    return Not(found) if node.args.get("negate") else found


def _positive(node: exp.Expr) -> HudiExpression:
    _check_read(node)
    operation = _COMPARISONS.get(type(node))
    if operation is Op.EQ and isinstance(node.this, exp.Tuple):
        return _rows_equal(node.this, node.expression)
    if operation is not None:
        return Comparison(operation, _term(node.this), _term(node.expression))
    match node:
        case exp.And():
            return conjunction(map(_predicate, _operands(node, exp.And)))
        case exp.Or():
            return disjunction(map(_predicate, _operands(node, exp.Or)))
        case exp.Not():
            return Not(_predicate(node.this))
        case exp.NullSafeNEQ():
            return Not(Comparison(Op.NULL_SAFE_EQ, _term(node.this), _term(node.expression)))
        case exp.Between():
            return Between(_term(node.this), _term(node.args["low"]), _term(node.args["high"]))
        case exp.In():
            return _in(node)
        case exp.Is():
            return _is(node)
        case exp.Like():
            return _like(node)
        case exp.Column() | exp.Dot() | exp.Boolean() | exp.Null() | exp.Anonymous():
            return truth_of(_term(node))
        case exp.Case() | exp.If():
            return truth_of(_term(node))
    raise _unsupported(node)


def _in(node: exp.In) -> HudiExpression:
    if not node.expressions:
        raise _unsupported(node)
    if isinstance(node.this, exp.Tuple):
        return disjunction(_rows_equal(node.this, option) for option in node.expressions)
    return In(_term(node.this), tuple(map(_term, node.expressions)))


def _rows_equal(left: exp.Expr, right: exp.Expr) -> HudiExpression:
    """Rows of values: all fields are equal where the rows are; with NULLs engines differ."""
    right = _unwrapped(right)
    if not isinstance(right, exp.Tuple) or len(left.expressions) != len(right.expressions):
        raise _unsupported(right)
    pairs = zip(left.expressions, right.expressions, strict=True)
    fields = [Comparison(Op.EQ, _term(one), _term(other)) for one, other in pairs]
    return conjunction((*fields, Unknown("rows with a NULL among their fields")))


def _is(node: exp.Is) -> HudiExpression:
    match _unwrapped(node.expression):
        case exp.Null():
            subject = _unwrapped(node.this)
            if isinstance(subject, _CONDITIONS):
                return IsNull(_predicate(subject))
            return is_null(_term(subject))
        case exp.Boolean() as truth:
            return Comparison(Op.NULL_SAFE_EQ, _term(node.this), _term(truth))
    raise _unsupported(node)


def _like(node: exp.Like) -> HudiExpression:
    match _term(node.expression):
        case Literal(value=None):
            return Constant(Truth.NULL)
        case Literal(value=str(pattern)):
            return like(_term(node.this), pattern)
    raise _unsupported(node)


def _term(node: exp.Expr) -> Term:
    node = _unwrapped(node)
    _check_read(node)
    symbol = _ARITHMETIC.get(type(node))
    if symbol in ("+", "-"):
        left, right = _unwrapped(node.this), _unwrapped(node.expression)
        if isinstance(right, exp.Interval):
            return plus_interval(_term(left), right, 1 if symbol == "+" else -1)
        if isinstance(left, exp.Interval) and symbol == "+":
            return plus_interval(_term(right), left, 1)
    if symbol is not None:
        return Call(symbol, (_term(node.this), _term(node.expression)))
    match node:
        case exp.Column() | exp.Dot():
            return Column(tuple(_path(node)))
        case exp.Literal():
            return Literal(node.this, pa.string()) if node.is_string else _number(node.this)
        case exp.Boolean():
            return Literal(bool(node.this), pa.bool_())
        case exp.Null():
            return Literal(None, pa.null())
        case exp.HexString():
            return Literal(bytes.fromhex(node.this), pa.binary())
        case exp.Neg():
            return _negative(_term(node.this))
        case exp.Concat() if all(isinstance(part, exp.Literal) for part in node.expressions):
            return Literal("".join(part.this for part in node.expressions), pa.string())
        case exp.Cast():  # TRY_CAST too, as which sqlglot reads Hive's CAST
            return _cast(node)
        case exp.Anonymous() if isinstance(node.this, str):
            return call(node.this.lower(), tuple(map(_term, node.expressions)))
        case exp.Case():
            return _case(node)
        case exp.If(this=condition, args={"true": yes, "false": no}):
            return Case(((_predicate(condition), _term(yes)),), _term(no))
    raise _unsupported(node)


def _case(node: exp.Case) -> Term:
    """``CASE x WHEN ...`` compares x with each value, ``CASE WHEN ...`` asks each condition."""
    subject, branches = node.this, []
    for branch in node.args["ifs"]:
        if subject is None:
            condition = _predicate(branch.this)
        else:
            condition = Comparison(Op.EQ, _term(subject), _term(branch.this))
        branches.append((condition, _term(branch.args["true"])))
    default = node.args.get("default")
    return Case(tuple(branches), Literal(None, pa.null()) if default is None else _term(default))


def _cast(node: exp.Cast) -> Term:
    name = node.to.sql("hive")
    type_ = parse_type(_LOCAL_TIME_ZONE.get(name, name))
    term = _term(node.this)
    folded = fold(term, type_) if isinstance(term, Literal) else None
    return folded or Cast(term, type_)


def _number(text: str) -> Literal:
    if _EXPONENT & set(text):
        return Literal(float(text), pa.float64())
    return decimal_number(Decimal(text)) if "." in text else whole_number(int(text))


def _negative(term: Term) -> Term:
    match term:
        case Literal(value=float(value), type=type_):
            return Literal(-value, type_)
        case Literal(value=Decimal() as value):
            return Literal(value.copy_negate(), term.type)
        case Literal(value=int(value)) if not isinstance(value, bool):
            return whole_number(-value)
    return Call("-", (term,))


def _path(node: exp.Expr) -> Iterator[str]:
    for part in node.parts if isinstance(node, exp.Column | exp.Dot) else ():
        if not isinstance(part, exp.Identifier):
            raise _unsupported(node)
        yield part.name


def _operands(node: exp.Expr, kind: type[exp.Connector]) -> Iterator[exp.Expr]:
    """The operands of a chain of one connective, left to right, whatever its length."""
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
    if any(value and name not in _READ for name, value in node.args.items()):
        raise _unsupported(node)


def _unsupported(node: exp.Expr) -> _UnsupportedError:
    return _UnsupportedError(f"not judged: {node.sql('hive')[:100]}")
