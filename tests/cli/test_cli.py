"""The command line, run as users run it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import click
import pytest

from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.cli.main import cli
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.rows.nasty_tables import write_nasty_table


@pytest.fixture
def table(golden) -> Path:
    return golden["cow_v9_txns_simple_meta"]


def test_prune_prints_the_files_to_read(run, table):
    code, out, err = run("prune", table, "region = 'us'")
    assert code == 0
    paths = out.splitlines()
    assert paths
    assert all(path.startswith("region=us/") and (table / path).is_file() for path in paths)
    listing = HudiTable.open(str(table)).listing()
    assert err.startswith(f"reads {len(paths)} of {listing.num_files} files")


@pytest.mark.parametrize("name", ["cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"])
def test_the_json_of_prune(run, golden, name):
    code, out, _ = run("prune", golden[name], "txn_id = 'TXN-017'", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["files_kept"] == len(report["kept"]) < report["files_total"]
    assert all((golden[name] / path).is_file() for path in report["kept"])
    assert report["bytes_kept"] == sum((golden[name] / p).stat().st_size for p in report["kept"])
    assert report["partitions_kept"] == len({Path(path).parent for path in report["kept"]})
    assert report["instant"] == HudiTable.open(str(golden[name])).instant


def test_counts_instead_of_the_list(run, table):
    every = json.loads(run("prune", table, "region = 'us'", "--json")[1])
    _, counted, _ = run("prune", table, "region = 'us'", "--count", "--json")
    assert json.loads(counted) == {name: every[name] for name in every if name != "kept"}
    code, out, err = run("prune", table, "region = 'us'", "--count")
    assert (code, err) == (0, "")
    assert out.startswith(f"reads {every['files_kept']} of {every['files_total']} files (")
    assert ".parquet" not in out


def test_files_written_since_an_instant(run, table):
    """All older files are left out, whatever the predicate."""
    newest = HudiTable.open(str(table)).instant
    before = json.loads(run("prune", table, "true", "--since", "0", "--json")[1])
    after = json.loads(run("prune", table, "true", "--since", newest, "--json")[1])
    assert before["files_kept"] == before["files_total"] > 0
    assert after["files_kept"] == 0


def test_a_predicate_that_is_never_true_keeps_no_file(run, table):
    code, out, _ = run("prune", table, "region = 'mars'")
    assert (code, out) == (0, "")


def test_view_instant_zone_and_footers(run, golden):
    mor = golden["mor_v6_simplekeygen_nonhivestyle"]
    every = json.loads(run("prune", mor, "true", "--json")[1])
    bases = json.loads(run("prune", mor, "true", "--json", "--view", "read-optimized")[1])
    assert any(".log." in path for path in every["kept"])
    assert not any(".log." in path for path in bases["kept"])
    table = HudiTable.open(str(mor))
    first = table.timeline.writes[0].requested
    assert json.loads(run("prune", mor, "true", "--json", "--as-of", first)[1])["instant"] == first
    cow = golden["cow_v8_simplekeygen_hivestyle_no_metafields"]
    predicate = "timestampField < timestamp '1990-01-01 00:00:00'"
    for footers in ((), ("--footers",)):
        found = json.loads(run("prune", cow, predicate, *footers, "--json")[1])
        assert (found["files_kept"], found["files_total"]) == (0, 3)


@pytest.mark.parametrize("command", ["prune", "explain", "bench", "scan", "layout analyze"])
def test_every_command_reads_wall_clocks_in_utc_unless_told_otherwise(command):
    context = click.Context(cli)
    found: click.Command | None = cli
    for name in command.split():
        assert isinstance(found, click.Group)
        found = found.get_command(context, name)
    assert found is not None
    (zone,) = (parameter for parameter in found.params if parameter.name == "zone")
    assert zone.default == "UTC"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--as-of", "yesterday"), "not an instant"),
        (("--as-of", "2024-01"), "not an instant"),
        (("--since", "now"), "not an instant"),
        (("--zone", "Oslo"), "the zone 'Oslo' is unknown"),
        (("--catalog-property", "BUCKET"), "expected KEY=VALUE, got 'BUCKET'"),
    ],
)
@pytest.mark.parametrize("command", ["prune", "explain"])
def test_unknown_instants_zones_and_properties_are_refused(run, table, command, given, message):
    code, out, err = run(command, table, "region = 'us'", *given)
    assert (code, out) == (2, "")
    assert message in err


def test_buckets_prune_by_the_properties_of_a_catalog(run, flink):
    properties = ("hoodie.index.type=BUCKET", "hoodie.bucket.index.num.buckets=2")
    given = [part for text in properties for part in ("--catalog-property", text)]
    table = flink["mor_bucket"]
    _, out, _ = run("explain", table, "id = 3", *given)
    assert "buckets (" in out
    assert "buckets (" not in run("explain", table, "id = 3")[1]
    assert run("scan", table, "id = 3", *given)[1] == run("scan", table, "id = 3")[1]


def test_an_instant_may_be_given_as_a_date(run, tmp_path):
    write_demo_table(tmp_path / "trips")  # its only commit has that day's midnight as instant
    files = {
        given: json.loads(run("prune", tmp_path / "trips", "true", "--json", "--as-of", given)[1])
        for given in ("2024-01-11", "2024-01-11 00:00:01", "20240111000000000", "2999-12-31T23:59")
    }
    assert [report["files_kept"] for report in files.values()] == [80, 80, 80, 80]


@pytest.mark.parametrize(
    ("given", "zone", "is_after"),
    [
        ("2024-01-11T00:59:59+01:00", "UTC", False),
        ("2024-01-11T01:00:00+01:00", "UTC", True),
        ("2024-01-11T00:00:00Z", "UTC", True),
        ("2024-01-10T23:00:00Z", "Europe/Oslo", True),
        ("2024-01-10T22:59:59Z", "Europe/Oslo", False),
    ],
)
@pytest.mark.parametrize("command", ["prune", "scan"])
def test_an_instant_may_have_an_offset(run, tmp_path, command, given, zone, is_after):
    write_demo_table(tmp_path / "trips")  # committed at 2024-01-11 00:00 in the writer's zone
    asked = ("fare > 165", "--as-of", given, "--zone", zone)
    code, _, err = run(command, tmp_path / "trips", *asked)
    assert code == 1 - is_after
    assert ("is before the table's first commit" in err) is not is_after


@pytest.mark.parametrize("command", ["prune", "explain", "scan"])
def test_an_instant_before_the_first_commit_is_an_error(run, table, command):
    code, out, err = run(command, table, "region = 'us'", "--as-of", "2001-01-01")
    assert (code, out) == (1, "")
    assert "20010101000000000 is before the table's first commit" in err


def test_the_dialect_of_the_predicate(run, table):
    hive = run("prune", table, "region = 'us'")
    assert run("prune", table, "\"region\" = 'us'", "--dialect", "trino") == hive
    assert run("prune", table, "region = r'us'", "--dialect", "spark") == hive
    assert run("prune", table, "region = r'us'", "--dialect", "SPARK") == hive
    for dialect, text in {"presto": "\"region\" = 'us'", "spark": "region = r'us'"}.items():
        out = run("explain", table, text, "--dialect", dialect)[1]
        assert re.search(r"region\"? = r?'us' +3 of 5 ", out)
    assert "'oracle' is not one of" in run("prune", table, "a = 1", "--dialect", "oracle")[2]


@pytest.mark.parametrize("command", ["prune", "explain", "bench", "scan"])
def test_an_unknown_column_is_an_error_with_the_nearest_name(run, table, command):
    code, out, err = run(command, table, "regoin = 'us'")
    assert (code, out) == (1, "")
    assert err == f"pyhudi: {table}: there is no column regoin; is it region?\n"


@pytest.mark.parametrize("command", ["prune", "explain", "bench", "scan"])
def test_a_syntax_error_has_a_caret(run, table, command):
    code, out, err = run(command, table, "region = 'us' AND AND amount > 1")
    assert (code, out) == (1, "")
    first, text, caret = err.splitlines()
    assert first == "pyhudi: the predicate cannot be read: line 1, column 19: an operand is missing"
    assert text == "  region = 'us' AND AND amount > 1"
    assert caret == " " * 20 + "^"


@pytest.mark.parametrize("query", ["WHERE region = 'us'", "SELECT * FROM t WHERE t.region = 'us';"])
def test_of_a_query_the_where_counts(run, table, query):
    assert run("prune", table, query) == run("prune", table, "region = 'us'")
    code, out, err = run("scan", table, query, "--columns", "txn_id")
    assert (code, out) == run("scan", table, "region = 'us'", "--columns", "txn_id")[:2]
    assert ("only the WHERE is used" in err) is query.startswith("SELECT")


def test_explain_shows_what_each_part_excludes(run, table):
    predicate = "region = 'us' AND merchant_name RLIKE '(?i)x'"
    code, out, _ = run("explain", table, predicate)
    assert code == 0
    assert "is not evaluated" in out
    heading = next(line for line in out.splitlines() if line.startswith("part of"))
    assert heading.split("  ")[0] == "part of the condition"
    assert re.search(rf"^{re.escape(predicate)} +3 of 5 ", out, re.MULTILINE)
    assert re.search(r"^  region = 'us' +3 of 5 .*partition values \(3\)", out, re.MULTILINE)
    assert " ms" not in out
    details = run("explain", table, predicate, "--verbose")[1]
    verbose = ("explain", table, "merchant_name = 'x'", "-v")
    assert "rows" in details
    assert "indexes used: partition values" in details
    assert re.search("partition values +has no column merchant_name", run(*verbose)[1])
    report = json.loads(run("explain", table, predicate, "--json")[1])
    assert report["explanation"]["files"] == report["files_total"]
    assert len(report["explanation"]["children"]) == 2
    assert "kept" not in report


def test_explain_says_which_rows_of_the_files_can_match(run, tmp_path):
    write_nasty_table(tmp_path / "t", Random(1))
    question = ("explain", tmp_path / "t", "id = 30", "--rows")
    code, out, _ = run(*question, "--html", tmp_path / "page.html")
    assert code == 0
    found = "1 of 6 row groups, 1 of 1 pages, 4 of 24 rows in 1 evaluated files"
    assert f"can match: {found}" in out
    assert found in (tmp_path / "page.html").read_text()
    rows = json.loads(run(*question, "--json")[1])["rows"]
    assert (rows["rows"], rows["rows_kept"], rows["row_groups_kept"]) == (24, 4, 1)


@pytest.mark.parametrize(
    "name",
    [
        "cow_v6_simplekeygen_hivestyle_no_metafields",
        "cow_v8_complexkeygen_hivestyle",
        "cow_v9_timebasedkeygen_nonhivestyle",
        "cow_v9_txns_nonpart_nometa",
        "cow_v9_txns_simple_meta",
        "mor_v6_simplekeygen_nonhivestyle",
        "mor_v9_txns_simple_meta",
    ],
)
def test_inspect_reports_version_type_and_files(run, golden, name):
    code, out, _ = run("inspect", golden[name], "--json")
    assert code == 0
    report = json.loads(out)
    kind, version = re.match(r"(cow|mor)_v(\d)", name).groups()
    assert report["table_version"] == int(version)
    assert report["type"] == {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind]
    files = report["files"]
    assert sum(report["partitions"].values()) == files["base_files"] + files["log_files"] > 0
    assert report["schema"]
    assert report["timeline"]["last_write"] == report["instant"]
    if (golden[name] / ".hoodie" / "metadata").is_dir():
        assert report["metadata_table"]["up_to_date"]
        assert {"files", "column_stats"} <= set(report["metadata_table"]["indexes"])
    else:
        assert report["metadata_table"] is None
    code, text, _ = run("inspect", golden[name])
    assert code == 0
    assert f"instant: {report['instant']}" in text


def test_a_table_may_be_given_by_a_relative_path(run, table, monkeypatch):
    monkeypatch.chdir(table.parent)
    assert run("prune", table.name, "region = 'us'")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["prune", "{tmp}", "a = 1"], 1, "no Hudi table"),
        (["inspect", "{tmp}"], 1, "no Hudi table"),
        (["prune", "{table}"], 2, "PREDICATE"),
        (["prune", "{table}", "a = 1", "--view", "x"], 2, "--view"),
        (["nothing"], 2, "nothing"),
        (["serve", "--port", "700000"], 1, "port"),
        (["serve", "--config", "{tmp}/none"], 1, "none"),
        (["serve", "--port", "0", "--host", "256.0.0.1"], 1, "256.0.0.1"),
        (["serve", "--port", "0", "--root", "relative"], 1, "relative"),
        (["prune", "gs2://bucket/t", "a = 1"], 1, "gs2://bucket/t"),
    ],
)
def test_errors_are_one_clear_line_and_an_exit_code(run, table, tmp_path, arguments, code, message):
    given = [
        one.replace("{tmp}", str(tmp_path)).replace("{table}", str(table)) for one in arguments
    ]
    found, out, err = run(*given)
    assert found == code
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    if code == 1:
        assert err.startswith("pyhudi: ")
        assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["prune", "explain", "scan"])
def test_a_table_after_the_condition_is_a_wrong_command_line(run, table, command):
    code, _, err = run(command, "region = 'us'", table)
    assert code == 2
    assert f"the table comes first, then the condition: {table} is a directory" in err


@pytest.mark.parametrize(
    ("predicate", "is_hinted"),
    [("txn_date > 2024-01-05", True), ("txn_date > '2024-01-05'", False)],
)
def test_a_date_without_quotes_has_a_hint(run, table, predicate, is_hinted):
    err = run("prune", table, predicate)[2]
    assert ("a date is in quotes: '2024-01-05'" in err) is is_hinted


@pytest.mark.parametrize("command", ["prune", "explain", "scan", "bench"])
def test_a_column_in_quotes_that_make_it_a_text_has_a_hint(run, table, command):
    _, _, err = run(command, table, "\"region\" = 'us'")
    assert "hint: 'region' in quotes is a text in this SQL, not the column" in err
    for other in (("region = 'us'",), ("\"region\" = 'us'", "--dialect", "trino")):
        assert "in quotes" not in run(command, table, *other)[2]


def test_a_column_in_quotes_has_a_hint_if_it_is_not_among_those_to_show(run, table):
    _, _, err = run("scan", table, "\"region\" = 'us'", "--columns", "txn_id")
    assert "hint: 'region' in quotes is a text in this SQL, not the column" in err


def test_an_index_that_is_not_asked_is_named(run, golden):
    table = golden["cow_v9_txns_simple_meta"]
    _, text, _ = run("explain", table, "txn_id = 'TXN-015'")
    report = json.loads(run("explain", table, "txn_id = 'TXN-015'", "--json")[1])
    assert report["not_asked"], text
    for index in report["not_asked"]:
        assert f"{index['index']} was not asked: {index['reason']}" in text


def test_debug_prints_the_traceback(run, tmp_path):
    assert "Traceback" in run("--debug", "inspect", tmp_path)[2]


@pytest.mark.parametrize("module", ["pyhudi_expr.cli", "pyhudi_expr.cli.main"])
def test_it_runs_as_a_module(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("pyhudi, version ")


def test_a_report_names_the_table_by_its_whole_path(run, golden, monkeypatch):
    table = golden["cow_v9_txns_simple_meta"]
    monkeypatch.chdir(table.parent)
    relative_arguments = (table.name, "region = 'us'", "--json")
    for command in ("prune", "explain", "bench"):
        assert json.loads(run(command, *relative_arguments)[1])["table"] == str(table)
