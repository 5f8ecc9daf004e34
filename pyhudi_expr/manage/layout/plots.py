"""Draw layouts: files as rectangles over two columns. Needs the extra `pictures`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pyhudi_expr.arrays import Float64Array
from pyhudi_expr.errors import HudiError
from pyhudi_expr.installation import require_extra
from pyhudi_expr.manage.layout.analysis import Analysis
from pyhudi_expr.manage.layout.row_order import InvalidLayout, Layout
from pyhudi_expr.manage.layout.tiling import quantile_boxes

_INCHES = 4.0
_LEAST = 0.002  # of an axis: anything thinner would not be visible


@dataclass(frozen=True)
class Panel:
    """One layout.

    Attributes:
        boxes: Its files, as `tiling.quantile_boxes` returns them.
    """

    title: str
    boxes: Float64Array


def draw(analysis: Analysis, layout: Layout, columns: tuple[str, str], target: Path) -> None:
    """Draw the files as they are and as they would be, into an image file (PNG, SVG).

    Raises:
        InvalidLayout: The sample does not have these columns.
        HudiError: As in `draw_panels`.
    """
    rows = analysis.sample.rows
    missing = [name for name in columns if name not in rows.column_names]
    if missing:
        raise InvalidLayout(f"no predicate and no layout uses {', '.join(missing)}")
    panels = []
    for title, each in (("today", None), (str(layout), layout)):
        tiling = analysis.tiling(each)
        boxes = quantile_boxes(rows, tiling, columns)
        panels.append(Panel(f"{title}: {tiling.count} files", boxes))
    draw_panels(panels, columns, target)


def draw_panels(panels: Sequence[Panel], columns: tuple[str, str], target: Path) -> None:
    """Draw layouts side by side.

    The axes are shares of the rows, so that skewed columns fill them, too: a file that is small in
    both directions is read by few predicates.

    Raises:
        HudiError: The image cannot be written, or the extra is missing.
    """
    with require_extra("pictures"):
        from matplotlib.collections import PatchCollection
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle
    figure = Figure(figsize=(len(panels) * _INCHES, _INCHES), layout="constrained")
    for axes, panel in zip(np.ravel(figure.subplots(1, len(panels))), panels, strict=True):
        boxes = [
            Rectangle((left, bottom), max(right - left, _LEAST), max(top - bottom, _LEAST))
            for left, right, bottom, top in panel.boxes
        ]
        blue = (0.12, 0.47, 0.71)
        axes.add_collection(
            PatchCollection(boxes, facecolor=(*blue, 0.06), edgecolor=(*blue, 0.8), linewidth=0.7)
        )
        axes.set_title(panel.title, fontsize=9)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.set_xlabel(f"share of the rows below {columns[0]}", fontsize=8)
        axes.set_ylabel(f"share of the rows below {columns[1]}", fontsize=8)
        axes.tick_params(labelsize=7)
    try:
        figure.savefig(target, dpi=90)
    except (OSError, ValueError) as error:
        raise HudiError(f"{target}: the picture cannot be written: {error}") from error
