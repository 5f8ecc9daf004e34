"""What candidates for indexes would save a query, and what they cost.

Bounds are no guess: footers say what `column_stats` would. Where the rows of a value lie is one: as
many rows as the column has for a value on average, spread at random over the files whose bounds
admit it (`index.costs`, by which queries choose among indexes, too). So rare values are judged
well, and values that lie close together (a day's in a day's files) come out as read from more
files than they are. An index that a query would not ask, as it is dearer than the files, saves it
nothing. A Bloom filter tells as much, but for the values that seem to be in it (`filters`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.advice.bloom_samples import FilterSample
from pyhudi_expr.advice.expression_ranges import ResultRanges, indexable_expression
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
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression, MatchingCalls
from pyhudi_expr.index.lookups.record_index import look_up_bytes
from pyhudi_expr.mdt.store.metadata_table import BLOOM_FILTERS, COLUMN_STATS, RECORD_INDEX
from pyhudi_expr.prune import PruneResult


@dataclass(frozen=True, order=True)
class Candidate:
    """An index that the table has not. columns: none for one of record keys; function: that it is
    over the results of.
    """

    kind: str
    columns: tuple[str, ...]
    function: str = IDENTITY

    @staticmethod
    def over(kind: str, expression: Expression) -> Candidate:
        """One of a column, or of a function's results for it."""
        return Candidate(kind, (expression.column,), expression.function)

    @property
    def expression(self) -> Expression:
        """What an index of one column is over."""
        return Expression(self.function, self.columns[0])


@dataclass(frozen=True)
class ExpectedRead:
    """What a query would read: files and bytes, expected ones."""

    files: float
    bytes: float


@dataclass(frozen=True)
class FooterBounds:
    """Bounds by footers (a `Statistics`)."""

    known: Mapping[str, Bounds]

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """See `pyhudi_expr.expr.evaluate.Statistics`."""
        return self.known.get(column.name)


@dataclass(frozen=True)
class WhatIf:
    """One query as it is answered today. rows_of_value: the rows that a value has on average, for
    what is asked for equality; key: the record key, if it is one column; read_bytes: what the
    whole of an index of keys or values takes, with what it needs; filters: what those of a Bloom
    index are like.
    """

    today: PruneResult
    footers: FooterBounds
    ranges: Mapping[Expression, ResultRanges]
    rows_of_value: Mapping[Expression, float]
    key: Expression | None
    read_bytes: Mapping[Candidate, float]
    filters: Mapping[Candidate, FilterSample]

    def read(self, chosen: Sequence[Candidate]) -> ExpectedRead:
        """What would be read with these indexes besides those that there are."""
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
        """The share of the files left that ranges of functions' results leave, by the files that
        were looked into.
        """
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
        """How many of the files the bounds of what is asked for admit it in."""
        if expression.function != IDENTITY:
            return result.files_kept * self._within(result, [expression])
        if expression.column not in self.footers.known:
            return result.files_kept
        return min(self._with_bounds({expression.column}).files_kept, result.files_kept)

    def _shares(
        self, result: PruneResult, left: RemainingRead, chosen: Sequence[Candidate]
    ) -> Iterator[float]:
        """For each index of places that the query would ask, the share of the files that hold what
        is asked for.
        """
        for each in chosen:
            of = each.expression if each.columns else self.key
            if each.kind == COLUMN_STATS or of is None:
                continue
            values = equality_terms(self.today.predicate).get(of, 0)
            if not values:
                continue
            if each.kind == BLOOM_FILTERS and left.slices > MOST_FILES:
                continue
            if not LookupCost(self._look_up_bytes(each, values, left), values).is_worth(left):
                continue
            rows = values * (self.rows_of_value[of] if each.columns else 1.0)
            hit = slices_hit(rows, max(min(self._where(result, of), left.slices), 1))
            if each.kind == BLOOM_FILTERS:
                hit = self.filters[each].kept(hit, left.slices, values)
            yield hit / max(result.files_kept, 1)

    def _look_up_bytes(self, candidate: Candidate, values: int, left: RemainingRead) -> float:
        if candidate.kind == BLOOM_FILTERS:
            return self.filters[candidate].file_bytes * left.slices
        whole = self.read_bytes[candidate]
        return look_up_bytes(values, whole) if candidate.kind == RECORD_INDEX else whole


def equality_terms(predicate: BoundExpression) -> dict[Expression, int]:
    """The columns, and functions of them, that have to be one of some constants, with how many
    these are.
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
        of = indexable_expression(term)
        if of is not None:
            found[of] = min(found.get(of, count), count)
    return found


def columns_without_bounds(result: PruneResult) -> Iterator[BoundColumn]:
    """The predicate's columns of which no index knows bounds of any file."""
    for column in columns(result.predicate).values():
        sources = (source.evidence for source in result.evidence)
        known = (
            evidence.known(column)
            for evidence in sources
            if isinstance(evidence, StatisticsEvidence)
        )
        if not any(mask is not None and np.any(mask) for mask in known):
            yield column
