"""Decimal constants that Hive's vectors may change.

Where Hive has no vectorised form of a function it calls the one for rows (VectorUDFAdaptor), and
hands it decimal constants as decimal(38,18): rounded to 18 digits behind the point, and NULL with
more than 20 before it (VectorUDFArgDesc.prepareConstant, Hive 4.0.1). BETWEEN whose ends are not
both constants is such a function, and Hive's optimizer makes one of two comparisons, and even of
``x BETWEEN c AND c``. So such a constant is only certain beside ``=`` and in IN.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from operator import is_

from pyhudi_expr.expr.frontend.common.constants import Type, decimal_literal, fold_cast
from pyhudi_expr.expr.nodes import (
    And,
    Between,
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
    Or,
    Term,
    Truth,
    Unknown,
    children,
    walk,
)

_DIGITS_BEHIND, _DIGITS_BEFORE = 18, 20
_LAST_DIGIT = Decimal(1).scaleb(-_DIGITS_BEHIND)
#: More digits than constants have.
_EXACT = Context(prec=120, rounding=ROUND_HALF_UP)
_UNKNOWN = Unknown(
    f"a decimal constant of more than {_DIGITS_BEFORE} digits before the point or "
    f"{_DIGITS_BEHIND} behind it, which Hive may change"
)


def with_changed_decimals(node: HudiExpression) -> HudiExpression:
    """Return a condition of Hive that has each value which changed constants may give it."""
    match node:
        case And(children=parts) | Or(children=parts):
            found = tuple(map(with_changed_decimals, parts))
            return node if all(map(is_, found, parts)) else type(node)(found)
        case Not(child=Comparison() | Between() as leaf) if not _is_unknown(leaf):
            changed = _with_changed_constants(leaf)
            return node if changed is leaf else _either(node, Not(changed))
        case Not(child=child):
            other = with_changed_decimals(child)
            return node if other is child else Not(other)
        case IsNull(term=term) if not isinstance(term, Term):
            other = with_changed_decimals(term)
            return node if other is term else IsNull(other)
    if _is_unknown(node):
        return _UNKNOWN
    changed = _with_changed_constants(node)
    return node if changed is node else _either(node, changed)


def _is_unknown(leaf: HudiExpression) -> bool:
    """Return whether a leaf has a changed constant elsewhere than in a comparison."""
    match leaf:
        case Comparison(op=op) if op is not Op.NULL_SAFE_EQ:
            pass
        case In() | Between():
            pass
        case _:
            return _has_changed(leaf)
    return any(_has_changed(one) for one in children(leaf) if not isinstance(one, Literal | Column))


def _with_changed_constants(leaf: HudiExpression) -> HudiExpression:
    terms: tuple[Term, ...]
    match leaf:
        case Comparison(Op.LT | Op.LTEQ | Op.GT | Op.GTEQ, left, right):
            terms = (left, right)
        case Between(term, low, high):
            terms = (term, low, high)
        case _:
            return leaf
    changed = tuple(map(_changed, terms))
    if all(map(is_, changed, terms)):
        return leaf
    return Between(*changed) if isinstance(leaf, Between) else Comparison(leaf.op, *changed)


def certain_cast(term: Term, type_: Type) -> Term:
    """Return a cast, folded if it is of a constant that Hive does not change."""
    folded = None
    if isinstance(term, Literal) and _changed(term) is term:
        folded = fold_cast(term, type_)
    return folded or Cast(term, type_)


def _either(node: HudiExpression, changed: HudiExpression) -> HudiExpression:
    """Return a condition that is TRUE only where one of two is, and has any value there."""
    return Or((And((node, _UNKNOWN)), And((changed, _UNKNOWN)), Constant(Truth.NO_NULL)))


def _has_changed(node: HudiExpression | Term) -> bool:
    return any(isinstance(one, Literal) and _changed(one) is not one for one in walk(node))


def _changed(term: Term) -> Term:
    """Return a constant as Hive's vectors may hand it to a function; any other term as it is."""
    if not isinstance(term, Literal) or not isinstance(term.value, Decimal):
        return term
    if abs(term.value) >= 10**_DIGITS_BEFORE:
        return Literal(None, term.type)
    rounded = term.value.quantize(_LAST_DIGIT, context=_EXACT)
    return term if rounded == term.value else decimal_literal(rounded)
