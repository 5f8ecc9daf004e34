"""The history: totals of tables and indexes since the start, in limited memory."""

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.protocol.generated.ttypes import PruneResponse, PruneStatus
from pyhudi_expr.service.history import History
from pyhudi_expr.service.metrics import Metrics
from tests.api.pages.test_console_pages import ANSWERED_REQUEST, FAILED, OTHER


def test_requests_are_totalled_by_table():
    history = History()
    for each in (ANSWERED_REQUEST, OTHER, FAILED):
        history.add(each)
    found = history.activity()
    assert (found.totals.requests, found.totals.unpruned) == (3, 1)
    assert (found.totals.dropped, found.totals.files) == (33, 40)
    trips = found.tables["/warehouse/trips"]
    assert (trips.totals.requests, trips.totals.bytes_dropped) == (2, 16_000_000)
    assert (trips.instant, trips.last) == (OTHER.instant, OTHER.at)
    assert [each.request for each in found.recent] == ["query-3", "query-2", "query-1"]


def test_indexes_are_credited_with_the_files_that_those_before_them_left(golden):
    table = str(golden["mor_v9_txns_simple_meta"])
    request = PruneRequest(parse_predicate("txn_id = 'TXN-003' AND region = 'us'"))
    result = Pruner().prune(table, request)
    assert len(result.dropped_by) >= 1
    history = History()
    for _ in range(3):
        history.add_result(table, result)
        history.add(ANSWERED_REQUEST)
    savings = history.activity().tables[table].savings
    for name, files in result.dropped_by.items():
        assert (savings[name].files, savings[name].requests) == (3 * files, 3)
    assert {source.name for source in result.evidence} <= set(savings)


def test_of_many_tables_those_requested_last_are_kept_and_all_are_totalled():
    metrics = Metrics()
    for number in range(1_000):
        for path in (f"/t{number}", "/t0"):
            response = PruneResponse(requestId="r", basePath=path, status=PruneStatus.OK)
            metrics.answered(response, 0.001, None)
    found = metrics.activity()
    assert len(found.tables) == 500
    assert found.tables["/t0"].totals.requests == 1_001
    assert "/t999" in found.tables
    assert "/t1" not in found.tables
    assert found.totals.requests == 2_000
    assert len(found.recent) == 200
