"""The console's pages: all tables, and one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyhudi_expr.api.pages.activity import Activity, IndexSaving, TableActivity, Totals
from pyhudi_expr.api.pages.console_view import REFRESH_SECONDS, View
from pyhudi_expr.api.pages.render import megabytes, render
from pyhudi_expr.api.pages.timeline import draw_timeline
from pyhudi_expr.api.pages.trends import draw_trend
from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.tables.timeline.timeline import Timeline

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
