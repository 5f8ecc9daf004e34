"""What a predicate says of the columns of a secondary index over several columns.

Such an index knows the values that one row has in all of its columns, and it is sorted by them. So
equalities on the first column, or on the first two, and so on, name adjacent entries. They have to
be of one conjunction, which is TRUE only for rows that make each part TRUE: values of different
rows are never put together. AND below OR is looked up by itself; what is below NOT, and OR below
AND, says nothing of the conjunction.

What is found is evidence about one leaf of the conjunction: a slice without a row of these values
has none for which the whole conjunction is TRUE, so there it does not matter what the leaf is. That
holds only if the leaf occurs nowhere else in the predicate, as sources are asked leaf by leaf.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundExpression,
    BoundIsNull,
    BoundNot,
    BoundOr,
    Leaf,
    walk,
)
from pyhudi_expr.expr.nodes import Constant, Unknown
from pyhudi_expr.tables.mdt.bytes.keys import composite_value

MOST_COMBINATIONS = 1000
"""Of the values of several columns; of more, fewer columns are looked up."""

ValuesOf = Callable[[Leaf, str], Sequence[bytes] | None]
"""The values, written as in the index, that a leaf holds a column to; None if it does not."""

_Held = tuple[Leaf, Sequence[bytes | None]]


@dataclass(frozen=True)
class CompositeLookup:
    """A look-up that a conjunction implies.

    Attributes:
        leaf: The leaf of the conjunction that the evidence is about.
        beginnings: Of values in the index (`mdt.bytes.keys.composite_value`): each row that makes
            the conjunction TRUE has one of them. None is the beginning of another one.
    """

    leaf: Leaf
    beginnings: tuple[bytes, ...]


def composite_lookups(
    predicate: BoundExpression, fields: Sequence[str], values_of: ValuesOf
) -> list[CompositeLookup]:
    """Return what an index can look up: one look-up for each conjunction with values for it.

    Args:
        predicate: The bound predicate.
        fields: The columns of the index, in its order.
        values_of: See `ValuesOf`.
    """
    occurrences = Counter(id(node) for node in walk(predicate))
    found = []
    for conjunction in _conjunctions(predicate):
        run = _leading_run(conjunction, fields, values_of)
        leaf = next((leaf for leaf, _ in reversed(run) if occurrences[id(leaf)] == 1), None)
        if leaf is not None:
            combinations = itertools.product(*(values for _, values in run))
            beginnings = dict.fromkeys(map(composite_value, combinations))
            found.append(CompositeLookup(leaf, tuple(beginnings)))
    return found


def _conjunctions(node: BoundExpression) -> Iterator[list[Leaf]]:
    """Return the leaves of each conjunction that excludes a file if it cannot be TRUE."""
    match node:
        case BoundOr(children=nodes):
            for child in nodes:
                yield from _conjunctions(child)
        case BoundAnd():
            parts = list(_parts(node))
            yield [part for part in parts if not isinstance(part, BoundOr)]
            for part in parts:
                if isinstance(part, BoundOr):
                    yield from _conjunctions(part)
        case BoundNot() | Constant() | Unknown():
            return
        case _:
            yield [node]


def _parts(node: BoundExpression) -> Iterator[Leaf | BoundOr]:
    match node:
        case BoundAnd(children=nodes):
            for child in nodes:
                yield from _parts(child)
        case BoundNot() | Constant() | Unknown():
            return
        case _:
            yield node


def _leading_run(leaves: Sequence[Leaf], fields: Sequence[str], values_of: ValuesOf) -> list[_Held]:
    """Return the leaves and values of as many of the first columns as can be looked up."""
    run: list[_Held] = []
    for field in fields:
        held = [
            (leaf, values)
            for leaf in leaves
            if (values := _values(leaf, field, values_of)) is not None
        ]
        if not held:
            break
        # Each of several equalities on a column is sufficient.
        run.append(min(held, key=lambda one: len(one[1])))
        if len(run) > 1 and math.prod(len(values) for _, values in run) > MOST_COMBINATIONS:
            return run[:-1]
    return run


def _values(leaf: Leaf, field: str, values_of: ValuesOf) -> Sequence[bytes | None] | None:
    found = values_of(leaf, field)
    # A text that is a NUL is no null here, other than in an index over one column.
    return [None] if found is not None and isinstance(leaf, BoundIsNull) else found
