"""Where in a map of files a row can match: the query's region, and the files' ranges.

The axes are cut into pieces, and the predicate is evaluated over each pair of them as if it were a
file with these ranges and without nulls, and with anything in all other columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.api.pages.axes import Axis, Ranges
from pyhudi_expr.arrays import BoolArray, Float64Array
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundNot,
    BoundOr,
    columns,
    walk,
)
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, Values
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.index.limits.key_bounds import known_first
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
        lower = bounds.lower if lower is None else known_first(lower, bounds.lower, MIN_ORDINAL)
        upper = bounds.upper if upper is None else known_first(upper, bounds.upper, MAX_ORDINAL)
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


@dataclass(frozen=True)
class Region:
    """The part of the map in which a row can match.

    Attributes:
        boxes: (boxes, 4) left, right, bottom and top, from 0 to 1.
        outline: (lines, 4) left, bottom, right and top of each line of its border.
    """

    boxes: Float64Array
    outline: Float64Array

    @property
    def share(self) -> float:
        """The share of the map that it covers."""
        left, right, bottom, top = self.boxes.T
        return float(((right - left) * (top - bottom)).sum())


def literals_of(predicate: BoundExpression, name: str) -> list[BoundLiteral]:
    """Return what a predicate compares a column with; not what is compared with functions of it."""
    found: list[BoundLiteral] = []
    for node in walk(predicate):
        match node:
            case BoundComparison(left=BoundColumn(name=own), right=BoundLiteral() as other) if (
                own == name
            ):
                found.append(other)
            case BoundComparison(left=BoundLiteral() as other, right=BoundColumn(name=own)) if (
                own == name
            ):
                found.append(other)
            case BoundIn(term=BoundColumn(name=own), options=options) if own == name:
                found += options
    return found


def region_of(predicate: BoundExpression, axes: Sequence[Axis]) -> Region:
    """Return the region of a predicate over one axis, the horizontal one, or over two."""
    pieces = [axis.pieces() for axis in axes]
    counts = [len(each.edges) - 1 for each in pieces]
    width, height = counts[0], counts[1] if len(axes) > 1 else 1
    columns = {}
    for place, (axis, each) in enumerate(zip(axes, pieces, strict=True)):
        index = np.arange(width * height)
        index = index % width if place == 0 else index // width
        columns[axis.column.name] = Bounds(
            _taken(each.lower, index), _taken(each.upper, index), may_be_null=False
        )
    mask = may_be(predicate, True, [StatisticsEvidence(_Columns(columns))])
    grid = as_array(mask, width * height).reshape(height, width)
    rows = pieces[1].edges if len(axes) > 1 else np.array([0.0, 1.0])
    return Region(_boxes(grid, pieces[0].edges, rows), _outline(grid, pieces[0].edges, rows))


class _Columns:
    """Bounds by the names of columns."""

    def __init__(self, known: dict[str, Bounds]) -> None:
        self._known = known

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of a column, see `pyhudi_expr.expr.evaluate.Statistics`."""
        return self._known.get(column.name)


def _boxes(grid: BoolArray, columns: Float64Array, rows: Float64Array) -> Float64Array:
    """Return the flagged cells of a grid, equal neighbouring rows in one."""
    boxes = []
    first = 0
    for row in range(1, len(grid) + 1):
        if row == len(grid) or (grid[row] != grid[first]).any():
            for start, end in _runs(grid[first]):
                boxes.append((columns[start], columns[end], rows[first], rows[row]))
            first = row
    return np.array(boxes, np.float64).reshape(-1, 4)


def _outline(grid: BoolArray, columns: Float64Array, rows: Float64Array) -> Float64Array:
    """Return the lines between flagged and other cells."""
    padded = np.pad(grid, 1)
    lines = []
    for row, at in enumerate(rows):
        for start, end in _runs(padded[row, 1:-1] != padded[row + 1, 1:-1]):
            lines.append((columns[start], at, columns[end], at))
    for column, at in enumerate(columns):
        for start, end in _runs(padded[1:-1, column] != padded[1:-1, column + 1]):
            lines.append((at, rows[start], at, rows[end]))
    return np.array(lines, np.float64).reshape(-1, 4)


def _runs(flags: BoolArray) -> list[list[int]]:
    """Return begin and end (exclusive) of each run of flags."""
    changes = np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))
    runs = np.stack([np.flatnonzero(changes > 0), np.flatnonzero(changes < 0)], axis=1)
    found: list[list[int]] = runs.tolist()
    return found


def _taken(values: Values, index: np.ndarray) -> Values:
    return values[index] if isinstance(values, np.ndarray) else values.take(pa.array(index))
