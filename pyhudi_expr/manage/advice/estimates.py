"""Estimate what candidate indexes would save a query, and what they cost.

Bounds are exact: footers have the bounds that `column_stats` would have. The locations of a value's
rows are estimated: as many rows as the column has for a value on average, spread at random over the
files whose bounds include it (the model in `index.costs`, which queries use as well). Rare values
are estimated well. For clustered values (a day's values in a day's files) the estimate is too high.
An index that a query would not use, because it costs more than the files, saves nothing. A Bloom
filter is estimated likewise, with its false positives (`table_sample`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
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
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.expr.evaluate import StatisticsEvidence
from pyhudi_expr.expr.nodes import Op
from pyhudi_expr.index.lookups.bloom_filters import MOST_FILES
from pyhudi_expr.index.lookups.direct_lookups import look_up_bytes
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression, MatchingCalls
from pyhudi_expr.index.planner import LookupCost, RemainingRead, slices_hit
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.manage.advice.table_sample import (
    FilterSample,
    ResultRanges,
    SampledRows,
    TableSample,
    indexable_expression,
    location_bytes,
    secondary_bytes,
)
from pyhudi_expr.manage.indexing.build_options import LEAST_KEY_SHARDS
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    RECORD_INDEX,
    RECORD_KEY,
    SECONDARY_INDEX,
)

#: Seconds on two cores in a running Spark session (docs/benchmarks.md, index-builds
#: and query-path): for a file's footer, for one of its columns, for a row.
_SECONDS_OF_FILE, _SECONDS_OF_FILE_COLUMN, _SECONDS_OF_ROW = 1e-3, 1e-4, 4e-6
#: For a byte of a filter, nearly all of it for its compression.
_SECONDS_OF_FILTER_BYTE = 1e-7
_START_SECONDS = 3.0
#: From index-builds: bytes of a file's entry for one column.
_BYTES_OF_FILE_COLUMN = 94.0


@dataclass(frozen=True)
class IndexCosts:
    """The costs of an index.

    A secondary index of a table without a record index includes that one's.

    Attributes:
        storage: Bytes, with the growth.
        build_seconds: Seconds on two cores, without Spark's start.
        bytes_of_row: Bytes that a commit adds for each row that it writes.
        bytes_of_file: Bytes that a commit adds for each file that it writes.
        first_bytes: Bytes of the index that a new process reads at most to answer one equality: the
            blocks of a value and of the keys of its rows, or one filter for each file, or for
            ranges all of them. An index that builds here have certified needs no more.
    """

    storage: int
    build_seconds: float
    bytes_of_row: float
    bytes_of_file: float
    first_bytes: int


def build_seconds(candidate: Candidate, files: int, rows: int) -> float:
    """Estimate the seconds to build an index of a table with so many base files and rows."""
    if candidate.kind == COLUMN_STATS and candidate.function == IDENTITY:
        each = _SECONDS_OF_FILE + len(candidate.columns) * _SECONDS_OF_FILE_COLUMN
        return _START_SECONDS + files * each
    return _START_SECONDS + rows * _SECONDS_OF_ROW


def filter_seconds(filters: FilterSample, files: int, rows: int) -> float:
    """Estimate the seconds to build an index of Bloom filters."""
    each = _SECONDS_OF_FILE + filters.text_bytes * _SECONDS_OF_FILTER_BYTE
    of_values = rows * _SECONDS_OF_ROW if filters.are_built else 0.0
    return _START_SECONDS + files * each + of_values


@dataclass(frozen=True)
class CostModel:
    """Estimates the costs of indexes on one table.

    Attributes:
        sample: Some of its rows.
        growth: The factor by which the table will grow.
        filters: The properties of Bloom filters, for candidates of them.
        rows_of_value: The mean number of rows of a value, for each column in an equality.
    """

    sample_files: TableSample
    sample: SampledRows
    growth: float
    filters: Mapping[Candidate, FilterSample]
    rows_of_value: Mapping[Expression, float]

    def costs(self, candidate: Candidate, there: Set[str]) -> IndexCosts:
        """Estimate the costs of a candidate.

        Args:
            candidate: The candidate.
            there: The kinds of indexes that exist by then. An index of values includes that of keys
                if it is missing.
        """
        files, rows = self.sample_files.listing.num_files, self.sample_files.rows
        if candidate.kind == BLOOM_FILTERS:
            filters, bases = self.filters[candidate], self.sample_files.base_files
            storage = math.ceil(bases * filters.file_bytes * self.growth)
            seconds = filter_seconds(filters, bases, rows)
            return IndexCosts(storage, seconds, 0.0, filters.footer_bytes, storage)
        seconds = build_seconds(candidate, files, rows)
        if candidate.kind == COLUMN_STATS:
            # Results of a function are indexed for base files only.
            files = files if candidate.function == IDENTITY else self.sample_files.base_files
            each = _BYTES_OF_FILE_COLUMN * len(candidate.columns)
            storage = math.ceil(files * each * self.growth)
            return IndexCosts(storage, seconds, 0.0, each, storage)
        each = self._bytes_of_row(candidate)
        if candidate.kind == SECONDARY_INDEX and not there & {RECORD_INDEX, SECONDARY_INDEX}:
            keys = Candidate(RECORD_INDEX, ())
            seconds += build_seconds(keys, files, rows) - _START_SECONDS
            each += self._bytes_of_row(keys)
        whole = self.read_bytes(candidate) * self.growth
        first = math.ceil(look_up_bytes(1.0 + self._rows_of_value(candidate), whole))
        return IndexCosts(math.ceil(rows * each * self.growth), seconds, each, 0.0, first)

    def read_bytes(self, candidate: Candidate) -> float:
        """Estimate the bytes of the whole index today, with the indexes that it needs."""
        each = self._bytes_of_row(candidate)
        if candidate.kind == SECONDARY_INDEX:
            each += self._bytes_of_row(Candidate(RECORD_INDEX, ()))
        return self.sample_files.rows * each

    def _rows_of_value(self, candidate: Candidate) -> float:
        """Return the number of keys that are looked up for one value; 0 for a key."""
        if candidate.kind == RECORD_INDEX:
            return 0.0
        return self.rows_of_value.get(candidate.expression, 1.0)

    def _bytes_of_row(self, candidate: Candidate) -> float:
        keys = self._texts(RECORD_KEY)
        # Each HFile has as many rows of a file as one of the index has.
        shards = max(round(self.sample.share * LEAST_KEY_SHARDS), 1)
        if candidate.kind == RECORD_INDEX:
            return location_bytes(keys, self.sample.places, shards)
        return secondary_bytes(self._texts(candidate.columns[0]), keys, shards)

    def _texts(self, name: str) -> list[str]:
        rows = self.sample.rows
        if name not in rows.column_names or rows.column(name).null_count == rows.num_rows:
            # Virtual keys are as distinct as the rows.
            return [f"{number:012d}" for number in range(rows.num_rows)]
        return [str(value) for value in rows.column(name).to_pylist()]


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
