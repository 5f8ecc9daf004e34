"""AND, OR and NOT of bound conditions: flattened, contradictions found, and what may be NULL.

``x < 1 AND x > 2`` is TRUE for no row, whatever the statistics: it is FALSE or NULL, and so it
equals itself AND NULL, which the evaluation knows never to be TRUE. Its value below a NOT, and for
rows where x is NULL, does not change. For OR, the same holds for the negated leaves.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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
from pyhudi_expr.expr.domains import Domain, Kind
from pyhudi_expr.expr.nodes import Constant, Op, PythonValue, Truth, Unknown


def conjunction(nodes: Iterable[BoundExpression]) -> BoundExpression:
    """Return AND of conditions; TRUE if there are none."""
    children = _flatten(BoundAnd, nodes)
    kept = tuple(child for child in children if child != Constant(Truth.YES))
    if Constant(Truth.NO) in kept:
        return Constant(Truth.NO)
    return _joined(BoundAnd, kept, Constant(Truth.YES))


def disjunction(nodes: Iterable[BoundExpression]) -> BoundExpression:
    """Return OR of conditions; FALSE if there are none."""
    children = _flatten(BoundOr, nodes)
    kept = tuple(child for child in children if child != Constant(Truth.NO))
    if Constant(Truth.YES) in kept:
        return Constant(Truth.YES)
    return _joined(BoundOr, kept, Constant(Truth.NO))


def negation(node: BoundExpression) -> BoundExpression:
    """Return NOT of a condition."""
    match node:
        case BoundNot(child=inner):
            return inner
        case Unknown():
            return node
        case Constant(truth=truth):
            swapped = truth & Truth.NULL
            swapped |= Truth.NO if Truth.YES in truth else Truth(0)
            swapped |= Truth.YES if Truth.NO in truth else Truth(0)
            return Constant(swapped)
    return BoundNot(node)


def _flatten(
    kind: type[BoundAnd] | type[BoundOr], nodes: Iterable[BoundExpression]
) -> list[BoundExpression]:
    flat: list[BoundExpression] = []
    for node in nodes:
        flat.extend(node.children if isinstance(node, kind) else [node])
    return flat


def _joined(
    kind: type[BoundAnd] | type[BoundOr], nodes: tuple[BoundExpression, ...], empty: Constant
) -> BoundExpression:
    if len(nodes) < 2:
        return nodes[0] if nodes else empty
    distinct = tuple(dict.fromkeys(nodes))
    return distinct[0] if len(distinct) == 1 else simplify(kind(distinct))


_NULL = Constant(Truth.NULL)


@dataclass
class _Range:
    """The range in which a term's value has to be.

    Attributes:
        options: A few intervals, one of which has the value. None: no such condition.
    """

    domain: Domain
    lower: Any = None
    upper: Any = None
    lower_strict: bool = False
    upper_strict: bool = False
    options: list[tuple[Any, Any]] | None = None
    is_value: bool = False
    is_null: bool = False

    def above(self, end: PythonValue, strict: bool) -> None:
        """Require the value to be above the end, or at it."""
        if self.domain.is_ordinal and strict:
            end, strict = end + 1, False
        if self.lower is None or (end, strict) > (self.lower, self.lower_strict):
            self.lower, self.lower_strict = end, strict

    def below(self, end: PythonValue, strict: bool) -> None:
        """Require the value to be below the end, or at it."""
        if self.domain.is_ordinal and strict:
            end, strict = end - 1, False
        if self.upper is None or (end, not strict) < (self.upper, not self.upper_strict):
            self.upper, self.upper_strict = end, strict

    def among(self, intervals: Iterable[tuple[Any, Any]]) -> None:
        """Require the value to be in one of the intervals."""
        if self.options is None:
            self.options = list(intervals)
        else:
            found = sorted(intervals)
            self.options = [one for one in self.options if _meets(one, found)]

    @property
    def is_empty(self) -> bool:
        """Return whether no value satisfies all conditions."""
        if self.is_null and self.is_value:
            return True
        if self.lower is not None and self.upper is not None:
            strict = self.lower_strict or self.upper_strict
            if self.lower > self.upper or (self.lower == self.upper and strict):
                return True
        return self.options is not None and all(map(self._outside, self.options))

    def _outside(self, option: tuple[Any, Any]) -> bool:
        low, high = option
        below = self.lower is not None and (
            high < self.lower or (high == self.lower and self.lower_strict)
        )
        above = self.upper is not None and (
            low > self.upper or (low == self.upper and self.upper_strict)
        )
        return bool(below or above)


def _meets(one: tuple[Any, Any], others: list[tuple[Any, Any]]) -> bool:
    return any(one[0] <= high and low <= one[1] for low, high in others)


#: Longer IN lists are not compared with each other.
_MAX_OPTIONS = 1_000


def contradict(nodes: Iterable[BoundExpression], truth: bool) -> bool:
    """Return whether some term has no value that makes all `nodes` TRUE (FALSE, if not `truth`)."""
    ranges: dict[BoundTerm, _Range] = {}
    for node in nodes:
        term = _restrict(ranges, node, truth)
        if term is not None and ranges[term].is_empty:
            return True
    return False


def _restrict(
    ranges: dict[BoundTerm, _Range], node: BoundExpression, truth: bool
) -> BoundTerm | None:
    """Narrow the range of the one term of a leaf; return the term."""
    while isinstance(node, BoundNot):
        node, truth = node.child, not truth

    def of(term: BoundTerm) -> _Range:
        return ranges.setdefault(term, _Range(term.domain))

    match node:
        case BoundIsNull(term=term):
            found = of(term)
            found.is_null, found.is_value = found.is_null or truth, found.is_value or not truth
            return term
        case BoundStartsWith(term=term) if truth:
            found = of(term)
            found.is_value = True
            found.above(node.prefix, False)
            found.below(node.successor, True)
            return term
        case BoundIn(term=term, options=options) if truth and len(options) <= _MAX_OPTIONS:
            found = of(term)
            found.is_value = True
            found.among((option.lower, option.upper) for option in options)
            return term
        case BoundComparison(left=left, right=right):
            return _compare(ranges, node, left, right, truth)
    return None


def _compare(
    ranges: dict[BoundTerm, _Range],
    node: BoundComparison,
    left: BoundTerm,
    right: BoundTerm,
    truth: bool,
) -> BoundTerm | None:
    literal, term = (left, right) if isinstance(left, BoundLiteral) else (right, left)
    if not isinstance(literal, BoundLiteral) or isinstance(term, BoundLiteral):
        return None
    equality = node.op in (Op.EQ, Op.NULL_SAFE_EQ)
    # Where a comparison is not TRUE, NaN may be the reason, and equality leaves all other values.
    if not truth and (equality or term.domain.kind is Kind.FLOAT):
        return None
    found = ranges.setdefault(term, _Range(term.domain))
    found.is_value = True
    if equality:
        found.above(literal.lower, False)
        found.below(literal.upper, False)
        return term
    literal_is_lower = (literal is left) == truth
    # x < a where TRUE, a <= x where FALSE: strict if exactly one of "<" and the truth is so.
    strict = (node.op is Op.LT) == truth
    if literal_is_lower:
        found.above(literal.lower, strict)
    else:
        found.below(literal.upper, strict)
    return term


def simplify(node: BoundAnd | BoundOr) -> BoundAnd | BoundOr:
    """Return the node, with NULL among its children if they contradict each other."""
    is_and = isinstance(node, BoundAnd)
    if not contradict(node.children, is_and):
        return node
    return (BoundAnd if is_and else BoundOr)((_NULL, *node.children))


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
