"""LLAP: one JVM runs the tasks of all queries, several at once, and keeps what it has loaded.

Splits are made in Tez's master, as in containers; the daemon reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from devtools.cluster import tables
from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import FETCH, MASTER, SERVER
from devtools.cluster.llap import LlapDaemon
from devtools.cluster.service import ClusterService
from devtools.ddl import create_plain, create_with_handler
from tests.cluster.cluster_hive import ClusterAnswer, ClusterHive
from tests.cluster.test_queries import AGGREGATES, JOIN, KEPT
from tests.hive.query_results import QuerySession, Rows
from tests.hive.rows.paged_tables import FILES, write_table

pytestmark = pytest.mark.cluster

VECTORISED = "hive.vectorized.execution.enabled"
CACHED = "hive.llap.io.enabled"
MERGED_BY_ROWS = "hudi.pruning.rows.merged.bytes"
SYNCED = "SELECT city, count(*), sum(amount), max(ts) FROM {} WHERE id < 1200 GROUP BY city"
MERGED = "SELECT city, count(*), sum(amount), max(ts) FROM returns GROUP BY city"
AT_ONCE = (
    "SELECT city, count(*), sum(amount) FROM events WHERE id BETWEEN 300 AND 2700 GROUP BY city",
    "SELECT city, count(*), min(ts) FROM events WHERE amount > 30000 GROUP BY city",
    "SELECT count(*), sum(amount), max(ts) FROM returns WHERE id < 1200",
    MERGED,
)
"""Queries of both tables: each has other columns, and other files."""


class LlapHive:
    """Sessions whose queries run in the daemon, in no container."""

    def __init__(self, hive: ClusterHive, daemon: LlapDaemon) -> None:
        self.hive = hive
        self.settings = daemon.session_settings()
        self._daemon = daemon

    def ask_both_ways(
        self, query: str, switches: Mapping[str, str], place: str = MASTER
    ) -> tuple[ClusterAnswer, ClusterAnswer]:
        """The answers without and with pruning, whose rows are equal.

        `switches` are set in the session that other tests use, too: a new one has a new master.
        """
        session = self.hive.at(place, self.settings)
        for name, value in switches.items():
            session.run(f"SET {name}={value}")
        ended = self._daemon.fragments()
        unpruned, pruned = self.hive.ask_both_ways(query, place, self.settings)
        assert unpruned.rows
        assert self._daemon.fragments() >= ended + 4, "both queries have a map and a reducer"
        return unpruned, pruned


@pytest.fixture(scope="module")
def daemon(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlapDaemon]:
    with LlapDaemon(cluster, tmp_path_factory.mktemp("llap")) as running:
        yield running


@pytest.fixture(scope="module")
def llap(hive: ClusterHive, daemon: LlapDaemon) -> LlapHive:
    return LlapHive(hive, daemon)


@pytest.mark.parametrize("cached", ["true", "false"], ids=["cached", "uncached"])
@pytest.mark.parametrize("vectorised", ["true", "false"], ids=["batches", "rows"])
@pytest.mark.parametrize("table", list(AGGREGATES))
def test_a_query_skips_files(llap: LlapHive, table: str, vectorised: str, cached: str) -> None:
    switches = {VECTORISED: vectorised, CACHED: cached}
    unpruned, pruned = llap.ask_both_ways(AGGREGATES[table], switches)
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, KEPT[table])
    assert pruned.counters["FILES_KEPT"] == KEPT[table]


def test_joined_tables_are_both_pruned(llap: LlapHive) -> None:
    unpruned, pruned = llap.ask_both_ways(JOIN, BATCHES)
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.scan.scans == unpruned.scan.scans == 2
    assert pruned.scan.files_kept < unpruned.scan.files_kept / 4


def test_splits_of_hiveserver2_are_read(llap: LlapHive) -> None:
    unpruned, pruned = llap.ask_both_ways(AGGREGATES["returns"], BATCHES, SERVER)
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, KEPT["returns"])


@pytest.mark.parametrize("table", list(AGGREGATES))
def test_a_table_without_the_handler_skips_files(
    llap: LlapHive, cluster: Cluster, table: str
) -> None:
    llap.hive.register_adopted(cluster, table)
    _, by_handler = llap.ask_both_ways(SYNCED.format(table), BATCHES)
    unpruned, pruned = llap.ask_both_ways(SYNCED.format(f"{table}_synced"), BATCHES)
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.scan.files_kept < unpruned.scan.files_kept / 4
    assert pruned.rows == by_handler.rows
