"""Child processes: errors include the log, deadlines hold, nothing is left running."""

import sys
import time
from pathlib import Path

import pytest

from devtools.process import ServerError, ServerProcess, run_logged


def python(name: str, code: str, output: Path) -> ServerProcess:
    return ServerProcess(name, [sys.executable, "-c", code], output=output)


def test_a_server_that_dies_while_starting_shows_its_log(tmp_path: Path) -> None:
    server = python("Parrot", "print('pining'); raise SystemExit(3)", tmp_path / "log")
    with pytest.raises(ServerError, match=r"(?s)Parrot ended with status 3.*pining"):
        server.wait_until(lambda: False, seconds=30)


def test_a_server_that_does_not_answer_is_stopped_at_the_deadline(tmp_path: Path) -> None:
    server = python("Parrot", "import time; time.sleep(60)", tmp_path / "log")
    with pytest.raises(ServerError, match=r"did not answer within 0\.3 s"):
        server.wait_until(lambda: False, seconds=0.3)
    assert not server.is_running()


def test_a_server_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    code = f"""
import pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({str(ready)!r}).touch()
time.sleep(60)
"""
    server = python("Parrot", code, tmp_path / "log")
    server.wait_until(ready.exists, seconds=30)
    started = time.monotonic()
    server.stop(grace_seconds=0.3)
    assert not server.is_running()
    assert time.monotonic() - started < 30


def test_stopping_twice_is_harmless(tmp_path: Path) -> None:
    server = python("Parrot", "import time; time.sleep(60)", tmp_path / "log")
    server.stop()
    server.stop()
    assert not server.is_running()


def test_a_command_that_fails_shows_the_end_of_its_output(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('bereft of life'); raise SystemExit(1)"]
    with pytest.raises(ServerError, match="bereft of life"):
        run_logged("Parrot", command, output=tmp_path / "log")


def test_a_command_that_succeeds_returns(tmp_path: Path) -> None:
    run_logged("Parrot", [sys.executable, "-c", "print('hello')"], output=tmp_path / "log")
    assert (tmp_path / "log").read_text() == "hello\n"
