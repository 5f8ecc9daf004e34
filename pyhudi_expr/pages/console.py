"""The console's pages: the latest requests, and one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.pages.drawings import TimelineDrawing, draw_timeline
from pyhudi_expr.pages.render import render
from pyhudi_expr.table.timeline.timeline import Timeline


@dataclass(frozen=True)
class AnsweredRequest:
    """The result of one request.

    Attributes:
        files: Number of files considered and dropped; 0 if nothing was evaluated.
        note: Why nothing, or less, was pruned; without text of predicates.
    """

    at: datetime
    request: str
    table: str
    status: str
    instant: str | None
    files: int
    dropped: int
    millis: float
    note: str


def overview_page(answers: Sequence[AnsweredRequest]) -> str:
    """Return the page of requested tables, and of requests, the latest first."""
    by_table: dict[str, list[AnsweredRequest]] = {}
    for answer in answers:
        by_table.setdefault(answer.table, []).append(answer)
    tables = [
        _TableTotals(
            path,
            len(own),
            own[0].instant,
            sum(one.files for one in own),
            sum(one.dropped for one in own),
        )
        for path, own in sorted(by_table.items())
    ]
    return render("console_overview.html", title="Pruning service", tables=tables, requests=answers)


def table_page(
    path: str,
    timeline: Timeline | None,
    indexes: Sequence[IndexStatus],
    answers: Sequence[AnsweredRequest],
    problem: str = "",
) -> str:
    """Return the page of a table's indexes, timeline and requests.

    `problem` is why the table cannot be read, or empty.
    """
    return render(
        "console_table.html",
        title=path,
        problem=problem,
        indexes=[
            (
                each.name,
                each.kind,
                ", ".join(each.columns),
                each.state.value,
                each.covers or "",
                each.note,
            )
            for each in indexes
        ],
        instants=None if timeline is None else _drawn(timeline),
        requests=answers,
    )


@dataclass(frozen=True)
class _TableTotals:
    """All requests for one table; `instant` is that of the latest."""

    path: str
    requests: int
    instant: str | None
    files: int
    dropped: int


def _drawn(timeline: Timeline) -> TimelineDrawing:
    newest = timeline.last_write.requested if timeline.last_write else None
    return draw_timeline(timeline.instants, newest)
