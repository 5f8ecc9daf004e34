"""`pyhudi index stats`: sizes equal those of the files."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr import scan
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.store.file_group import all_cells
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.cli.conftest import Run


@pytest.fixture
def table(golden: Mapping[str, Path]) -> Path:
    """With column_stats, a record index and two secondary indexes, all built by Hudi."""
    return golden["cow_v9_txns_simple_meta"]


def test_the_sizes_of_indexes(run: Run, table: Path) -> None:
    report = json.loads(run("index", "stats", table, "--json")[1])
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
        # Compacted files still exist, and are no longer counted.
        assert 0 < each["bytes"] <= sum(file.stat().st_size for file in files)
        assert sum(part["shards"] for part in each["metadata_partitions"]) > 0
        parts = each["metadata_partitions"]
        assert each["bytes"] == sum(part["base_bytes"] + part["log_bytes"] for part in parts)

    # Never compacted, with an entry for each row.
    (part,) = by_name["merchant_idx"]["metadata_partitions"]
    directory = table / ".hoodie/metadata" / part["partition"]
    bases = [file.stat().st_size for file in directory.glob("*.hfile")]
    logs = [file.stat().st_size for file in directory.glob(".*.log.*")]
    assert (part["shards"], part["base_bytes"]) == (10, sum(bases))
    assert (part["log_files"], part["log_bytes"]) == (len(logs), sum(logs))
    assert part["entries"] == scan(str(table)).to_table().num_rows


def test_one_index_by_its_name(run: Run, table: Path) -> None:
    code, out, _ = run("index", "stats", table, "merchant_idx")
    assert code == 0
    cells = [cell.strip() for line in out.splitlines() for cell in line.split("│")]
    assert cells[cells.index("merchant_idx") :][4:9] == ["12", "10", "0.06 MB", "10", "0.01 MB"]
    assert "merchant_idx" in out
    assert "record_index" not in out
    assert run("index", "stats", table, "nothing")[0] == 1


@pytest.mark.parametrize("name", ["cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"])
def test_entries_of_log_files_count(run: Run, golden: Mapping[str, Path], name: str) -> None:
    report = json.loads(run("index", "stats", golden[name], "--json")[1])
    metadata = MetadataTable.open(HudiTable.open(str(golden[name])))
    assert metadata is not None
    parts = [part for each in report["indexes"] for part in each["metadata_partitions"]]
    in_logs = 0
    for part in parts:
        groups = metadata.groups(part["partition"])
        assert part["entries"] == sum(len(group.read(all_cells)) for group in groups)
        in_logs += part["entries"] - sum(group.base_cells for group in groups)
    assert in_logs > 0
