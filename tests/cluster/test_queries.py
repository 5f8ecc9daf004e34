"""Queries on YARN: the rows are those without pruning, and only files that may match are read."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from devtools.cluster.hadoop import Cluster
from devtools.cluster.service import ClusterService
from tests.cluster.cluster_hive import FETCH, MASTER, MR, PLACES, SERVER, ClusterHive

pytestmark = pytest.mark.cluster

ROWS = "SELECT id, city FROM {} WHERE id IN (17, 2500, 8999)"
EVENTS = "SELECT count(*), sum(amount) FROM events WHERE amount > 36500 OR id < 700"
RETURNS = "SELECT count(*), min(ts), max(ts) FROM returns WHERE id < 700"
JOIN = (
    "SELECT e.city, count(*) FROM events e JOIN returns r ON e.id = r.id"
    " WHERE r.id < 1200 AND e.id > 300 GROUP BY e.city"
)
ON_YARN = tuple(place for place in PLACES if place != FETCH)


@pytest.mark.parametrize(
    ("place", "query", "kept"),
    [
        (FETCH, ROWS.format("events"), 3),
        (FETCH, ROWS.format("returns"), 7),
        *((place, EVENTS, 5) for place in ON_YARN),
        *((place, RETURNS, 4) for place in ON_YARN),
    ],
)
def test_files_are_skipped(hive: ClusterHive, place: str, query: str, kept: int) -> None:
    unpruned, pruned = hive.ask_both_ways(query, place)
    assert unpruned.rows
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, kept)
    if place in (MASTER, SERVER):
        assert pruned.counters["SCANS_PRUNED"] == 1
        assert pruned.counters["FILES_KEPT"] == kept


@pytest.mark.parametrize("place", [MASTER, MR])
def test_joined_tables_are_both_pruned(hive: ClusterHive, place: str) -> None:
    unpruned, pruned = hive.ask_both_ways(JOIN, place)
    assert unpruned.rows
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.scan.scans == unpruned.scan.scans == 2
    assert pruned.scan.files_kept < unpruned.scan.files_kept / 4


@pytest.mark.parametrize("place", [MASTER, MR])
def test_explain_says_what_the_query_does(hive: ClusterHive, place: str) -> None:
    explained = hive.at(place, {"hive.explain.user": "false"}).run(f"EXPLAIN {EVENTS}")
    assert "PRUNED, reads 5 of 40 files" in str(explained)


@pytest.mark.parametrize("place", ON_YARN)
@pytest.mark.parametrize("table", ["events", "returns"])
def test_small_files_share_a_task(hive: ClusterHive, table: str, place: str) -> None:
    """Both tables are a few megabytes: one task for each node reads them, as Hive's own tables."""
    answer = hive.ask(f"SELECT count(*), max(score) FROM {table} WHERE score > 0.5", place)
    assert answer.files[0] == answer.files[1] >= 28
    assert 1 <= answer.tasks <= 3


def test_small_sizes_make_more_tasks(hive: ClusterHive) -> None:
    size = {"mapreduce.input.fileinputformat.split.maxsize": "150000"}
    query = "SELECT count(*), max(score), min(_hoodie_record_key) FROM returns WHERE score > 0.5"
    small = hive.ask(query, MR, settings=size)
    assert small.tasks > 6
    assert small.rows == hive.ask(query, MR).rows


def test_no_node_gets_the_services_token(
    hive: ClusterHive, cluster: Cluster, service: ClusterService
) -> None:
    answer = hive.ask(EVENTS, MASTER)
    assert answer.scan.outcomes == ("PRUNED",)
    secret = service.token_file.read_bytes()
    assert list(_holding(cluster, b"hudi.pruning#")), "the job's credentials are in no file"
    assert not list(_holding(cluster, secret))


def _holding(cluster: Cluster, content: bytes) -> Iterable[str]:
    """The files of nodes that have some bytes, jars aside."""
    for file in cluster.directory.glob("nodemanager*/**/*"):
        if file.is_file() and file.suffix != ".jar" and content in file.read_bytes():
            yield str(file)
