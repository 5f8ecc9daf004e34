"""Choose for each part of a predicate what filters rows by it: pyarrow, or the rules of pruning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.errors import FilterNotApplicable
from pyhudi_expr.expr.nodes import And, HudiExpression
from pyhudi_expr.expr.semantics import Engine, here
from pyhudi_expr.expr.zones import UnknownZoneError
from pyhudi_expr.rows.arrow_filter import arrow_filter
from pyhudi_expr.rows.evaluated_filter import EvaluatedFilter

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
