"""The console's pages: all tables, and one table, as a user asked to see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from pyhudi_expr.api.pages.activity import (
    Activity,
    AnsweredRequest,
    IndexSaving,
    TableActivity,
    Totals,
)
from pyhudi_expr.api.pages.render import megabytes, render
from pyhudi_expr.api.pages.trends import draw_timeline, draw_trend
from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.tables.timeline import Timeline

_Row = TypeVar("_Row")
REFRESH_SECONDS = ("10", "60")

TABLE_KEYS: Mapping[str, Callable[[TableActivity], Any]] = {
    "table": lambda each: each.path,
    "requests": lambda each: each.totals.requests,
    "skipped": lambda each: each.totals.skipped_share,
    "bytes": lambda each: each.totals.bytes_dropped,
    "ms": lambda each: each.totals.mean_millis,
    "last": lambda each: each.last,
}
"""The orders of tables, by the name in the URL."""

REQUEST_KEYS: Mapping[str, Callable[[AnsweredRequest], Any]] = {
    "time": lambda each: each.at,
    "table": lambda each: each.table,
    "status": lambda each: each.status,
    "skipped": lambda each: each.dropped / max(each.files, 1),
    "ms": lambda each: each.millis,
}
"""The orders of requests."""


@dataclass(frozen=True)
class View:
    """A view of the pages.

    Attributes:
        path: The table's path on its page; empty on the overview.
        text: Only tables and requests with this text, in any case, are shown.
        status: Only requests of this status are shown; empty: all.
        tables: A key of TABLE_KEYS, with "-" before it for the descending order.
        requests: The same of REQUEST_KEYS.
        refresh: Seconds after which the page is loaded again; empty: never.
        rows: "all" for all requests; empty: some.
    """

    path: str = ""
    text: str = ""
    status: str = ""
    tables: str = "-last"
    requests: str = "-time"
    refresh: str = ""
    rows: str = ""

    @staticmethod
    def of(query: Mapping[str, str]) -> View:
        """Return the view of a URL's query; what is not known is left out."""
        given = {each.name: query[each.name] for each in fields(View) if each.name in query}
        allowed = {
            "tables": _orders(TABLE_KEYS),
            "requests": _orders(REQUEST_KEYS),
            "refresh": REFRESH_SECONDS,
        }
        kept = (name for name in given if name not in allowed or given[name] in allowed[name])
        return View(**{name: given[name] for name in kept})

    @property
    def page(self) -> str:
        """The path of the page in the URL."""
        return "/table" if self.path else "/"

    def link(self, **changes: str) -> str:
        """Return the URL of the view with some changes."""
        changed, plain = replace(self, **changes), View()
        given = {
            each.name: getattr(changed, each.name)
            for each in fields(View)
            if getattr(changed, each.name) != getattr(plain, each.name)
        }
        return changed.page + (f"?{urlencode(given)}" if given else "")

    def to_table(self, path: str) -> str:
        """Return the URL of a table's page."""
        return View(path=path, refresh=self.refresh).link()

    def to_overview(self) -> str:
        """Return the URL of the overview."""
        return View(refresh=self.refresh).link()

    def order_link(self, which: str, key: str) -> str:
        """Return the URL for the order by a key, reversed if it is the order of now."""
        now = getattr(self, which)
        first = key if key in ("table", "status") else f"-{key}"
        other = key if first.startswith("-") else f"-{key}"
        return self.link(**{which: other if now == first else first})

    def direction(self, which: str, key: str) -> str:
        """Return the value of aria-sort of a column; empty if the order is by another one."""
        now = getattr(self, which)
        if now.removeprefix("-") != key:
            return ""
        return "descending" if now.startswith("-") else "ascending"

    def tables_of(self, tables: Iterable[TableActivity]) -> list[TableActivity]:
        """Return the tables to show, in order."""
        found = [each for each in tables if self._has_text(each.path)]
        return _ordered(found, self.tables, TABLE_KEYS)

    def requests_of(self, answers: Iterable[AnsweredRequest]) -> list[AnsweredRequest]:
        """Return the requests to show, in order."""
        found = [
            each
            for each in answers
            if self.status in ("", each.status)
            and self._has_text(each.table, each.request, each.note)
        ]
        return _ordered(found, self.requests, REQUEST_KEYS)

    def _has_text(self, *texts: str) -> bool:
        return any(self.text.lower() in text.lower() for text in texts)


def _orders(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(order for key in keys for order in (key, f"-{key}"))


def _ordered(rows: list[_Row], order: str, keys: Mapping[str, Callable[[_Row], Any]]) -> list[_Row]:
    key = keys[order.removeprefix("-")]
    return sorted(rows, key=key, reverse=order.startswith("-"))


#: Requests that are shown if not all are asked for.
_MOST_ROWS = 25


@dataclass(frozen=True)
class TableState:
    """A table as it was read for its page.

    Attributes:
        timeline: None if the table could not be read.
        problem: Why it could not be read; or empty.
    """

    timeline: Timeline | None
    indexes: Sequence[IndexStatus]
    problem: str = ""


def overview_page(activity: Activity, view: View) -> str:
    """Return the page of totals, of requested tables and of the latest requests."""
    return render(
        "console_overview.html",
        title="Pruning service",
        tables=view.tables_of(activity.tables.values()),
        **_shared(activity, activity.totals, view),
        trend=draw_trend(activity.trend, activity.now),
    )


def table_page(activity: Activity, table: TableActivity, state: TableState, view: View) -> str:
    """Return the page of a table: its totals, indexes, timeline and requests."""
    timeline = state.timeline
    newest = timeline.last_write.requested if timeline and timeline.last_write else None
    return render(
        "console_table.html",
        title=table.path,
        problem=state.problem,
        indexes=_index_rows(state.indexes, table.savings, table.totals.files),
        instants=None if timeline is None else draw_timeline(timeline.instants, newest),
        **_shared(activity, table.totals, view, table.path),
        trend=draw_trend(table.trend, activity.now),
    )


@dataclass(frozen=True)
class _IndexRow:
    """An index, or another evidence that has no state; `share` is of all files considered."""

    name: str
    kind: str
    columns: str
    state: str
    covers: str
    note: str
    saving: IndexSaving
    share: float


def _index_rows(
    indexes: Sequence[IndexStatus], savings: Mapping[str, IndexSaving], files: int
) -> list[_IndexRow]:
    left = dict(savings)
    rows = []
    for each in indexes:
        saving = IndexSaving()
        for name in dict.fromkeys([*each.partitions, each.name]):
            own = left.pop(name, IndexSaving())
            saving = IndexSaving(
                max(saving.requests, own.requests),
                saving.files + own.files,
                saving.millis + own.millis,
            )
        columns = ", ".join(each.columns)
        state = (each.state.value, each.covers or "", each.note)
        rows.append(_IndexRow(each.name, each.kind, columns, *state, saving, _of(saving, files)))
    rows += [
        _IndexRow(name, "", "", "", "", "", saving, _of(saving, files))
        for name, saving in sorted(left.items())
    ]
    return rows


def _of(saving: IndexSaving, files: int) -> float:
    return saving.files / max(files, 1)


def _shared(activity: Activity, totals: Totals, view: View, path: str = "") -> dict[str, object]:
    """Return what both pages show; `path` is that of the table, or empty for all."""
    answers = [each for each in activity.recent if path in ("", each.table)]
    requests = view.requests_of(answers)
    return {
        "view": view,
        "activity": activity,
        "totals": totals,
        "tiles": _tiles(totals),
        "answers": len(answers),
        "found": len(requests),
        "requests": requests if view.rows else requests[:_MOST_ROWS],
        "statuses": sorted({each.status for each in answers} | ({view.status} - {""})),
        "refreshes": REFRESH_SECONDS,
    }


def _tiles(totals: Totals) -> list[tuple[str, str, str]]:
    """Return the totals: name, number, and what it consists of."""
    skipped = f"{totals.skipped_share:.1%}" if totals.files else "none"
    return [
        ("requests", f"{totals.requests:,}", f"{totals.unpruned:,} not pruned"),
        ("files skipped", skipped, f"{totals.dropped:,} of {totals.files:,}"),
        ("not read", megabytes(totals.bytes_dropped), f"of {megabytes(totals.bytes)}"),
        ("mean time", f"{totals.mean_millis:.1f} ms", f"slowest {totals.slowest:,.1f} ms"),
    ]
