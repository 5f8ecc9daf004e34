"""The page of `layout analyze`: what queries would read with each layout."""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi_expr.layout.analysis import Analysis, Shares
from pyhudi_expr.layout.row_order import Layout
from pyhudi_expr.layout.tiling import quantile_boxes
from pyhudi_expr.pages.explanation import tree
from pyhudi_expr.pages.html import facts, page, section, table
from pyhudi_expr.pages.svg import Boxes, rectangles, timeline
from pyhudi_expr.table.timeline.timeline import Instant

_SHOWN = 24
#: Limit of predicates: each has its tree and two drawings.
_DRAWN = 8


def layouts_page(found: Analysis, predicates: Sequence[str], instants: Sequence[Instant]) -> str:
    """Return the page for an analysis: for each predicate its tree, and what it reads.

    Files are drawn over two columns, if there are two. `instants` are those of the timeline, oldest
    first.
    """
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
    layouts = [
        _drawn(found, each, (columns[0], columns[1])) for each in (None, best) if len(columns) == 2
    ]
    for number, predicate in enumerate(predicates[:_DRAWN]):
        drawn = [rectangles(of_layout[number]) for of_layout in layouts]
        over = f", files over {' and '.join(columns)} as shares of the rows" if drawn else ""
        parts.append(section(f"{predicate}{over}", tree(found.results[number].explain()), *drawn))
    parts.append(section("Timeline", timeline(instants, found.instant)))
    return page(f"layouts of {found.table}", parts)


def _drawn(found: Analysis, layout: Layout | None, over: tuple[str, str]) -> list[Boxes]:
    """Return the drawings of a layout, one for each predicate."""
    tiling = found.tiling(layout)
    boxes = quantile_boxes(found.sample.rows, tiling, over)
    title = "today" if layout is None else str(layout)
    return [Boxes(title, over, boxes, kept) for kept in found.reads(tiling)]


def _name(shares: Shares) -> str:
    return "today" if shares.layout is None else str(shares.layout)


def _percent(share: float) -> str:
    return f"{share:.1%}"
