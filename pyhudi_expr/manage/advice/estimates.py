"""Estimate what candidate indexes would save a query.

Bounds are exact: footers have the bounds that `column_stats` would have. The locations of a value's
rows are estimated: as many rows as the column has for a value on average, spread at random over the
files whose bounds include it (the model in `index.costs`, which queries use as well). Rare values
are estimated well. For clustered values (a day's values in a day's files) the estimate is too high.
An index that a query would not use, because it costs more than the files, saves nothing. A Bloom
filter is estimated likewise, with its false positives (`bloom_samples`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundLiteral,
    columns,
)
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.evaluate import StatisticsEvidence
from pyhudi_expr.expr.nodes import Op
from pyhudi_expr.index.costs import LookupCost, RemainingRead, slices_hit
from pyhudi_expr.index.lookups.bloom_filters import MOST_FILES
from pyhudi_expr.index.lookups.direct_lookups import look_up_bytes
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression, MatchingCalls
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.manage.advice.bloom_samples import FilterSample
from pyhudi_expr.manage.advice.expression_ranges import ResultRanges, indexable_expression
from pyhudi_expr.tables.hudi_names import BLOOM_FILTERS, COLUMN_STATS, RECORD_INDEX


@dataclass(frozen=True, order=True)
class Candidate:
    """An index that the table does not have.

    Attributes:
        columns: Its columns; empty for record keys.
        function: The function whose results it is over.
    """

    kind: str
    columns: tuple[str, ...]
    function: str = IDENTITY

    @staticmethod
    def over(kind: str, expression: Expression) -> Candidate:
        """Return a candidate over a column, or over a function's results for it."""
        return Candidate(kind, (expression.column,), expression.function)

    @property
    def expression(self) -> Expression:
        """The expression of an index over one column."""
        return Expression(self.function, self.columns[0])


@dataclass(frozen=True)
class ExpectedRead:
    """The files and bytes that a query is expected to read."""

    files: float
    bytes: float


@dataclass(frozen=True)
class FooterBounds:
    """Bounds from footers (a `Statistics`)."""

    known: Mapping[str, Bounds]

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of a column, see `pyhudi_expr.expr.evaluate.Statistics`."""
        return self.known.get(column.name)


@dataclass(frozen=True)
class WhatIf:
    """One query as it is pruned today, with estimates for candidates.

    Attributes:
        rows_of_value: Mean number of rows per value, for each expression in an equality.
        key: The record key, if it is one column.
        read_bytes: The bytes of a whole look-up index, with the indexes that it needs.
        filters: The properties of Bloom filters.
    """

    today: PruneResult
    footers: FooterBounds
    ranges: Mapping[Expression, ResultRanges]
    rows_of_value: Mapping[Expression, float]
    key: Expression | None
    read_bytes: Mapping[Candidate, float]
    filters: Mapping[Candidate, FilterSample]

    def read(self, chosen: Sequence[Candidate]) -> ExpectedRead:
        """Estimate what the query would read with these indexes and the existing ones."""
        stats = [each for each in chosen if each.kind == COLUMN_STATS]
        plain = {name for each in stats if each.function == IDENTITY for name in each.columns}
        result = self._with_bounds(plain) if plain else self.today
        within = self._within(
            result, [each.expression for each in stats if each.function != IDENTITY]
        )
        left = RemainingRead(result.files_kept * within, result.bytes_kept * within)
        factor = min([within, *self._shares(result, left, chosen)])
        return ExpectedRead(result.files_kept * factor, result.bytes_kept * factor)

    def _with_bounds(self, names: set[str]) -> PruneResult:
        known = {name: bounds for name, bounds in self.footers.known.items() if name in names}
        return self.today.with_evidence(StatisticsEvidence(FooterBounds(known)))

    def _within(self, result: PruneResult, expressions: Sequence[Expression]) -> float:
        """Return the share of the sampled files that ranges of functions' results leave."""
        found = []
        slices = np.zeros(len(result.keep), np.bool_)
        for each in expressions:
            calls = MatchingCalls.of(each, result.predicate, str(each))
            if calls is not None:
                found.append(calls.evidence(self.ranges[each].bounds))
                slices[self.ranges[each].slices] = True
        before = np.count_nonzero(result.keep & slices)
        if not before:
            return 1.0
        return float(np.count_nonzero(result.with_evidence(*found).keep & slices) / before)

    def _where(self, result: PruneResult, expression: Expression) -> float:
        """Return the number of files whose bounds include the requested values."""
        if expression.function != IDENTITY:
            return result.files_kept * self._within(result, [expression])
        if expression.column not in self.footers.known:
            return result.files_kept
        return min(self._with_bounds({expression.column}).files_kept, result.files_kept)

    def _shares(
        self, result: PruneResult, left: RemainingRead, chosen: Sequence[Candidate]
    ) -> Iterator[float]:
        """Return, for each look-up index that the query would use, the share of files found."""
        for each in chosen:
            expression = each.expression if each.columns else self.key
            if each.kind == COLUMN_STATS or expression is None:
                continue
            values = equality_terms(self.today.predicate).get(expression, 0)
            if not values:
                continue
            if each.kind == BLOOM_FILTERS and left.slices > MOST_FILES:
                continue
            rows = values * (self.rows_of_value[expression] if each.columns else 1.0)
            read = self._look_up_bytes(each, values, rows, left)
            if not LookupCost(read, values).is_worth(left):
                continue
            hit = slices_hit(rows, max(min(self._where(result, expression), left.slices), 1))
            if each.kind == BLOOM_FILTERS:
                hit = self.filters[each].kept(hit, left.slices, values)
            yield hit / max(result.files_kept, 1)

    def _look_up_bytes(
        self, candidate: Candidate, values: int, rows: float, left: RemainingRead
    ) -> float:
        if candidate.kind == BLOOM_FILTERS:
            return self.filters[candidate].file_bytes * left.slices
        # Values are looked up, and then their rows' keys in the record index.
        looked_up = values if candidate.kind == RECORD_INDEX else values + rows
        return look_up_bytes(looked_up, self.read_bytes[candidate])


def equality_terms(predicate: BoundExpression) -> dict[Expression, int]:
    """Return the columns, and functions of them, that equalities hold to constants.

    Returns:
        The number of constants for each.
    """
    parts = predicate.children if isinstance(predicate, BoundAnd) else (predicate,)
    found: dict[Expression, int] = {}
    for part in parts:
        match part:
            case (
                BoundComparison(op=Op.EQ | Op.NULL_SAFE_EQ, left=term, right=BoundLiteral())
                | BoundComparison(op=Op.EQ | Op.NULL_SAFE_EQ, left=BoundLiteral(), right=term)
            ):
                count = 1
            case BoundIn(term=term, options=options):
                count = len(options)
            case _:
                continue
        expression = indexable_expression(term)
        if expression is not None:
            found[expression] = min(found.get(expression, count), count)
    return found


def columns_without_bounds(result: PruneResult) -> Iterator[BoundColumn]:
    """Return the predicate's columns without bounds in any index."""
    for column in columns(result.predicate).values():
        sources = (source.evidence for source in result.evidence)
        known = (
            evidence.known(column)
            for evidence in sources
            if isinstance(evidence, StatisticsEvidence)
        )
        if not any(mask is not None and np.any(mask) for mask in known):
            yield column
