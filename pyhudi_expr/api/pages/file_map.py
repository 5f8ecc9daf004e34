"""A map of files over two columns, or over one: what templates/file_map.html draws.

Each file is a rectangle: what it spans of both columns. Of many files the map is a grid of cells
instead, and each cell counts the files whose rectangles it meets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.api.pages.axes import Axis, Ranges, Tick, axis_of, ticks
from pyhudi_expr.api.pages.regions import Region, literals_of, region_of
from pyhudi_expr.arrays import BoolArray, Float64Array, Int64Array
from pyhudi_expr.expr.bound import BoundExpression

_MAX_MARKS = 500
#: Of many files, those that are read have a mark each up to this many.
_MAX_READ_MARKS = 100
_COLUMNS, _ROWS = 32, 20
_LEVELS = 5
_LAYERS = 9
#: Up to this many overlapping files share the width of a band.
_MAX_LANES = 16
_TOUCHING = 1e-9

Facts = Callable[[Int64Array], Sequence[tuple[str, Sequence[tuple[str, str]]]]]
"""Gives for each of some files (positions) its name, and what else to show of it."""


@dataclass(frozen=True)
class FileSet:
    """Files to draw.

    Attributes:
        ranges: The range of each column; one or two columns.
        keep: (files,): which of them are read.
        facts: Names and further facts of files.
    """

    ranges: tuple[Ranges, ...]
    keep: BoolArray
    facts: Facts


@dataclass(frozen=True)
class Mark:
    """A file or a cell: a rectangle, in percent from the upper left corner.

    Attributes:
        kind: The classes of its style: "kept" or "dropped"; of cells with "cell", and "level-1" to
            "level-5".
        layer: Where marks overlap, those of higher layers are above.
        facts: What to show of it: names and values.
    """

    kind: str
    left: float
    top: float
    width: float
    height: float
    layer: int
    name: str
    facts: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """All of it in one line, for screen readers."""
        return "; ".join([self.name, *(f"{name}: {value}" for name, value in self.facts)])


@dataclass(frozen=True)
class Legend:
    """What the colours of cells mean: the least and greatest number of files; None: not used."""

    kept: tuple[int, int] | None
    dropped: tuple[int, int] | None


@dataclass(frozen=True)
class AxisTexts:
    """The texts of an axis. `note`: how places follow from values, if not in proportion."""

    name: str
    note: str
    ticks: tuple[Tick, ...]


@dataclass(frozen=True)
class FileMap:
    """The map.

    Attributes:
        horizontal: The first column.
        vertical: The second column, or the files in order.
        label: The map in words, for screen readers.
        marks: From left to right.
        legend: Of the cells; None if each mark is a file.
        fill: How much of its colour the mark of a file has, in percent.
        region: Where rows can match.
        files: Number of files on the map.
        kept: Number of them that are read.
        omitted: Number of files without a known range.
    """

    horizontal: AxisTexts
    vertical: AxisTexts
    label: str
    marks: tuple[Mark, ...]
    legend: Legend | None
    fill: int
    region: Region
    files: int
    kept: int
    omitted: int


def axes_of(sets: Sequence[FileSet], predicate: BoundExpression) -> tuple[Axis, ...] | None:
    """Return the axes that all these files share; None if a column has no known range."""
    found = []
    for ranges in zip(*(each.ranges for each in sets), strict=True):
        axis = axis_of(ranges, literals_of(predicate, ranges[0].column.name))
        if axis is None:
            return None
        found.append(axis)
    return tuple(found)


def draw_files(files: FileSet, axes: Sequence[Axis], predicate: BoundExpression) -> FileMap:
    """Draw files over one or two axes, with the region of the predicate."""
    known = np.logical_or.reduce([ends for each in files.ranges for ends in each.known])
    drawn = np.flatnonzero(known)
    boxes = _boxes(files, axes, drawn)
    legend = None
    if len(drawn) <= _MAX_MARKS:
        boxes = _in_lanes(boxes, axes)
        marks = list(_file_marks(files, boxes, drawn))
    else:
        marks, legend = _cell_marks(files, axes, boxes, drawn)
    kept = int(np.count_nonzero(files.keep[drawn]))
    names = [axis.column.name for axis in axes]
    return FileMap(
        horizontal=_texts(axes[0]),
        vertical=_texts(axes[1]) if len(axes) > 1 else _order_texts(names[0], len(drawn)),
        label=f"{len(drawn):,} files by {' and '.join(names)}, {kept:,} of them read",
        marks=tuple(sorted(marks, key=lambda mark: (mark.left, -mark.top))),
        legend=legend,
        fill=_fill(boxes),
        region=region_of(predicate, axes),
        files=len(drawn),
        kept=kept,
        omitted=len(known) - len(drawn),
    )


def _boxes(files: FileSet, axes: Sequence[Axis], drawn: Int64Array) -> Float64Array:
    """Return (drawn, 4): left, right, bottom and top, from 0 to 1."""
    spans = [
        [ends[drawn] for ends in axis.spans(ranges)]
        for axis, ranges in zip(axes, files.ranges, strict=True)
    ]
    if len(axes) == 1:
        # The files one above the other, in the order of their least values.
        order = np.lexsort((spans[0][1], spans[0][0]))
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        count = max(len(order), 1)
        spans.append([place / count, (place + 1) / count])
    return np.stack([*spans[0], *spans[1]], axis=1)


def _in_lanes(boxes: Float64Array, axes: Sequence[Axis]) -> Float64Array:
    """Let files of one band that overlap share its width, as no place within a band has a value."""
    boxes = boxes.copy()
    for place, axis in enumerate(axes):
        if not axis.has_bands:
            continue
        own, other = boxes[:, 2 * place : 2 * place + 2], boxes[:, 2 - 2 * place : 4 - 2 * place]
        _, group = np.unique(own.round(6), axis=0, return_inverse=True)
        for number in range(int(group.max(initial=-1)) + 1):
            files = np.flatnonzero(group.reshape(-1) == number)
            lanes = _lanes(other[files])
            count = int(lanes.max()) + 1
            if count <= _MAX_LANES:
                start, end = own[files[0]]
                own[files, 0] = start + lanes * (end - start) / count
                own[files, 1] = start + (lanes + 1) * (end - start) / count
    return boxes


def _lanes(spans: Float64Array) -> Int64Array:
    """Return a lane for each span, so that those of one lane do not overlap."""
    lanes = np.zeros(len(spans), np.int64)
    ends: list[float] = []
    for file in np.lexsort((spans[:, 1], spans[:, 0])).tolist():
        start, end = spans[file]
        free = (lane for lane, last in enumerate(ends) if last <= start + _TOUCHING)
        lane = next(free, len(ends))
        ends[lane : lane + 1] = [end]
        lanes[file] = lane
    return lanes


def _fill(boxes: Float64Array) -> int:
    """Return how much of its colour a file's mark has, in percent: less where many overlap."""
    depth = _per_cell(boxes)
    depth = depth[depth > 0]
    return int(np.clip(60 / depth.mean(), 4, 30)) if len(depth) else 30


def _file_marks(files: FileSet, boxes: Float64Array, drawn: Int64Array) -> Iterator[Mark]:
    found = files.facts(drawn)
    for box, file, (name, facts) in zip(boxes.tolist(), drawn.tolist(), found, strict=True):
        kept = bool(files.keep[file])
        ranges = tuple((each.column.name, each.describe(file)) for each in files.ranges)
        outcome = ("", "read" if kept else "skipped")
        yield _mark("kept" if kept else "dropped", box, name, (outcome, *ranges, *facts))


def _cell_marks(
    files: FileSet, axes: Sequence[Axis], boxes: Float64Array, drawn: Int64Array
) -> tuple[list[Mark], Legend]:
    """Return a mark for each cell that a file meets, and of the files that are read, if few."""
    keep = files.keep[drawn]
    total, kept = _per_cell(boxes), _per_cell(boxes[keep])
    own = np.flatnonzero(keep)
    few = len(own) <= _MAX_READ_MARKS
    by_kept = np.zeros_like(kept, bool) if few else kept > 0
    marks = []
    for name, counts in (("kept", np.where(by_kept, kept, 0)), ("dropped", total * ~by_kept)):
        levels = _levels(counts)
        for row, column in np.argwhere(counts).tolist():
            box = [column / _COLUMNS, (column + 1) / _COLUMNS, row / _ROWS, (row + 1) / _ROWS]
            read = int(kept[row, column])
            title = f"{int(total[row, column]):,} files can have rows here"
            facts = (("", f"{read:,} of them read"), *_cell_ranges(axes, box))
            marks.append(_mark(f"cell {name} level-{levels[row, column]}", box, title, facts))
    if few:
        marks += _file_marks(files, boxes[own], drawn[own])
    return marks, Legend(_limits(kept[by_kept]), _limits(total[~by_kept]))


def _cell_ranges(axes: Sequence[Axis], box: Sequence[float]) -> Iterator[tuple[str, str]]:
    for place, axis in enumerate(axes):
        start, end = box[2 * place : 2 * place + 2]
        first, last = axis.text_at(start), axis.text_at(np.nextafter(end, 0.0))
        yield axis.column.name, first if first == last else f"{first} to {last}"


def _per_cell(boxes: Float64Array) -> Int64Array:
    """Return (rows, columns): how many rectangles meet each cell, by sums of their corners."""
    shape = (_ROWS + 1, _COLUMNS + 1)
    left, bottom = _first_cell(boxes[:, 0], _COLUMNS), _first_cell(boxes[:, 2], _ROWS)
    right = np.maximum(np.ceil(boxes[:, 1] * _COLUMNS), left + 1).astype(np.int64)
    top = np.maximum(np.ceil(boxes[:, 3] * _ROWS), bottom + 1).astype(np.int64)
    corners = np.zeros(shape, np.int64)
    for row, column, sign in ((bottom, left, 1), (bottom, right, -1), (top, left, -1)):
        corners += sign * _counted(row, column, shape)
    corners += _counted(top, right, shape)
    return corners.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]


def _first_cell(places: Float64Array, cells: int) -> Int64Array:
    return np.minimum((places * cells).astype(np.int64), cells - 1)


def _counted(row: Int64Array, column: Int64Array, shape: tuple[int, int]) -> Int64Array:
    flat = row * shape[1] + column
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


def _levels(counts: Int64Array) -> Int64Array:
    """Return counts as levels from 1 on, by their logarithms; any value where there is none."""
    limits = _limits(counts[counts > 0])
    if limits is None or limits[0] == limits[1]:
        return np.full(counts.shape, _LEVELS // 2 + 1, np.int64)
    least, greatest = np.log(limits)
    share = (np.log(np.maximum(counts, 1)) - least) / (greatest - least)
    return np.clip(1 + (share * _LEVELS).astype(np.int64), 1, _LEVELS)


def _limits(counts: Int64Array) -> tuple[int, int] | None:
    counts = counts[counts > 0]
    return (int(counts.min()), int(counts.max())) if len(counts) else None


def _mark(kind: str, box: Sequence[float], name: str, facts: Sequence[tuple[str, str]]) -> Mark:
    left, right, bottom, top = box
    width, height = max(right - left, 0.0), max(top - bottom, 0.0)
    # Small marks lie above large ones, and those that are read above the others.
    layer = 1 + int((_LAYERS - 1) * (1 - (width * height) ** 0.5)) + _LAYERS * (kind == "kept")
    layer = 0 if kind.startswith("cell") else layer
    percent = (100 * left, 100 * (1 - top), 100 * width, 100 * height)
    return Mark(kind, *percent, layer, name, tuple(facts))


def _texts(axis: Axis) -> AxisTexts:
    note = "by rank: each value has the same space" if axis.by_rank else ""
    return AxisTexts(axis.column.name, note, ticks(axis))


def _order_texts(column: str, count: int) -> AxisTexts:
    labels = (Tick(0.0, "1", False), Tick(1.0, f"{count:,}", False))
    return AxisTexts("files", f"in the order of their least {column}", labels)
