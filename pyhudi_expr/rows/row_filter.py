"""Filter rows: each part of a predicate by pyarrow, or by the rules of pruning where it cannot.

For the rules a row is a container of one value. They say where a predicate may be TRUE, and where
it may be something else. A row that may be both is refused: a rule is not exact for it, as of texts
that engines read in different ways.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray
from pyhudi_expr.errors import FilterNotApplicable
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundColumn,
    BoundExpression,
    BoundOr,
    columns,
    unknown_reasons,
)
from pyhudi_expr.expr.domains import MIN_ORDINAL, Bounds, Kind, physical_array
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import And, HudiExpression, IsNull, Not, Or
from pyhudi_expr.expr.render import render
from pyhudi_expr.expr.semantics import Engine, Semantics, UnknownZoneError, here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.rows.arrow_filter import arrow_filter

_AT_ONCE = 1 << 16
"""Rows that are evaluated at once."""


@dataclass(frozen=True)
class EvaluatedFilter:
    """A predicate that is evaluated for each row.

    Attributes:
        matches: TRUE for the rows to return.
        others: TRUE for all others.
    """

    matches: BoundExpression
    others: BoundExpression

    @staticmethod
    def of(predicate: HudiExpression, schema: pa.Schema, semantics: Semantics) -> EvaluatedFilter:
        """Return a predicate as an engine evaluates it in a query that begins now.

        Raises:
            FilterNotApplicable: The rules know no single value of a part of the predicate.
        """
        scope = Scope(schema, replace(semantics, now=time.time_ns() // 1000))
        matches = bind(predicate, scope)
        for reason in unknown_reasons(matches, lambda _: True):
            raise FilterNotApplicable(f"rows cannot be filtered: {reason}")
        return EvaluatedFilter(matches, bind(Or((Not(predicate), IsNull(predicate))), scope))

    def both(self, other: EvaluatedFilter) -> EvaluatedFilter:
        """Return the filter of rows for which both predicates are TRUE."""
        return EvaluatedFilter(
            BoundAnd((self.matches, other.matches)), BoundOr((self.others, other.others))
        )

    def rows(self, rows: pa.Table) -> pa.Table:
        """Return the rows for which the predicate is TRUE.

        Args:
            rows: Rows of the schema.

        Raises:
            FilterNotApplicable: It is not certain of a row.
        """
        found = [self._of_batch(batch) for batch in rows.to_batches(max_chunksize=_AT_ONCE)]
        return pa.Table.from_batches(found, rows.schema)

    def _of_batch(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        kept = rows.filter(pa.array(_may_be(self.matches, rows)))
        uncertain = np.flatnonzero(_may_be(self.others, kept))
        if len(uncertain):
            row = RowValues(kept.slice(int(uncertain[0]), 1))
            shown = {name: row.values(name)[0].as_py() for name in columns(self.matches)}
            raise FilterNotApplicable(
                f"rows cannot be filtered: it is not certain whether {render(self.matches)} is "
                f"TRUE for {shown!s:.200}"
            )
        return kept


def _may_be(predicate: BoundExpression, rows: pa.RecordBatch) -> BoolArray:
    return as_array(may_be(predicate, True, [StatisticsEvidence(RowValues(rows))]), rows.num_rows)


@dataclass(frozen=True)
class RowValues:
    """N rows as N containers, of which each has one value of a column (a `Statistics`)."""

    rows: pa.RecordBatch

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the values of a column as bounds of themselves; NaN has none."""
        values = self.values(column.name)
        lower = upper = physical_array(values, column.domain)
        if column.domain.kind is Kind.FLOAT:  # engines compare NaN in several ways
            lower = np.where(pc.is_nan(values).fill_null(False), MIN_ORDINAL, lower)
        is_value = np.asarray(values.is_valid())
        return Bounds(lower, upper, is_value, ~is_value)

    def values(self, name: str) -> AnyArray:
        """Return the values of a column, or of a field in one."""
        if name in self.rows.schema.names:
            return self.rows.column(name)
        first, *path = name.split(".")
        return pc.struct_field(self.rows.column(first), path)


_Part = TypeVar("_Part", pc.Expression, EvaluatedFilter)


@dataclass(frozen=True)
class RowFilter:
    """What is to hold for a row.

    Attributes:
        arrow: What pyarrow evaluates; None: nothing.
        evaluated: What the rules of pruning evaluate; None: nothing.
    """

    arrow: pc.Expression | None = None
    evaluated: EvaluatedFilter | None = None

    def both(self, other: RowFilter) -> RowFilter:
        """Return what holds if this filter and another do."""
        return RowFilter(
            _joined(and_, self.arrow, other.arrow),
            _joined(EvaluatedFilter.both, self.evaluated, other.evaluated),
        )

    def rows(self, rows: pa.Table) -> pa.Table:
        """Return the rows for which the filter holds.

        Raises:
            FilterNotApplicable: It cannot be evaluated for a row.
        """
        if self.arrow is not None:
            try:
                rows = rows.filter(self.arrow)
            except (pa.ArrowException, ValueError) as error:  # for example, an overflow
                raise FilterNotApplicable(f"rows cannot be filtered: {error}") from error
        return rows if self.evaluated is None else self.evaluated.rows(rows)


def _joined(
    join: Callable[[_Part, _Part], _Part], one: _Part | None, other: _Part | None
) -> _Part | None:
    if one is None or other is None:
        return one if other is None else other
    return join(one, other)


def row_filter(
    predicate: HudiExpression, schema: pa.Schema, zone: str | None, engine: Engine
) -> RowFilter:
    """Return a filter of the rows of a table. pyarrow filters by what it can, as it is faster.

    Args:
        predicate: The predicate.
        schema: The schema of the rows.
        zone: The time zone in which instants are shown as wall clocks.
        engine: The engine whose rows are wanted.

    Raises:
        FilterNotApplicable: A part of the predicate cannot filter rows.
        UnknownColumn: The schema lacks a column of the predicate.
    """
    parts = predicate.children if isinstance(predicate, And) else (predicate,)
    found = [_by_arrow(part, schema, zone, engine) for part in parts]
    arrows = [one for one in found if isinstance(one, pc.Expression)]
    refused = {
        part: one for part, one in zip(parts, found, strict=True) if isinstance(one, Exception)
    }
    evaluated = None
    if refused:
        try:
            evaluated = EvaluatedFilter.of(And(tuple(refused)), schema, here(zone, engine))
        except (FilterNotApplicable, UnknownZoneError) as error:
            raise next(iter(refused.values())) from error
    return RowFilter(reduce(and_, arrows) if arrows else None, evaluated)


def _by_arrow(
    part: HudiExpression, schema: pa.Schema, zone: str | None, engine: Engine
) -> pc.Expression | FilterNotApplicable:
    """Return the filter of pyarrow, or why it has none."""
    try:
        return arrow_filter(part, schema, zone, engine)
    except FilterNotApplicable as refusal:
        return refusal
