"""The page of `layout analyze`: what each layout would let queries read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyhudi_expr.layout.analysis import Analysis, Shares
from pyhudi_expr.layout.orders import Layout
from pyhudi_expr.layout.tilings import quantile_boxes
from pyhudi_expr.pages.drawings import Boxes, rectangles
from pyhudi_expr.pages.html import facts, page, section, table

_SHOWN = 24


def layouts_page(found: Analysis, predicates: Sequence[str]) -> str:
    """The page for an analysis. Files are drawn over two columns, if there are two."""
    shares = (found.today, *found.candidates[:_SHOWN])
    rows = [(_name(each), *map(_percent, (each.mean_bytes, *each.files))) for each in shares]
    parts = [
        facts(
            (
                ("table", found.table),
                ("instant", found.instant or "none"),
                ("files of a layout", f"{found.files:,}"),
                ("rows sampled", f"{found.sample.rows.num_rows:,}"),
                *(("note", note) for note in found.notes),
            )
        ),
        section("Share that queries read", table(("layout", "bytes", *predicates), rows)),
    ]
    best = found.candidates[0].layout
    used = () if best is None else best.columns
    columns = tuple(dict.fromkeys([*used, *found.sample.rows.column_names]))[:2]
    if len(columns) == 2:
        parts.append(
            section(
                f"Files over {' and '.join(columns)}, as shares of the rows",
                rectangles(_drawn(found, None, columns, "today")),
                rectangles(_drawn(found, best, columns, str(best))),
            )
        )
    return page(f"layouts of {found.table}", parts)


def _drawn(found: Analysis, layout: Layout | None, columns: tuple[str, ...], title: str) -> Boxes:
    tiling = found.tiling(layout)
    over = (columns[0], columns[1])
    boxes = quantile_boxes(found.sample.rows, tiling, over)
    return Boxes(title, over, boxes, np.zeros(len(boxes), np.bool_))


def _name(shares: Shares) -> str:
    return "today" if shares.layout is None else str(shares.layout)


def _percent(share: float) -> str:
    return f"{share:.1%}"
