"""`python -m bench.layout_picture`: draw the files of layouts, for docs/layouts.md."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.tables import layout_data
from pyhudi_expr.manage.layout import Curve, Layout
from pyhudi_expr.manage.layout.plots import Panel, draw_panels
from pyhudi_expr.manage.layout.row_order import Pieces, row_order
from pyhudi_expr.manage.layout.tiling import Tiling, quantile_boxes

PICTURE = Path(__file__).parents[1] / "docs" / "layouts.png"
_ROWS, _FILES = 60_000, 64
_COLUMNS = ("i", "s")


def draw() -> None:
    """Draw the skewed rows in their original order, and in each layout."""
    rows = layout_data.rows("skewed", _ROWS)
    panels = [_panel("as they come", rows, np.arange(_ROWS) * _FILES // _ROWS)]
    for curve in Curve:
        layout = Layout(_COLUMNS, curve)
        order = row_order(layout, rows, _FILES)
        places = order.places([rows.column(name).combine_chunks() for name in _COLUMNS])
        pieces = Pieces.of(places, _FILES).numbers(places).astype(np.int64)
        panels.append(_panel(str(layout), rows, pieces))
    draw_panels(panels, _COLUMNS, PICTURE)


def _panel(title: str, rows: pa.Table, files: layout_data.Numbers) -> Panel:
    return Panel(title, quantile_boxes(rows, Tiling(files), _COLUMNS))


if __name__ == "__main__":
    draw()
