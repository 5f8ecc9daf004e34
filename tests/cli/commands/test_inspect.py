"""`pyhudi inspect`: freshness and sizes of indexes, pending instants, and read errors."""

import json
import shutil

import pytest

from pyhudi_expr.cli import inspection
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.tables.hudi_table import HudiTable


@pytest.fixture
def table(golden, tmp_path):
    """A copy of a golden table."""
    return shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")


def inspect_lines(run, table):
    code, out, _ = run("inspect", table)
    assert code == 0
    return [line.strip() for line in out.splitlines()]


def test_each_index_is_a_line_with_its_freshness_size_and_note(run, table):
    newest = HudiTable.open(str(table)).instant
    shops = RegisteredIndex(
        "shops", "secondary_index", ("s",), {}, Store.HUDI, ("secondary_index_shops",), created=""
    )
    Registry().with_index(shops).write(HudiTable.open(str(table)).storage)
    lines = inspect_lines(run, table)
    (kept,) = [line for line in lines if line.startswith("merchant_idx: ")]
    assert kept.startswith(f"merchant_idx: active; covers {newest}; 0.06 MB in hudi; ")
    assert kept.endswith("secondary_index of merchant_name")
    (dropped,) = [line for line in lines if line.startswith("shops: ")]
    assert dropped.startswith(
        "shops: dropped; covers nothing; 0 MB in hudi; secondary_index of s; "
    )
    assert "refresh it" in dropped
    report = json.loads(run("inspect", table, "--json")[1])
    sizes = {each["name"]: each["bytes"] for each in report["indexes"]}
    assert sizes["shops"] == 0 < sizes["merchant_idx"]


def test_a_commit_missing_in_the_metadata_table_is_reported(run, table):
    newest = max((table / ".hoodie" / "timeline").glob("*_*.commit"))
    report = json.loads(run("inspect", table, "--json")[1])
    assert report["metadata_table"]["up_to_date"]
    later = "20991231000000000"
    shutil.copy(newest, newest.with_name(f"{later}_{later}.commit"))
    report = json.loads(run("inspect", table, "--json")[1])
    assert report["instant"] == later
    assert not report["metadata_table"]["up_to_date"]
    assert {each["state"] for each in report["indexes"]} == {"lagging"}


def test_incomplete_instants_are_pending(run, table):
    timeline = table / ".hoodie" / "timeline"
    (timeline / "20991231000000000.commit.requested").write_bytes(b"")
    (timeline / "20991231000000000.inflight").write_bytes(b"")
    pending = json.loads(run("inspect", table, "--json")[1])["timeline"]["pending"]
    assert pending == ["20991231000000000 commit"]
    assert "pending: 20991231000000000 commit" in inspect_lines(run, table)


def test_a_broken_metadata_table_is_part_of_the_report(run, table):
    (table / ".hoodie" / "metadata" / ".hoodie" / "hoodie.properties").write_text("nonsense")
    report = json.loads(run("inspect", table, "--json")[1])
    assert report["files"]["listed_by"] == "storage"
    assert "metadata" in report["metadata_table"]["error"]
    assert report["indexes"] == []
    assert report["files"]["base_files"] == 5


def test_a_damaged_index_is_part_of_the_report(run, table):
    for file in table.glob(".hoodie/metadata/secondary_index_*/*.hfile"):
        file.write_bytes(b"nothing")
    report = json.loads(run("inspect", table, "--json")[1])
    assert "indexes_error" not in report
    broken = [one["name"] for one in report["indexes"] if one["state"] == "broken"]
    assert broken == ["merchant_idx", "txn_date_idx"]
    assert report["files"]["base_files"] == 5


def test_files_are_counted_by_the_metadata_table(run, table):
    """A storage with a million files need not be listed."""
    (file,) = list(table.glob("region=eu/*.parquet"))[:1]
    file.unlink()
    files = json.loads(run("inspect", table, "--json")[1])["files"]
    assert files["listed_by"] == "metadata table"
    assert files["base_files"] == 5


def test_many_partitions_are_shortened_for_people(run, golden):
    path = golden["cow_v9_txns_simple_meta"]
    report = json.loads(run("inspect", path, "--json")[1])
    shown = inspection.as_text({**report, "partitions": {f"p={n:03d}": 1 for n in range(100)}})
    assert "p=009: 1" in shown
    assert "...: 80 others (--json has them)" in shown
    assert "p=050" not in shown
    assert "p=099: 1" in shown
