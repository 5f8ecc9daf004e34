"""ANALYZE TABLE works as for any table, and queries do not use its outdated statistics."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from devtools.ddl import create_with_handler
from pyhudi_expr import scan
from tests.hive.query_results import TEZ, Hive

pytestmark = pytest.mark.hive

#: Hive refuses NOSCAN for every table with a storage handler.
ANALYZE = (
    "ANALYZE TABLE analyzed COMPUTE STATISTICS",
    "ANALYZE TABLE analyzed COMPUTE STATISTICS FOR COLUMNS",
    "ANALYZE TABLE analyzed COMPUTE STATISTICS FOR COLUMNS txn_id, amount",
)
#: Hive answers such queries from the statistics of ANALYZE, if it trusts them.
COUNTED = "SELECT count(*), count(txn_id), min(txn_ts), max(txn_ts) FROM analyzed"


@pytest.mark.smoke("ANALYZE TABLE analyzed COMPUTE STATISTICS FOR COLUMNS ")
@pytest.mark.parametrize("statement", ANALYZE)
def test_statistics_of_analyze_are_not_used_after_a_change(
    hive: Hive, golden: Mapping[str, Path], tmp_path: Path, statement: str
) -> None:
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    newest = max((path / ".hoodie" / "timeline").glob("*_*.commit"))
    newest.rename(tmp_path / newest.name)
    hive.run(create_with_handler("analyzed", path))
    try:
        assert hive.query(COUNTED, TEZ).rows == ends(path)
        hive.query(statement, TEZ)
        before = ends(path)
        (tmp_path / newest.name).rename(newest)
        assert hive.query(COUNTED, TEZ).rows == ends(path) != before
        assert hive.query("SELECT count(*) FROM analyzed").rows == [(ends(path)[0][0],)]
    finally:
        hive.run("DROP TABLE analyzed")


def ends(path: Path) -> list[tuple[int, int, Any, Any]]:
    """The expected result of `COUNTED`."""
    rows = scan(str(path), columns=["txn_id", "txn_ts"]).to_table()
    times = rows["txn_ts"].to_pylist()
    keys = [key for key in rows["txn_id"].to_pylist() if key is not None]
    return [(rows.num_rows, len(keys), min(times), max(times))]
