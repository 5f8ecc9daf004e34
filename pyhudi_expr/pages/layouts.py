"""The page of `layout analyze`: what queries would read with each layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyhudi_expr.index.explanation import Explanation
from pyhudi_expr.layout.analysis import Analysis, Shares
from pyhudi_expr.layout.row_order import Layout
from pyhudi_expr.layout.tiling import quantile_boxes
from pyhudi_expr.pages.drawings import FileDrawing, draw_files, draw_timeline
from pyhudi_expr.pages.render import render
from pyhudi_expr.table.timeline.timeline import Instant

_MAX_LAYOUTS = 24
#: Limit of predicates: each has its tree and two drawings.
_MAX_PREDICATES = 8


def layouts_page(found: Analysis, predicates: Sequence[str], instants: Sequence[Instant]) -> str:
    """Return the page for an analysis: for each predicate its tree, and what it reads.

    Files are drawn over two columns, if there are two. `instants` are those of the timeline, oldest
    first.
    """
    shares = (found.today, *found.candidates[:_MAX_LAYOUTS])
    facts = (
        ("table", found.table),
        ("instant", found.instant or "none"),
        ("files of a layout", f"{found.files:,}"),
        ("rows sampled", f"{found.sample.rows.num_rows:,}"),
        *(("note", note) for note in found.notes),
    )
    return render(
        "layouts.html",
        title=f"layouts of {found.table}",
        facts_of_analysis=facts,
        header=("layout", "bytes", *predicates),
        shares=[(_name(each), *map(_percent, (each.mean_bytes, *each.files))) for each in shares],
        predicates=_parts(found, predicates[:_MAX_PREDICATES]),
        instants=draw_timeline(instants, found.instant),
    )


@dataclass(frozen=True)
class _PredicatePart:
    """A predicate's part of the page: its tree, and a drawing for each layout."""

    title: str
    explanation: Explanation
    drawings: tuple[FileDrawing, ...]


def _parts(found: Analysis, predicates: Sequence[str]) -> list[_PredicatePart]:
    best = found.candidates[0].layout
    used = () if best is None else best.columns
    columns = tuple(dict.fromkeys([*used, *found.sample.rows.column_names]))[:2]
    layouts = [
        _drawings(found, each, (columns[0], columns[1]))
        for each in (None, best)
        if len(columns) == 2
    ]
    over = f", files over {' and '.join(columns)} as shares of the rows" if layouts else ""
    return [
        _PredicatePart(
            f"{predicate}{over}",
            found.results[number].explain(),
            tuple(of_layout[number] for of_layout in layouts),
        )
        for number, predicate in enumerate(predicates)
    ]


def _drawings(
    found: Analysis, layout: Layout | None, columns: tuple[str, str]
) -> list[FileDrawing]:
    """Draw a layout, once for each predicate."""
    tiling = found.tiling(layout)
    boxes = quantile_boxes(found.sample.rows, tiling, columns)
    title = "today" if layout is None else str(layout)
    return [draw_files(title, columns, boxes, keep) for keep in found.reads(tiling)]


def _name(shares: Shares) -> str:
    return "today" if shares.layout is None else str(shares.layout)


def _percent(share: float) -> str:
    return f"{share:.1%}"
