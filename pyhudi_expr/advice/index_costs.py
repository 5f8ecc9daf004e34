"""What indexes cost: their storage, the time to build them, what each commit adds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import pyarrow as pa

from pyhudi_expr.advice.bloom_samples import FilterSample
from pyhudi_expr.advice.estimates import Candidate
from pyhudi_expr.advice.table_sample import TableSample, location_bytes, secondary_bytes
from pyhudi_expr.index.lookups.expression_index import IDENTITY
from pyhudi_expr.index.lookups.secondary_index import TYPE as SECONDARY_INDEX
from pyhudi_expr.index.row_counts import RECORD_KEY
from pyhudi_expr.mdt.store.metadata_table import BLOOM_FILTERS, COLUMN_STATS, RECORD_INDEX

#: Measured on two cores in a Spark session that has run before (docs/benchmarks.md, index-builds
#: and query-path): seconds for a file's footer, for one of its columns, for a row.
_SECONDS_OF_FILE, _SECONDS_OF_FILE_COLUMN, _SECONDS_OF_ROW = 1e-3, 1e-4, 4e-6
#: For a byte of a filter, nearly all of it for its compression.
_SECONDS_OF_FILTER_BYTE = 1e-7
_START_SECONDS = 3.0
#: Of index-builds: a file's entry for one column.
_BYTES_OF_FILE_COLUMN = 94.0


@dataclass(frozen=True)
class IndexCosts:
    """What an index costs. storage: bytes, with the growth; build_seconds: on two cores, Spark's
    start not counted. A secondary index of a table without a record index has that one's, too.

    bytes_of_row, bytes_of_file: what each commit adds for a row and for a file that it writes.
    """

    storage: int
    build_seconds: float
    bytes_of_row: float
    bytes_of_file: float


def build_seconds(candidate: Candidate, files: int, rows: int) -> float:
    """Of a table with so many base files and rows."""
    if candidate.kind == COLUMN_STATS and candidate.function == IDENTITY:
        each = _SECONDS_OF_FILE + len(candidate.columns) * _SECONDS_OF_FILE_COLUMN
        return _START_SECONDS + files * each
    return _START_SECONDS + rows * _SECONDS_OF_ROW


def filter_seconds(filters: FilterSample, files: int, rows: int) -> float:
    """The same of filters."""
    each = _SECONDS_OF_FILE + filters.text_bytes * _SECONDS_OF_FILTER_BYTE
    of_values = rows * _SECONDS_OF_ROW if filters.are_made else 0.0
    return _START_SECONDS + files * each + of_values


@dataclass(frozen=True)
class CostModel:
    """Of indexes on one table. sample: some of its rows; groups: the file group of each; growth:
    how many times as large the table will be; filters: of candidates that are such.
    """

    looked: TableSample
    sample: pa.Table
    groups: Sequence[str]
    growth: float
    filters: Mapping[Candidate, FilterSample]

    def costs(self, candidate: Candidate, there: Set[str]) -> IndexCosts:
        """there: the kinds of indexes that the table has by then; one of values builds the one of
        keys where there is none.
        """
        files, rows = self.looked.listing.num_files, self.looked.rows
        if candidate.kind == BLOOM_FILTERS:
            filters, bases = self.filters[candidate], self.looked.base_files
            storage = math.ceil(bases * filters.file_bytes * self.growth)
            seconds = filter_seconds(filters, bases, rows)
            return IndexCosts(storage, seconds, 0.0, filters.written_bytes)
        seconds = build_seconds(candidate, files, rows)
        if candidate.kind == COLUMN_STATS:
            # What a function gives is known of base files alone.
            files = files if candidate.function == IDENTITY else self.looked.base_files
            each = _BYTES_OF_FILE_COLUMN * len(candidate.columns)
            return IndexCosts(math.ceil(files * each * self.growth), seconds, 0.0, each)
        each = self._bytes_of_row(candidate)
        if candidate.kind == SECONDARY_INDEX and not there & {RECORD_INDEX, SECONDARY_INDEX}:
            keys = Candidate(RECORD_INDEX, ())
            seconds += build_seconds(keys, files, rows) - _START_SECONDS
            each += self._bytes_of_row(keys)
        return IndexCosts(math.ceil(rows * each * self.growth), seconds, each, 0.0)

    def read_bytes(self, candidate: Candidate) -> float:
        """What reading all of an index takes today; one of values needs that of keys, too."""
        each = self._bytes_of_row(candidate)
        if candidate.kind == SECONDARY_INDEX:
            each += self._bytes_of_row(Candidate(RECORD_INDEX, ()))
        return self.looked.rows * each

    def _bytes_of_row(self, candidate: Candidate) -> float:
        keys = self._texts(RECORD_KEY)
        if candidate.kind == RECORD_INDEX:
            return location_bytes(keys, self.groups)
        return secondary_bytes(self._texts(candidate.columns[0]), keys)

    def _texts(self, name: str) -> list[str]:
        there = name in self.sample.column_names
        if not there or self.sample.column(name).null_count == self.sample.num_rows:
            # Virtual keys are as different as the rows are.
            return [f"{number:012d}" for number in range(self.sample.num_rows)]
        return [str(value) for value in self.sample.column(name).to_pylist()]
