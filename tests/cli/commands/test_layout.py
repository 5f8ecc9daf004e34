"""`pyhudi layout analyze`.

`tests/spark/clustering/test_cluster.py` runs `pyhudi layout cluster`.
"""

import json
import subprocess
import sys

import pytest

from pyhudi_expr.cli.demo_table import ONE_RIDER
from tests.manage.layout.tables import rows, split, written

_PREDICATES = (
    "--predicate",
    "a < 1000",
    "--predicate",
    "b = 'https://www.example.com/000001' OR a > 9",
)


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> str:
    """Two partitions of four files."""
    files = split(rows(4_000), 8)
    return written(tmp_path_factory.mktemp("cli") / "t", {"p": files[:4], "q": files[4:]})


def test_the_best_layouts_are_shown(run, table):
    code, out, _ = run("layout", "analyze", table, *_PREDICATES)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["share", "of", "files", "read,", "8", "files"]
    assert "today" in out
    assert "linear (a)" in out
    assert "100.0%" in out


def test_the_json_of_analyze(run, table):
    code, out, _ = run("layout", "analyze", table, *_PREDICATES, "--files", "16", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["files"] == 16
    assert report["sampled_rows"] == 4_000
    assert report["today"]["layout"] is None
    assert [one["predicate"] for one in report["today"]["predicates"]] == list(_PREDICATES[1::2])
    shares = [one["bytes"] for one in report["candidates"]]
    assert shares == sorted(shares)
    named = {
        (tuple(one["layout"]["columns"]), one["layout"]["curve"]) for one in report["candidates"]
    }
    assert {(("a",), "linear"), (("a", "b"), "z-order"), (("b", "a"), "linear")} <= named


def test_today_is_what_all_indexes_of_the_table_leave(run, indexed_trips):
    """Statistics alone, by which layouts are estimated, skip no file of the demo for a rider."""
    asked = f"rider = '{ONE_RIDER}'"
    given = ("layout", "analyze", indexed_trips, "--predicate", asked)
    report = json.loads(run(*given, "--json")[1])
    assert (report["today"]["files"], report["estimated"]["files"]) == (1 / 80, 1.0)
    (today,) = report["today"]["predicates"]
    assert today["skipped_by"] == {"secondary_index_riders": 79}
    code, out, err = run(*given)
    cells = [line.split("│")[1:3] for line in out.splitlines() if "│ today" in line]
    assert code == 0
    assert [[cell.strip() for cell in row] for row in cells] == [
        ["today", f"{report['today']['bytes']:.1%}"],
        ["today, by statistics alone", "100.0%"],
    ]
    assert f"note: {asked}: 1 of 80 files are read today; secondary_index_riders skips 79\n" in err


@pytest.mark.slow
def test_layouts_of_chosen_columns_with_a_picture(run, table, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "files.png"
    code, out, _ = run(
        *("layout", "analyze", table, *_PREDICATES),
        *("--columns", "b,c", "--picture", picture, "--json"),
    )
    assert code == 0
    layouts = [one["layout"] for one in json.loads(out)["candidates"]]
    assert {tuple(one["columns"]) for one in layouts} == {("b", "c")}
    assert len(layouts) == 5
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--predicate", "nowhere = 1"), "there is no column nowhere"),
        (("--predicate", "true"), "no column that rows can be laid out by"),
        (("--predicate", "a = 1", "--columns", "x"), "there is no column 'x'"),
        (("--predicate", "a = 1", "--picture", "x.png"), "a picture takes two columns"),
    ],
)
def test_invalid_arguments_of_analyze_are_one_line_errors(run, table, arguments, message):
    code, out, err = run("layout", "analyze", table, *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("files", ["0", "-1"])
def test_a_layout_of_no_file_is_refused(run, table, files):
    code, _, err = run("layout", "analyze", table, *_PREDICATES, "--files", files)
    assert code == 2
    assert "--files" in err


_WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None
from pyhudi_expr.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "error"),
    [("nope", "there is no column 'nope' to lay out by"), ("a", "pyspark is missing")],
)
def test_an_unknown_column_is_refused_before_spark_starts(table, columns, error):
    command = [sys.executable, "-c", _WITHOUT_SPARK, "layout", "cluster", table]
    done = subprocess.run([*command, "--columns", columns], capture_output=True, text=True)
    assert done.returncode == 1
    assert error in done.stderr
