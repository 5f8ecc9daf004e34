"""Estimate the ranges of an expression index from whole columns of some files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyChunkedArray, Int64Array
from pyhudi_expr.expr.bound import BoundCall, BoundColumn, BoundExpression, BoundTerm, walk
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression, expression_of
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.parquet_footers import Range, as_bounds
from pyhudi_expr.manage.advice.table_sample import THREADS, TableSample

#: The ranges of a sample of rows would be too narrow, and look better than they are.
_FILES = 32
_RESULTS: Mapping[str, Callable[[AnyChunkedArray], AnyChunkedArray]] = {
    IDENTITY: lambda values: values,
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "trim": partial(pc.utf8_trim, characters=" "),
    "ltrim": partial(pc.utf8_ltrim, characters=" "),
    "rtrim": partial(pc.utf8_rtrim, characters=" "),
    "length": pc.utf8_length,
}
"""Ranges of the column itself say too little of these; of `year(ts)`, say, they tell as much."""


def evaluate_function(expression: Expression, values: AnyChunkedArray) -> AnyChunkedArray:
    """Return the function's results for the column's values."""
    return _RESULTS[expression.function](values)


def indexable_expression(term: BoundTerm) -> Expression | None:
    """Return the column, or the function of a column, if an index over it can be estimated."""
    if isinstance(term, BoundColumn):
        return Expression(IDENTITY, term.name)
    found = expression_of(term)
    return found if found is not None and found.function in _RESULTS else None


def indexable_calls(predicate: BoundExpression) -> Iterator[tuple[Expression, BoundCall]]:
    """Return the functions in the predicate for which an index can be estimated."""
    for term in walk(predicate):
        expression = indexable_expression(term) if isinstance(term, BoundCall) else None
        if expression is not None:
            yield expression, cast(BoundCall, term)


@dataclass(frozen=True)
class ResultRanges:
    """Bounds of a function's results over the listing's files; unknown for files without sample.

    Attributes:
        slices: The slices of the sampled files.
    """

    bounds: Bounds
    slices: Int64Array


def result_ranges(
    sample_files: TableSample, expression: Expression, call: BoundCall
) -> ResultRanges:
    """Compute the ranges of an expression, of which `call` is one call.

    Raises:
        HudiError: A file cannot be read.
    """
    chosen, listing = sample_files.some(_FILES), sample_files.listing
    with ThreadPoolExecutor(THREADS) as pool:
        of_file = partial(_extremes, sample_files, expression, call)
        found = list(pool.map(of_file, listing.paths(chosen)))
    store = ColumnBounds(listing.num_files, call.domain)
    store.put(chosen, as_bounds(found, call.domain))
    return ResultRanges(store.bounds(), np.unique(listing.file_slice[chosen]))


def _extremes(
    sample_files: TableSample, expression: Expression, call: BoundCall, path: str
) -> Range:
    given = evaluate_function(expression, sample_files.whole_column(path, expression.column))
    if not call.domain.is_ordinal:
        given = given.cast(call.domain.arrow_type)
    ends = pc.min_max(given).as_py()
    nulls = given.null_count
    return Range(ends["min"], ends["max"], nulls < len(given), nulls > 0)
