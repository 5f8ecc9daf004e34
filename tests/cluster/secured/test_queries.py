"""Alice's queries, run as hers on YARN: the rows are those without pruning, of fewer files."""

from __future__ import annotations

import pytest

from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import MASTER, MR
from devtools.cluster.kerberos import ALICE, BOB
from devtools.cluster.secured import KeytabService
from tests.cluster.secrets import files_holding
from tests.cluster.secured.users_hive import UsersHive
from tests.cluster.test_adopted import VECTORISED
from tests.cluster.test_queries import (
    AGGREGATES,
    JOIN,
    KEPT,
    place,
    test_a_fetch_task_skips_files,
    test_a_job_skips_files,
    test_explain_says_what_the_query_does,
)

#: These tests ask alice's sessions here: they are the fixture `hive` of this directory.
__all__ = [
    "place",
    "test_a_fetch_task_skips_files",
    "test_a_job_skips_files",
    "test_explain_says_what_the_query_does",
]
pytestmark = pytest.mark.cluster


def test_joined_tables_are_both_pruned(hive: UsersHive, place: str) -> None:
    unpruned, pruned = hive.ask_both_ways(JOIN, place)
    assert unpruned.rows
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.scan.files_kept < unpruned.scan.files_kept / 4


@pytest.mark.parametrize("place", [MASTER, MR])
def test_jobs_run_as_who_asks(
    hive: UsersHive, bobs_hive: UsersHive, cluster: Cluster, place: str
) -> None:
    for sessions, user in ((hive, ALICE), (bobs_hive, BOB)):
        sessions.close_sessions()
        earlier = _users_of_jobs(cluster).keys()
        answer = sessions.ask("SELECT count(DISTINCT city) FROM days WHERE id < 700", place)
        assert answer.scan.outcomes == ("PRUNED",)
        asked = _users_of_jobs(cluster)
        assert {asked[job] for job in asked.keys() - earlier} == {user}


def _users_of_jobs(cluster: Cluster) -> dict[str, str]:
    """Who runs each application of YARN, of those that have ended, too, by its id."""
    found = cluster.answer_of_yarn("apps")["apps"] or {"app": []}
    return {one["id"]: one["user"] for one in found["app"]}


def test_no_node_gets_the_services_token(
    hive: UsersHive, cluster: Cluster, service: KeytabService
) -> None:
    answer = hive.ask(AGGREGATES["events"], MASTER)
    assert answer.scan.outcomes == ("PRUNED",)
    assert list(files_holding(cluster, b"hudi.pruning#")), "the job's credentials are in no file"
    assert not list(files_holding(cluster, service.token_file.read_bytes()))


def test_a_table_without_the_handler_skips_files(hive: UsersHive, cluster: Cluster) -> None:
    hive.register_adopted(cluster, "returns")
    query = AGGREGATES["returns"].replace("returns", "returns_synced")
    unpruned, pruned = hive.ask_both_ways(query, MASTER, VECTORISED)
    assert unpruned.rows
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, KEPT["returns"])
