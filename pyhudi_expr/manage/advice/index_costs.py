"""Estimate what indexes cost: storage, build time, and what each commit adds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.index.lookups.direct_lookups import look_up_bytes
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression
from pyhudi_expr.manage.advice.bloom_samples import FilterSample
from pyhudi_expr.manage.advice.estimates import Candidate
from pyhudi_expr.manage.advice.table_sample import TableSample, location_bytes, secondary_bytes
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
        groups: The file group of each of these rows.
        growth: The factor by which the table will grow.
        filters: The properties of Bloom filters, for candidates of them.
        rows_of_value: The mean number of rows of a value, for each column in an equality.
    """

    sample_files: TableSample
    sample: pa.Table
    groups: Sequence[str]
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
        if candidate.kind == RECORD_INDEX:
            return location_bytes(keys, self.groups)
        return secondary_bytes(self._texts(candidate.columns[0]), keys)

    def _texts(self, name: str) -> list[str]:
        there = name in self.sample.column_names
        if not there or self.sample.column(name).null_count == self.sample.num_rows:
            # Virtual keys are as distinct as the rows.
            return [f"{number:012d}" for number in range(self.sample.num_rows)]
        return [str(value) for value in self.sample.column(name).to_pylist()]
