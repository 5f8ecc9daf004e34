"""Small tables with known rows, and the files that a predicate keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import (
    CharType,
    Column,
    Comparison,
    HudiExpression,
    In,
    Literal,
    Not,
    Op,
    Term,
)
from pyhudi_expr.expr.semantics import Semantics, here
from pyhudi_expr.expr.terms import Scope
from tests.expr.statistics import RecordedStatistics, RowStatistics

X = Column(("x",))
Y = Column(("y",))


def lit(value: Any, type_: pa.DataType | CharType) -> Literal:
    """A literal."""
    return Literal(value, type_)


def eq(left: Term, right: Term) -> Comparison:
    """``left = right``."""
    return Comparison(Op.EQ, left, right)


def less(left: Term, right: Term) -> Comparison:
    """``left < right``."""
    return Comparison(Op.LT, left, right)


def among(term: Term, *options: Literal) -> In:
    """``term IN (options)``."""
    return In(term, options)


def kept(
    predicate: HudiExpression,
    types: pa.DataType | Mapping[str, pa.DataType],
    *files: Sequence[Any],
    zone: str | None = None,
    semantics: Semantics | None = None,
    given: Mapping[tuple[str, int], RecordedStatistics] | None = None,
    absent: frozenset[str] = frozenset(),
) -> list[int]:
    """Indexes of the files that `predicate` keeps.

    types: the type of the only column ``x``, or of each column, those in structs with dots.
    files: values of ``x``, or tuples.
    given, absent: see `RowStatistics`.
    """
    columns = {"x": types} if isinstance(types, pa.DataType) else dict(types)
    single = isinstance(types, pa.DataType)
    rows = [
        [dict(zip(columns, (row,) if single else row, strict=True)) for row in values]
        for values in files
    ]
    bound = bind(predicate, Scope(pa.schema(_fields(columns)), semantics or here(zone)))
    statistics = RowStatistics(rows, given or {}, absent)
    answer = as_array(may_be(bound, True, [StatisticsEvidence(statistics)]), len(files))
    return [index for index, keep in enumerate(answer) if keep]


def _fields(types: Mapping[str, pa.DataType]) -> list[pa.Field]:
    """Columns by name, where a name with dots is of a field in a struct."""
    below: dict[str, dict[str, pa.DataType]] = {}
    for name, type_ in types.items():
        first, _, rest = name.partition(".")
        below.setdefault(first, {})[rest] = type_
    return [
        pa.field(first, found[""] if "" in found else pa.struct(_fields(found)))
        for first, found in below.items()
    ]


def compared(
    type_: pa.DataType, files: list[list[Any]], literal: Literal, zone: str | None = None
) -> tuple[list[int], ...]:
    """Files kept by ``=``, ``<>``, ``<`` and ``>=``."""
    predicates: tuple[HudiExpression, ...] = (
        eq(X, literal),
        Not(eq(X, literal)),
        less(X, literal),
        Not(less(X, literal)),
    )
    return tuple(kept(predicate, type_, *files, zone=zone) for predicate in predicates)
