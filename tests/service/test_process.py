"""The service as a process: its pages, and its reaction to SIGHUP and SIGTERM."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from queue import Queue

import pytest
from prometheus_client.parser import text_string_to_metric_families

from devtools.runtime import free_port
from pyhudi_expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.ttypes import PruneStatus
from pyhudi_expr.service.client import PruningClient
from tests.service.running_server import PATIENCE

SECRET = "S3CR3T-L1T3RAL"


class Process:
    """`pyhudi serve` with a settings file; its log is read line by line."""

    def __init__(self, directory: Path, **settings: object) -> None:
        self.file = directory / "service.toml"
        self.pages = free_port()
        self.fixed = {
            "port": 0,
            "log_format": "json",
            "snapshot_dir": "",
            "metrics_address": f"127.0.0.1:{self.pages}",
            **settings,
        }
        self.write()
        command = [sys.executable, "-m", "pyhudi_expr.cli", "serve", "--config", str(self.file)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.lines: Queue[dict[str, object]] = Queue()
        self.text = ""
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        self.port = int(str(self.wait_for_log("listening")["port"]))

    def write(self, **settings: object) -> None:
        """Writes the settings file; JSON values are valid TOML."""
        given = {**self.fixed, **settings}
        self.file.write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in given.items()))

    def wait_for_log(self, event: str, **fields: object) -> dict[str, object]:
        """Waits for the next line of the log with this event and these fields."""
        expected = {"event": event, **fields}
        while True:
            line = self.lines.get(timeout=PATIENCE)
            if expected.items() <= line.items():
                return line

    def page(self, path: str) -> tuple[int, str]:
        """Status and content of a page."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.pages}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self) -> Mapping[str, float]:
        """The metrics, as name{labels}."""
        return {
            sample.name + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
            for family in text_string_to_metric_families(self.page("/metrics")[1])
            for sample in family.samples
        }

    def reload(self, event: str = "settings reloaded") -> dict[str, object]:
        """Send SIGHUP, and wait until the settings are read."""
        self.process.send_signal(signal.SIGHUP)
        return self.wait_for_log(event)

    def kill(self) -> None:
        """Kill the process if it runs."""
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.text += line
            if line.startswith("{"):
                self.lines.put(json.loads(line))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    started = Process(tmp_path_factory.mktemp("service"))
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
    assert after["pyhudi_cached_tables"] == 1
    assert after["pyhudi_connections"] == 1
    assert after["process_resident_memory_bytes"] > 1 << 20


def test_settings_are_reloaded(
    service: Process, client: PruningClient, golden: Mapping[str, Path]
) -> None:
    table = str(golden["cow_v9_txns_simple_meta"])
    condition = parse_predicate("region = 'us'")
    service.write(table_roots=["/elsewhere"], workers=9)
    assert service.reload()["need_restart"] == ["workers"]
    refused = client.prune(table, condition)
    assert refused.status == PruneStatus.BAD_REQUEST
    assert "table_roots" in refused.message
    # Invalid settings change nothing.
    service.write(table_roots=["/"], max_nodes=-1)
    assert "max_nodes" in str(service.reload("settings not reloaded")["reason"])
    assert client.prune(table, condition).status == PruneStatus.BAD_REQUEST
    service.write(token_file="/nowhere/token")
    assert "/nowhere/token" in str(service.reload("settings not reloaded")["reason"])
    service.write()
    assert "need_restart" not in service.reload()
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
