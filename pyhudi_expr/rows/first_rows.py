"""The first rows of an order, without reading the files that cannot hold one of them.

Slices are read from the most promising one on, by the bounds of the first sort column. As soon as
there are as many rows as asked for, the last of them is a threshold: a row that is to come before
it must satisfy `column <= threshold` (or `>=`, or be NULL). So the table is pruned again with the
predicate and this condition, and the slices that it drops are not read. That they hold no such row
is proved by the rules of predicates; bounds decide nothing but the order of reading.

"Pruning in Snowflake" (arXiv 2504.11540, section 5) describes top-k pruning by such a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyScalar, BoolArray, Int64Array
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Values, domain_of
from pyhudi_expr.expr.frontend.arrow.filter_lists import parse_filters
from pyhudi_expr.expr.nodes import NEVER, HudiExpression
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.file_ranges import file_ranges
from pyhudi_expr.rows.pruned_rows import PrunedRows
from pyhudi_expr.rows.row_filter import RowFilter
from pyhudi_expr.rows.sorting import SortKey, has_value, sorted_rows


def ranked_slices(snapshot: TableSnapshot, key: SortKey) -> Int64Array:
    """Return the positions of all slices, the most promising one first.

    They are ranked by the bound in `column_stats` at which an order begins; without it, unknown
    bounds come first. No row depends on the ranking, so stale or wrong bounds cost time only.
    """
    listing = snapshot.listing
    domain = domain_of(snapshot.schema.field(key.column).type)
    if domain is None or snapshot.is_evolved:
        return np.arange(listing.num_slices)
    try:
        column = BoundColumn(key.column, snapshot.schema.field(key.column).type, domain)
        found = file_ranges(snapshot.column_stats, listing, column)
    except HudiError:
        return np.arange(listing.num_slices)
    bounds = found.bounds.upper if key.descending else found.bounds.lower
    files = _order(bounds, key.descending)
    if key.nulls_first:
        files = files[np.argsort(found.nulls[files] == 0, kind="stable")]
    places = np.empty(listing.num_files, np.int64)
    places[files] = np.arange(listing.num_files)
    first = np.full(listing.num_slices, listing.num_files, np.int64)
    np.minimum.at(first, listing.file_slice, places)
    return np.argsort(first, kind="stable")


def _order(bounds: Values, descending: bool) -> Int64Array:
    """Return the positions of sorted bounds, unknown ones first."""
    values = bounds if isinstance(bounds, pa.Array | pa.ChunkedArray) else pa.array(bounds)
    order = "descending" if descending else "ascending"
    found = pc.array_sort_indices(values, order=order, null_placement="at_start")
    return found.to_numpy().astype(np.int64)


_UNSORTED_ROWS = 1 << 17
"""Rows beyond the limit that are collected before they are sorted."""


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a table's kept slices in an order.

    Attributes:
        rows: The rows in no order, with the columns of the keys.
        keys: The order, the first key first.
        limit: The number of rows; None for all.
        schema: The columns to return, of those of `rows`.
        ranking: Returns all slices of the table, the one to read first at the beginning.
        pruned: Returns what is kept if a condition is added to the predicate.
    """

    rows: PrunedRows
    keys: Sequence[SortKey]
    limit: int | None
    schema: pa.Schema
    ranking: Callable[[], Int64Array]
    pruned: Callable[[HudiExpression], PruneResult]

    def batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return the rows in order as batches, each with the number of slices that begin with it.

        Raises:
            HudiError: A slice cannot be read.
        """
        rows, found = self.rows, self.rows.schema.empty_table()
        left, portion = self.rows.result.keep.copy(), 1
        ranking = self.ranking()
        while left.any() and self.limit != 0:
            waiting = ranking[left[ranking]]
            chosen = waiting if self.limit is None else waiting[:portion]
            left[chosen] = False
            found = self._with(found, rows.of_slices(_flags(chosen, left)))
            yield len(chosen), pa.RecordBatch.from_pylist([], self.schema)
            if self.limit is not None and found.num_rows == self.limit:
                rows = self._before(found, rows)
                left &= rows.result.keep
            portion *= 2
        for batch in found.select(self.schema.names).to_batches():
            yield 0, batch

    def _with(self, found: pa.Table, more: PrunedRows) -> pa.Table:
        """Return the first rows of those found and of more, in order."""
        parts, num_rows = [found], 0
        for _, batch in more.batches():
            parts.append(pa.Table.from_batches([batch]))
            num_rows += batch.num_rows
            if self.limit is not None and num_rows >= self.limit + _UNSORTED_ROWS:
                parts, num_rows = [self._sorted(parts)], 0
        return self._sorted(parts)

    def _sorted(self, parts: Sequence[pa.Table]) -> pa.Table:
        return sorted_rows(pa.concat_tables(parts), self.keys, self.limit)

    def _before(self, found: pa.Table, rows: PrunedRows) -> PrunedRows:
        """Return the rows that can come before the last of those found, as far as that is known."""
        condition = _condition(self.keys, found[self.keys[0].column][-1])
        if condition is None:
            return rows
        # Of what is kept by the predicate and by this condition, which is narrower each time.
        given = self.rows.filter or RowFilter()
        return replace(
            rows,
            result=self.pruned(condition.predicate),
            filter=given.both(RowFilter(condition.filter)),
        )


@dataclass(frozen=True)
class _Condition:
    """A condition for files, and the same one for rows."""

    predicate: HudiExpression
    filter: pc.Expression


def _condition(keys: Sequence[SortKey], last: AnyScalar) -> _Condition | None:
    """Return what holds for a row that comes before the last of those found; None if not known.

    Args:
        keys: The order. Of one key, rows that are equal to the last one need not be found.
        last: The first key's value in that row.
    """
    first, column = keys[0], pc.field(keys[0].column)
    path, has_one_key = (first.column,), len(keys) == 1
    is_null = [(path, "is", None)]
    if first.nulls_first and not last.is_valid:
        if has_one_key:
            return _Condition(NEVER, pc.scalar(False))
        return _Condition(parse_filters(is_null), column.is_null())
    if not has_value(last) or (first.nulls_first and pa.types.is_floating(last.type)):
        return None
    if has_one_key:
        sign, rows = (">", column > last) if first.descending else ("<", column < last)
    else:
        sign, rows = (">=", column >= last) if first.descending else ("<=", column <= last)
    files = [(path, sign, last)]
    if first.nulls_first:
        return _Condition(parse_filters([files, is_null]), rows | column.is_null())
    return _Condition(parse_filters(files), rows)


def _flags(chosen: Int64Array, like: BoolArray) -> BoolArray:
    flags = np.zeros_like(like)
    flags[chosen] = True
    return flags
