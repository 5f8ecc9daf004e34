"""`pyhudi scan`: the rows of a table as text and as JSON."""

import json
import math
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.reading.scan import scan


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
    every = scan(str(path)).to_table()
    first = pc.min(every["_hoodie_commit_time"]).as_py()
    _, now, _ = run("scan", path, "--columns", "txn_id", "--json")
    _, then, _ = run("scan", path, "--columns", "txn_id", "--as-of", first, "--json")
    assert len(now.splitlines()) == every.num_rows
    assert then.splitlines() != now.splitlines()
    wall = "txn_datetime = timestamp '2024-01-20 17:00:00'"
    _, local, _ = run("scan", path, wall, "--zone", "Europe/Oslo", "--json")
    assert [json.loads(line)["txn_id"] for line in local.splitlines()] == ["TXN-015"]
    assert run("scan", path, wall, "--json")[1] == ""
