"""The service as a process: its pages, and its reaction to SIGHUP and SIGTERM."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from tests.service.running_server import PATIENCE
from tests.service.service_process import Process

SECRET = "S3CR3T-L1T3RAL"


@pytest.fixture(scope="module", params=[1, 2], ids=["one process", "two workers"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    started = Process(tmp_path_factory.mktemp("service"), workers=request.param)
    try:
        yield started
    finally:
        started.kill()


@pytest.fixture
def client(service: Process) -> Iterator[PruningClient]:
    with PruningClient(port=service.port, timeout=PATIENCE) as connected:
        yield connected


def test_health_and_readiness(service: Process) -> None:
    assert service.page("/health") == (200, "ok\n")
    assert service.page("/ready") == (200, "ready\n")
    assert service.page("/secret")[0] == 404
    assert service.page("/../etc/passwd")[0] == 404


def test_the_first_line_of_the_log_says_what_is_open_to_whom(service: Process) -> None:
    first = json.loads(service.text.splitlines()[0])
    assert first["event"] == "starting"
    assert first["version"] == version("pyhudi-expr")
    shown = {name: first[name] for name in ("address", "tls", "token", "roots", "console")}
    assert shown == {
        "address": "127.0.0.1:0",
        "tls": "off",
        "token": "none",
        "roots": "all tables",
        "console": "off",
    }
    assert first["metrics"] == f"127.0.0.1:{service.pages}"


def test_every_answer_is_counted(
    service: Process, client: PruningClient, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    before = service.metrics()
    table = str(golden["cow_v9_txns_simple_meta"])
    done = client.prune(table, parse_predicate("region = 'us'"))
    assert client.prune(str(tmp_path), parse_predicate("a = 1")).status == PruneStatus.NOT_PRUNED
    after = service.metrics()

    def increase(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    assert increase("pyhudi_requests_total{ok}") == 1
    assert increase("pyhudi_requests_total{not_pruned}") == 1
    assert increase("pyhudi_unpruned_total{no_table}") == 1
    assert increase("pyhudi_files_total{dropped}") == done.counts.filesDropped > 0
    by_values = increase("pyhudi_index_files_dropped_total{partition_values}")
    assert by_values == done.counts.filesDropped
    assert increase("pyhudi_index_seconds_count{partition_values}") == 1
    kept = done.counts.filesConsidered - done.counts.filesDropped
    assert increase("pyhudi_files_total{kept}") == kept > 0
    assert increase("pyhudi_bytes_total{dropped}") == done.counts.bytesDropped > 0
    assert increase("pyhudi_request_seconds_count") == 2
    # Of several workers each has its own gauges, under its name.
    assert gauge(after, "pyhudi_cached_tables") == 1
    assert gauge(after, "pyhudi_connections") == 1
    assert gauge(after, "process_resident_memory_bytes") > 1 << 20


def gauge(metrics: Mapping[str, float], name: str) -> float:
    """The sum of a gauge over all workers."""
    return sum(value for sample, value in metrics.items() if sample.partition("{")[0] == name)


def test_settings_are_reloaded(
    service: Process, client: PruningClient, golden: Mapping[str, Path]
) -> None:
    table = str(golden["cow_v9_txns_simple_meta"])
    condition = parse_predicate("region = 'us'")
    service.write(table_roots=["/elsewhere"], workers=9)
    line = service.reload()
    assert line["need_restart"] == ["workers"]
    assert line["changed"] == ["table_roots"]
    assert (line["tls"], line["token"], line["roots"]) == ("off", "none", ["/elsewhere"])
    refused = client.prune(table, condition)
    assert refused.status == PruneStatus.BAD_REQUEST
    assert "table_roots" in refused.message
    # Invalid settings change nothing.
    service.write(table_roots=["/"], max_nodes=-1)
    assert "max_nodes" in str(service.reload("settings not reloaded")["reason"])
    assert client.prune(table, condition).status == PruneStatus.BAD_REQUEST
    service.write(token_file="/nowhere/token")
    assert "/nowhere/token" in str(service.reload("settings not reloaded")["reason"])
    service.write(max_nodes=1000)
    line = service.reload()
    assert "need_restart" not in line
    assert line["changed"] == ["table_roots", "max_nodes"]
    assert line["roots"] == "all tables"
    service.write()
    line = service.reload()
    assert line["changed"] == ["max_nodes"]
    assert not {"tls", "token", "roots"} & line.keys()
    assert service.reload()["changed"] == []
    assert client.prune(table, condition).status == PruneStatus.OK


def test_the_log_names_the_query_but_none_of_its_literals(
    service: Process, client: PruningClient, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    table = str(golden["cow_v9_txns_simple_meta"])
    for predicate in (
        f"region = '{SECRET}'",
        f"amount = '{SECRET}'",
        f"no_such_column = '{SECRET}'",
        f"upper(region) LIKE '%{SECRET}%'",
        f"txn_id IN ('{SECRET}', '{SECRET}2')",
        f"cast('{SECRET}' as timestamp) > event_time",
    ):
        for path in (table, str(tmp_path)):
            response = client.prune(path, parse_predicate(predicate))
            assert service.wait_for_log("prune", request=response.requestId)
    assert SECRET not in service.text


def test_sigterm_ends_the_service_after_running_requests(service: Process) -> None:
    with PruningClient(port=service.port, timeout=PATIENCE) as idle:
        idle.info()
        started_at = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(PATIENCE) == 0
    assert time.monotonic() - started_at < 5
    service.wait_for_log("stopped")
