"""The console's pages: the latest requests, and one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.pages.html import facts, link, page, raw_table, section, table, text
from pyhudi_expr.pages.svg import bar, timeline
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
    tables: dict[str, list[AnsweredRequest]] = {}
    for answer in answers:
        tables.setdefault(answer.table, []).append(answer)
    rows = [
        (
            link(f"/table?path={quote(path, safe='')}", path),
            f"{len(own):,}",
            text(own[0].instant or "not known"),
            _share(sum(one.dropped for one in own), sum(one.files for one in own)),
        )
        for path, own in sorted(tables.items())
    ]
    shown = raw_table(("table", "requests", "instant", "files not read"), rows)
    return page(
        "Pruning service",
        [
            section("Tables", shown if rows else "<p>No requests yet.</p>"),
            section(f"The last {len(answers)} requests", _requests(answers)),
        ],
    )


def table_page(
    path: str,
    instants: Timeline | None,
    indexes: Sequence[IndexStatus],
    answers: Sequence[AnsweredRequest],
    problem: str = "",
) -> str:
    """Return the page of a table's indexes, timeline and requests.

    `problem` is why the table cannot be read, or empty.
    """
    parts = [f"<p>{link('/', 'All tables')}</p>"]
    if problem:
        parts.append(facts((("problem", problem),)))
    found = [
        (
            each.name,
            each.kind,
            ", ".join(each.columns),
            each.state.value,
            each.covers or "",
            each.note,
        )
        for each in indexes
    ]
    header = ("index", "kind", "columns", "state", "covers", "note")
    parts.append(section("Indexes", table(header, found) if found else "<p>There is none.</p>"))
    if instants is not None:
        newest = instants.last_write.requested if instants.last_write else None
        parts.append(section("Timeline", timeline(instants.instants, newest)))
    parts.append(section(f"The last {len(answers)} requests", _requests(answers)))
    return page(path, parts)


def _requests(answers: Sequence[AnsweredRequest]) -> str:
    rows = [
        (
            text(answer.at.strftime("%Y-%m-%d %H:%M:%S")),
            text(answer.request),
            text(answer.table),
            text(answer.status),
            _share(answer.dropped, answer.files),
            f"{answer.millis:.1f}",
            text(answer.note),
        )
        for answer in answers
    ]
    return raw_table(("UTC", "request", "table", "status", "files not read", "ms", "why"), rows)


def _share(dropped: int, files: int) -> str:
    return f"{bar(dropped / files if files else 0.0)} {dropped:,} of {files:,}"
