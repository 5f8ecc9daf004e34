"""AND, OR and NOT of bound conditions: flattened, and contradictions between their parts found.

``x < 1 AND x > 2`` is TRUE for no row, whatever the statistics: it is FALSE or NULL, and so it
equals itself AND NULL, which the evaluation knows never to be TRUE. Its value below a NOT, and for
rows where x is NULL, does not change. For OR, the same holds for the negated leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundNot,
    BoundOr,
    BoundStartsWith,
    BoundTerm,
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
