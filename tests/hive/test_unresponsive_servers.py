"""`pyhudi hive ...` with a port that accepts the connection, without a HiveServer2 behind it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.cli.main import main

#: Without a limit, an endless wait would stop all tests instead of failing.
pytestmark = pytest.mark.timeout(120)

WAYS = [
    ("--auth", "NONE"),
    ("--auth", "NOSASL"),
    ("--transport", "http"),
    ("--transport", "https"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("silent") / "trips"
    write_demo_table(path)
    return str(path)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a listener that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closing() -> Iterator[str]:
    """The address of a listener that accepts each connection and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    server.accept()[0].close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_registering_times_out_and_names_the_port(
    table: str, silent: str, way: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    code = main(["hive", "register", table, "--hs2", silent, "--timeout", "0.3", *way])
    assert time.monotonic() - began >= 0.3
    output = capsys.readouterr()
    assert (code, output.out) == (1, "")
    assert f"HiveServer2 at {silent} takes the connection and has not answered for 0.3 s" in (
        output.err
    )
    for hint in ("--auth", "--transport", "--timeout"):
        assert hint in output.err
    assert "Traceback" not in output.err


def test_a_dry_run_still_shows_the_statements(
    table: str, silent: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYHUDI_HS2", silent)
    monkeypatch.setenv("PYHUDI_HS2_TIMEOUT", "0.3")
    assert main(["hive", "register", table, "--dry-run"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("CREATE EXTERNAL TABLE ")
    assert "has not answered for 0.3 s" in output.err


def test_the_doctor_names_the_link_and_checks_the_rest(
    table: str, silent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--hs2", silent, "--timeout", "0.3", "--json"]
    assert main(["hive", "doctor", table, *options]) == 1
    found = {each["link"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
    assert found["HiveServer2"]["verdict"] == "failed"
    assert silent in found["HiveServer2"]["message"]
    assert "wait longer with --timeout" in found["HiveServer2"]["remedy"]
    assert found["indexes"]["verdict"] == "warning"


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_another_server_at_the_port_is_reported_at_once(
    table: str, closing: str, way: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hive", "register", table, "--hs2", closing, *way]) == 1
    output = capsys.readouterr().err
    assert f"HiveServer2 at {closing} gives no session" in output
    assert ("--auth nosasl" in output) == (way == ("--auth", "NONE"))
    assert "Traceback" not in output


@pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
def test_a_wait_is_a_number_of_seconds(
    table: str, seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hive", "register", table, "--timeout", seconds]) == 2
    assert "--timeout" in capsys.readouterr().err


def test_a_missing_password_is_prompted_for(
    table: str, silent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hive", "register", table, "--hs2", silent, "--auth", "LDAP"]) == 1
    assert "PYHUDI_HS2_PASSWORD" in capsys.readouterr().err
