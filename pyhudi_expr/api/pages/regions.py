"""Where in a map of files a row can match: the query's region.

The axes are cut into pieces, and the predicate is evaluated over each pair of them as if it were a
file with these ranges and without nulls, and with anything in all other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.api.pages.axes import Axis
from pyhudi_expr.arrays import BoolArray, Float64Array
from pyhudi_expr.expr.bound import (
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundLiteral,
    walk,
)
from pyhudi_expr.expr.bounds import Bounds, Values
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be


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
