"""Summarize the statistics of each column over all files, for a planner, not for proofs.

Minimum and maximum hold for every row as the files were written. Where log files may have replaced
rows they are wider than necessary, and so are null counts. Where they are marked as attained they
are the results of ``min`` and ``max``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Values,
    domain_of,
    exact_decimal,
    floats_of,
)
from pyhudi_expr.index.partition_values import PartitionValues
from pyhudi_expr.index.row_counts import UNKNOWN, Counts
from pyhudi_expr.index.statistics.bound_decoding import WRAPPED_DECIMAL_SCALE
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.column_stats import ColumnStats
from pyhudi_expr.index.statistics.entry_source import ListedEntries
from pyhudi_expr.index.statistics.statistics_decoding import decode
from pyhudi_expr.tables.listing import FileListing

#: Types that cannot distinguish neighbouring values have fewer distinct values.
_COUNTABLE = frozenset({Kind.INTEGER, Kind.DATE, Kind.BOOLEAN})
#: Types whose statistics are values of rows: texts may be truncated, floats may be NaN.
_EXACT = frozenset({*_COUNTABLE, Kind.DECIMAL, Kind.WALL_CLOCK, Kind.INSTANT})


@dataclass(frozen=True)
class ColumnSummary:
    """A summary of one column of a table's files. None: unknown.

    Attributes:
        nulls: Number of rows in which it is NULL.
        least: No value is less. Integers, floats, Decimals and bytes (UTF-8 for text), dates as
            days and timestamps in the domain's units.
        greatest: No value is greater.
        distinct: Estimated number of distinct values.
        length: Mean bytes of a text or binary value.
        kept_by_equality: Mean share of the files that an equality with a value of the column keeps.
        attained: Whether `least` and `greatest` are values of rows that a scan returns.
    """

    column: BoundColumn
    nulls: int | None = None
    least: Any = None
    greatest: Any = None
    distinct: int | None = None
    length: float | None = None
    kept_by_equality: float | None = None
    attained: bool = False


def column_summaries(
    stats: ColumnStats | None,
    values: PartitionValues,
    listing: FileListing,
    rows: Counts | None,
    schema: pa.Schema,
    most_entries: int,
) -> list[ColumnSummary]:
    """Summarize each column that has an order, as far as there are statistics.

    Args:
        stats: The `column_stats`.
        values: The partition values.
        listing: The files.
        rows: Rows of each slice at most, `UNKNOWN` where unknown. None: unknown for all slices.
        schema: The table's schema.
        most_entries: Limit of entries to read. Beyond it only partition columns are summarized.

    Raises:
        HudiError: The index cannot be read.
    """
    if not listing.num_files:
        return []
    counts = np.full(listing.num_slices, UNKNOWN, np.int64) if rows is None else rows
    columns = [
        BoundColumn(field.name, field.type, domain)
        for field in schema
        if (domain := domain_of(field.type)) is not None
    ]
    affordable = listing.num_files * len(columns) <= most_entries
    found = []
    for column in columns:
        of_partitions = values.bounds(column)
        if of_partitions is not None and _is_known(of_partitions, column.domain).all():
            found.append(_partition_summary(column, of_partitions, listing, counts))
        elif stats is not None and stats.entries is not None and affordable:
            found.append(_entry_summary(column, stats.entries, listing, counts))
    return found


def _partition_summary(
    column: BoundColumn, bounds: Bounds, listing: FileListing, rows: Counts
) -> ColumnSummary:
    """Summarize a partition column: each of a partition's files has its value."""
    ranks = _ranks(bounds.lower)
    _, files = np.unique(ranks[listing.file_partition], return_counts=True)
    may_have_rows = np.zeros(len(ranks), np.bool_)
    may_have_rows[listing.slice_partition[rows != 0]] = True
    if not may_have_rows.any():
        return ColumnSummary(column, nulls=0)
    least, greatest = _extremes(bounds, may_have_rows, column.domain)
    return ColumnSummary(
        column,
        nulls=0,
        least=least,
        greatest=greatest,
        distinct=len(np.unique(ranks)),
        length=_length(bounds, column.domain),
        kept_by_equality=float((files**2).sum() / len(listing.file_partition) ** 2),
        # Log files may have deleted all rows of a partition.
        attained=not ((rows < 0).any() or listing.file_is_log.any()),
    )


def _entry_summary(
    column: BoundColumn, read: ListedEntries, listing: FileListing, rows: Counts
) -> ColumnSummary:
    store = ColumnBounds(listing.num_files, column.domain)
    nulls = np.full(listing.num_files, -1, np.int64)
    exact = _is_exact(column.domain) and not listing.file_is_log.any()
    for positions, entries in read.every(column.name):
        decoded = decode(entries, column, listing.file_is_log[positions])
        exact = exact and not decoded.doubted.any()
        store.put(positions, decoded.bounds)
        nulls[positions] = entries.null_count
    bounds = store.bounds()
    has_rows = (rows != 0)[listing.file_slice]
    base = has_rows & ~listing.file_is_log
    known = _is_known(bounds, column.domain)
    has_values = has_rows & bounds.may_be_value
    counted = bool(base.any() and (nulls[base] >= 0).all())
    if (has_values & ~known).any() or not has_values.any():
        return ColumnSummary(column, nulls=int(nulls[base].sum()) if counted else None)
    least, greatest = _extremes(bounds, has_values, column.domain)
    return ColumnSummary(
        column,
        nulls=int(nulls[base].sum()) if counted else None,
        least=least,
        greatest=greatest,
        distinct=greatest - least + 1 if column.domain.kind in _COUNTABLE else None,
        length=_length(bounds, column.domain),
        kept_by_equality=_kept_by_equality(bounds, has_values),
        attained=exact,
    )


def _is_exact(domain: Domain) -> bool:
    """Return whether trusted bounds are values, too: the index rounds no more digits."""
    return domain.kind in _EXACT and domain.scale <= WRAPPED_DECIMAL_SCALE


def _is_known(bounds: Bounds, domain: Domain) -> BoolArray:
    """Return which containers have both bounds."""
    if domain.is_ordinal:
        return np.asarray((bounds.lower != MIN_ORDINAL) & (bounds.upper != MAX_ORDINAL))
    both = pc.and_(pc.is_valid(bounds.lower), pc.is_valid(bounds.upper))
    return np.asarray(both.to_numpy(zero_copy_only=False), np.bool_)


def _extremes(bounds: Bounds, chosen: BoolArray, domain: Domain) -> tuple[Any, Any]:
    lower, upper = _chosen(bounds.lower, chosen), _chosen(bounds.upper, chosen)
    if domain.is_ordinal:
        return _value(int(lower.min()), domain), _value(int(upper.max()), domain)
    # Minimum and maximum of binary values are not computed, but their order is.
    first = pc.array_sort_indices(lower)[0].as_py()
    last = pc.array_sort_indices(upper)[-1].as_py()
    return lower[first].as_py(), upper[last].as_py()


def _value(ordinal: int, domain: Domain) -> int | float | Decimal:
    if domain.kind is Kind.FLOAT:
        return float(floats_of(np.array([ordinal]))[0])
    return exact_decimal(ordinal, domain.scale) if domain.kind is Kind.DECIMAL else ordinal


def _length(bounds: Bounds, domain: Domain) -> float | None:
    """Return the mean length of the bounds, which stand for the values between them."""
    if domain.kind not in (Kind.TEXT, Kind.BINARY):
        return None
    lengths = pc.binary_length(pa.chunked_array([bounds.lower, bounds.upper]))
    mean = pc.mean(lengths).as_py()
    return None if mean is None else float(mean)


def _kept_by_equality(bounds: Bounds, has_values: BoolArray) -> float:
    """Return the mean share of the files whose range holds a bound of another file's range."""
    lower, upper = _chosen(bounds.lower, has_values), _chosen(bounds.upper, has_values)
    files = len(lower)
    ends = _ranks(lower, upper)
    started = np.searchsorted(np.sort(ends[:files]), ends, "right")
    ended = np.searchsorted(np.sort(ends[files:]), ends, "left")
    return float((started - ended).mean() / len(has_values))


def _chosen(values: Values, chosen: BoolArray) -> Values:
    return values[chosen] if isinstance(values, np.ndarray) else values.filter(pa.array(chosen))


def _ranks(*parts: Values) -> Int64Array:
    """Return integers in the order of the values of all parts, equal for equal values."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    values = pa.concat_arrays(list(parts))
    order = pc.array_sort_indices(values)
    ordered = values.take(order)
    steps = np.ones(len(values), np.int64)
    steps[1:] = pc.not_equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    ranks = np.empty(len(values), np.int64)
    ranks[order.to_numpy()] = np.cumsum(steps)
    return ranks
