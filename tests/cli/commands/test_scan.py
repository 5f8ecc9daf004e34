"""`pyhudi scan`: the rows of a table as text and as JSON."""

import json
import math
import re
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pyhudi_expr import scan
from pyhudi_expr.cli.demo_table import write_demo_table
from tests.cli.terminals import to_terminal

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def table(golden):
    return golden["cow_v9_txns_simple_meta"]


def test_output_lines_are_the_rows_with_their_columns(run, table):
    code, out, err = run("scan", table, "region = 'us'", "--columns", "txn_id,merchant_name")
    assert code == 0
    header, *lines = out.splitlines()
    assert header.split("\t") == ["txn_id", "merchant_name"]
    rows = scan(str(table), "region = 'us'").to_table()
    expected = zip(rows["txn_id"].to_pylist(), rows["merchant_name"].to_pylist(), strict=True)
    assert sorted(tuple(line.split("\t")) for line in lines) == sorted(
        (key, name or "NULL") for key, name in expected
    )
    assert err == "read 2 of 5 files\n"


def test_meta_columns_are_added_to_those_asked_for(run, table):
    asked = ("region = 'us'", "--columns", "txn_id,_hoodie_file_name", "--meta")
    header = run("scan", table, *asked)[1].splitlines()[0].split("\t")
    assert header[:2] == ["_hoodie_commit_time", "_hoodie_commit_seqno"]
    assert header[4:] == ["_hoodie_file_name", "txn_id"]


def test_a_terminal_shows_a_table(run, table, monkeypatch):
    screen = to_terminal(monkeypatch)
    code, _, err = run("scan", table, "region = 'us'", "--columns", "txn_id,amount")
    assert code == 0
    heading, line, *lines = (_STYLE.sub("", one).rstrip() for one in screen.getvalue().splitlines())
    assert heading.split() == ["txn_id", "amount"]
    assert set(line) == {"─"}
    assert len({len(one) for one in lines}) == 1  # numbers are aligned
    assert err == f"{len(lines)} rows; read 2 of 5 files\n"


def test_a_terminal_shows_the_first_rows(run, tmp_path, monkeypatch):
    screen = to_terminal(monkeypatch)
    write_demo_table(tmp_path / "trips")
    _, _, err = run("scan", tmp_path / "trips")
    assert len(screen.getvalue().splitlines()) == 2 + 40
    assert err == "the first 40 rows; --limit shows more, a pipe all\n"
    run("scan", tmp_path / "trips", "--limit", "50")
    assert len(screen.getvalue().splitlines()) == 2 + 40 + 2 + 50


def test_a_limit_says_how_many_files_were_begun(run, tmp_path):
    write_demo_table(tmp_path / "trips")
    _, out, err = run("scan", tmp_path / "trips", "--limit", "1", "--columns", "id")
    assert len(out.splitlines()) == 2
    assert err == "stopped at the limit after 1 file slice; the predicate keeps 80 of 80 files\n"


def test_footers_prune_files_without_statistics(run, golden):
    path = golden["cow_v9_txns_nonpart_nometa"]
    for more in ((), ("--footers",)):
        code, rows, notes = run("scan", path, "amount > 1000000", "--columns", "amount", *more)
        assert (code, rows) == (0, "amount\n")
        assert notes.splitlines()[-1] == "read 0 of 2 files"


def test_wide_rows_are_records_on_a_terminal(run, table, monkeypatch):
    screen = to_terminal(monkeypatch)
    assert run("scan", table, "--meta", "--limit", "1")[0] == 0
    assert screen.getvalue().splitlines()[0].startswith("_hoodie_commit_time: ")


def test_meta_columns_are_printed_only_if_asked_for(run, table):
    def columns(*given):
        return run("scan", table, "--limit", "0", *given)[1].strip().split("\t")

    own = columns()
    assert not any(name.startswith("_hoodie") for name in own)
    every = columns("--meta")
    assert [name for name in every if not name.startswith("_hoodie")] == own
    assert len(every) == len(own) + 5
    assert columns("--columns", "_hoodie_record_key") == ["_hoodie_record_key"]


def test_no_more_rows_than_the_limit(run, table):
    for limit in (0, 1, 3):
        _, out, _ = run("scan", table, "--limit", limit, "--json")
        assert len(out.splitlines()) == limit
    assert run("scan", table, "--limit", -1)[0] == 2


def test_every_type_has_a_json_form(run, golden):
    """Decimals, dates and times as text, binaries in hexadecimal, nested values nested."""
    _, out, _ = run("scan", golden["cow_v8_complexkeygen_hivestyle"], "id = 1", "--json")
    (row,) = map(json.loads, out.splitlines())
    assert (row["decimalField"], row["dateField"]) == ("12345.67890", "2023-04-01")
    assert row["timestampField"] == "2023-04-01T12:01:00+00:00"
    assert bytes.fromhex(row["binaryField"]) == b"binary data"
    assert row["arrayField"][1] == {"arr_struct_f1": "blue", "arr_struct_f2": 200}
    assert row["structField"]["child_struct"]["child_field2"] is True
    _, out, _ = run(
        *("scan", golden["cow_v8_complexkeygen_hivestyle"], "id = 1"),
        *("--columns", "binaryField,structField"),
    )
    binary, struct = out.splitlines()[1].split("\t")
    assert bytes.fromhex(binary) == b"binary data"
    assert json.loads(struct) == row["structField"]


def test_numbers_missing_in_json_are_strings(run, tmp_path):
    path = tmp_path / "trips"
    write_demo_table(path)
    (file, *others) = sorted(path.glob("day=*/*.parquet"))
    for other in others:
        other.unlink()
    properties = path / ".hoodie" / "hoodie.properties"
    decimal = '{"type"\\:"bytes","logicalType"\\:"decimal","precision"\\:9,"scale"\\:2}'
    properties.write_text(properties.read_text().replace(decimal, '"double"'))
    rows = pq.ParquetFile(file).read().slice(0, 4)
    fares = pa.array([math.nan, math.inf, -math.inf, 1.5])
    pq.write_table(rows.set_column(rows.schema.get_field_index("fare"), "fare", fares), file)

    def refuse(constant):
        raise AssertionError(constant)

    _, out, _ = run("scan", path, "--columns", "fare", "--json")
    found = [json.loads(line, parse_constant=refuse)["fare"] for line in out.splitlines()]
    assert found == ["NaN", "Infinity", "-Infinity", 1.5]


def test_scan_accepts_an_instant_and_a_zone(run, golden, tmp_path):
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    every = scan(str(path), meta=True).to_table()
    first = pc.min(every["_hoodie_commit_time"]).as_py()
    _, now, _ = run("scan", path, "--columns", "txn_id", "--json")
    _, then, _ = run("scan", path, "--columns", "txn_id", "--as-of", first, "--json")
    assert len(now.splitlines()) == every.num_rows
    assert then.splitlines() != now.splitlines()
    wall = "txn_datetime = timestamp '2024-01-20 17:00:00'"
    _, local, _ = run("scan", path, wall, "--zone", "Europe/Oslo", "--json")
    (row,) = map(json.loads, local.splitlines())
    assert (row["txn_id"], row["txn_datetime"]) == ("TXN-015", "2024-01-20T17:00:00+01:00")
    assert run("scan", path, wall, "--json")[1] == ""


def test_scan_says_why_it_skips_no_file(run, table):
    _, _, err = run("scan", table, "merchant_name NOT LIKE '%zzz'", "--json")
    assert "note: the rest of LIKE '%zzz' skips no file" in err
    assert "note:" not in run("scan", table, "region = 'us'", "--json")[2]


def test_a_function_that_rows_cannot_be_filtered_by_is_named(run, table):
    code, _, err = run("scan", table, "initcap(region) = 'Us'")
    assert code == 1
    assert err == (
        "pyhudi: rows cannot be filtered: initcap() is not supported; let an engine such as DuckDB "
        "filter the rows of the files that prune keeps\n"
    )
