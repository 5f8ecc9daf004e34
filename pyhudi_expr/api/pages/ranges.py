"""The ranges of columns in a result's files, from the evidence that was used."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.api.pages.axes import Ranges
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundColumn,
    BoundExpression,
    BoundIsNull,
    BoundNot,
    BoundOr,
    columns,
)
from pyhudi_expr.expr.bounds import Bounds, Values
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.tables.hudi_names import META_COLUMNS


def ranges_of(result: PruneResult) -> list[Ranges]:
    """Return the ranges of the predicate's columns; those that exclude most files come first.

    Hudi's own columns, which follow from others, come last.

    A range is that of the first index that knows it. Files that were excluded by their partition
    have ranges of the partition, or none.
    """
    found = []
    for column in columns(result.predicate).values():
        ranges = _ranges(result, column)
        if ranges is not None:
            found.append((_excluded_by(result, column.name), ranges))
    found.sort(key=lambda each: (each[1].column.name in META_COLUMNS, -each[0]))
    return [ranges for _, ranges in found]


def _ranges(result: PruneResult, column: BoundColumn) -> Ranges | None:
    lower, upper = None, None
    for bounds in _bounds(result, column):
        lower = bounds.lower if lower is None else _filled(lower, bounds.lower, MIN_ORDINAL)
        upper = bounds.upper if upper is None else _filled(upper, bounds.upper, MAX_ORDINAL)
    if lower is None or upper is None:
        return None
    ranges = Ranges(column, lower, upper)
    return ranges if any(ends.any() for ends in ranges.known) else None


def _bounds(result: PruneResult, column: BoundColumn) -> Iterator[Bounds]:
    for source in result.evidence:
        evidence = source.evidence
        found = evidence.bounds(column) if isinstance(evidence, StatisticsEvidence) else None
        if found is not None and _is_of_files(found, result.files_total):
            yield found


def _is_of_files(bounds: Bounds, files: int) -> bool:
    return all(
        isinstance(ends, np.ndarray | pa.Array) and len(ends) == files
        for ends in (bounds.lower, bounds.upper)
    )


def _filled(known: Values, other: Values, unknown: int) -> Values:
    """Return `known`, and where it has no value the other one."""
    if isinstance(known, np.ndarray):
        return np.where(known == unknown, other, known)
    return pc.coalesce(known, other)


def _excluded_by(result: PruneResult, name: str) -> int:
    """Return how many files the best part of the predicate with this column excludes."""
    evidence = [source.evidence for source in result.evidence]
    masks = (
        as_array(may_be(leaf, truth, evidence), result.files_total)
        for leaf, truth in _leaves(result.predicate, True)
        if name in columns(leaf)
    )
    return max((int(np.count_nonzero(~mask)) for mask in masks), default=0)


def _leaves(node: BoundExpression, truth: bool) -> Iterator[tuple[BoundExpression, bool]]:
    """Return the parts that depend on values; with each, whether it has to be TRUE or FALSE."""
    match node:
        case BoundNot(child=child):
            yield from _leaves(child, not truth)
        case BoundAnd(children=nodes) | BoundOr(children=nodes):
            for each in nodes:
                yield from _leaves(each, truth)
        case BoundIsNull():
            return
        case _:
            yield node, truth
