"""The process that serves is started again when it ends by itself, and ends when it has to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from thrift.transport.TTransport import TTransportException

from bench.tables import synthetic
from devtools.runtime import free_port
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from tests.service.running_server import PATIENCE
from tests.service.service_process import Process

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "sigtimedwait"), reason="there the calling process serves"
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Process]:
    started = Process(tmp_path, port=free_port(), stop_seconds=0.2)
    yield started
    started.kill()


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + PATIENCE
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGBUS, signal.SIGSEGV])
def test_a_process_that_ends_by_itself_is_replaced(
    service: Process, golden: Mapping[str, Path], number: signal.Signals
) -> None:
    before = service.serving_pid()
    os.kill(before, number)
    line = service.wait_for_log("service started again")
    assert (line["pid"], line["ended"]) == (before, f"signal {number.name}")
    assert int(str(service.wait_for_log("listening")["port"])) == service.port
    assert service.serving_pid() != before
    with PruningClient(port=service.port, timeout=PATIENCE) as client:
        answer = client.prune(str(golden["cow_v9_txns_simple_meta"]), parse_predicate("amount > 1"))
    assert answer.status == PruneStatus.OK


def test_a_mapped_snapshot_that_is_truncated_costs_one_restart(tmp_path: Path) -> None:
    table, snapshots = tmp_path / "table", tmp_path / "snapshots"
    synthetic.write_table(table, files=2_000, partitions=8)
    service = Process(tmp_path, port=free_port(), snapshot_dir=str(snapshots))
    try:
        before = kept(service, table, "spread < 1000")
        for file in snapshots.glob("*.arrow"):
            os.truncate(file, 0)
        with pytest.raises(TTransportException, match="closed the connection"):
            kept(service, table, "spread < 1001")
        assert service.wait_for_log("service started again")["ended"] == "signal SIGBUS"
        service.wait_for_log("listening")
        assert kept(service, table, "spread < 1000") == before
        assert 0 < before < 2_000
    finally:
        service.kill()


def kept(service: Process, table: Path, predicate: str) -> int:
    """Return the number of files that a question keeps."""
    with PruningClient(port=service.port, timeout=PATIENCE) as client:
        answer = client.prune(str(table), parse_predicate(predicate))
    assert (answer.status, answer.message) == (PruneStatus.OK, None)
    return answer.counts.filesConsidered - answer.counts.filesDropped


def test_it_is_replaced_each_time(service: Process) -> None:
    for _ in range(2):
        os.kill(service.serving_pid(), signal.SIGKILL)
        service.wait_for_log("service started again")
        service.wait_for_log("listening")


@pytest.fixture
def hanging_by_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGUSR1 lets a process that is started decode 2**40 items without bytes.

    That takes hours, in C, with the interpreter's lock held.
    """
    (tmp_path / "sitecustomize.py").write_text(_HANGS)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)


_HANGS = """
import os, signal

def hang(*_):
    import fastavro, io
    schema = fastavro.parse_schema({"type": "array", "items": "null"})
    items = io.BytesIO(b"\\x80\\x80\\x80\\x80\\x80\\x80\\x40\\0")
    os.write(2, b'{"event": "hangs"}\\n')
    fastavro.schemaless_reader(items, schema, None)

signal.signal(signal.SIGUSR1, hang)
"""


@pytest.mark.usefixtures("hanging_by_a_signal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_time_while_it_hangs_in_c(service: Process, number: signal.Signals) -> None:
    serving = service.serving_pid()
    os.kill(serving, signal.SIGUSR1)
    service.wait_for_log("hangs")
    service.process.send_signal(number)
    assert service.process.wait(PATIENCE) == 1, "before the watchdog ends it"
    wait_until_gone(serving)
    service.reader.join()
    assert "service killed: it does not stop" in service.text


@pytest.mark.usefixtures("hanging_by_a_signal")
def test_several_workers_end_in_time_while_one_hangs_in_c(tmp_path: Path) -> None:
    service = Process(tmp_path, workers=2, stop_seconds=0.2)
    try:
        pids = service.worker_pids()
        os.kill(pids[0], signal.SIGUSR1)
        service.wait_for_log("hangs")
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(PATIENCE)
        for pid in pids:
            wait_until_gone(pid)
        service.reader.join()
        assert "worker killed: it does not stop" in service.text
    finally:
        service.kill()


def test_it_ends_in_order(service: Process) -> None:
    serving = service.serving_pid()
    assert service.stop() == 0
    wait_until_gone(serving)
    assert '"event": "stopped"' in service.text.splitlines()[-1]


def test_it_ends_with_its_supervisor(service: Process) -> None:
    serving = service.serving_pid()
    service.process.kill()
    service.process.wait(PATIENCE)
    wait_until_gone(serving)


def test_settings_are_reloaded_through_the_supervisor(service: Process) -> None:
    service.write(max_nodes=1000)
    assert service.reload()["changed"] == ["max_nodes"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "256.0.0.1"], "256.0.0.1 can be reached"),
        (["--root", "relative"], "relative"),
    ],
)
def test_one_that_cannot_begin_is_not_started_again(options: list[str], said: str) -> None:
    assert_not_started(["--port", "0", *options], said)


def test_one_whose_port_is_taken_is_not_started_again(service: Process) -> None:
    assert_not_started(["--port", str(service.port)], "cannot listen on")


def assert_not_started(options: list[str], said: str) -> None:
    command = [sys.executable, "-m", "pyhudi_expr.cli", "serve", *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "started again" not in ended.stderr
    assert "Traceback" not in ended.stderr
