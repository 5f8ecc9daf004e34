"""Rewrite conditions before they are bound: on a CASE term, and two that are one BETWEEN.

``P(CASE WHEN a THEN x ELSE y END)`` is ``(a is TRUE AND P(x)) OR (a is not TRUE AND P(y))``. The
guards are TRUE or FALSE and never NULL, and exactly one of them is TRUE for a row. So the rewritten
predicate has the value of the original one, below a NOT as well.

Hive's optimizer makes ``x BETWEEN low AND high`` of ``low <= x AND x <= high``
(HivePointLookupOptimizerRule), which its evaluators do not evaluate in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi_expr.expr.nodes import (
    ALWAYS,
    Between,
    Call,
    Case,
    Cast,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Matches,
    Not,
    Op,
    StartsWith,
    Term,
    walk,
)

#: Limits of CASE terms in one condition and of their branches. Beyond them a condition is
#: unknown, as every branch of one is combined with those of the others.
MAX_CHOICES, MAX_BRANCHES = 4, 16


def first_case(term: Term) -> tuple[Term, Case] | None:
    """Return the first CASE in a term, outermost first: its place, and its meaning."""
    match term:
        case Case():
            return term, term
        case Cast(term=inner):
            return first_case(inner)
        case Call(args=args):
            case = _as_case(term)
            if case is not None:
                return term, case
            return next((found for arg in args if (found := first_case(arg))), None)
    return None


def _as_case(call: HudiExpression | Term) -> Case | None:
    """Return the CASE that a function of nulls stands for."""
    match call:
        case Call(name="coalesce" | "nvl" | "ifnull", args=(*first, last)) if first:
            return Case(tuple((Not(IsNull(term)), term) for term in first), last)
        case Call(name="nvl2", args=(condition, given, missing)):
            return Case(((Not(IsNull(condition)), given),), missing)
        case Call(name="nullif", args=(term, other)):
            return Case(((Comparison(Op.EQ, term, other), Literal(None, pa.null())),), term)
    return None


def has_few_branches(leaf: HudiExpression) -> bool:
    """Return whether the condition's CASE terms, with nested ones, are few enough to rewrite."""
    found = [
        case
        for node in walk(leaf)
        if (case := node if isinstance(node, Case) else _as_case(node)) is not None
    ]
    return len(found) <= MAX_CHOICES and sum(len(c.branches) for c in found) <= MAX_BRANCHES


def map_branches(terms: Sequence[Term]) -> Case:
    """Return a CASE of tuples of terms, for what holds for each of them."""
    return Case(tuple((ALWAYS, term) for term in terms[:-1]), terms[-1])


def case_results(choice: Case) -> Iterator[Term]:
    """Return the results of a CASE, those of nested ones too, without untyped NULLs."""
    for term in (*(term for _, term in choice.branches), choice.otherwise):
        nested = first_case(term)
        if nested is not None and nested[0] is term:
            yield from case_results(nested[1])
        elif not (isinstance(term, Literal) and term.type == pa.null()):
            yield term


def substitute(leaf: HudiExpression, old: Term, new: Term) -> HudiExpression:
    """Return the condition with one term replaced by another."""

    def of(term: Term) -> Term:
        """Return the term with replacements."""
        if term is old:
            return new
        match term:
            case Cast(term=inner):
                return replace(term, term=of(inner))
            case Call(args=args):
                return replace(term, args=tuple(map(of, args)))
        return term

    match leaf:
        case Comparison(left=left, right=right):
            return replace(leaf, left=of(left), right=of(right))
        case In(term=term, options=options):
            return replace(leaf, term=of(term), options=tuple(map(of, options)))
        case Between(term=term, low=low, high=high):
            return replace(leaf, term=of(term), low=of(low), high=of(high))
        case StartsWith(term=term) | Matches(term=term):
            return replace(leaf, term=of(term))
        case IsNull(term=term) if isinstance(term, Term):
            return replace(leaf, term=of(term))
    return leaf


@dataclass(frozen=True)
class Ends:
    """Two conditions of an AND, and the BETWEEN that Hive makes of them."""

    lower: HudiExpression
    upper: HudiExpression
    between: Between


def paired_ends(conditions: Sequence[HudiExpression]) -> Sequence[HudiExpression | Ends]:
    """Return the conditions of an AND; two that are the ends of one term are a pair."""
    ends = [_in_order(condition) for condition in conditions]
    if len(ends) - ends.count(None) < 2:
        return conditions
    starting = {pair[0]: index for index, pair in enumerate(ends) if pair}
    found: dict[int, HudiExpression | Ends] = dict(enumerate(conditions))
    for index, pair in enumerate(ends):
        upper = starting.get(pair[1], index) if pair else index
        other = ends[upper]
        if pair and other and upper != index and {index, upper} <= found.keys():
            between = Between(pair[1], pair[0], other[1])
            found[index] = Ends(conditions[index], conditions[upper], between)
            del found[upper]
            ends[index] = None
    return list(found.values())


def _in_order(condition: HudiExpression) -> tuple[Term, Term] | None:
    """Return the terms of ``smaller <= greater``, however it is written."""
    match condition:
        case Comparison(Op.LTEQ, left, right) | Not(Comparison(Op.GT, left, right)):
            return left, right
        case Comparison(Op.GTEQ, left, right) | Not(Comparison(Op.LT, left, right)):
            return right, left
    return None
