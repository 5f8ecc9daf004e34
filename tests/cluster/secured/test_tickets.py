"""Tickets: those of the pruning service, which end, and of who registers and examines a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import FETCH, MASTER
from devtools.cluster.kerberos import ALICE, BOB, SERVICE_TICKET_SECONDS, Members
from devtools.cluster.secured import KeytabService
from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from tests.cluster.secured.users_hive import UsersHive

pytestmark = pytest.mark.cluster

Findings = dict[str, tuple[str, str]]


@pytest.fixture(scope="module")
def later(hive: UsersHive, cluster: Cluster) -> str:
    """A table about which nobody has asked yet."""
    cluster.shell("-cp", "-p", "/warehouse/events", "/warehouse/later")
    hive.run(create_with_handler("later", f"{cluster.root}/warehouse/later"))
    return "later"


def test_the_service_goes_on_with_a_new_ticket(
    hive: UsersHive, service: KeytabService, later: str
) -> None:
    query = "SELECT id, city FROM {} WHERE id IN (17, 2500, 8999)"
    hive.ask(query.format("events"), FETCH)
    ended = service.tickets()
    assert "HTTP/127.0.0.1" in ended
    time.sleep(SERVICE_TICKET_SECONDS + 2)
    unpruned, pruned = hive.ask_both_ways(query.format(later), FETCH)
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, 3)
    assert service.tickets() != ended


@pytest.mark.parametrize("place", [FETCH, MASTER])
def test_a_service_that_may_not_read_costs_pruning_only(
    hive: UsersHive, members: Members, cluster: Cluster, tmp_path: Path, place: str
) -> None:
    query = f"SELECT count(*), sum(amount) FROM events WHERE id < {900 + len(place)}"
    bobs = KeytabService(members, cluster, tmp_path, BOB)
    with bobs:
        settings = {
            "hudi.pruning.service.addresses": bobs.address,
            "hudi.pruning.token.file": str(bobs.token_file),
        }
        answer = hive.ask(query, place, settings=settings)
    assert answer.scan.outcomes == ("NOTHING_PROVED",)
    assert answer.files[0] == answer.files[1]
    assert "Permission denied: user=bob" in (tmp_path / "pruning-service.log").read_text()
    assert answer.rows == hive.ask(query, place, pruning=False).rows


class Program:
    """`pyhudi hive ...` for the table `events` on HDFS, by a user who has run kinit, or by none."""

    def __init__(self, members: Members, cluster: Cluster, server: HiveServer) -> None:
        self._members = members
        self._table = f"{cluster.root}/warehouse/events"
        self._hive = ("--hs2", f"localhost:{server.port}", "--auth", "KERBEROS")
        self._hdfs = {
            "PYHUDI_HDFS_VIA": "webhdfs",
            "HADOOP_CONF_DIR": str(cluster.directory / "conf"),
        }

    def run(self, user: str, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Its status, and what it writes."""
        words = ["hive", command, self._table, *self._hive, "--name", "registered", *options]
        return subprocess.run(
            [sys.executable, "-m", "pyhudi_expr.cli", *words],
            env={**os.environ, **self._hdfs, "KRB5CCNAME": self._members.cache(user)},
            capture_output=True,
            text=True,
            check=False,
        )

    def findings(self, *options: str) -> Findings:
        """What alice's doctor finds: the verdict and the message of each link."""
        done = self.run(ALICE, "doctor", "--json", *options)
        found = json.loads(done.stdout)["findings"]
        return {one["link"]: (one["verdict"], one["message"]) for one in found}


@pytest.fixture
def program(hive: UsersHive, members: Members, cluster: Cluster, server: HiveServer) -> Program:
    hive.close_sessions()  # Their masters take the cluster's room.
    return Program(members, cluster, server)


def test_a_table_is_registered_and_examined_with_kinits_ticket(program: Program) -> None:
    done = program.run(ALICE, "register")
    assert done.returncode == 0, done.stderr
    found = program.findings("--engine", "tez")
    # The service wants a token, which alice has not.
    assert found.pop("service, from here")[0] == "warning"
    # The cluster's metastore has none of the handler's classes.
    assert found.pop("metastore")[0] in ("warning", "skipped")
    assert {verdict for verdict, _ in found.values()} == {"ok"}, found
    assert found["splits, by tez"][1].startswith("PRUNED, reads 1 of 40 files")
    assert found["service, from a container"][0] == "ok"
    found = program.findings("--engine", "mr")
    assert found["splits, by mr"][1].startswith("PRUNED, reads 1 of 40 files")


def test_without_a_ticket_nothing_is_examined(program: Program) -> None:
    done = program.run("nobody", "doctor")
    assert done.returncode == 1
    assert "no Kerberos ticket for HTTP/127.0.0.1" in done.stdout + done.stderr


def test_who_may_not_read_a_table_does_not_examine_it(program: Program) -> None:
    done = program.run(BOB, "doctor")
    assert done.returncode == 1
    assert "Permission denied" in done.stdout + done.stderr
