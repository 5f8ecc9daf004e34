"""Filter rows by the rules of pruning, where pyarrow cannot: a row is a container of one value.

The rules say where a predicate may be TRUE, and where it may be something else. A row that may be
both is refused: a rule is not exact for it, as of texts that engines read in different ways.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

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
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import MIN_ORDINAL, Kind, physical_array
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import HudiExpression, IsNull, Not, Or
from pyhudi_expr.expr.render import render
from pyhudi_expr.expr.semantics import Semantics
from pyhudi_expr.expr.terms import Scope

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
