"""Beeline, as the documents show it, with HiveServer2 of both versions.

Maven Central has no Beeline of Hive 4.0; Hive 3.1's works with both.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from pyhive import hive as pyhive

from devtools.ddl import create_with_handler
from devtools.hive_versions import HIVE_3, HIVE_4, HiveVersion
from devtools.hiveserver import HiveServer
from devtools.runtime import java
from devtools.service import ServiceProcess
from pyhudi_expr.cli.demo_table import write_demo_table
from tests.docs.documents import Runner, pieces

pytestmark = [pytest.mark.hive, pytest.mark.long]

_SECONDS = 300


class Logging(HiveServer):
    """A HiveServer2 that requires SASL, the default, and sends its log to clients."""

    def __init__(self, run_dir: Path, line: HiveVersion) -> None:
        settings = {
            "hive.server2.authentication": "NONE",
            "hive.server2.logging.operation.enabled": "true",
            "hive.server2.logging.operation.log.location": str(run_dir / "operations"),
        }
        super().__init__(run_dir, settings=settings, line=line)

    def connect(self, user: str = "pyhudi") -> pyhive.Connection:
        """Connects as PyHive does."""
        return pyhive.connect("127.0.0.1", self.port, auth="NONE", username=user)


@dataclass(frozen=True)
class Beeline:
    """Beeline for one server. home: where it stores its history."""

    server: HiveServer
    line: HiveVersion
    service: str
    table: Path
    home: Path

    def connecting(self) -> list[str]:
        """The arguments for the server's address."""
        words = self.documented()
        place = words.index("-u")
        return words[place : place + 2]

    def documented(self) -> list[str]:
        """The arguments of the documents' command, for this server."""
        (command,) = [one for one in pieces(Runner.HIVE, "shell") if one.words[0] == "beeline"]
        return [word.replace(":10000/", f":{self.server.port}/") for word in command.words[1:]]

    def run(self, *words: str) -> str:
        """Its output, including the log."""
        settings = {
            "hudi.pruning.service.addresses": self.service,
            "hudi.pruning.timeout.ms": "60000",
        }
        own = [f"--hiveconf={name}={value}" for name, value in settings.items()]
        done = subprocess.run(
            [*self._program(), *own, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self.home)},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def _program(self) -> Sequence[str]:
        return [
            str(java()),
            f"-Duser.home={self.home}",
            *HIVE_3.entry,
            f"{HIVE_3.lib}/*",
            "org.apache.hive.beeline.BeeLine",
        ]


@pytest.fixture(scope="module", params=[HIVE_4, HIVE_3], ids=["Hive 4.0", "Hive 3.1"])
def beeline(
    request: pytest.FixtureRequest,
    pruning_service: ServiceProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Beeline]:
    root = tmp_path_factory.mktemp("beeline")
    write_demo_table(root / "trips")
    with Logging(root / "server", request.param) as server:
        with server.session() as session:
            session.run("CREATE DATABASE sales")
            session.run(create_with_handler("sales.trips", root / "trips"))
        yield Beeline(server, request.param, pruning_service.address, root / "trips", root)


def test_the_documents_command_prints_the_count(beeline: Beeline) -> None:
    output = beeline.run(*beeline.documented())
    (counted,) = re.findall(r"^\| (\d+) +\|$", output, re.MULTILINE)
    rows = ds.dataset(beeline.table, exclude_invalid_files=True, ignore_prefixes=[".", "_"])
    assert int(counted) == rows.count_rows(filter=pc.field("fare").cast("double") > 100)


def test_explain_shows_pruning_if_the_hive_version_supports_it(beeline: Beeline) -> None:
    explain = "EXPLAIN SELECT count(*) FROM trips WHERE day = '2024-01-03'"
    statements = f"SET hive.explain.user=false; {explain}"
    output = beeline.run(*beeline.connecting(), "-e", statements)
    assert "TableScan" in output
    log_line = re.search(r"hudi\.pruning PRUNED, reads 8 of 80 files", output) is not None
    assert log_line == (beeline.line is HIVE_4)


def test_the_jobs_counters_are_printed(beeline: Beeline) -> None:
    if beeline.line is HIVE_3:
        pytest.skip("Hive 3.1 prints a summary of Tez's jobs only, and has no Tez here")
    settings = "SET hive.fetch.task.conversion=none; SET hive.tez.exec.print.summary=true"
    query = "SELECT city, count(*) FROM trips WHERE day = '2024-01-03' GROUP BY city"
    output = beeline.run(*beeline.connecting(), "-e", f"{settings}; {query}")
    counted = {
        name: int(n) for name, n in re.findall(r" ([A-Z_]+): (\d+) *$", output, re.MULTILINE)
    }
    assert (counted["FILES_CONSIDERED"], counted["FILES_KEPT"]) == (80, 8)
    assert (counted["FILES_DROPPED"], counted["SCANS_PRUNED"]) == (72, 1)
