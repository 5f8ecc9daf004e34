"""The process that serves is started again when it ends by itself, and ends when it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

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


def test_it_is_replaced_each_time(service: Process) -> None:
    for _ in range(2):
        os.kill(service.serving_pid(), signal.SIGKILL)
        service.wait_for_log("service started again")
        service.wait_for_log("listening")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_time_whatever_it_does(service: Process, number: signal.Signals) -> None:
    """A stopped process runs nothing, as one that holds the interpreter's lock in C."""
    serving = service.serving_pid()
    os.kill(serving, signal.SIGSTOP)
    service.process.send_signal(number)
    assert service.process.wait(PATIENCE) == 1
    wait_until_gone(serving)
    service.reader.join()
    assert "service killed: it does not stop" in service.text


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
