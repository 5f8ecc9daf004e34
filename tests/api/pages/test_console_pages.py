"""The console's pages: every number, state and reason is in its own row; order, filter, refresh."""

import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from pyhudi_expr.api.pages.activity import (
    Activity,
    AnsweredRequest,
    IndexSaving,
    TableActivity,
    Totals,
    Trend,
)
from pyhudi_expr.api.pages.console import TableState, View, overview_page, table_page
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State
from tests.api.pages.documents import parsed
from tests.api.pages.page_cells import rows

START = datetime(2026, 3, 4, 5, 0, 0, tzinfo=timezone.utc)
ANSWERED_REQUEST = AnsweredRequest(
    at=datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc),
    request="query-1",
    table="/warehouse/trips",
    status="OK",
    instant="20260101000000000",
    files=10,
    dropped=4,
    millis=2.5,
    note="no index on a column",
    bytes=20_000_000,
    bytes_dropped=8_000_000,
)
LATER = ANSWERED_REQUEST.at + timedelta(minutes=1)
OTHER = replace(ANSWERED_REQUEST, request="query-2", files=30, dropped=29, note="", at=LATER)
FAILED = AnsweredRequest(
    at=LATER + timedelta(minutes=1),
    request="query-3",
    table="/warehouse/none",
    status="NOT_PRUNED",
    instant=None,
    files=0,
    dropped=0,
    millis=0.1,
    note="no Hudi table here",
)
INDEX = IndexStatus(
    name="riders",
    kind="secondary_index",
    columns=("rider", "city"),
    store=Store.HUDI,
    partitions=("secondary_index_riders",),
    state=State.LAGGING,
    covers="20251231000000000",
    note="the table's newest commit is 20260101000000000",
)


def activity(*answers: AnsweredRequest, savings: dict[str, IndexSaving] | None = None) -> Activity:
    """The activity after these requests, the latest first."""
    totals, trend = Totals(), Trend(START)
    tables: dict[str, TableActivity] = {}
    for each in reversed(answers):
        totals, trend = totals.plus(Totals.of([each])), trend.plus(each.at, Totals.of([each]))
        known = tables.get(each.table)
        own = Totals() if known is None else known.totals
        own_trend = Trend(START) if known is None else known.trend
        tables[each.table] = TableActivity(
            each.table,
            own.plus(Totals.of([each])),
            each.instant,
            each.at,
            own_trend.plus(each.at, Totals.of([each])),
            savings or {},
        )
    now = LATER + timedelta(hours=1)
    return Activity(START, now, totals, trend, tables, tuple(answers))


ALL = activity(FAILED, OTHER, ANSWERED_REQUEST)


def without_marks(row: list[str]) -> list[str]:
    return [cell.strip(" ▼▲") for cell in row]


def test_tables_total_their_requests_and_each_request_has_reasons():
    found = [without_marks(row) for row in rows(overview_page(ALL, View())) if len(row) == 7]
    assert found == [
        [
            *("table", "requests", "files skipped", "not read", "mean ms", "instant"),
            "last request (UTC)",
        ],
        [
            *("/warehouse/none", "1", "none looked at", "0 MB", "0.1", "not known"),
            "2026-03-04 05:08:07",
        ],
        [
            *("/warehouse/trips", "2", "82.5%33 of 40", "16.0 MB", "2.5", "20260101000000000"),
            "2026-03-04 05:07:07",
        ],
        ["UTC", "request", "table", "status", "files skipped", "ms", "why not more"],
        [
            *("2026-03-04 05:08:07", "query-3", "/warehouse/none", "NOT_PRUNED"),
            *("none looked at", "0.1", "no Hudi table here"),
        ],
        [
            *("2026-03-04 05:07:07", "query-2", "/warehouse/trips", "OK", "96.7%29 of 30"),
            *("2.5", ""),
        ],
        [
            *("2026-03-04 05:06:07", "query-1", "/warehouse/trips", "OK", "40.0%4 of 10"),
            *("2.5", "no index on a column"),
        ],
    ]


def test_totals_since_the_start_are_shown():
    page = overview_page(ALL, View())
    tiles = re.findall(r"<dt>(.*?)</dt><dd><b>(.*?)</b><small>(.*?)</small>", page)
    assert tiles == [
        ("requests", "3", "1 not pruned"),
        ("files skipped", "82.5%", "33 of 40"),
        ("not read", "16.0 MB", "of 40.0 MB"),
        ("mean time", "1.7 ms", "slowest 2.5 ms"),
    ]


def test_bars_have_the_lengths_of_their_shares():
    """3 of 5 and 244 of 250 look different."""
    page = overview_page(
        activity(
            replace(OTHER, files=5, dropped=3), replace(OTHER, files=250, dropped=244, table="/b")
        ),
        View(),
    )
    bars = re.findall(
        r'<rect class="skipped" width="([\d.]+)" height="10"/>'
        r'<rect class="read" x="([\d.]+)" width="([\d.]+)"',
        page,
    )
    assert sorted(set(bars)) == [("60.00", "60.00", "40.00"), ("97.60", "97.60", "2.40")]


def test_an_index_is_shown_with_its_freshness_and_what_it_saved():
    savings = {
        "secondary_index_riders": IndexSaving(requests=2, files=30, millis=1.5),
        "partition values": IndexSaving(requests=1, files=3, millis=0.25),
    }
    shown = activity(OTHER, ANSWERED_REQUEST, savings=savings)
    table = shown.tables["/warehouse/trips"]
    page = table_page(shown, table, TableState(None, [INDEX]), View(table.path))
    found = [row for row in rows(page) if len(row) == 9]
    assert found == [
        [
            *("index", "kind", "columns", "state", "files skipped", "in requests", "time, ms"),
            *("covers", "note"),
        ],
        [
            *("riders", "secondary_index", "rider, city", "lagging", "75.0%30", "2", "1.5"),
            *(INDEX.covers, INDEX.note),
        ],
        ["partition values", "", "", "", "7.5%3", "1", "0.2", "", ""],
    ]


def test_a_table_has_its_own_requests_only():
    table = ALL.tables["/warehouse/trips"]
    page = table_page(ALL, table, TableState(None, []), View(table.path))
    assert "query-1" in page
    assert "query-3" not in page
    assert "The last 2 requests" in page


def test_read_errors_and_missing_requests_are_shown():
    table = ALL.tables["/warehouse/none"]
    state = TableState(None, (), "no Hudi table here")
    assert ["problem", "no Hudi table here"] in rows(
        table_page(ALL, table, state, View(table.path))
    )
    assert "No requests yet." in overview_page(activity(), View())


def shown_requests(view: View) -> list[str]:
    page = overview_page(ALL, view)
    return re.findall(r'data-name="request">(.*?)</td>', page)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["query-3", "query-2", "query-1"]),
        ({"requests": "time"}, ["query-1", "query-2", "query-3"]),
        ({"requests": "-skipped"}, ["query-2", "query-1", "query-3"]),
        ({"requests": "nonsense"}, ["query-3", "query-2", "query-1"]),
        ({"status": "OK"}, ["query-2", "query-1"]),
        ({"text": "NONE"}, ["query-3"]),
        ({"text": "no index"}, ["query-1"]),
        ({"text": "nothing has this"}, []),
    ],
)
def test_requests_are_ordered_and_filtered_by_the_url(query, expected):
    assert shown_requests(View.of(query)) == expected


def test_tables_are_ordered_and_filtered_by_the_url():
    def tables(**query: str) -> list[str]:
        page = overview_page(ALL, View.of(query))
        return re.findall(r'<td class="path" data-name="table"><a [^>]*>(.*?)</a>', page)

    assert tables() == ["/warehouse/none", "/warehouse/trips"]
    assert tables(tables="-requests") == ["/warehouse/trips", "/warehouse/none"]
    assert tables(text="trips") == ["/warehouse/trips"]
    assert "No table matches the filter." in overview_page(ALL, View(text="nothing"))


def test_a_second_click_reverses_the_order_and_keeps_the_filter():
    view = View(text="a&b", requests="-ms")
    assert View().order_link("requests", "ms") == "/?requests=-ms"
    assert view.order_link("requests", "ms") == "/?text=a%26b&requests=ms"
    assert view.direction("requests", "ms") == "descending"
    page = overview_page(ALL, View(text="query", requests="-ms"))
    assert 'aria-sort="descending"><a href="/?text=query&amp;requests=ms"' in page


def test_the_page_is_loaded_again_only_if_that_is_asked_for():
    assert 'http-equiv="refresh"' not in overview_page(ALL, View())
    page = overview_page(ALL, View.of({"refresh": "10"}))
    assert '<meta http-equiv="refresh" content="10">' in page
    assert 'http-equiv="refresh"' not in overview_page(ALL, View.of({"refresh": "0"}))


def test_many_requests_are_shown_in_part_until_all_are_asked_for():
    many = activity(*[replace(OTHER, request=f"query-{n}") for n in range(60)])
    page = overview_page(many, View())
    assert page.count('data-name="request"') == 25
    assert '<a href="/?rows=all">Show all 60</a>' in page
    assert overview_page(many, View(rows="all")).count('data-name="request"') == 60


def test_texts_of_requests_are_escaped():
    evil = "<img src=x onerror=alert(1)>\"'&"
    odd = replace(FAILED, table=evil, request=evil, note=evil, status=evil)
    parsed(overview_page(activity(odd), View(text="<", status=evil)))
    shown = activity(odd)
    state = TableState(None, [replace(INDEX, name=evil, note=evil, columns=(evil,))], evil)
    page = parsed(table_page(shown, shown.tables[evil], state, View(path=evil)))
    assert all(link.startswith("/") for link in page.links)


def test_a_trend_covers_the_time_since_the_start_in_a_limited_number_of_periods():
    trend = Trend(START)
    for hours in range(100):
        trend = trend.plus(START + timedelta(hours=hours), Totals.of([OTHER]))
    assert len(trend.periods) <= 60
    assert sum(each.requests for each in trend.periods) == 100
    assert trend.begin(len(trend.periods) - 1) <= START + timedelta(hours=99)
    assert [each.requests for each in trend.periods[:-1]].count(0) == 0
    # A clock that is set back loses no request.
    assert (
        sum(
            each.requests
            for each in trend.plus(ANSWERED_REQUEST.at, Totals.of([ANSWERED_REQUEST])).periods
        )
        == 101
    )


def test_a_trend_is_drawn_with_its_numbers():
    page = overview_page(ALL, View())
    assert "<title>2026-03-04 05:06:00: requests: 2, not pruned: 0</title>" in page
    assert "<title>2026-03-04 05:06:00: 82.5% of 40 files skipped</title>" in page
    assert ["2026-03-04 05:08:00", "1", "1", "0 of 0", "0.1"] in rows(page)
