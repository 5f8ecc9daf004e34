"""Pictures of layouts: files as rectangles over two columns. Needs the extra `pictures`."""

from __future__ import annotations

from pathlib import Path

from pyhudi_expr.layout.analysis import Analysis
from pyhudi_expr.layout.orders import InvalidLayout, Layout
from pyhudi_expr.layout.tilings import quantile_boxes
from pyhudi_expr.table.errors import HudiError

_INCHES = 4.5


def draw(analysis: Analysis, layout: Layout, columns: tuple[str, str], target: Path) -> None:
    """Draws the files as they are and as they would be, into an image file (PNG, SVG).

    The axes are shares of the rows, so that skewed columns fill them too: a file that is small in
    both directions is read by few predicates.

    Raises InvalidLayout where the sample has no such columns, and HudiError where the picture
    cannot be written or the extra is missing.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle
    except ModuleNotFoundError as error:
        raise HudiError(
            f"{error.name} is missing; install the extra: pip install 'pyhudi-expr[pictures]'"
        ) from error
    rows = analysis.sample.rows
    missing = [name for name in columns if name not in rows.column_names]
    if missing:
        raise InvalidLayout(f"no predicate and no layout uses {', '.join(missing)}")
    figure = Figure(figsize=(2 * _INCHES, _INCHES), layout="constrained")
    for axes, each in zip(figure.subplots(1, 2), (None, layout), strict=True):
        tiling = analysis.tiling(each)
        for left, right, bottom, top in quantile_boxes(rows, tiling, columns):
            axes.add_patch(
                Rectangle(
                    (left, bottom),
                    max(right - left, 0.002),
                    max(top - bottom, 0.002),
                    facecolor=(0.12, 0.47, 0.71, 0.06),
                    edgecolor=(0.12, 0.47, 0.71, 0.8),
                    linewidth=0.7,
                )
            )
        name = "today" if each is None else str(each)
        axes.set_title(f"{name}: {tiling.count} files", fontsize=9)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.set_xlabel(f"share of the rows below {columns[0]}", fontsize=8)
        axes.set_ylabel(f"share of the rows below {columns[1]}", fontsize=8)
        axes.tick_params(labelsize=7)
    try:
        figure.savefig(target, dpi=110)
    except (OSError, ValueError) as error:
        raise HudiError(f"{target}: the picture cannot be written: {error}") from error
