"""SVG: files as rectangles over two columns, and the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Float64Array
from pyhudi_expr.pages.html import text
from pyhudi_expr.table.timeline.timeline import Instant

_SIDE = 360
_MARGIN = 24
_LEAST = 2.0  # pixels: anything thinner would not be visible
#: Number of elements that a browser draws without delay.
_MOST_BOXES = 4000
_MOST_INSTANTS = 400
_LEGEND = '<span class="key kept"></span>read<span class="key dropped"></span>not read'


@dataclass(frozen=True)
class Boxes:
    """Files over two columns.

    Attributes:
        boxes: (files, 4): minimum and maximum of the first column, then of the second, from 0 to 1.
        kept: Which of the files are read.
    """

    title: str
    columns: tuple[str, str]
    boxes: Float64Array
    kept: BoolArray


def rectangles(drawn: Boxes) -> str:
    """Draw the files, those that are read above the others."""
    count = len(drawn.boxes)
    # All kept files, then as many others as the limit allows.
    first = np.argsort(~drawn.kept, kind="stable")[:_MOST_BOXES][::-1]
    shapes = "".join(_rectangle(drawn.boxes[i], bool(drawn.kept[i])) for i in first)
    kept = int(np.count_nonzero(drawn.kept))
    label = f"{drawn.title}: {count:,} files over {' and '.join(drawn.columns)}"
    label += f", {kept:,} of them read" if kept else ""
    width, height = _SIDE + 2 * _MARGIN, _SIDE + 3 * _MARGIN
    left = "" if count <= _MOST_BOXES else f" ({count - _MOST_BOXES:,} files are not drawn)"
    return (
        f'<figure><svg viewBox="0 0 {width} {height}" width="{width}" role="img"'
        f' aria-label="{text(label)}"><text x="{_MARGIN}" y="16">{text(drawn.title)}</text>'
        f'<rect class="frame" x="{_MARGIN}" y="{_MARGIN}" width="{_SIDE}" height="{_SIDE}"/>'
        f"{shapes}"
        f'<text x="{_MARGIN}" y="{_SIDE + 2 * _MARGIN - 6}">{text(drawn.columns[0])} →</text>'
        f'<text transform="translate(16,{_SIDE + _MARGIN}) rotate(-90)">{text(drawn.columns[1])} →'
        f"</text></svg><figcaption class='faint'>{_LEGEND if kept else ''}{left}</figcaption>"
        "</figure>"
    )


def timeline(instants: Sequence[Instant], judged: str | None) -> str:
    """Draw the newest instants in order, each with its name as a tooltip."""
    shown = instants[-_MOST_INSTANTS:]
    step = 18
    width = max(len(shown) * step + 2 * _MARGIN, 200)
    marks = []
    for place, instant in enumerate(shown):
        kind = "write" if instant.is_write else "other"
        kind = kind if instant.is_completed else "pending"
        state = "" if instant.is_completed else f", {instant.state.name.lower()}"
        at = _MARGIN + place * step
        name = f"{instant.requested} {instant.action}{state}"
        marks.append(
            f'<circle class="{kind}" cx="{at}" cy="24" r="5"><title>{text(name)}</title></circle>'
        )
        if instant.requested == judged:
            marks.append(f'<text x="{at}" y="52" text-anchor="middle">pruned</text>')
    label = f"the last {len(shown)} of {len(instants)} instants, the oldest first"
    return (
        f'<div class="scroll"><svg viewBox="0 0 {width} 60" width="{width}" role="img"'
        f' aria-label="{text(label)}">{"".join(marks)}</svg></div>'
        f'<p class="faint">{text(label)}; filled: complete</p>'
    )


def bar(share: float) -> str:
    """Draw a share from 0 to 1."""
    return (
        '<svg width="100" height="10" aria-hidden="true"><rect class="frame" width="100"'
        f' height="10"/><rect class="bar" width="{100 * share:.1f}" height="10"/></svg>'
    )


def _rectangle(box: Float64Array, kept: bool) -> str:
    left, right, bottom, top = (float(edge) for edge in box * _SIDE)
    width, height = max(right - left, _LEAST), max(top - bottom, _LEAST)
    return (
        f'<rect class="{"kept" if kept else "dropped"}" x="{_MARGIN + left:.1f}"'
        f' y="{_MARGIN + _SIDE - bottom - height:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
    )
