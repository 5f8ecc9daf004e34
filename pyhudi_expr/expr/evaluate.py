"""Evaluation: which containers may hold a row for which a bound predicate is TRUE.

The rules are in the contract of `pyhudi_expr.expr`. A leaf asks every source of evidence and is
excluded where any of them excludes it; the connectives combine the leaves' answers. One call
evaluates all containers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr import bounds as b
from pyhudi_expr.expr.bind import (
    BoundAnd,
    BoundCall,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundNot,
    BoundOr,
    BoundStartsWith,
    BoundTerm,
    Leaf,
)
from pyhudi_expr.expr.bounds import Bounds, Mask, both, either
from pyhudi_expr.expr.domains import Domain, physical_scalar
from pyhudi_expr.expr.nodes import Constant, Op, Truth, Unknown

#: Options up to which IN compares one by one on Arrow bounds, which cannot be searched sorted.
_FEW_OPTIONS = 32


class Evidence(Protocol):
    """What one index knows of N containers."""

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """False where it proves that `leaf` gives `truth` for no row. True: it cannot say."""


class Statistics(Protocol):
    """A source of bounds: column_stats, partition_stats, footers, partition values."""

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """The bounds of a column in its domain's physical form; None: it knows nothing of it."""


class StatisticsEvidence:
    """Evidence from bounds."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._terms: dict[BoundTerm, Bounds] = {}

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """See `Evidence`."""
        match leaf:
            case BoundComparison():
                return self._comparison(leaf, truth)
            case BoundIn():
                return self._in(leaf, truth)
            case BoundIsNull(term=term):
                bounds = self._bounds(term)
                return bounds.may_be_null if truth else bounds.may_be_value
            case BoundStartsWith():
                return self._starts_with(leaf, truth)

    def _bounds(self, term: BoundTerm) -> Bounds:
        known = self._terms.get(term)
        if known is None:
            known = self._terms[term] = self._derive(term)
        return known

    def _derive(self, term: BoundTerm) -> Bounds:
        match term:
            case BoundColumn():
                found = self._statistics.bounds(term)
                return b.unknown(term.domain) if found is None else found
            case BoundLiteral(lower=lower, upper=upper, domain=domain):
                return Bounds(
                    physical_scalar(domain, lower), physical_scalar(domain, upper), True, False
                )
            case BoundCall(function=function, term=operand):
                return function(self._bounds(operand))

    def _comparison(self, leaf: BoundComparison, truth: bool) -> Mask:
        left, right = self._bounds(leaf.left), self._bounds(leaf.right)
        values = both(left.may_be_value, right.may_be_value)
        match leaf.op, truth:
            case (Op.LT, True):
                return both(values, b.may_be_less(left.lower, right.upper))
            case (Op.LT, False):
                return both(values, b.may_be_at_most(right.lower, left.upper))
            case (Op.LTEQ, True):
                return both(values, b.may_be_at_most(left.lower, right.upper))
            case (Op.LTEQ, False):
                return both(values, b.may_be_less(right.lower, left.upper))
            case (Op.EQ, True):
                return both(values, self._may_equal(left, right))
            case (Op.EQ, False):
                return both(values, self._may_differ(left, right))
            case (Op.NULL_SAFE_EQ, True):
                nulls = both(left.may_be_null, right.may_be_null)
                return either(both(values, self._may_equal(left, right)), nulls)
            case (Op.NULL_SAFE_EQ, False):
                nulls = either(left.may_be_null, right.may_be_null)
                return either(both(values, self._may_differ(left, right)), nulls)
        return True

    @staticmethod
    def _may_equal(left: Bounds, right: Bounds) -> Mask:
        return both(
            b.may_be_at_most(left.lower, right.upper), b.may_be_at_most(right.lower, left.upper)
        )

    @staticmethod
    def _may_differ(left: Bounds, right: Bounds) -> Mask:
        # Equal crosswise bounds leave one single value for both sides.
        return either(b.may_differ(left.lower, right.upper), b.may_differ(left.upper, right.lower))

    def _in(self, leaf: BoundIn, truth: bool) -> Mask:
        term = self._bounds(leaf.term)
        domain = leaf.term.domain
        if domain.is_ordinal:
            answer = _in_ordinals(term, leaf.options, truth)
        elif len(leaf.options) <= _FEW_OPTIONS:
            answer = _in_one_by_one(term, leaf.options, domain, truth)
        else:
            answer = _in_range(term, leaf.options, domain) if truth else True
        return both(term.may_be_value, answer)

    def _starts_with(self, leaf: BoundStartsWith, truth: bool) -> Mask:
        term = self._bounds(leaf.term)
        prefix = physical_scalar(leaf.term.domain, leaf.prefix)
        successor = physical_scalar(leaf.term.domain, leaf.successor)
        if truth:
            inside = both(
                b.may_be_at_most(prefix, term.upper), b.may_be_less(term.lower, successor)
            )
            return both(term.may_be_value, inside)
        outside = either(b.may_be_less(term.lower, prefix), b.may_be_at_most(successor, term.upper))
        return both(term.may_be_value, outside)


def _in_ordinals(term: Bounds, options: Sequence[BoundLiteral], truth: bool) -> Mask:
    lows = np.array([option.lower for option in options], dtype=np.int64)
    highs = np.maximum.accumulate(np.array([option.upper for option in options], dtype=np.int64))
    lower, upper = np.atleast_1d(np.asarray(term.lower)), np.atleast_1d(np.asarray(term.upper))
    # The first option that ends at or above the lower bound must begin at or below the upper one.
    first = np.searchsorted(highs, lower, side="left")
    reached = first < len(lows)
    candidate = lows[np.minimum(first, len(lows) - 1)]
    if truth:
        return reached & (candidate <= upper)
    exact = np.array([option.upper == option.lower for option in options])
    single = (lower == upper) & reached & (candidate == lower)
    answer: Mask = ~(single & exact[np.minimum(first, len(lows) - 1)])
    return answer


def _in_one_by_one(
    term: Bounds, options: Sequence[BoundLiteral], domain: Domain, truth: bool
) -> Mask:
    answers = []
    for option in options:
        low, high = physical_scalar(domain, option.lower), physical_scalar(domain, option.upper)
        if truth:
            answers.append(
                both(b.may_be_at_most(term.lower, high), b.may_be_at_most(low, term.upper))
            )
        else:
            answers.append(either(b.may_differ(term.lower, high), b.may_differ(term.upper, low)))
    return either(*answers) if truth else both(*answers)


def _in_range(term: Bounds, options: Sequence[BoundLiteral], domain: Domain) -> Mask:
    """Whether an option lies in the range, by a binary search of the lower bounds."""
    lows = [option.lower for option in options]
    highs = np.maximum.accumulate(np.array([option.upper for option in options], dtype=object))
    lower = term.lower.to_numpy(zero_copy_only=False) if isinstance(term.lower, pa.Array) else None
    if lower is None:
        return True
    known = np.array([value is not None for value in lower], dtype=np.bool_)
    first = np.zeros(len(lower), dtype=np.int64)
    first[known] = np.searchsorted(highs, lower[known], side="left")
    candidates = pa.array(
        [lows[index] if index < len(lows) else None for index in first], type=domain.arrow_type
    )
    reachable = first < len(lows)
    return both(reachable, b.may_be_at_most(candidates, term.upper))


def may_be(node: BoundExpression, truth: bool, evidence: Sequence[Evidence]) -> Mask:
    """False where the evidence proves that no row of the container gives `truth`.

    Returns one boolean for each container, or one for all of them.
    """
    match node:
        case BoundNot(child=child):
            return may_be(child, not truth, evidence)
        case BoundAnd(children=nodes):
            return _combine(both if truth else either, nodes, truth, evidence)
        case BoundOr(children=nodes):
            return _combine(either if truth else both, nodes, truth, evidence)
        case Constant(truth=possible):
            return (Truth.YES if truth else Truth.NO) in possible
        case Unknown():
            return True
        case _:
            return both(*(source.may_be(node, truth) for source in evidence))


def _combine(
    connective: Callable[..., Mask],
    nodes: Sequence[BoundExpression],
    truth: bool,
    evidence: Sequence[Evidence],
) -> Mask:
    answer = may_be(nodes[0], truth, evidence)
    for node in nodes[1:]:
        answer = connective(answer, may_be(node, truth, evidence))
    return answer


def as_array(mask: Mask, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A mask as an array with one boolean for each of `size` containers."""
    return np.broadcast_to(np.asarray(mask, dtype=np.bool_), (size,))
