"""A HiveServer2 without a named service has one of its own, which nobody else needs to start."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.hiveserver import NO_OWN_SERVICE, OWN_SERVICE, HiveServer
from devtools.runtime import aux_jars
from devtools.scan_reports import ScanReports, ScanTotals
from pyhudi_expr.cli.main import main
from pyhudi_expr.manage.hive.session import HiveSession

pytestmark = pytest.mark.hive

_MODULE = "pyhudi_expr.service.running.companion"
_DEADLINE_SECONDS = 60.0
_QUERY = "SELECT txn_id FROM t WHERE amount > 1000000000"
_NO_CACHE = {"hudi.pruning.cache.ms": "0"}


@pytest.fixture(scope="module")
def table(golden: dict[str, Path]) -> Path:
    return golden["cow_v9_txns_simple_meta"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, table: Path) -> Iterator[HiveServer]:
    with HiveServer(tmp_path_factory.mktemp("own"), settings=OWN_SERVICE) as started:
        with started.session() as session:
            session.run(create_with_handler("t", str(table)))
        yield started


def services(server: HiveServer) -> list[int]:
    """The processes of services whose parent is this HiveServer2."""
    children = Path(f"/proc/{server.pid}/task").glob("*/children")
    pids = {int(pid) for one in children for pid in one.read_text().split()}
    return [pid for pid in pids if _MODULE in Path(f"/proc/{pid}/cmdline").read_text()]


def soon(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {_DEADLINE_SECONDS} s: {what}"
        time.sleep(0.1)


def scanned(session: HiveSession, reports: ScanReports) -> ScanTotals:
    reports.take()
    session.run(_QUERY)
    return reports.take()


def test_it_starts_with_the_first_query_and_prunes_those_after_it(
    server: HiveServer, tmp_path: Path
) -> None:
    reports = ScanReports(tmp_path)
    with server.session({**reports.settings(), **_NO_CACHE}) as session:
        soon(lambda: "PRUNED" in scanned(session, reports).outcomes, "a query is pruned")
        assert len(services(server)) == 1
    assert re.search(r"a pruning service of \S+ listens at 127\.0\.0\.1:\d+", server.log())


def test_one_that_is_killed_is_started_again(server: HiveServer, tmp_path: Path) -> None:
    reports = ScanReports(tmp_path)
    with server.session({**reports.settings(), **_NO_CACHE}) as session:
        soon(lambda: "PRUNED" in scanned(session, reports).outcomes, "a query is pruned")
        (killed,) = services(server)
        os.kill(killed, signal.SIGKILL)
        soon(lambda: services(server) not in ([], [killed]), "another one runs")
        soon(lambda: "PRUNED" in scanned(session, reports).outcomes, "a query is pruned again")


def test_the_doctor_says_which_one_answers(
    server: HiveServer, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hs2 = ("--hs2", f"127.0.0.1:{server.port}", "--auth", "NOSASL")
    main(["hive", "doctor", str(table), "--name", "t", *hs2])
    shown = capsys.readouterr().out
    assert "HiveServer2's own one at 127.0.0.1:" in shown
    assert "HiveServer2's own service answers HiveServer2 alone" in shown


def test_sessions_that_load_the_handler_by_themselves_share_one_that_ends_with_their_server(
    server: HiveServer, table: Path, tmp_path: Path
) -> None:
    reports = ScanReports(tmp_path / "reports")
    with HiveServer(tmp_path / "other", jars=[], settings=OWN_SERVICE) as other:
        for _ in range(2):
            with other.session({**reports.settings(), **_NO_CACHE}) as session:
                for jar in aux_jars():
                    session.run(f"ADD JAR {jar}")
                session.run("DROP TABLE IF EXISTS t")
                session.run(create_with_handler("t", str(table)))
                soon(lambda: "PRUNED" in scanned(session, reports).outcomes, "a query is pruned")
        (pid,) = services(other)
        os.kill(other.pid, signal.SIGKILL)
        soon(lambda: not Path(f"/proc/{pid}/cmdline").exists(), "it ends")
    assert len(services(server)) == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({**OWN_SERVICE, "hudi.pruning.python": "/nowhere/python"}, "/nowhere/python"),
        ({**OWN_SERVICE, "hudi.pruning.python": "/bin/false"}, "ended with code 1"),
        (NO_OWN_SERVICE, "no service address is set"),
    ],
)
def test_without_a_python_that_has_the_package_every_file_is_read(
    settings: dict[str, str], reason: str, table: Path, tmp_path: Path
) -> None:
    reports = ScanReports(tmp_path / "reports")
    with HiveServer(tmp_path / "hive", settings=settings) as server:
        with server.session({**reports.settings(), **_NO_CACHE}) as session:
            session.run(create_with_handler("t", str(table)))
            soon(lambda: scanned(session, reports) is not None and reason in server.log(), reason)
            seen = scanned(session, reports)
        assert seen.files_kept == seen.files_considered > 0
        assert "UNREACHABLE" in seen.outcomes
        assert services(server) == []


def test_the_interpreter_of_the_tests_has_the_package() -> None:
    assert OWN_SERVICE["hudi.pruning.python"] == sys.executable
