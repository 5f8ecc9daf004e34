"""What Hive's planner learns of a table; the tables are Hudi's, of tests/data/golden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.hive.session import HiveSession

pytestmark = pytest.mark.hive

ROWS = {"cow_v9_txns_simple_meta": "counted", "mor_v6_simplekeygen_nonhivestyle": "estimated"}


def plan(session: HiveSession, query: str) -> str:
    return "\n".join(str(row[0]) for row in session.run(f"EXPLAIN {query}"))


@pytest.fixture
def session(
    hive_server: HiveServer, pruning_service: ServiceProcess, golden: Mapping[str, Path]
) -> Iterator[HiveSession]:
    settings = {
        "hudi.pruning.service.addresses": pruning_service.address,
        "hudi.pruning.timeout.ms": "30000",
        "hive.explain.user": "false",
        "hive.fetch.task.conversion": "more",
    }
    with hive_server.session(settings) as opened:
        for archive, name in ROWS.items():
            opened.run(f"DROP TABLE IF EXISTS {name}")
            opened.run(create_with_handler(name, golden[archive]))
        yield opened


def test_count_is_answered_without_reading_where_it_is_exact(session: HiveSession) -> None:
    keys = session.run("SELECT txn_id FROM counted")
    for query in ("SELECT count(*) FROM counted", "SELECT count(1) FROM counted"):
        assert "TableScan" not in plan(session, query)
        assert session.run(query) == [(len(keys),)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM estimated",
        "SELECT count(*) FROM counted WHERE region = 'us'",
        "SELECT count(txn_id) FROM counted",
    ],
)
def test_other_counts_are_read(session: HiveSession, query: str) -> None:
    assert "TableScan" in plan(session, query)


def test_a_count_is_read_where_pruning_is_off(session: HiveSession) -> None:
    session.set({"hudi.pruning.enabled": "false"})
    assert "TableScan" in plan(session, "SELECT count(*) FROM counted")


def test_the_planner_knows_the_rows_and_explain_the_files(session: HiveSession) -> None:
    keys = session.run("SELECT txn_id FROM counted")
    shown = plan(session, "SELECT txn_id FROM counted WHERE region = 'us'")
    assert f"Num rows: {len(keys)} " in plan(
        session, "SELECT region, max(txn_id) FROM counted GROUP BY region"
    )
    assert "hudi.pruning PRUNED, reads 2 of 5 files" in shown
