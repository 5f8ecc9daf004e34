"""Evidence from Parquet footers: slower to read than an index, but written with the data itself.

Used where an index entry is not trusted and, if requested, for tables without `column_stats`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds, Values
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    domain_of,
    exact_decimal,
    float_ordinal,
)
from pyhudi_expr.expr.terms import resolve
from pyhudi_expr.index.statistics.bound_decoding import widen_float32
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.storage import Storage

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_THREADS = 8
#: parquet-mr omits statistics of chunks with NaN; other writers may write finite ones.
_NAN_SAFE_WRITER = "parquet-mr"


@dataclass(frozen=True)
class Range:
    """The bounds of one column in one footer. None: unknown."""

    lower: Any = None
    upper: Any = None
    may_be_value: bool = True
    may_be_null: bool = True


_UNKNOWN = Range()
_NO_ROWS = Range(may_be_value=False, may_be_null=False)


def read_bounds(storage: Storage, paths: Sequence[str], column: BoundColumn) -> Bounds:
    """Read the column's bounds from M Parquet files; unknown for files that cannot be read."""
    with ThreadPoolExecutor(_THREADS) as pool:
        read = functools.partial(_read, storage, column=column)
        ranges = list(pool.map(read, paths))
    return as_bounds(ranges, column.domain)


@dataclass(frozen=True)
class FooterColumns:
    """The columns of a file; to find them takes longer than to read the bounds of one.

    Attributes:
        positions: The place of each leaf in the row groups, by its dotted name; of none that is
            there twice.
    """

    schema: pa.Schema
    positions: Mapping[str, int]

    @staticmethod
    def of(footer: pq.FileMetaData) -> FooterColumns:
        """Return the columns of a footer. Raises ArrowException if Arrow lacks a type."""
        paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
        twice = {path for path, count in Counter(paths).items() if count > 1}
        positions = {path: i for i, path in enumerate(paths) if path not in twice}
        return FooterColumns(footer.schema.to_arrow_schema(), positions)


@dataclass(frozen=True)
class RowGroupStatistics:
    """Bounds over the row groups of files, in their order (a `Statistics`).

    Attributes:
        footers: The footers of the files.
        unread: Columns whose stored values are not what readers show.
    """

    footers: Sequence[pq.FileMetaData]
    unread: frozenset[str] = frozenset()

    @cached_property
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


def _read(storage: Storage, path: str, column: BoundColumn) -> Range:
    import pyarrow.parquet as pq  # on use: most requests read no footer

    try:
        with storage.open_input(path) as source:
            return _range(pq.read_metadata(source), column)
    except (HudiError, OSError, ValueError, pa.ArrowException):
        # The query that reads the file will report what is wrong with it.
        return _UNKNOWN


def _range(footer: pq.FileMetaData, column: BoundColumn) -> Range:
    return functools.reduce(_union, _groups(footer, FooterColumns.of(footer), column), _NO_ROWS)


def _known_groups(
    footer: pq.FileMetaData, columns: FooterColumns | None, column: BoundColumn
) -> list[Range]:
    if columns is not None:
        with suppress(ValueError, pa.ArrowException):  # if the file does not have the column, say
            return _groups(footer, columns, column)
    return [_UNKNOWN] * footer.num_row_groups


def _groups(footer: pq.FileMetaData, columns: FooterColumns, column: BoundColumn) -> list[Range]:
    """Return the range of each row group. Raises ValueError or ArrowException."""
    groups = range(footer.num_row_groups)
    name, type_ = resolve(tuple(column.name.split(".")), columns.schema)
    stored, position = domain_of(type_), columns.positions.get(name)
    if (
        stored is None
        or stored.kind is not column.domain.kind
        or position is None
        or (stored.kind is Kind.FLOAT and not _is_nan_safe(footer))
    ):
        return [_UNKNOWN for _ in groups]
    chunks = [footer.row_group(group).column(position) for group in groups]
    return [
        _chunk_range(chunk, stored, column.domain) if chunk.num_values else _NO_ROWS
        for chunk in chunks
    ]


def _is_nan_safe(footer: pq.FileMetaData) -> bool:
    return (footer.created_by or "").startswith(_NAN_SAFE_WRITER)


def null_count(statistics: pq.Statistics | None) -> int | None:
    """Return the number of nulls of a column chunk; None if the footer does not have it."""
    if statistics is None or not statistics.has_null_count:  # type: ignore[attr-defined]
        return None
    return statistics.null_count


def _chunk_range(chunk: pq.ColumnChunkMetaData, stored: Domain, domain: Domain) -> Range:
    statistics = chunk.statistics
    if statistics is None:
        return _UNKNOWN
    nulls = null_count(statistics)
    may_be_null = nulls != 0
    if nulls == chunk.num_values:
        return Range(may_be_value=False)
    if not statistics.has_min_max:
        return Range(may_be_null=may_be_null)
    lower = _physical(statistics.min_raw, stored, domain, -np.inf)
    upper = _physical(statistics.max_raw, stored, domain, np.inf)
    if lower is None or upper is None or lower > upper:
        return Range(may_be_null=may_be_null)
    return Range(lower, upper, True, may_be_null)


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


def _physical(raw: Values, stored: Domain, domain: Domain, outward: float) -> Values:
    """Return a footer's raw bound in the physical form of the column's domain; None if unknown.

    Args:
        raw: The bound as pyarrow returns it.
        stored: The column's type in the file.
        domain: The column's domain.
        outward: The infinity towards which a bound may be moved.
    """
    match stored.kind:
        case Kind.BOOLEAN | Kind.INTEGER | Kind.DATE:
            return int(raw)
        case Kind.FLOAT:
            value = float(raw)
            if stored.bits < domain.bits:
                value = float(widen_float32(np.array([value]), outward)[0])
            ordinal = float_ordinal(value)
            return None if ordinal == MAX_ORDINAL else ordinal
        case Kind.WALL_CLOCK | Kind.INSTANT:
            if not isinstance(raw, int) or domain.units % stored.units:
                return None
            value = raw * (domain.units // stored.units)
            return value if MIN_ORDINAL < value < MAX_ORDINAL else None
        case Kind.DECIMAL:
            if stored.scale != domain.scale:
                return None
            unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
            return unscaled if domain.is_ordinal else exact_decimal(unscaled, domain.scale)
        case Kind.TEXT | Kind.BINARY:
            return bytes(raw)
