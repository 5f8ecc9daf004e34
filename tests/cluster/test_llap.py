"""LLAP: one JVM runs the tasks of all queries, several at once, and keeps what it has loaded.

Splits are made in Tez's master, as for containers; the daemon reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from devtools.cluster import tables
from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import MASTER, PLACES, SERVER
from devtools.cluster.llap import LlapDaemon
from devtools.cluster.service import ClusterService
from devtools.ddl import create_plain, create_with_handler
from tests.cluster.cluster_hive import ClusterAnswer, ClusterHive
from tests.cluster.test_queries import AGGREGATES, JOIN, KEPT
from tests.hive.query_results import NOTHING, Answer, QuerySession
from tests.hive.rows.paged_tables import write_table

pytestmark = pytest.mark.cluster

VECTORISED = "hive.vectorized.execution.enabled"
CACHED = "hive.llap.io.enabled"
# Base files of any size are shared by Hudi and Hive's readers.
MERGED_BY_ROWS = {"hudi.pruning.rows.merged.bytes": "0"}
BY_CITY = "SELECT city, count(*), sum(amount), max(ts) FROM {} WHERE id < 1200 GROUP BY city"
EVERYTHING = "SELECT city, count(*), sum(amount), max(ts) FROM {} GROUP BY city"
AT_ONCE = (
    "SELECT city, count(*), sum(amount) FROM events WHERE id BETWEEN 300 AND 2700 GROUP BY city",
    "SELECT count(*), min(score), max(ts) FROM events WHERE amount > 30000",
    "SELECT count(*), sum(amount), max(ts) FROM returns WHERE id < 1200",
    EVERYTHING.format("returns"),
)
"""Queries of other tables, files and columns."""
PAGED = (
    "SELECT id % 2, count(*), min(s), max(l), sum(id), max(word) FROM {} WHERE {} GROUP BY id % 2"
)
PREDICATES = ("id IN (1, 2999, 12345)", "id BETWEEN 4990 AND 5010", "word = 'word 20'")
PATIENT = {"hudi.pruning.timeout.ms": "20000"}


class PatientService(ClusterService):
    """A service that judges the rows of small files, too."""

    def environment(self) -> Mapping[str, str]:
        """Its settings for that."""
        return {"PYHUDI_ROW_FILE_BYTES": "0", "PYHUDI_ROW_SECONDS": "30"}


class LlapHive:
    """Sessions whose queries run in the daemon, and in no container."""

    def __init__(self, hive: ClusterHive, daemon: LlapDaemon) -> None:
        self.hive = hive
        self.daemon = daemon

    def ask_both_ways(
        self,
        query: str,
        switches: Mapping[str, str],
        place: str = MASTER,
        settings: Mapping[str, str] = NOTHING,
    ) -> tuple[ClusterAnswer, ClusterAnswer]:
        """The answers without and with pruning, whose rows are equal.

        `switches` are set in a session that other tests have used, too; with other `settings` a new
        one starts, and its master.
        """
        wanted = {**self.daemon.session_settings(), **settings}
        session = self.hive.at(place, wanted)
        for name, value in switches.items():
            session.run(f"SET {name}={value}")
        ended = self.daemon.fragments()
        unpruned, pruned = self.hive.ask_both_ways(query, place, wanted)
        assert unpruned.rows
        assert self.daemon.fragments() >= ended + 4, "both queries have a map and a reducer"
        return unpruned, pruned


@pytest.fixture(scope="module")
def daemon(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlapDaemon]:
    with LlapDaemon(cluster, tmp_path_factory.mktemp("llap")) as running:
        yield running


@pytest.fixture(scope="module")
def llap(hive: ClusterHive, daemon: LlapDaemon) -> LlapHive:
    return LlapHive(hive, daemon)


def switches(vectorised: str, cached: str) -> dict[str, str]:
    return {VECTORISED: vectorised, CACHED: cached}


either_way = pytest.mark.parametrize("vectorised", ["true", "false"], ids=["batches", "rows"])


@pytest.mark.parametrize("cached", ["true", "false"], ids=["cached", "uncached"])
@either_way
@pytest.mark.parametrize("table", list(AGGREGATES))
def test_a_query_skips_files(llap: LlapHive, table: str, vectorised: str, cached: str) -> None:
    unpruned, pruned = llap.ask_both_ways(AGGREGATES[table], switches(vectorised, cached))
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, KEPT[table])
    assert pruned.counters["FILES_KEPT"] == KEPT[table]


def test_joined_tables_are_both_pruned(llap: LlapHive) -> None:
    unpruned, pruned = llap.ask_both_ways(JOIN, switches("true", "true"))
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.scan.scans == unpruned.scan.scans == 2
    assert pruned.scan.files_kept < unpruned.scan.files_kept / 4


@either_way
def test_merged_slices_are_read_query_after_query(llap: LlapHive, vectorised: str) -> None:
    """Query after query: each task opens the table, and its file systems are closed."""
    settings = {**switches(vectorised, "true"), **MERGED_BY_ROWS}
    first, second = (
        llap.ask_both_ways(EVERYTHING.format("returns"), settings)[1].rows for _ in range(2)
    )
    assert first == second


def test_splits_of_hiveserver2_are_read(llap: LlapHive) -> None:
    unpruned, pruned = llap.ask_both_ways(AGGREGATES["returns"], switches("true", "true"), SERVER)
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.files == (unpruned.scan.files_considered, KEPT["returns"])


@pytest.mark.parametrize("table", list(AGGREGATES))
def test_a_table_without_the_handler_skips_files(
    llap: LlapHive, cluster: Cluster, table: str
) -> None:
    llap.hive.register_adopted(cluster, table)
    _, by_handler = llap.ask_both_ways(BY_CITY.format(table), switches("true", "true"))
    unpruned, pruned = llap.ask_both_ways(
        BY_CITY.format(f"{table}_synced"), switches("true", "true")
    )
    assert pruned.scan.outcomes == ("PRUNED",)
    assert pruned.scan.files_kept < unpruned.scan.files_kept / 4
    assert pruned.rows == by_handler.rows


@pytest.fixture(scope="module")
def rows_service(
    service: ClusterService, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterService]:
    token = service.token_file.read_text()
    running = PatientService(cluster, tmp_path_factory.mktemp("rows"), token=token)
    with running:
        yield running


@pytest.fixture(scope="session")
def paged(hive: ClusterHive, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a table whose files have many pages."""
    written = tmp_path_factory.mktemp("tables") / "paged"
    write_table(written, "1.0", dictionaries=True)
    cluster.shell("-put", str(written), "/warehouse")
    hive.run(create_with_handler("paged", f"{cluster.root}/warehouse/paged"))
    return "paged"


@either_way
def test_rows_are_skipped_within_files(
    llap: LlapHive, paged: str, rows_service: ClusterService, vectorised: str
) -> None:
    service = {"hudi.pruning.service.addresses": rows_service.address}
    for predicate in PREDICATES:
        unpruned, pruned = llap.ask_both_ways(
            PAGED.format(paged, predicate), switches(vectorised, "true"), settings=service
        )
        assert unpruned.scan.rows_selected == 0
        assert 0 < pruned.scan.rows_selected < pruned.scan.rows_of_files_in_part / 2


def test_hives_own_table_of_the_same_files_has_the_same_rows(
    llap: LlapHive, cluster: Cluster
) -> None:
    """The daemon keeps what that one reads, and the handler's readers read the files."""
    days = sorted(one.name for one in tables.EVENTS.glob("day=*"))
    columns = llap.hive.at(MASTER, llap.daemon.session_settings()).run("DESCRIBE events")
    llap.hive.run(*create_plain(columns, "events_plain", f"{cluster.root}/warehouse/events", days))
    cached = switches("true", "true")
    for query in (BY_CITY, EVERYTHING):
        _, ours = llap.ask_both_ways(query.format("events"), cached)
        session = llap.hive.at(MASTER, llap.daemon.session_settings())
        assert ours.rows == session.query(query.format("events_plain")).rows
    assert "Injecting LLAP caches" in llap.daemon.log()


def test_the_daemon_keeps_no_secret(llap: LlapHive, service: ClusterService) -> None:
    """It gets the job's credentials, in its memory."""
    _, answer = llap.ask_both_ways(AGGREGATES["events"], switches("true", "true"))
    assert answer.scan.outcomes == ("PRUNED",)
    files = [file for file in llap.daemon.directory.rglob("*") if file.is_file()]
    kept = b"".join(file.read_bytes() for file in files)
    assert b"hudi.pruning#" not in kept
    assert service.token_file.read_bytes() not in kept


def test_queries_at_once_do_not_disturb_each_other(llap: LlapHive) -> None:
    alone = llap.daemon.session_settings()
    expected = {
        query: llap.hive.ask(query, MASTER, pruning=False, settings=alone).rows for query in AT_ONCE
    }
    llap.hive.close_sessions()
    settings = {**PLACES[MASTER], **PATIENT, **alone, **MERGED_BY_ROWS}
    with ExitStack() as opened, ThreadPoolExecutor() as threads:
        asked = [
            threads.submit(_ask, opened.enter_context(llap.hive.session(settings)), order * 3)
            for order in (AT_ONCE, AT_ONCE[::-1])
        ]
        for query, answer in (pair for each in asked for pair in each.result()):
            assert answer.rows == expected[query], query
            skips = answer.scan.files_kept < answer.scan.files_considered
            assert skips == ("WHERE" in query), query


def _ask(session: QuerySession, queries: Sequence[str]) -> list[tuple[str, Answer]]:
    return [(query, session.query(query)) for query in queries]
