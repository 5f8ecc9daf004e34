"""Whether a bound condition is TRUE, FALSE or NULL, as conditions that are never NULL.

``IS TRUE``, ``IS NULL`` of a condition and the guards of CASE need the third truth value, which the
evaluation does not have. So they are expressed by the two that it has: a comparison is TRUE where
it is TRUE and no operand is NULL, and FALSE elsewhere. The operands are the bound ones, with every
conversion that may make them NULL.

These rules are Kleene's. ``T``, ``F`` and ``N`` stand for the three functions here.

==========  ==================  ==================  =================================
node        is_true             is_false            is_null
==========  ==================  ==================  =================================
NOT a       ``F(a)``            ``T(a)``            ``N(a)``
a AND b     ``T(a) AND T(b)``   ``F(a) OR F(b)``    ``(N(a) OR N(b))`` AND each is
                                                    ``T`` or ``N``
a OR b      ``T(a) OR T(b)``    ``F(a) AND F(b)``   ``(N(a) OR N(b))`` AND each is
                                                    ``F`` or ``N``
leaf        the leaf AND its    NOT the leaf AND    one of its operands IS NULL
            operands are given  they are given
==========  ==================  ==================  =================================
"""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundMatches,
    BoundNot,
    BoundOr,
    BoundStartsWith,
    BoundTerm,
    Leaf,
)
from pyhudi_expr.expr.nodes import Constant, Op, Truth, Unknown
from pyhudi_expr.expr.simplify import conjunction, disjunction


def is_true(node: BoundExpression) -> BoundExpression:
    """Return a condition that is TRUE where this one is, FALSE elsewhere."""
    match node:
        case BoundAnd(children=nodes):
            return conjunction([is_true(child) for child in nodes])
        case BoundOr(children=nodes):
            return disjunction([is_true(child) for child in nodes])
        case BoundNot(child=child):
            return is_false(child)
        case Constant(truth=possible):
            return _among(possible, Truth.YES)
        case Unknown():
            return node
        case _:
            return conjunction([node, *_known_conditions(node)])


def is_false(node: BoundExpression) -> BoundExpression:
    """Return a condition that is TRUE where this one is FALSE, FALSE elsewhere."""
    match node:
        case BoundAnd(children=nodes):
            return disjunction([is_false(child) for child in nodes])
        case BoundOr(children=nodes):
            return conjunction([is_false(child) for child in nodes])
        case BoundNot(child=child):
            return is_true(child)
        case Constant(truth=possible):
            return _among(possible, Truth.NO)
        case Unknown():
            return node
        case _:
            return conjunction([BoundNot(node), *_known_conditions(node)])


def is_null(node: BoundExpression) -> BoundExpression:
    """Return a condition that is TRUE where this one is NULL, FALSE elsewhere."""
    match node:
        case BoundAnd(children=nodes):
            return _null_of([is_true(child) for child in nodes], list(map(is_null, nodes)))
        case BoundOr(children=nodes):
            return _null_of([is_false(child) for child in nodes], list(map(is_null, nodes)))
        case BoundNot(child=child):
            return is_null(child)
        case Constant(truth=possible):
            return _among(possible, Truth.NULL)
        case Unknown():
            return node
        case BoundMatches():
            return Unknown("whether a pattern that is known in part gives NULL")
        case _:
            return disjunction([BoundIsNull(term) for term in _operands(node)])


def _null_of(
    neutral: Sequence[BoundExpression], nulls: Sequence[BoundExpression]
) -> BoundExpression:
    """Return where a connective is NULL: one child is, and each is NULL or changes nothing."""
    pairs = zip(neutral, nulls, strict=True)
    return conjunction([disjunction(nulls), *(disjunction(pair) for pair in pairs)])


def _among(possible: Truth, wanted: Truth) -> Constant:
    if wanted not in possible:
        return Constant(Truth.NO)
    return Constant(Truth.YES if possible == wanted else Truth.YES_NO)


def _known_conditions(leaf: Leaf) -> list[BoundExpression]:
    return [BoundNot(BoundIsNull(term)) for term in _operands(leaf)]


def _operands(leaf: Leaf) -> list[BoundTerm]:
    """Return the terms whose NULL makes a leaf NULL; none for leaves that never are."""
    match leaf:
        case BoundIsNull() | BoundComparison(op=Op.NULL_SAFE_EQ):
            return []
        case BoundComparison(left=left, right=right):
            return [term for term in (left, right) if not isinstance(term, BoundLiteral)]
        case BoundIn(term=term) | BoundStartsWith(term=term) | BoundMatches(term=term):
            return [term]
