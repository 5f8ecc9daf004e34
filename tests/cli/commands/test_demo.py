"""`pyhudi demo` and `pyhudi bench`: the first commands of a new user."""

import io
import json
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import nbformat
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nbclient import NotebookClient

from pyhudi_expr import scan
from pyhudi_expr.cli.demo_table import ONE_RIDER, write_demo_table
from pyhudi_expr.cli.main import main
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.rows.arrow_filter import arrow_filter


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def trips(home):
    write_demo_table(home / "trips")
    return home / "trips"


@pytest.fixture(scope="module")
def report(home):
    """What `pyhudi demo --json` prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(["demo", str(home / "indexed"), "--json"]) == 0
    return json.loads(printed.getvalue())


@pytest.fixture(scope="module")
def indexed(report):
    return Path(report["table"])


def test_the_demo_needs_nothing_and_prunes(report):
    kept = {each["predicate"]: each["files_kept"] for each in report["queries"]}
    assert {each["files_total"] for each in report["queries"]} == {80}
    assert kept["id = 12345"] == kept[f"rider = '{ONE_RIDER}'"] == 1
    assert kept["fare > 165"] == 10
    assert all(count <= 20 for count in kept.values())


def test_retyped_without_options_the_figures_are_the_same(run, report, indexed):
    for each in report["queries"]:
        again = json.loads(run("prune", indexed, each["predicate"], "--count", "--json")[1])
        assert {name: again[name] for name in each} == each


def test_the_demo_overwrites_nothing(run, indexed):
    code, _, err = run("demo", indexed)
    assert code == 1
    assert "something already" in err


def test_the_demo_shows_an_explanation_a_picture_and_what_to_try(run, tmp_path):
    (tmp_path / "t").mkdir()  # an empty directory will do
    _, out, _ = run("demo", tmp_path / "t")
    assert "1 of 80" in out
    assert "secondary_index_riders" in out
    explained = out.partition("Why:")[2]
    assert "40 of 80" in explained
    assert [line.count("■") for line in out.splitlines() if line.startswith("  day=")] == [
        *[4] * 4,
        *[0] * 6,
    ]
    page = tmp_path / "t-explained.html"
    assert str(page) in out
    assert "<html" in page.read_text()
    lines = [line.partition("  # ")[0] for line in out.splitlines() if "  pyhudi " in line]
    assert len(lines) == 6
    for line in lines:
        assert run(*shlex.split(line.partition("pyhudi ")[2]))[0] == 0


def test_the_notebook_runs(run, tmp_path):
    """In a kernel of its own, as Jupyter runs it; each result is shown."""
    _, out, _ = run("demo", tmp_path / "my 'trips'", "--notebook")
    path = tmp_path / "my 'trips'.ipynb"
    assert shlex.quote(str(path)) in out
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300).execute()
    shown = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(shown)
    assert "R-27182" in str(shown)
    assert "read 1 of 80" in str(shown)


def test_the_indexes_of_the_demo_are_complete(run, indexed):
    stats = json.loads(run("index", "stats", indexed, "--json")[1])
    found = {each["name"]: each for each in stats["indexes"]}
    assert found.keys() == {"column_stats", "record_index", "riders"}
    assert {each["state"] for each in found.values()} == {"active"}
    entries = {
        part["partition"]: part["entries"]
        for each in found.values()
        for part in each["metadata_partitions"]
    }
    columns = 9  # six, and three of Hudi's
    assert entries == {
        "column_stats": 80 * columns,
        "partition_stats": 10 * columns,
        "record_index": 160_000,
        "secondary_index_riders": 160_000,
    }


@pytest.mark.parametrize(
    "predicate",
    ["id = 12345", f"rider = '{ONE_RIDER}'", "fare > 165", "city LIKE 'Z%' OR fare < 1"],
)
def test_no_row_is_lost_by_the_indexes_of_the_demo(run, indexed, predicate):
    pruned = json.loads(run("prune", indexed, predicate, "--json")[1])
    assert pruned["files_kept"] < pruned["files_total"]
    kept = rows_of(indexed / path for path in pruned["kept"])
    every = rows_of(indexed.glob("day=*/*.parquet"))
    condition = arrow_filter(parse_predicate(predicate), every.schema, "UTC")
    assert kept.filter(condition).num_rows == every.filter(condition).num_rows > 0


def rows_of(files):
    return pa.concat_tables(pq.ParquetFile(file).read() for file in files)


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
    assert f"\n{predicate}   " in run("bench", trips, predicate, "--times", "1")[1]


def test_a_table_without_statistics_is_pruned_by_footers_and_says_so(run, trips):
    for command in ("prune", "explain"):
        found = "".join(run(command, trips, "fare > 165")[1:])
        assert "reads 10 of 80 files" in found
        assert "no column_stats: files are pruned by their own footers" in found
