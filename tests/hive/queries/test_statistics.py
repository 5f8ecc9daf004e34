"""Statistics for Hive's planner; the tables are Hudi's, of tests/data/golden."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.manage.hive.session import HiveSession

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


def test_an_exact_count_reads_no_file(session: HiveSession) -> None:
    keys = session.run("SELECT txn_id FROM counted")
    for query in ("SELECT count(*) FROM counted", "SELECT count(1) FROM counted"):
        assert "TableScan" not in plan(session, query)
        assert session.run(query) == [(len(keys),)]


def test_a_commit_completed_after_a_later_one_is_counted_at_once(
    session: HiveSession, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "late"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    (deleting, _) = sorted((path / ".hoodie" / "timeline").glob("*_*.replacecommit"))
    ended = deleting.rename(path / "hidden")
    session.run(create_with_handler("late", path))
    assert session.run("SELECT count(*) FROM late") == [(16,)]
    ended.rename(deleting)
    assert session.run("SELECT count(*) FROM late") == [(12,)]
    session.run("DROP TABLE late")


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


def test_without_pruning_a_count_reads_files(session: HiveSession) -> None:
    session.set({"hudi.pruning.enabled": "false"})
    assert "TableScan" in plan(session, "SELECT count(*) FROM counted")


def test_the_planner_gets_row_counts_and_explain_shows_files(session: HiveSession) -> None:
    keys = session.run("SELECT txn_id FROM counted")
    output = plan(session, "SELECT txn_id FROM counted WHERE region = 'us'")
    assert f"Num rows: {len(keys)} " in plan(
        session, "SELECT region, max(txn_id) FROM counted GROUP BY region"
    )
    assert "hudi.pruning PRUNED, reads 2 of 5 files" in output


def statistics(session: HiveSession, column: str) -> dict[str, str]:
    """The column statistics in DESCRIBE FORMATTED."""
    output = session.run(f"DESCRIBE FORMATTED counted {column}")
    return {str(row[0]).strip(): str(row[1]).strip() for row in output if row[1] not in (None, "")}


def test_the_planner_gets_column_statistics_from_the_index(session: HiveSession) -> None:
    days = statistics(session, "txn_date")
    assert (days["min"], days["max"]) == ("2024-01-15", "2024-01-21")
    assert (days["num_nulls"], days["distinct_count"]) == ("0", "7")
    assert statistics(session, "merchant_name")["num_nulls"] == "1"
    assert statistics(session, "region")["distinct_count"] == "3"
    (keys,) = session.run("SELECT count(*) FROM counted")[0]
    assert statistics(session, "txn_id")["distinct_count"] == str(keys)


@pytest.mark.smoke
def test_plans_use_column_statistics(session: HiveSession) -> None:
    session.set({"hive.stats.fetch.column.stats": "true", "hive.fetch.task.conversion": "none"})
    by_day = "SELECT txn_id FROM counted WHERE txn_date {} ORDER BY txn_id"
    assert "Num rows: 1 " in plan(session, by_day.format("> DATE'2024-02-01'"))
    output = plan(session, by_day.format("> DATE'2024-01-01'"))
    (keys,) = session.run("SELECT count(*) FROM counted")[0]
    assert f"Num rows: {keys} " in output
    assert "Column stats: COMPLETE" in output


def test_old_statistics_of_analyze_are_not_used(session: HiveSession) -> None:
    """Hive would trust them, though the table has changed since."""
    stale = '{"BASIC_STATS":"true","COLUMN_STATS":{"txn_ts":"true"}}'
    session.run(
        f"ALTER TABLE counted SET TBLPROPERTIES ('COLUMN_STATS_ACCURATE'='{stale}', 'numRows'='1')"
    )
    assert "TableScan" in plan(session, "SELECT max(txn_ts) FROM counted")
    assert "TableScan" not in plan(session, "SELECT count(*) FROM counted")
    assert session.run("SELECT count(*) FROM counted") > [(1,)]


def test_a_jobs_summary_counts_the_files_that_each_index_dropped(
    session: HiveSession, hive_server: HiveServer
) -> None:
    in_tez = {"hive.fetch.task.conversion": "none", "hive.execution.engine": "tez"}
    session.set({**in_tez, "hive.tez.exec.print.summary": "true"})
    logged = len(hive_server.log())
    session.run("SELECT txn_id FROM counted WHERE region = 'us' AND txn_id = 'TXN-001'")
    summary = hive_server.log_until(("SCANS_PRUNED: 1\n",), logged)
    counted = {
        name: int(value) for name, value in re.findall(r" ([A-Z_]+): (\d+)$", summary, re.MULTILINE)
    }
    assert (counted["FILES_CONSIDERED"], counted["FILES_KEPT"]) == (5, 1)
    assert (counted["FILES_DROPPED"], counted["SCANS_PRUNED"]) == (4, 1)
    by_index = {name: n for name, n in counted.items() if name.startswith("FILES_DROPPED_BY_")}
    assert len(by_index) > 1
    assert sum(by_index.values()) == 4
    assert counted["PRUNING_MICROS"] > 0
