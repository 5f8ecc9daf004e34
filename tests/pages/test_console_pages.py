"""The console's pages: every number, state and reason is in its own row."""

from dataclasses import replace
from datetime import datetime

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State
from pyhudi_expr.pages.console import AnsweredRequest, overview_page, table_page
from tests.pages.page_cells import rows

ANSWERED_REQUEST = AnsweredRequest(
    at=datetime(2026, 3, 4, 5, 6, 7),
    request="query-1",
    table="/warehouse/trips",
    status="OK",
    instant="20260101000000000",
    files=10,
    dropped=4,
    millis=2.5,
    note="no index on a column",
)
OTHER = replace(ANSWERED_REQUEST, request="query-2", files=30, dropped=29, note="")
FAILED = AnsweredRequest(
    at=ANSWERED_REQUEST.at,
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


def test_tables_total_their_requests_and_each_request_has_reasons():
    assert rows(overview_page([FAILED, OTHER, ANSWERED_REQUEST])) == [
        ["table", "requests", "instant", "files not read"],
        ["/warehouse/none", "1", "not known", "0 of 0"],
        ["/warehouse/trips", "2", "20260101000000000", "33 of 40"],
        ["UTC", "request", "table", "status", "files not read", "ms", "why"],
        [
            *("2026-03-04 05:06:07", "query-3", "/warehouse/none", "NOT_PRUNED"),
            *("0 of 0", "0.1", "no Hudi table here"),
        ],
        ["2026-03-04 05:06:07", "query-2", "/warehouse/trips", "OK", "29 of 30", "2.5", ""],
        [
            *("2026-03-04 05:06:07", "query-1", "/warehouse/trips", "OK"),
            *("4 of 10", "2.5", "no index on a column"),
        ],
    ]


def test_an_index_is_shown_with_its_freshness():
    row_cells = rows(table_page("/warehouse/trips", None, [INDEX], [ANSWERED_REQUEST]))
    assert row_cells[:2] == [
        ["index", "kind", "columns", "state", "covers", "note"],
        ["riders", "secondary_index", "rider, city", "lagging", INDEX.covers, INDEX.note],
    ]
    assert len(row_cells) == 4


def test_read_errors_and_missing_requests_are_shown():
    assert ["problem", "no Hudi table here"] in rows(
        table_page("/warehouse/none", None, [], [FAILED], "no Hudi table here")
    )
    assert "No requests yet." in overview_page([])
