"""Geometry of the drawings: files as rectangles over two columns, and the timeline.

templates/drawings.html turns them into SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Float64Array
from pyhudi_expr.table.timeline.timeline import Instant

_SIDE = 360
_MARGIN = 24
_MIN_WIDTH = 2.0  # pixels: anything thinner would not be visible
#: Number of elements that a browser draws without delay.
_MAX_RECTANGLES = 4000
_MAX_INSTANTS = 400
#: Pixels between two instants.
_STEP = 18


@dataclass(frozen=True)
class Rectangle:
    """One file, in pixels from the upper left corner."""

    kept: bool
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class FileDrawing:
    """Files over two columns.

    Attributes:
        columns: Names of the horizontal and of the vertical axis.
        label: The drawing in words, for screen readers.
        rectangles: In drawing order: files that are read come last, above the others.
        kept: Number of files that are read.
        omitted: Number of files that are not drawn.
        side: Length of the frame, in pixels.
        margin: Distance of the frame from the borders, in pixels.
    """

    title: str
    columns: tuple[str, str]
    label: str
    rectangles: tuple[Rectangle, ...]
    kept: int
    omitted: int
    side: int = _SIDE
    margin: int = _MARGIN

    @property
    def width(self) -> int:
        """Pixels from the left border to the right one."""
        return self.side + 2 * self.margin

    @property
    def height(self) -> int:
        """Pixels from the upper border to the lower one."""
        return self.side + 3 * self.margin


@dataclass(frozen=True)
class InstantMark:
    """An instant on the timeline.

    Attributes:
        kind: "write", "other" or "pending": the class of its style.
        name: Its time, action and state.
        x: Pixels from the left border.
        is_read: The result is of the table at this instant.
    """

    kind: str
    name: str
    x: int
    is_read: bool


@dataclass(frozen=True)
class TimelineDrawing:
    """The newest instants, the oldest of them first."""

    label: str
    width: int
    marks: tuple[InstantMark, ...]


def draw_files(
    title: str, columns: tuple[str, str], boxes: Float64Array, keep: BoolArray
) -> FileDrawing:
    """Draw files over two columns.

    Args:
        title: What the drawing shows.
        columns: Names of the horizontal and of the vertical axis.
        boxes: (files, 4): minimum and maximum of the first column, then of the second, from 0 to 1.
        keep: (files,): which of them are read.
    """
    count, kept = len(boxes), int(np.count_nonzero(keep))
    # All files that are read, then as many others as the limit allows.
    drawn = np.argsort(~keep, kind="stable")[:_MAX_RECTANGLES][::-1]
    label = f"{title}: {count:,} files over {' and '.join(columns)}"
    return FileDrawing(
        title,
        columns,
        label + (f", {kept:,} of them read" if kept else ""),
        tuple(_rectangle(boxes[each], bool(keep[each])) for each in drawn),
        kept,
        max(count - _MAX_RECTANGLES, 0),
    )


def draw_timeline(instants: Sequence[Instant], read_at: str | None) -> TimelineDrawing:
    """Draw the newest instants. `read_at`: the requested time of the instant that a query reads."""
    newest = instants[-_MAX_INSTANTS:]
    label = f"the last {len(newest)} of {len(instants)} instants, the oldest first"
    marks = tuple(_mark(place, instant, read_at) for place, instant in enumerate(newest))
    return TimelineDrawing(label, max(len(newest) * _STEP + 2 * _MARGIN, 200), marks)


def _mark(place: int, instant: Instant, read_at: str | None) -> InstantMark:
    kind = "write" if instant.is_write else "other"
    state = "" if instant.is_completed else f", {instant.state.name.lower()}"
    return InstantMark(
        kind if instant.is_completed else "pending",
        f"{instant.requested} {instant.action}{state}",
        _MARGIN + place * _STEP,
        instant.requested == read_at,
    )


def _rectangle(box: Float64Array, kept: bool) -> Rectangle:
    left, right, bottom, top = (float(edge) for edge in box * _SIDE)
    width, height = max(right - left, _MIN_WIDTH), max(top - bottom, _MIN_WIDTH)
    return Rectangle(kept, _MARGIN + left, _MARGIN + _SIDE - bottom - height, width, height)
