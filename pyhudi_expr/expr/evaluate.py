"""Evaluate which containers may hold a row for which a bound predicate is TRUE.

The rules are in the contract of `pyhudi_expr.expr`. A leaf is evaluated by every source of
evidence, and excluded if any of them excludes it. The connectives combine the leaves' results. One
call evaluates all containers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, Mask, arrow_array, arrow_list
from pyhudi_expr.expr import domains as b
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundCall,
    BoundColumn,
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
from pyhudi_expr.expr.domains import (
    Bounds,
    Kind,
    Ordinals,
    Values,
    mask_and,
    mask_or,
    physical_scalar,
)
from pyhudi_expr.expr.nodes import Constant, Op, Truth, Unknown


class Evidence(Protocol):
    """The evidence of one index about N containers."""

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """Return False where it proves that `leaf` is `truth` for no row, else True."""


class Statistics(Protocol):
    """A source of bounds: column_stats, partition_stats, footers, partition values."""

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of a column in its domain's physical form; None if there are none."""


class DerivedStatistics(ABC):
    """Bounds that are made when they are asked for, for some containers as well."""

    @abstractmethod
    def bounds(self, column: BoundColumn) -> Bounds | None:
        """See `Statistics`."""

    @abstractmethod
    def at(self, containers: Int64Array) -> DerivedStatistics:
        """Return the bounds of some containers, given by their positions."""


class StatisticsEvidence:
    """Evidence from bounds."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._terms: dict[BoundTerm, Bounds] = {}

    def at(self, containers: Int64Array) -> StatisticsEvidence:
        """Return the evidence about some of the containers, given by their positions."""
        statistics = self._statistics
        if isinstance(statistics, DerivedStatistics):
            return StatisticsEvidence(statistics.at(containers))
        return StatisticsEvidence(_BoundsAt(statistics, containers))

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """Evaluate a leaf by bounds, see `Evidence`."""
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
            case BoundMatches(term=term, begin=begin, whole=whole):
                # Imported on use: few predicates have patterns.
                from pyhudi_expr.expr.functions.texts import may_match

                bounds = self._bounds(term)
                return mask_and(bounds.may_be_value, not truth or may_match(bounds, begin, whole))

    def known(self, column: BoundColumn) -> Mask | None:
        """Return which containers have a bound, or only nulls; None if the column has no bounds."""
        found = self._statistics.bounds(column)
        if found is None:
            return None
        return mask_or(b.is_known(found), b.mask_not(found.may_be_value))

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of a column over the containers; None if there are none."""
        return self._statistics.bounds(column)

    def _bounds(self, term: BoundTerm) -> Bounds:
        if isinstance(term, BoundLiteral):
            return self._derive(term)
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
            case BoundCall(function=function, args=args):
                return function(*(self._bounds(arg) for arg in args))

    def _comparison(self, leaf: BoundComparison, truth: bool) -> Mask:
        left, right = self._bounds(leaf.left), self._bounds(leaf.right)
        answer = self._compare(leaf.op, left, right, truth)
        if truth or leaf.left.domain.kind is not Kind.FLOAT:
            return answer
        return mask_or(answer, _may_compare_nan(left, right))

    def _compare(self, op: Op, left: Bounds, right: Bounds, truth: bool) -> Mask:
        values = mask_and(left.may_be_value, right.may_be_value)
        match op, truth:
            case (Op.LT, True):
                return mask_and(values, b.may_be_less(left.lower, right.upper))
            case (Op.LT, False):
                return mask_and(values, b.may_be_at_most(right.lower, left.upper))
            case (Op.LTEQ, True):
                return mask_and(values, b.may_be_at_most(left.lower, right.upper))
            case (Op.LTEQ, False):
                return mask_and(values, b.may_be_less(right.lower, left.upper))
            case (Op.EQ, True):
                return mask_and(values, self._may_equal(left, right))
            case (Op.EQ, False):
                return mask_and(values, self._may_differ(left, right))
            case (Op.NULL_SAFE_EQ, True):
                nulls = mask_and(left.may_be_null, right.may_be_null)
                return mask_or(mask_and(values, self._may_equal(left, right)), nulls)
            case (Op.NULL_SAFE_EQ, False):
                nulls = mask_or(left.may_be_null, right.may_be_null)
                return mask_or(mask_and(values, self._may_differ(left, right)), nulls)
        return True

    @staticmethod
    def _may_equal(left: Bounds, right: Bounds) -> Mask:
        return mask_and(
            b.may_be_at_most(left.lower, right.upper), b.may_be_at_most(right.lower, left.upper)
        )

    @staticmethod
    def _may_differ(left: Bounds, right: Bounds) -> Mask:
        # Equal crosswise bounds leave one single value for both sides.
        return mask_or(b.may_differ(left.lower, right.upper), b.may_differ(left.upper, right.lower))

    def _in(self, leaf: BoundIn, truth: bool) -> Mask:
        term = self._bounds(leaf.term)
        option, found = _first_option(leaf, term.lower)
        if truth:
            answer = mask_and(found, b.may_be_at_most(option.lower, term.upper))
            return mask_and(term.may_be_value, answer)
        answer = mask_and(term.may_be_value, mask_or(~found, self._may_differ(term, option)))
        if leaf.term.domain.kind is not Kind.FLOAT:
            return answer
        return mask_or(answer, _may_compare_nan(term, option))

    def _starts_with(self, leaf: BoundStartsWith, truth: bool) -> Mask:
        term = self._bounds(leaf.term)
        prefix = physical_scalar(leaf.term.domain, leaf.prefix)
        successor = physical_scalar(leaf.term.domain, leaf.successor)
        if truth:
            inside = mask_and(
                b.may_be_at_most(prefix, term.upper), b.may_be_less(term.lower, successor)
            )
            return mask_and(term.may_be_value, inside)
        outside = mask_or(
            b.may_be_less(term.lower, prefix), b.may_be_at_most(successor, term.upper)
        )
        return mask_and(term.may_be_value, outside)


def _may_compare_nan(left: Bounds, right: Bounds) -> Mask:
    """Return whether NaN may be compared: some engines then return FALSE for every operator."""
    nan = mask_or(b.may_be_nan(left), b.may_be_nan(right))
    return mask_and(left.may_be_value, right.may_be_value, nan)


def _first_option(leaf: BoundIn, lower: Values) -> tuple[Bounds, np.bool_ | BoolArray]:
    """Return for each container the first option that ends at or above its lower bound, if any.

    If this option begins above the container's upper bound, no other option can match.
    """
    last = len(leaf.options) - 1
    begins, finishes = leaf.ends
    if leaf.term.domain.is_ordinal:
        index = np.searchsorted(finishes, cast(Ordinals, lower), side="left")
        within = np.minimum(index, last)
        return Bounds(begins[within], finishes[within]), index <= last
    type_ = leaf.term.domain.arrow_type
    if isinstance(lower, pa.Scalar):
        single = int(_search(finishes, arrow_list([lower.as_py()], type_))[0])
        nearest = min(single, last)
        return Bounds(begins[nearest], finishes[nearest]), np.bool_(single <= last)
    index = _search(finishes, cast("AnyArray", lower))
    within = np.minimum(index, last)
    return Bounds(
        begins.take(arrow_array(within)), finishes.take(arrow_array(within))
    ), index <= last


def _search(ends: AnyArray, values: AnyArray) -> Int64Array:
    """Return ``numpy.searchsorted`` (left) for Arrow arrays, all values at once; 0 for null."""
    low = np.zeros(len(values), dtype=np.int64)
    high = np.full(len(values), len(ends), dtype=np.int64)
    for _ in range(len(ends).bit_length()):
        middle = (low + high) // 2
        searching = low < high
        compared = ends.take(arrow_array(np.minimum(middle, len(ends) - 1)))
        reached = np.asarray(b.may_be_at_most(values, compared))
        high = np.where(searching & reached, middle, high)
        low = np.where(searching & ~reached, middle + 1, low)
    return low


@dataclass(frozen=True)
class _BoundsAt:
    """The bounds of some containers (a `Statistics`)."""

    statistics: Statistics
    containers: Int64Array

    def bounds(self, column: BoundColumn) -> Bounds | None:
        found = self.statistics.bounds(column)
        if found is None:
            return None
        ends = (found.lower, found.upper, found.may_be_value, found.may_be_null)
        return Bounds(*(self._chosen(end) for end in ends))

    def _chosen(self, values: Values) -> Values:
        if isinstance(values, np.ndarray) and values.ndim:
            return values[self.containers]
        is_array = isinstance(values, pa.Array | pa.ChunkedArray)
        return values.take(pa.array(self.containers)) if is_array else values


@dataclass(frozen=True)
class _MasksAt:
    """The results of evidence for some containers (an `Evidence`)."""

    evidence: Evidence
    containers: Int64Array

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        found = self.evidence.may_be(leaf, truth)
        return found[self.containers] if isinstance(found, np.ndarray) and found.ndim else found


def evidence_at(evidence: Evidence, containers: Int64Array) -> Evidence:
    """Return evidence about some of its containers only, given by their positions."""
    if isinstance(evidence, StatisticsEvidence):
        return evidence.at(containers)
    return _MasksAt(evidence, containers)


class MemoizedEvidence:
    """Evidence that is evaluated once for each leaf of one predicate. Not thread safe."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        # Holding the leaves ensures that their ids are not reused.
        self._masks: dict[tuple[int, bool], tuple[Leaf, Mask]] = {}

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """Return the cached result, see `Evidence`."""
        known = self._masks.get((id(leaf), truth))
        if known is None:
            known = self._masks[id(leaf), truth] = leaf, self._evidence.may_be(leaf, truth)
        return known[1]


def may_be(node: BoundExpression, truth: bool, evidence: Sequence[Evidence]) -> Mask:
    """Return False where the evidence proves that `node` is `truth` for no row of the container.

    Returns:
        One boolean for each container, or one for all of them.
    """
    match node:
        case BoundNot(child=child):
            return may_be(child, not truth, evidence)
        case BoundAnd(children=nodes):
            return _combine(mask_and if truth else mask_or, nodes, truth, evidence)
        case BoundOr(children=nodes):
            return _combine(mask_or if truth else mask_and, nodes, truth, evidence)
        case Constant(truth=possible):
            return (Truth.YES if truth else Truth.NO) in possible
        case Unknown():
            return True
        case _:
            return mask_and(*[source.may_be(node, truth) for source in evidence])


def _combine(
    connective: Callable[..., Mask],
    nodes: Sequence[BoundExpression],
    truth: bool,
    evidence: Sequence[Evidence],
) -> Mask:
    decided = connective is mask_or
    answer = may_be(nodes[0], truth, evidence)
    for node in nodes[1:]:
        if answer is decided:
            break
        answer = connective(answer, may_be(node, truth, evidence))
    return answer


def is_impossible(node: BoundExpression, truth: bool) -> bool:
    """Return whether `node` is `truth` for no row, whatever the containers hold."""
    return not as_array(may_be(node, truth, ()), 1)[0]


def as_array(mask: Mask, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return a mask as an array with one boolean for each of `size` containers."""
    given: np.ndarray[Any, np.dtype[np.bool_]] = np.asarray(mask, dtype=np.bool_)
    # A copy, as a broadcast view would make every later operation 20 times slower.
    return given if given.shape == (size,) else np.full(size, given)
