"""Tables without the storage handler, as Hudi's sync registers them: nothing lies on the nodes for
them, and users set nothing.
"""

from __future__ import annotations

import pytest

from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import MASTER, MR, SERVER
from devtools.cluster.service import ClusterService
from pyhudi_expr.manage.hive.doctor import EXPLAIN_HOOK
from tests.cluster.cluster_hive import ClusterHive
from tests.cluster.secrets import files_holding

pytestmark = pytest.mark.cluster

VECTORISED = {"hive.vectorized.execution.enabled": "true"}  # Hive's default
BY_HOOK = {
    "hive.vectorized.execution.enabled": "false",
    "hive.semantic.analyzer.hook": EXPLAIN_HOOK,
}
AGGREGATES = {
    "events": ("SELECT count(*), sum(amount) FROM {} WHERE amount > 36500 OR id < 700", 5),
    "returns": ("SELECT count(*), min(ts), max(ts) FROM {} WHERE id < 700", 4),
}
JOIN = (
    "SELECT e.city, count(*), count(o.id) FROM events_synced e"
    " JOIN returns_synced r ON e.id = r.id JOIN events_synced o ON o.id = r.id"
    " WHERE r.id < 1200 AND e.id > 300 AND o.amount < 30000 GROUP BY e.city"
)


@pytest.fixture(scope="module", autouse=True)
def adopted(hive: ClusterHive, cluster: Cluster) -> None:
    for name in AGGREGATES:
        hive.register_adopted(cluster, name)


@pytest.mark.parametrize(
    ("table", "place", "settings"),
    [
        ("events", MASTER, VECTORISED),
        ("returns", MASTER, VECTORISED),
        ("returns", MASTER, BY_HOOK),
        ("returns", SERVER, VECTORISED),
        ("returns", MR, VECTORISED),
    ],
    ids=["master, base files", "master", "master by hook", "server", "mr"],
)
def test_a_job_skips_files(
    hive: ClusterHive, table: str, place: str, settings: dict[str, str]
) -> None:
    query, kept = AGGREGATES[table]
    unpruned, pruned = hive.ask_and_compare(query.format(f"{table}_synced"), place, settings)
    assert unpruned.rows
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, kept)


def test_each_table_of_a_join_has_its_own_secret(hive: ClusterHive) -> None:
    unpruned, pruned = hive.ask_both_ways(JOIN, MASTER, VECTORISED)
    assert unpruned.rows
    assert pruned.scan.scans >= 2  # Hive may read a table once for both
    assert pruned.scan.outcomes == ("PRUNED",)


def test_no_node_gets_the_services_token(
    hive: ClusterHive, cluster: Cluster, service: ClusterService
) -> None:
    query, _ = AGGREGATES["events"]
    answer = hive.ask(query.format("events_synced"), MASTER, settings=VECTORISED)
    assert answer.scan.outcomes == ("PRUNED",)
    assert not list(files_holding(cluster, service.token_file.read_bytes()))
