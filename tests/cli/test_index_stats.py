"""`pyhudi index stats`: sizes, against those of the files."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def table(golden: Mapping[str, Path]) -> Path:
    """With column_stats, a record index and two secondary indexes, all of Hudi's making."""
    return golden["cow_v9_txns_simple_meta"]


def test_the_sizes_of_indexes(run: Run, table: Path) -> None:
    report = json.loads(run("index", "stats", "--table", table, "--json")[1])
    by_name = {each["name"]: each for each in report["indexes"]}
    assert by_name.keys() == {"column_stats", "merchant_idx", "record_index", "txn_date_idx"}
    for each in report["indexes"]:
        assert each["state"] == "active"
        files = [
            file
            for partition in each["partitions"]
            for file in (table / ".hoodie/metadata" / partition).iterdir()
            if not file.name.startswith(".hoodie_partition")
        ]
        # What was compacted is there still, and counts no more.
        assert 0 < each["bytes"] <= sum(file.stat().st_size for file in files)
        assert sum(part["shards"] for part in each["metadata_partitions"]) > 0
    code, out, _ = run("index", "stats", "merchant_idx", "--table", table)
    assert code == 0
    assert "merchant_idx" in out
    assert "record_index" not in out
    assert run("index", "stats", "nothing", "--table", table)[0] == 1
