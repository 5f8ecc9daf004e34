"""Tables read without an engine: the same rows as hudi-rs, from the files that may match."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pyhudi_expr
from pyhudi_expr import scan
from pyhudi_expr.errors import BeforeFirstCommit, CorruptFile, HudiError, UnsupportedTable
from pyhudi_expr.expr.frontend.sql.parser import HIVE, parse_predicate
from pyhudi_expr.expr.nodes import ALWAYS, Column, Comparison, Literal, Op
from pyhudi_expr.index.prune import PruneRequest
from pyhudi_expr.rows.arrow_filter import arrow_filter
from pyhudi_expr.rows.scan import Progress
from pyhudi_expr.tables.hudi_names import log_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from tests.tables.tables import TinyTable

LANCE = Path(__file__).parents[1] / "data" / "lance"
COW, MOR = "cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"
#: Tables whose snapshots hudi-rs reads completely.
READABLE = [COW, MOR, "cow_v9_txns_nonpart_nometa", "cow_v8_complexkeygen_hivestyle"]
FILTERS = [
    *("amount > 50", "region = 'us'", "region IN ('eu', 'apac') AND amount <= 40", "amount <> 10"),
    *("merchant_name LIKE 'A%' OR amount > 80", "merchant_name IS NULL", "NOT is_international"),
    *(
        "txn_id BETWEEN 'TXN-003' AND 'TXN-007'",
        "NOT (txn_id < 'TXN-005')",
        "txn_date > '2024-01-01'",
    ),
]


def by_hudi_rs(path: Path, as_of: str | None = None) -> pa.Table:
    from hudi import HudiReadOptions, HudiTable

    options = HudiReadOptions()
    if as_of:
        options = options.with_as_of_timestamp(as_of)
    table = HudiTable(str(path))
    batches = table.read(options)
    return pa.Table.from_batches(batches)


def rows(table: pa.Table) -> list[str]:
    """As sorted texts, which are ordered for all values."""
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in table.to_pylist())


@pytest.mark.parametrize("name", READABLE)
def test_all_rows_equal_those_of_hudi_rs(golden: Mapping[str, Path], name: str) -> None:
    expected = by_hudi_rs(golden[name])
    found = scan(str(golden[name]), meta=True).to_table()
    names = [column for column in found.schema.names if column in expected.schema.names]
    assert found.num_rows == expected.num_rows > 0
    assert rows(found.select(names)) == rows(expected.select(names))


@pytest.mark.parametrize("name", [COW, MOR])
@pytest.mark.parametrize("text", FILTERS)
def test_a_filter_returns_the_rows_of_a_full_read(
    golden: Mapping[str, Path], name: str, text: str
) -> None:
    path = str(golden[name])
    all_rows = scan(path, meta=True).to_table()
    found = scan(path, text, meta=True)
    expected = all_rows.filter(arrow_filter(parse_predicate(text, HIVE), all_rows.schema, None))
    assert rows(found.to_table()) == rows(expected)
    assert found.result.files_kept <= found.result.files_total


def test_a_file_without_a_byte_is_corrupt_if_the_metadata_table_lists_it_with_some(
    golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """Spark fails there, too; it reads no row of a file that directories list without a byte."""
    shutil.copytree(golden[COW], tmp_path / "table")
    table = HudiTable.open(str(tmp_path / "table"))
    listing = table.listing()
    (tmp_path / "table" / listing.paths(np.array([0]))[0]).write_bytes(b"")
    with pytest.raises(CorruptFile, match="no byte, and is listed with"):
        scan(str(tmp_path / "table")).to_table()


def test_every_kind_of_filter_returns_the_same_rows(golden: Mapping[str, Path]) -> None:
    path = str(golden[COW])
    tree = Comparison(Op.EQ, Column(("region",)), Literal("us", pa.string()))
    expected = rows(scan(path, "region = 'us'").to_table())
    assert expected
    for filter_ in (tree, [("region", "=", "us")], pc.field("region") == "us"):
        found = scan(path, filter_)
        assert rows(found.to_table()) == expected
        assert found.result.files_kept < found.result.files_total


@pytest.mark.parametrize("name", [COW, MOR])
def test_scans_as_of_an_instant_return_the_rows_of_hudi_rs(
    golden: Mapping[str, Path], name: str
) -> None:
    path = golden[name]
    for instant in HudiTable.open(str(path)).timeline.writes[:4]:
        as_of = instant.requested
        found = scan(str(path), columns=["_hoodie_record_key"], as_of=as_of).to_table()
        expected = by_hudi_rs(path, as_of).select(["_hoodie_record_key"])
        assert rows(found) == rows(expected)


def test_an_archived_instant_has_its_files(golden: Mapping[str, Path], tmp_path: Path) -> None:
    """What is older than the active timeline is complete, also seen from an archived instant."""
    table = Path(shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "t"))
    first, second, *_ = HudiTable.open(str(table)).timeline.writes

    def listed() -> list[str]:
        found = HudiTable.open(str(table)).listing(as_of=first.requested)
        return found.paths(np.arange(found.num_files))

    before = listed()
    for file in (table / ".hoodie" / "timeline").glob(f"{first.requested}*"):
        file.unlink()
    assert HudiTable.open(str(table)).timeline.start == second.requested
    assert listed() == before != []


def test_no_log_file_of_a_later_write_is_listed(golden: Mapping[str, Path]) -> None:
    table = HudiTable.open(str(golden["mor_v8_metadata_pending_compaction"]))
    for write in table.timeline.writes:
        listing = table.listing(as_of=write.requested)
        logs = log_files(listing.file_name)
        assert all(one <= write.requested for one in logs.instant.to_pylist())
    assert len(log_files(table.listing().file_name).instant)


def test_an_instant_may_be_given_as_a_date(golden: Mapping[str, Path]) -> None:
    path, every = str(golden[COW]), HudiTable.open(str(golden[COW])).timeline.writes
    before = datetime.strptime(every[0].requested[:8], "%Y%m%d").date()
    assert scan(path, as_of="2100-01-01").to_table().num_rows == scan(path).to_table().num_rows
    with pytest.raises(BeforeFirstCommit):
        scan(path, as_of=f"{before}")
    with pytest.raises(HudiError, match="'yesterday' is not an instant"):
        scan(path, as_of="yesterday")
    with pytest.raises(HudiError, match="'now' is not an instant"):
        PruneRequest(ALWAYS, since="now")


def test_columns_limits_and_progress(golden: Mapping[str, Path]) -> None:
    reported: list[Progress] = []
    found = scan(str(golden[MOR]), columns=["REGION"], limit=3, progress=reported.append)
    table = found.to_table()
    assert table.schema.names == ["region"]
    assert table.num_rows == 3
    assert reported[-1].rows == 3
    assert 0 < reported[-1].slices <= reported[-1].slices_total
    assert not scan(str(golden[MOR]), limit=0).to_table().num_rows
    assert found.to_reader().read_all() == table


@pytest.mark.parametrize("view", TableView)
@pytest.mark.parametrize("name", [COW, MOR])
@pytest.mark.parametrize("limit", [None, 2])
def test_data_frames_and_batch_readers_have_the_rows_of_tables(
    golden: Mapping[str, Path], name: str, view: TableView, limit: int | None
) -> None:
    reported: list[Progress] = []
    path = str(golden[name])
    found = pyhudi_expr.scan(
        path, "region = 'us'", ["txn_id"], view=view, limit=limit, progress=reported.append
    )
    expected = found.to_table()["txn_id"].to_pylist()
    assert len(expected) == (limit or len(scan(path, "region = 'us'", view=view).to_table())) > 1
    for txn_ids in (found.to_pandas()["txn_id"], found.to_polars()["txn_id"]):
        assert list(txn_ids) == expected
    assert reported[-1].rows == len(expected)


def test_datasets_contain_the_kept_files(golden: Mapping[str, Path]) -> None:
    found = scan(str(golden[COW]), "region = 'us'")
    dataset = found.to_dataset()
    expected = found.to_table().num_rows
    assert dataset.to_table(filter=pc.field("region") == "us").num_rows == expected > 0
    with pytest.raises(UnsupportedTable, match="read-optimised"):
        scan(str(golden["mor_v6_simplekeygen_nonhivestyle"])).to_dataset()


@pytest.mark.parametrize(
    ("name", "column", "other"),
    [
        ("cow_v9_txns_simple_meta", "region", "elsewhere"),
        ("mor_v9_txns_simple_meta", "region", "elsewhere"),
        ("mor_v6_simplekeygen_nonhivestyle", "byteField", 99),
    ],
)
def test_partition_columns_are_what_paths_say(
    golden: Mapping[str, Path], tmp_path: Path, name: str, column: str, other: object
) -> None:
    """As for Hudi's Spark reader, and for pruning, whatever files hold."""
    table = Path(shutil.copytree(golden[name], tmp_path / name))
    for file in table.rglob("*.parquet"):
        if ".hoodie" not in file.parts:
            found = pq.ParquetFile(file).read()
            at = found.schema.get_field_index(column)
            values = pa.array([other] * len(found), found.schema.types[at])
            pq.write_table(found.set_column(at, found.schema.field(at), values), file)
    whole = scan(str(golden[name]), None, [column]).to_table()[column].to_pylist()
    assert sorted(scan(str(table), None, [column]).to_table()[column].to_pylist()) == sorted(whole)
    for value in {*whole}:
        chosen = scan(str(table), f"{column} = {value!r}", [column])
        assert chosen.to_table()[column].to_pylist() == [value] * whole.count(value)
        dataset = pyhudi_expr.table(str(table)).to_pyarrow_dataset(f"{column} = {value!r}")
        assert dataset.to_table(columns=[column]).num_rows == whole.count(value)
        assert chosen.count() == whole.count(value)
    assert scan(str(table), f"{column} = {other!r}").count() == 0


@pytest.mark.parametrize("version", ["hoodie.table.version=5\n", ""])
@pytest.mark.parametrize(
    "name", ["mor_v6_simplekeygen_nonhivestyle", "cow_v6_simplekeygen_hivestyle_no_metafields"]
)
def test_tables_of_older_versions_have_the_same_rows(
    golden: Mapping[str, Path], tmp_path: Path, name: str, version: str
) -> None:
    """hudi-rs refuses them; log files are merged by keys."""
    table = Path(shutil.copytree(golden[name], tmp_path / name))
    properties = table / ".hoodie" / "hoodie.properties"
    lines = properties.read_text().splitlines(keepends=True)
    others = [line for line in lines if not line.startswith("hoodie.table.version=")]
    properties.write_text("".join([*others, version]))
    old, now = scan(str(table)).to_table(), scan(str(golden[name])).to_table()
    assert sorted(map(repr, old.to_pylist())) == sorted(map(repr, now.to_pylist())) != []


def test_a_listed_file_that_is_gone_is_an_error(golden: Mapping[str, Path], tmp_path: Path) -> None:
    table = Path(shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "t"))
    gone = table / scan(str(table)).result.kept_paths()[0]
    gone.unlink()
    with pytest.raises(CorruptFile, match=gone.name):
        scan(str(table)).to_table()


def test_lance_files_are_read_by_hudi_rs(tmp_path: Path) -> None:
    """The older one lacks a column that the table has now."""
    fields = {"id": "int", "score": "double", "tags": {"type": "array", "items": "string"}}
    columns = [
        {"name": name, "type": ["null", type_], "default": None} for name, type_ in fields.items()
    ]
    schema = json.dumps({"type": "record", "name": "scores", "fields": columns})
    table = TinyTable.create(
        tmp_path / "t",
        hoodie__table__type="COPY_ON_WRITE",
        hoodie__table__base__file__format="LANCE",
        hoodie__table__create__schema=schema,
        hoodie__timeline__layout__version="2",
    )
    for group, name in enumerate(["before_tags.lance", "with_tags.lance"]):
        instant = f"2024010{group + 1}000000000"
        table.complete(instant, instant.replace("0000", "0001"), "commit")
        written = table.base(f"group-{group}", instant)
        written_as = (table.path / "a" / written).with_suffix(".lance")
        (table.path / "a" / written).unlink()
        shutil.copy(LANCE / name, written_as)
    found = scan(str(table.path))
    assert sorted(found.to_table()["id"].to_pylist()) == [1, 2, 3, 4, 5, 6, 7]
    assert found.count() == 7
    some = scan(str(table.path), "score > 2", columns=["id", "tags"], order_by="id")
    assert some.to_table().to_pylist() == [
        {"id": 5, "tags": ["t5", "all"]},
        {"id": 6, "tags": None},
        {"id": 7, "tags": ["t7", "all"]},
    ]
    assert scan(str(table.path), "tags IS NULL").count() == 5
    assert pyhudi_expr.table(str(table.path)).to_pyarrow_dataset("id < 3").count_rows() == 2
    with pytest.raises(UnsupportedTable, match="Lance"):
        found.to_dataset()
    (table.path / "a" / "group-0_0-1-2_20240101000000000.lance").write_bytes(b"x" * 9)
    with pytest.raises(CorruptFile, match="group-0"):
        scan(str(table.path)).to_table()


def test_the_read_optimised_view_merges_nothing(golden: Mapping[str, Path]) -> None:
    path = str(golden["mor_v6_simplekeygen_nonhivestyle"])
    found = scan(path, view=TableView.READ_OPTIMIZED)
    assert found.to_dataset().count_rows() == found.to_table().num_rows > 0


@pytest.mark.parametrize(
    ("filter_", "columns", "error_pattern"),
    [
        ("regoin = 'us'", None, "there is no column regoin; is it region?"),
        (None, ["regoin"], "there is no column regoin; is it region?"),
        ("region RLIKE '(?i)u'", None, "RLIKE"),
        ("initcap(region) = 'Us'", None, "initcap"),
        (pc.field("regoin") == "us", None, "there is no column regoin; is it region?"),
        (pc.field("REGION") == "us", None, "pyarrow does not take REGION for region"),
        (pc.field("region", "x") == 1, None, "there is no column region.x: region is string"),
        (pc.field("region") == 5, None, "has no kernel matching input types (string, int8)"),
        ([("regoin", "=", "us")], None, "there is no column regoin; is it region?"),
        ("amount = 'x'", None, "has numbers, and 'x' is none: write a number such as"),
    ],
)
def test_columns_that_cannot_be_filtered_are_refused(
    golden: Mapping[str, Path], filter_: Any, columns: Any, error_pattern: str
) -> None:
    with pytest.raises(HudiError, match=re.escape(error_pattern)):
        scan(str(golden[COW]), filter_, columns)


def test_scan_prints_rows_as_text_and_json(
    golden: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    from pyhudi_expr.cli.main import main

    assert not main(["scan", str(golden[COW]), "region = 'us'", "--columns", "region", "--json"])
    out, err = capsys.readouterr()
    assert set(out.splitlines()) == {'{"region": "us"}'}
    assert "files" in err
    assert not main(["scan", str(golden[COW]), "--columns", "region", "--limit", "1"])
    assert capsys.readouterr().out.splitlines()[0] == "region"
    assert main(["scan", str(golden[COW]), "regoin = 1"]) == 1


def test_what_scans_make_is_shown_as_one_line(golden: Mapping[str, Path]) -> None:
    found = scan(str(golden[COW]), "region = 'us'", ["txn_id", "region"])
    assert repr(found._rows) == "<RowStream of 2 of 5 files: txn_id, region>"
    kept = f"<PruneResult: keep 2 of 5 files, at instant {found.result.instant}>"
    assert repr(found.result) == kept
    listing = repr(found.result.listing)
    assert listing.startswith("<FileListing: 5 files in 3 partitions, ")
    assert listing.endswith(f" as of {found.result.instant}>")
    assert repr(HudiTable.open(str(golden[COW]))) == (
        f"<HudiTable {golden[COW]}, as of {found.result.instant}>"
    )


_LACKING = """
import sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[2]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
import pyhudi_expr
from pyhudi_expr.errors import HudiError

try:
    getattr(pyhudi_expr.scan(sys.argv[1]), f"to_{sys.argv[2]}")()
except HudiError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_names_the_extra(golden: Mapping[str, Path], package: str) -> None:
    command = [sys.executable, "-c", _LACKING, str(golden[COW]), package]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    message = f"{package} is missing; install the extra: pip install 'pyhudi-expr[reading]'\n"
    assert done.stdout == message
