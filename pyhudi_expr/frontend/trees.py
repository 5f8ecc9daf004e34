"""What every frontend needs to build a predicate: flat connectives."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from pyhudi_expr.expr.nodes import (
    And,
    HudiExpression,
    Literal,
    Or,
)

#: Levels below the root that a predicate may have (AND in AND and OR in OR count as one). Binding
#: and evaluation walk a tree recursively.
MAX_DEPTH = 100

TRUE = Literal(True, pa.bool_())


def conjunction(children: Iterable[HudiExpression]) -> HudiExpression:
    """AND of one or more predicates, flat."""
    flat = _flat(children, And)
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(children: Iterable[HudiExpression]) -> HudiExpression:
    """OR of one or more predicates, flat."""
    flat = _flat(children, Or)
    return flat[0] if len(flat) == 1 else Or(flat)


def _flat(
    children: Iterable[HudiExpression], kind: type[And] | type[Or]
) -> tuple[HudiExpression, ...]:
    flat: list[HudiExpression] = []
    for child in children:
        flat.extend(child.children if isinstance(child, kind) else (child,))
    return tuple(flat)
