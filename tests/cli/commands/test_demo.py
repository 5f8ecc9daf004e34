"""`pyhudi demo` and `pyhudi bench`: the first commands of a new user."""

import json

import pyarrow.parquet as pq
import pytest

from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.reading.scan import scan


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def trips(home):
    write_demo_table(home / "trips")
    return home / "trips"


def test_the_demo_needs_nothing_and_prunes(run, tmp_path):
    code, out, _ = run("demo", tmp_path / "t", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["table"] == str(tmp_path / "t")
    kept = {each["predicate"]: each["files_kept"] for each in report["queries"]}
    assert {each["files_total"] for each in report["queries"]} == {80}
    assert kept["id = 12345"] == 1
    assert kept["fare > 165"] == 10
    assert all(count <= 20 for count in kept.values())
    code, _, err = run("demo", tmp_path / "t")
    assert code == 1
    assert "something already" in err


def test_the_demo_suggests_commands_that_work(run, tmp_path):
    _, out, _ = run("demo", tmp_path / "t")
    lines = [line.split(maxsplit=1)[1] for line in out.splitlines() if line.startswith("  pyhudi ")]
    assert len(lines) == 3
    for line in lines:
        words = line.replace('"fare > 165"', "fare>165").split()
        assert run(*words)[0] == 0


@pytest.mark.parametrize("predicate", ["id = 12345", "fare > 165", "city LIKE 'Z%' OR fare < 1"])
def test_no_row_of_the_demo_is_lost(run, trips, predicate):
    report = json.loads(run("prune", trips, predicate, "--footers", "--json")[1])
    assert report["files_kept"] < report["files_total"]
    found = scan(str(trips), predicate).to_table()
    files = [trips / path for path in report["kept"]]
    kept = pq.ParquetDataset(files, partitioning=None).read()
    assert found.num_rows > 0
    assert set(found.column("id").to_pylist()) <= set(kept.column("id").to_pylist())


def test_bench_measures_any_table(run, golden):
    table = golden["cow_v9_txns_simple_meta"]
    conditions = ("region = 'us'", "txn_id = 'TXN-017'")
    code, out, _ = run("bench", table, *conditions, "--times", "3", "--json")
    assert code == 0
    report = json.loads(out)
    assert [one["predicate"] for one in report["predicates"]] == list(conditions)
    for one in report["predicates"]:
        assert 0 < one["files_kept"] < one["files_total"]
        assert 0 < one["median_millis"] <= one["most_millis"]
    code, out, _ = run("bench", table, "region = 'us'")
    assert code == 0
    assert "region = 'us'" in out
    assert run("bench", table)[0] == 2


def test_long_predicates_are_not_truncated_in_a_pipe(run, trips):
    predicate = " OR ".join(f"city = 'a_city_of_a_long_name_{number}'" for number in range(4))
    assert f"│ {predicate} │" in run("bench", trips, predicate, "--times", "1")[1]


def test_a_table_without_statistics_prints_a_hint(run, trips):
    for command in ("prune", "explain"):
        assert "hint: --footers" in run(command, trips, "fare > 165")[2]
        assert "hint" not in run(command, trips, "fare > 165", "--footers")[2]
