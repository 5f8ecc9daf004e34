"""What several workers report, as one."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from prometheus_client.parser import text_string_to_metric_families

from pyhudi_expr.api.pages.activity import Activity, AnsweredRequest, Totals
from pyhudi_expr.protocol.generated.ttypes import PruneCounts, PruneResponse, PruneStatus
from pyhudi_expr.service.history import History
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.workers.reports import (
    Report,
    all_decoded,
    counts_only,
    decoded,
    encoded,
    families,
    joined,
    text,
)


def reported(worker: str, answers: int, held: float) -> Report:
    """The report of a worker that answered about `/t`, and `/own` of its own, and holds tables."""
    metrics = Metrics()
    metrics.watch("pyhudi_cached_tables", "Tables.", lambda: held)
    for number in range(answers):
        response = PruneResponse(1, f"{worker}{number}", "/t", PruneStatus.OK)
        response.counts = PruneCounts(10, 9, 2, 1, 100, 90, 5)
        metrics.answered(response, 0.01, None)
    own = PruneResponse(1, f"{worker} own", f"/own{worker}", PruneStatus.NOT_PRUNED)
    metrics.answered(own, 0.3, "no_table")
    service, process = metrics.collected()
    return Report(worker, families(service), families(process), metrics.activity())


def values(report: Report) -> dict[str, float]:
    """The values by name{values of labels}."""
    return {
        sample.name + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text(report).decode())
        for sample in family.samples
    }


def test_counters_are_added_and_gauges_are_named() -> None:
    found = values(joined([reported("1", 3, held=7), reported("2", 4, held=8)]))
    assert found["pyhudi_requests_total{ok}"] == 7
    assert found["pyhudi_unpruned_total{no_table}"] == 2
    assert found["pyhudi_files_total{dropped}"] == 63
    assert found["pyhudi_request_seconds_count"] == 9
    assert found["pyhudi_request_seconds_bucket{0.25}"] == 7
    assert (found["pyhudi_cached_tables{1}"], found["pyhudi_cached_tables{2}"]) == (7, 8)
    assert found["process_resident_memory_bytes{1}"] > 1 << 20
    assert found["process_cpu_seconds_total{1}"] > 0
    assert "process_cpu_seconds_total" not in found


def test_a_report_survives_its_way_between_processes() -> None:
    report = reported("1", 3, held=7)
    assert decoded(encoded(report)) == report
    assert all_decoded(b"[" + encoded(report) + b"," + encoded(report) + b"]") == (report, report)


def test_counts_of_a_worker_that_has_ended_are_added_and_its_gauges_are_gone() -> None:
    ended = counts_only(reported("1", 3, held=7))
    ended = counts_only(joined([ended, counts_only(reported("1", 5, held=7))]))
    found = values(joined([reported("1", 2, held=1), ended]))
    assert found["pyhudi_requests_total{ok}"] == 10
    assert found["pyhudi_cached_tables{1}"] == 1


def test_the_activity_of_all_is_that_of_one_service() -> None:
    found = joined([reported("1", 3, held=7), reported("2", 4, held=8)]).activity
    assert found is not None
    assert found.totals.requests == 9
    assert found.totals.unpruned == 2
    assert found.tables["/t"].totals.requests == 7
    assert {"/own1", "/own2"} < set(found.tables)
    assert found.recent[0].request == "2 own"
    assert sum(period.requests for period in found.trend.periods) == 9


def test_trends_of_different_starts_have_all_requests_at_their_time() -> None:
    start = datetime(2026, 1, 1, tzinfo=timezone.utc)

    def activity(begin: datetime, times: list[datetime]) -> Activity:
        history = History()
        now = history.activity()
        trend = now.trend.__class__(begin)
        for at in times:
            answer = AnsweredRequest(at, "", "/t", "OK", None, 1, 1, 1.0, "")
            trend = trend.plus(answer.at, Totals.of([answer]))
        return Activity(begin, now.now, now.totals, trend, {}, ())

    minutes = [start + timedelta(minutes=minute) for minute in range(40)]
    first = activity(start, minutes)
    later = activity(minutes[30], minutes[30:])
    found = joined([Report("1", (), (), first), Report("2", (), (), later)]).activity
    assert found is not None
    trend = found.trend
    assert (trend.start, trend.seconds) == (start, first.trend.seconds)
    of_time = {trend.begin(place): one.requests for place, one in enumerate(trend.periods)}
    assert sum(of_time.values()) == 50
    assert of_time[minutes[10]] == 1
    assert of_time[minutes[35]] == 2
