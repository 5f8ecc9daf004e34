"""Evidence from Parquet footers: slower to read than an index, but written with the data itself.

Used where a file has no index entry, or none that is trusted (`column_stats`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import DAMAGE_ERRORS, Int64Array
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, Domain, Values
from pyhudi_expr.index.statistics.stored_bounds import FooterColumns, StoredColumn, physical_bounds
from pyhudi_expr.tables.parquet.footer import read_footer
from pyhudi_expr.tables.parsing.budget import REMOTE_THREADS, in_context
from pyhudi_expr.tables.storage import Storage

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_THREADS = 8
_T = TypeVar("_T")


@dataclass(frozen=True)
class Range:
    """The bounds of one column in one footer. None: unknown."""

    lower: Any = None
    upper: Any = None
    may_be_value: bool = True
    may_be_null: bool = True


UNKNOWN = Range()
_NO_ROWS = Range(may_be_value=False, may_be_null=False)
NULLS = Range(may_be_value=False)


def read_bounds(
    storage: Storage, paths: Sequence[str], columns: Sequence[BoundColumn]
) -> list[Bounds]:
    """Read the bounds of each column from M Parquet files; unknown for files that are unreadable.

    Each footer is read once.
    """
    read = functools.partial(_read, storage, columns=columns)
    ranges = _of_each(storage, paths, read)
    return [
        as_bounds([of_file[at] for of_file in ranges], column.domain)
        for at, column in enumerate(columns)
    ]


def read_row_counts(storage: Storage, paths: Sequence[str]) -> Int64Array:
    """Read the number of rows of each of M Parquet files; -1 for files that are unreadable."""
    read = functools.partial(_row_count, storage)
    return np.array(_of_each(storage, paths, read), dtype=np.int64)


def _of_each(storage: Storage, paths: Sequence[str], read: Callable[[str], _T]) -> list[_T]:
    with ThreadPoolExecutor(REMOTE_THREADS if storage.is_remote else _THREADS) as pool:
        return list(pool.map(in_context(read), paths))


@dataclass(frozen=True)
class RowGroupStatistics:
    """Bounds over the row groups of files, in their order (a `Statistics`).

    Attributes:
        footers: The footers of the files.
        unread: Columns whose stored values are not what readers show.
    """

    footers: Sequence[pq.FileMetaData]
    unread: frozenset[str] = frozenset()

    @computed_once
    def columns(self) -> Sequence[FooterColumns | None]:
        """The columns of each file; None if Arrow lacks a type."""
        return [_columns(footer) for footer in self.footers]

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of a column, see `pyhudi_expr.expr.evaluate.Statistics`."""
        if column.name in self.unread:
            return None
        pairs = zip(self.footers, self.columns, strict=True)
        ranges = [one for footer, own in pairs for one in _known_groups(footer, own, column)]
        return as_bounds(ranges, column.domain)


def _columns(footer: pq.FileMetaData) -> FooterColumns | None:
    try:
        return FooterColumns.of(footer)
    except (ValueError, pa.ArrowException):
        return None


def as_bounds(ranges: Sequence[Range], domain: Domain) -> Bounds:
    """Return ranges as bounds over as many files."""
    may_be_value = np.array([r.may_be_value for r in ranges], dtype=np.bool_)
    may_be_null = np.array([r.may_be_null for r in ranges], dtype=np.bool_)
    lower = [r.lower for r in ranges]
    upper = [r.upper for r in ranges]
    if domain.is_ordinal:
        return Bounds(
            np.array([MIN_ORDINAL if v is None else v for v in lower], dtype=np.int64),
            np.array([MAX_ORDINAL if v is None else v for v in upper], dtype=np.int64),
            may_be_value,
            may_be_null,
        )
    type_ = domain.arrow_type
    return Bounds(pa.array(lower, type_), pa.array(upper, type_), may_be_value, may_be_null)


def _row_count(storage: Storage, path: str) -> int:
    try:
        return int(_footer(storage, path).num_rows)
    except (HudiError, *DAMAGE_ERRORS):
        return -1


def _footer(storage: Storage, path: str) -> pq.FileMetaData:
    with storage.open_input(path) as source:
        return read_footer(source, source.size()).metadata


def _read(storage: Storage, path: str, columns: Sequence[BoundColumn]) -> list[Range]:
    try:
        footer = _footer(storage, path)
        own = FooterColumns.of(footer)
    except (HudiError, *DAMAGE_ERRORS):
        # The query that reads the file will report what is wrong with it.
        return [UNKNOWN] * len(columns)
    return [
        functools.reduce(_union, _known_groups(footer, own, column), _NO_ROWS) for column in columns
    ]


def _known_groups(
    footer: pq.FileMetaData, columns: FooterColumns | None, column: BoundColumn
) -> list[Range]:
    if columns is not None:
        with suppress(ValueError, pa.ArrowException):  # if two columns have the name, say
            return group_ranges(footer, columns, column)
    return [UNKNOWN] * footer.num_row_groups


def group_ranges(
    footer: pq.FileMetaData, columns: FooterColumns, column: BoundColumn
) -> list[Range]:
    """Return the range of each row group. Raises ValueError or ArrowException."""
    if column.null_if_absent and columns.lack(column.name):
        return [NULLS] * footer.num_row_groups
    known = StoredColumn.of(footer, columns, column)
    if known is None:
        return [UNKNOWN] * footer.num_row_groups
    groups = range(footer.num_row_groups)
    return chunk_ranges([footer.row_group(group).column(known.position) for group in groups], known)


def chunk_ranges(chunks: Sequence[pq.ColumnChunkMetaData], column: StoredColumn) -> list[Range]:
    """Return the range of each chunk of a column."""
    found = [_counted(chunk) for chunk in chunks]
    bounded = [
        (at, statistics)
        for at, chunk in enumerate(chunks)
        if found[at].may_be_value
        and (statistics := chunk.statistics) is not None
        and statistics.has_min_max
    ]
    if not bounded:
        return found
    lows, has_low = physical_bounds([one.min_raw for _, one in bounded], column, -np.inf)
    highs, has_high = physical_bounds([one.max_raw for _, one in bounded], column, np.inf)
    ends = zip(bounded, _listed(lows), _listed(highs), has_low & has_high, strict=True)
    for (at, _), low, high, is_known in ends:
        if is_known and low <= high:
            # NaN is above all numbers.
            found[at] = replace(found[at], lower=low, upper=None if column.may_be_nan else high)
    return found


def _listed(values: Values) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values


def _counted(chunk: pq.ColumnChunkMetaData) -> Range:
    """Return what the numbers of values and nulls say."""
    if not chunk.num_values:
        return _NO_ROWS
    nulls = null_count(chunk.statistics)
    return Range(may_be_value=nulls != chunk.num_values, may_be_null=nulls != 0)


def null_count(statistics: pq.Statistics | None) -> int | None:
    """Return the number of nulls of a column chunk; None if the footer does not have it."""
    if statistics is None or not statistics.has_null_count:  # type: ignore[attr-defined]
        return None
    return statistics.null_count


def _union(left: Range, right: Range) -> Range:
    """Return a range that holds for the rows of both."""
    may_be_value = left.may_be_value or right.may_be_value
    may_be_null = left.may_be_null or right.may_be_null
    ranges = [r for r in (left, right) if r.may_be_value]
    lowers, uppers = [r.lower for r in ranges], [r.upper for r in ranges]
    return Range(
        None if None in lowers or not ranges else min(lowers),
        None if None in uppers or not ranges else max(uppers),
        may_be_value,
        may_be_null,
    )
