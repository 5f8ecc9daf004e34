"""Build predicates: flat connectives, conditions as values."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from pyhudi_expr.expr.nodes import And, Case, HudiExpression, Literal, Not, Or, Term, Unknown
from pyhudi_expr.expr.rewrites import has_few_branches

#: Limit of levels below the root of a predicate (nested AND, or nested OR, count as one).
#: Binding and evaluation are recursive.
MAX_DEPTH = 100

TRUE, FALSE = Literal(True, pa.bool_()), Literal(False, pa.bool_())
NULL = Literal(None, pa.null())


def conjunction(children: Iterable[HudiExpression]) -> HudiExpression:
    """Return a flat AND of one or more predicates."""
    flat = _flat(children, And)
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(children: Iterable[HudiExpression]) -> HudiExpression:
    """Return a flat OR of one or more predicates."""
    flat = _flat(children, Or)
    return flat[0] if len(flat) == 1 else Or(flat)


def as_boolean_term(condition: HudiExpression) -> Term:
    """Return a condition as a term: its boolean, or NULL.

    The condition is in it twice. A condition with too many CASE terms is replaced by an unknown
    one, or nested conditions would double with each level.
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


def rows_equal(fields: Iterable[HudiExpression]) -> HudiExpression:
    """Return equality of rows: all fields are equal; engines differ for NULLs."""
    return conjunction((*fields, Unknown("rows with a NULL among their fields")))
