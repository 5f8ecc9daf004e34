"""What every frontend needs to build a predicate: flat connectives, conditions as values."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from pyhudi_expr.expr.case_rewrite import has_few_branches
from pyhudi_expr.expr.nodes import And, Case, HudiExpression, Literal, Not, Or, Term, Unknown

#: Levels below the root that a predicate may have (AND in AND and OR in OR count as one). Binding
#: and evaluation walk a tree recursively.
MAX_DEPTH = 100

TRUE, FALSE = Literal(True, pa.bool_()), Literal(False, pa.bool_())
NULL = Literal(None, pa.null())


def conjunction(children: Iterable[HudiExpression]) -> HudiExpression:
    """AND of one or more predicates, flat."""
    flat = _flat(children, And)
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(children: Iterable[HudiExpression]) -> HudiExpression:
    """OR of one or more predicates, flat."""
    flat = _flat(children, Or)
    return flat[0] if len(flat) == 1 else Or(flat)


def as_boolean_term(condition: HudiExpression) -> Term:
    """A condition in a term's place: the boolean that it gives, or NULL.

    The condition is in it twice. One with so many choices that it would not be judged is left out,
    or conditions on conditions on conditions would double with each level.
    """
    if not has_few_branches(condition):
        condition = Unknown("the value of a condition on too many choices")
    return Case(((condition, TRUE), (Not(condition), FALSE)), NULL)


def _flat(
    children: Iterable[HudiExpression], kind: type[And] | type[Or]
) -> tuple[HudiExpression, ...]:
    flat: list[HudiExpression] = []
    for child in children:
        flat.extend(child.children if isinstance(child, kind) else (child,))
    return tuple(flat)
