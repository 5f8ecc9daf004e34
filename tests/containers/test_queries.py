"""Queries through all containers: the same rows with and without pruning, from fewer files."""

from __future__ import annotations

import subprocess

import pytest

from tests.containers.cluster import REPLICAS, Cluster
from tests.containers.conftest import TRIPS

pytestmark = [pytest.mark.containers, pytest.mark.timeout(300, func_only=True)]

FILES = TRIPS // 100


IN_CITIES = "SELECT count(*), sum(fare) FROM trips WHERE city IN ('city-3', 'city-11')"


@pytest.mark.parametrize(
    ("engine", "query", "read"),
    [
        ("fetch", "SELECT id, fare, city FROM trips WHERE id = 777", 1),
        ("fetch", "SELECT id FROM trips WHERE fare = 300", 1),
        ("mr", IN_CITIES, 2),
        ("tez", IN_CITIES, 2),
    ],
)
def test_rows_are_the_same_and_files_are_fewer(
    containers: Cluster, engine: str, query: str, read: int
) -> None:
    unpruned = containers.ask(query, engine, enabled=False)
    pruned = containers.ask(query, engine)
    assert pruned.rows == unpruned.rows
    assert pruned.rows
    assert (unpruned.outcome, unpruned.files) == ("DISABLED", (FILES, FILES))
    assert (pruned.outcome, pruned.files) == ("PRUNED", (FILES, read))


def test_a_query_has_the_same_id_in_all_logs(containers: Cluster) -> None:
    query = containers.ask("SELECT id FROM trips WHERE id = 4").scan["queryId"]
    logs = {name: containers.container(name).logs().decode() for name in REPLICAS}
    assert sum(f'"request": "{query}#' in log for log in logs.values()) == 1
    assert query in containers.container("hiveserver2").logs().decode()


def test_neither_users_nor_owners_of_tables_choose_the_service(containers: Cluster) -> None:
    query = "SELECT id FROM trips WHERE id = 77"
    answer = containers.ask(
        query, service_addresses="evil:1", report_dir="/tmp/evil", tls_ca="", token_file=""
    )
    assert (answer.outcome, answer.files) == ("PRUNED", (FILES, 1))
    with containers.session() as session:
        session.run(
            "ALTER TABLE trips SET TBLPROPERTIES ('hudi.pruning.service.addresses'='evil:1')"
        )
    assert containers.ask(query).outcome == "PRUNED"


@pytest.mark.parametrize(
    ("problem", "arguments"),
    [
        ("no TLS", ""),
        ("no certificate", ", tls=ssl._create_unverified_context()"),
        ("a token, but no certificate", ", tls=ssl._create_unverified_context(), token='x' * 48"),
    ],
)
def test_an_unauthenticated_client_is_not_answered(
    containers: Cluster, problem: str, arguments: str
) -> None:
    code = (
        "import ssl; from pyhudi_expr.protocol.client import PruningClient as Client;"
        f" print(Client('pruning-1', timeout=5{arguments}).info())"
    )
    done = subprocess.run(
        ["docker", "exec", str(containers.container("spark").name), "python3", "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode, problem
    assert "ServiceInfo" not in done.stdout
    assert "Error" in done.stderr or "Exception" in done.stderr
