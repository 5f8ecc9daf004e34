"""Queries on YARN: the rows are those without pruning, and only files that may match are read."""

from __future__ import annotations

import re

import pytest

from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import FETCH, MASTER, MR, SERVER
from devtools.cluster.service import ClusterService
from tests.cluster.cluster_hive import ClusterHive
from tests.cluster.secrets import files_holding

pytestmark = pytest.mark.cluster

ROWS = "SELECT id, city FROM {} WHERE id IN (17, 2500, 8999)"
AGGREGATES = {
    "events": "SELECT count(*), sum(amount) FROM events WHERE amount > 36500 OR id < 700",
    "returns": "SELECT count(*), min(ts), max(ts) FROM returns WHERE id < 700",
}
FULL = "SELECT count(*), max(score), min(`_hoodie_record_key`) FROM {} WHERE score > 0.5"
KEPT = {"events": 5, "returns": 4}
JOIN = (
    "SELECT e.city, count(*) FROM events e JOIN returns r ON e.id = r.id"
    " WHERE r.id < 1200 AND e.id > 300 GROUP BY e.city"
)


# Tests of one place follow each other: another one starts another master.
@pytest.fixture(scope="module", params=[MASTER, SERVER, MR], ids=["master", "server", "mr"])
def place(request: pytest.FixtureRequest) -> str:
    """Where a query runs on YARN, and where its splits are made."""
    found: str = request.param
    return found


@pytest.mark.parametrize(("table", "kept"), [("events", 3), ("returns", 7)])
def test_a_fetch_task_skips_files(hive: ClusterHive, table: str, kept: int) -> None:
    unpruned, pruned = hive.ask_both_ways(ROWS.format(table), FETCH)
    assert unpruned.rows
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, kept)


@pytest.mark.parametrize("table", list(AGGREGATES))
def test_a_job_skips_files(hive: ClusterHive, place: str, table: str) -> None:
    unpruned, pruned = hive.ask_and_compare(AGGREGATES[table], place)
    assert unpruned.rows
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, KEPT[table])
    if place != MR:
        assert pruned.counters["SCANS_PRUNED"] == 1
        assert pruned.counters["FILES_KEPT"] == KEPT[table]


def test_joined_tables_are_both_pruned(hive: ClusterHive, place: str) -> None:
    unpruned, pruned = hive.ask_and_compare(JOIN, place)
    assert unpruned.rows
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.scan.scans == unpruned.scan.scans == 2
    assert pruned.scan.files_kept < unpruned.scan.files_kept / 4


def test_explain_says_what_the_query_does(hive: ClusterHive, place: str) -> None:
    session = hive.at(place)
    session.run("SET hive.explain.user=false")
    assert "PRUNED, reads 5 of 40 files" in str(session.run(f"EXPLAIN {AGGREGATES['events']}"))


@pytest.mark.parametrize("table", list(AGGREGATES))
def test_small_files_share_a_task(hive: ClusterHive, place: str, table: str) -> None:
    """Both tables are a few megabytes: one task for each node reads them, as Hive's own tables."""
    _, answer = hive.ask_and_compare(FULL.format(table), place)
    assert answer.files[0] == answer.files[1] >= 28
    assert 1 <= answer.tasks <= 3


def test_small_sizes_make_more_tasks(hive: ClusterHive) -> None:
    """A fifth of the table's bytes in a task: its 20 slices are base files of nearly 0.5 MB."""
    size = {"mapreduce.input.fileinputformat.split.maxsize": "2000000"}
    _, answer = hive.ask_and_compare(FULL.format("returns"), MR, size)
    assert answer.tasks >= 5


def test_no_process_stops_a_task_that_merges(hive: ClusterHive, cluster: Cluster) -> None:
    """Hudi estimates sizes by JOL, which attaches an agent to its own process by default."""
    hive.ask_and_compare(AGGREGATES["returns"], MASTER)
    said = re.findall("Serviceability Agent attach.*", cluster.container_logs("stdout"))
    assert said
    assert all("skipped" in line for line in said)


def test_no_node_gets_the_services_token(
    hive: ClusterHive, cluster: Cluster, service: ClusterService
) -> None:
    answer = hive.ask(AGGREGATES["events"], MASTER)
    assert answer.scan.outcomes == ("PRUNED",)
    secret = service.token_file.read_bytes()
    assert list(files_holding(cluster, b"hudi.pruning#")), "the job's credentials are in no file"
    assert not list(files_holding(cluster, secret))
