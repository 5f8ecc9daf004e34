"""SQL's logic, exhaustively: every small tree of its connectives, over every small file.

`make test` takes a seventh of the largest trees, `make test-long` all.

A tree has at most three connectives in depth, and three leaves. A file has one or two rows of three
columns, each NULL, 0 or 1. Nothing is random. A file may be dropped only if none of its rows has
the requested truth value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.common.constants import (
    FALSE,
    NULL,
    TRUE,
    as_boolean_term,
    conjunction,
    disjunction,
)
from pyhudi_expr.expr.frontend.common.functions import as_condition, call, is_null
from pyhudi_expr.expr.nodes import (
    Between,
    Case,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Term,
)
from pyhudi_expr.expr.terms import Scope

#: The value of a condition for each row: 0 is FALSE, 1 TRUE, 2 NULL.
Truths = npt.NDArray[np.int8]
F, T, N = 0, 1, 2

COLUMNS = ("a", "b", "c")
SCHEMA = pa.schema({name: pa.int32() for name in COLUMNS})
ROWS = list(product((None, 0, 1), repeat=len(COLUMNS)))
FILES = [(row,) for row in range(len(ROWS))]
FILES += list(combinations_with_replacement(range(len(ROWS)), 2))
#: Which rows are in which file.
MEMBERS = np.zeros((len(FILES), len(ROWS)), dtype=np.int32)
for _file, _rows in enumerate(FILES):
    MEMBERS[_file, list(_rows)] = 1


class _Exact:
    """The bounds of each column over the files (`pyhudi_expr.expr.evaluate.Statistics`)."""

    def bounds(self, column: BoundColumn) -> Bounds:
        return _bounds(COLUMNS.index(column.name))


@lru_cache
def _bounds(position: int) -> Bounds:
    cells = [[ROWS[row][position] for row in rows] for rows in FILES]
    values = [[cell for cell in of_file if cell is not None] for of_file in cells]
    return Bounds(
        np.array([min(of_file, default=MIN_ORDINAL) for of_file in values]),
        np.array([max(of_file, default=MAX_ORDINAL) for of_file in values]),
        np.array([bool(of_file) for of_file in values]),
        np.array([None in of_file for of_file in cells]),
    )


EVIDENCE = [StatisticsEvidence(_Exact())]


@dataclass(frozen=True)
class Tree:
    """A condition: as text, as the front ends convert it, and its truth values by SQL's rules."""

    text: str
    node: HudiExpression
    truths: Truths


@dataclass(frozen=True)
class Connective:
    """A condition composed of others. text: with a placeholder for each."""

    text: str
    build: Callable[..., HudiExpression]
    truths: Callable[..., Truths]

    def of(self, *trees: Tree) -> Tree:
        """The condition with these operands."""
        return Tree(
            self.text.format(*(f"({tree.text})" for tree in trees)),
            self.build(*(tree.node for tree in trees)),
            self.truths(*(tree.truths for tree in trees)),
        )


def _flags(mask: npt.NDArray[np.bool_]) -> Truths:
    return mask.astype(np.int8)


def _and(left: Truths, right: Truths) -> Truths:
    known = np.where((left == T) & (right == T), T, N)
    return np.where((left == F) | (right == F), F, known).astype(np.int8)


def _not(truths: Truths) -> Truths:
    return np.where(truths == N, N, 1 - truths).astype(np.int8)


def _or(left: Truths, right: Truths) -> Truths:
    return _not(_and(_not(left), _not(right)))


def _equal(left: Truths, right: Truths) -> Truths:
    return np.where((left == N) | (right == N), N, left == right).astype(np.int8)


def _if(condition: Truths, when_true: Truths, no: Truths) -> Truths:
    return np.where(condition == T, when_true, no).astype(np.int8)


def _nullif(left: Truths, right: Truths) -> Truths:
    return np.where(_equal(left, right) == T, N, left).astype(np.int8)


def _nulls(truths: Truths) -> Truths:
    return np.full_like(truths, N)


def _is(name: str) -> Callable[[HudiExpression], HudiExpression]:
    return lambda node: as_condition(call(name, (as_boolean_term(node),)))


def _compared(op: Op) -> Callable[..., HudiExpression]:
    return lambda left, right: Comparison(op, as_boolean_term(left), as_boolean_term(right))


def _called(name: str) -> Callable[..., HudiExpression]:
    return lambda *nodes: as_condition(call(name, tuple(map(as_boolean_term, nodes))))


def _case(condition: HudiExpression, when_true: Term, no: Term) -> HudiExpression:
    return Comparison(Op.EQ, Case(((condition, when_true),), no), TRUE)


UNARY = [
    Connective("NOT {}", Not, _not),
    Connective("{} IS NULL", IsNull, lambda t: _flags(t == N)),
    Connective("{} IS TRUE", _is("istrue"), lambda t: _flags(t == T)),
]
DERIVED = [
    Connective(
        "{} IS NOT NULL", lambda n: Not(is_null(as_boolean_term(n))), lambda t: _flags(t != N)
    ),
    Connective("{} IS NOT TRUE", _is("isnottrue"), lambda t: _flags(t != T)),
    Connective("{} IS FALSE", _is("isfalse"), lambda t: _flags(t == F)),
    Connective("{} IS NOT FALSE", _is("isnotfalse"), lambda t: _flags(t != F)),
    Connective(
        "CASE WHEN {} THEN 1 ELSE 0 END = 1",
        lambda p: Comparison(Op.EQ, Case(((p, _number(1)),), _number(0)), _number(1)),
        lambda t: _flags(t == T),
    ),
    Connective("coalesce({}, false)", lambda p: _called_with(p, FALSE), lambda t: _flags(t == T)),
    Connective("coalesce({}, true)", lambda p: _called_with(p, TRUE), lambda t: _flags(t != F)),
    Connective("{} <=> NULL", lambda p: _safe_equal(p, NULL), lambda t: _flags(t == N)),
    Connective("{} = true", lambda p: Comparison(Op.EQ, as_boolean_term(p), TRUE), lambda t: t),
    Connective("{} <=> false", lambda p: _safe_equal(p, FALSE), lambda t: _flags(t == F)),
]
BINARY = [
    Connective("{} AND {}", lambda *nodes: conjunction(nodes), _and),
    Connective("{} OR {}", lambda *nodes: disjunction(nodes), _or),
    Connective("{} = {}", _compared(Op.EQ), _equal),
    Connective("{} <> {}", _compared(Op.NE), lambda p, q: _not(_equal(p, q))),
    Connective("{} <=> {}", _compared(Op.NULL_SAFE_EQ), lambda p, q: _flags(p == q)),
    Connective("coalesce({}, {})", _called("coalesce"), lambda p, q: _if(_flags(p != N), p, q)),
    Connective("nullif({}, {})", _called("nullif"), _nullif),
    Connective(
        "CASE WHEN {} THEN {} END",
        lambda p, q: _case(p, as_boolean_term(q), NULL),
        lambda p, q: _if(p, q, _nulls(q)),
    ),
]
TERNARY = [
    Connective(
        "if({}, {}, {})", lambda p, q, r: _case(p, as_boolean_term(q), as_boolean_term(r)), _if
    ),
]
LEAVES_AT_MOST = 3
#: A connective and the shapes below it; empty for a leaf.
Shape: TypeAlias = tuple[Any, ...]
_ONE: Shape = ()


def _number(value: int | None) -> Literal:
    return Literal(value, pa.int32())


def _called_with(node: HudiExpression, default: Term) -> HudiExpression:
    return as_condition(call("coalesce", (as_boolean_term(node), default)))


def _safe_equal(node: HudiExpression, other: Term) -> HudiExpression:
    return Comparison(Op.NULL_SAFE_EQ, as_boolean_term(node), other)


def _cells(name: str) -> npt.NDArray[np.int64]:
    """A column's values, -1 for NULL."""
    return np.array([-1 if row[COLUMNS.index(name)] is None else row[COLUMNS.index(name)]
                     for row in ROWS])  # fmt: skip


def _compared_cells(
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    holds: Callable[..., npt.NDArray[np.bool_]],
) -> Truths:
    return np.where((left < 0) | (right < 0), N, holds(left, right)).astype(np.int8)


A, B, C = (Column((name,)) for name in COLUMNS)


def _is_one(column: Column) -> Tree:
    name = column.path[0]
    truths = _compared_cells(_cells(name), np.ones(len(ROWS), dtype=np.int64), np.equal)
    return Tree(f"{name} = 1", Comparison(Op.EQ, column, _number(1)), truths)


def _inner_leaves() -> list[Tree]:
    a, b, c = map(_cells, COLUMNS)
    nothing, zero = np.full(len(ROWS), -1), np.zeros(len(ROWS), dtype=np.int64)

    def between(low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> Truths:
        return _and(_compared_cells(low, a, np.less_equal), _compared_cells(a, high, np.less_equal))

    among = _or(_compared_cells(a, zero, np.equal), _compared_cells(a, nothing, np.equal))
    columns = _or(_compared_cells(a, b, np.equal), _compared_cells(a, c, np.equal))
    null = _number(None)
    return [
        Tree("a BETWEEN b AND c", Between(A, B, C), between(b, c)),
        Tree("a BETWEEN b AND 0", Between(A, B, _number(0)), between(b, zero)),
        Tree("a BETWEEN NULL AND c", Between(A, null, C), between(nothing, c)),
        Tree("a BETWEEN 0 AND NULL", Between(A, _number(0), null), between(zero, nothing)),
        Tree("a IN (0, NULL)", In(A, (_number(0), null)), among),
        Tree("a IN (b, c)", In(A, (B, C)), columns),
        Tree("a < b", Comparison(Op.LT, A, B), _compared_cells(a, b, np.less)),
        Tree("a <=> b", Comparison(Op.NULL_SAFE_EQ, A, B), _flags(a == b)),
        Tree("a IS NULL", IsNull(A), _flags(a < 0)),
    ]


SIMPLE = [_is_one(A), _is_one(B), _is_one(C)]
LEAVES = [*SIMPLE, *_inner_leaves()]


def _shapes(depth: int, unary: Sequence[Connective]) -> dict[int, list[Shape]]:
    """Trees without leaves, of at most this depth, by their number of leaves."""
    if depth == 0:
        return {1: [_ONE]}
    below = _shapes(depth - 1, unary)
    found = {leaves: [one for shape in below.get(leaves, ()) for one in _under(unary, shape)]
             for leaves in range(1, LEAVES_AT_MOST + 1)}  # fmt: skip
    found[1].append(_ONE)
    for first, second in ((1, 1), (1, 2), (2, 1)):
        pairs = product(BINARY, below.get(first, ()), below.get(second, ()))
        found[first + second] += [(connective, *both) for connective, *both in pairs]
    found[3] += list(product(TERNARY, *[below[1]] * 3))
    return found


def _under(unary: Sequence[Connective], shape: Shape) -> Iterator[Shape]:
    return ((connective, shape) for connective in unary)


def _with_leaves(shape: Shape, leaves: Iterator[Tree]) -> Tree:
    """The tree of a shape, its leaves from left to right."""
    if not shape:
        return next(leaves)
    connective, *below = shape
    return connective.of(*(_with_leaves(one, leaves) for one in below))


def lost(trees: Iterable[Tree]) -> list[str]:
    """The trees that drop a file (or exclude it under NOT) that has such a row."""
    found, scope = [], Scope(SCHEMA)
    for tree in trees:
        bound = bind(tree.node, scope)
        for truth in (True, False):
            kept = as_array(may_be(bound, truth, EVIDENCE), len(FILES))
            holds_row = MEMBERS[:, tree.truths == (T if truth else F)].any(axis=1)
            if (holds_row & ~kept).any():
                file = FILES[int(np.flatnonzero(holds_row & ~kept)[0])]
                found.append(f"{tree.text}: {truth} for {[ROWS[row] for row in file]}")
    return found


def _with_three_leaves(shapes: Iterable[Shape], places: str) -> Iterator[Tree]:
    simple = dict(zip(COLUMNS, SIMPLE, strict=True))
    return (_with_leaves(shape, iter([simple[place] for place in places])) for shape in shapes)


def test_no_row_is_lost_by_every_nineteenth_tree_of_three_leaves() -> None:
    """The next test takes all of them."""
    shapes = [shape for of_leaves in _shapes(3, UNARY).values() for shape in of_leaves]
    found = lost(_with_three_leaves(shapes[::19], "abc"))
    assert not found, found[:5]


#: Assignments of leaves to positions, except for renamings of leaves.
@pytest.mark.long
@pytest.mark.parametrize("places", ["abc", "aaa", "aab", "aba", "abb"])
def test_no_row_is_lost_by_any_tree_of_three_leaves(places: str) -> None:
    shapes = _shapes(3, UNARY)
    assert len(shapes[3]) > 30_000
    found = lost(_with_three_leaves((one for some in shapes.values() for one in some), places))
    assert not found, found[:5]


@pytest.mark.parametrize("place", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("leaf", LEAVES, ids=[leaf.text for leaf in LEAVES])
def test_no_row_is_lost_by_any_tree_with_one_leaf(leaf: Tree, place: int) -> None:
    shapes = _shapes(2, [*UNARY, *DERIVED])
    leaves = ((leaf, SIMPLE[1], leaf), (SIMPLE[2], leaf, leaf))[place]
    trees = (_with_leaves(shape, iter(leaves)) for shape in (*shapes[1], *shapes[2]))
    found = lost(trees)
    assert not found, found[:5]


def test_a_mask_of_one_answer_holds_for_every_file() -> None:
    for one in (False, np.False_, np.array([False])):
        assert as_array(one, 3).tolist() == [False, False, False]
    assert as_array(np.array([True, False]), 2).tolist() == [True, False]
    with pytest.raises(ValueError, match="broadcast"):
        as_array(np.array([True, False]), 3)
