"""Decide whether pyarrow may prune row groups of a dataset by a filter, without losing a row.

Parquet's statistics do not count NaN, and have one zero where floats have two. pyarrow trusts
them: a row group whose bounds are 5 and 5 is skipped for `d <> 5`, even if it holds NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyField
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Column,
    Comparison,
    HudiExpression,
    Literal,
    Op,
    Or,
    Term,
    Unknown,
    walk,
)

#: TRUE neither for NaN nor for only one of the zeros.
_BLIND = frozenset({Op.EQ, Op.LT, Op.LTEQ, Op.GT, Op.GTEQ})


def footers_suffice(predicate: HudiExpression, compared: Sequence[str], schema: pa.Schema) -> bool:
    """Return whether pyarrow's statistics lose no row for which a predicate is TRUE.

    Args:
        predicate: The predicate.
        compared: The top-level columns that it reads.
        schema: The schema of the rows.
    """
    floats = {name.lower() for name in compared if _has_floats(schema.field(name))}
    return not floats or _suffice(predicate, floats)


def _suffice(node: HudiExpression, floats: set[str]) -> bool:
    match node:
        case And(children=nodes) | Or(children=nodes):
            return all(_suffice(child, floats) for child in nodes)
        case Comparison(op=op, left=left, right=right) if op in _BLIND:
            terms: tuple[Term, ...] = (left, right)
        case Between(term=term, low=low, high=high):
            terms = (term, low, high)
        case _:
            parts = list(walk(node))
            is_known = not any(isinstance(part, Unknown) for part in parts)
            return is_known and not any(
                isinstance(part, Column) and part.path[0].lower() in floats for part in parts
            )
    # A function may be TRUE for NaN, or for one of the zeros.
    return all(isinstance(term, Column) or _is_number(term) for term in terms)


def _is_number(term: Term) -> bool:
    return isinstance(term, Literal) and not (isinstance(term.value, float) and isnan(term.value))


def counted_by_rows(filter: pc.Expression) -> pc.Expression:
    """Return the same filter, for which pyarrow counts rows by evaluating it.

    If a row group's bounds satisfy a filter, pyarrow counts all its rows, those with NaN as well. A
    random number, which is never negative, keeps it from concluding that.
    """
    number = pc.Expression._call("random", [], pc.RandomOptions(initializer=0))
    return filter & (number >= pc.scalar(0.0))


def _has_floats(field: AnyField) -> bool:
    type_ = field.type
    if pa.types.is_floating(type_):
        return True
    return any(_has_floats(type_.field(i)) for i in range(type_.num_fields))
