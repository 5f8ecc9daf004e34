"""The file slices that a query reads."""

from pathlib import Path

import pytest

from pyhudi_expr.errors import ExternalFiles
from pyhudi_expr.tables.listing import TableView
from tests.tables.tables import TinyTable, files, slices


@pytest.fixture(params=[6, 9], ids=["layout1", "layout2"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> TinyTable:
    return TinyTable.create(tmp_path / "t", version=request.param)


@pytest.fixture
def newer(tmp_path: Path) -> TinyTable:
    return TinyTable.create(tmp_path / "t", version=9)


@pytest.fixture
def older(tmp_path: Path) -> TinyTable:
    return TinyTable.create(tmp_path / "t", version=6)


def test_the_newest_committed_base_file_is_read(table: TinyTable) -> None:
    table.complete("001", "002")
    table.complete("003", "004")
    table.start("005")
    table.base("f", "001")
    newest = table.base("f", "003")
    table.base("f", "005")
    assert files(table.open().listing()) == {"f": [newest]}


def test_a_group_whose_only_write_is_unfinished_is_not_listed(table: TinyTable) -> None:
    table.complete("001", "002")
    table.start("003")
    table.base("f", "003")
    assert files(table.open().listing()) == {}


def test_instants_older_than_the_timeline_are_archived_and_committed(table: TinyTable) -> None:
    table.complete("005", "006")
    archived = table.base("f", "001")
    assert files(table.open().listing()) == {"f": [archived]}


def test_an_instant_missing_in_the_timeline_was_rolled_back(table: TinyTable) -> None:
    table.complete("001", "002")
    table.complete("005", "006")
    kept = table.base("f", "001")
    table.base("f", "003")
    assert files(table.open().listing()) == {"f": [kept]}


def test_savepoints_do_not_define_the_start_of_the_timeline(table: TinyTable) -> None:
    table.complete("001", "002")
    table.complete("001", "003", "savepoint")
    table.complete("007", "008")
    archived = table.base("f", "005")
    assert files(table.open().listing()) == {"f": [archived]}


def test_replaced_groups_are_not_listed_from_their_replacement_on(table: TinyTable) -> None:
    table.complete("001", "002")
    table.complete("003", "004", "replacecommit", replaced={"a": ["f"]})
    old, new = table.base("f", "001"), table.base("g", "003")
    opened = table.open()
    assert files(opened.listing()) == {"g": [new]}
    assert files(opened.listing(as_of="002")) == {"f": [old]}


def test_a_group_is_replaced_in_its_partition_only(table: TinyTable) -> None:
    table.complete("001", "002")
    table.complete("003", "004", "replacecommit", replaced={"a": ["f"]})
    table.base("f", "001", partition="a")
    kept = table.base("f", "001", partition="b")
    listing = table.open().listing()
    assert (listing.partitions.to_pylist(), files(listing)) == (["b"], {"f": [kept]})


def test_log_files_are_merged_in_the_order_in_which_they_were_written(newer: TinyTable) -> None:
    for requested, completed in (("001", "002"), ("003", "004"), ("005", "006")):
        newer.complete(requested, completed)
    base = newer.base("f", "001")
    logs = [newer.log("f", "003", 2), newer.log("f", "003", 10), newer.log("f", "005")]
    assert files(newer.open().listing()) == {"f": [base, *logs]}
    assert files(newer.open().listing(TableView.READ_OPTIMIZED)) == {"f": [base]}


def test_layout_1_assigns_log_files_to_slices_by_name(older: TinyTable) -> None:
    older.complete("001", "")
    older.complete("003", "")
    older.base("f", "001")
    older.log("f", "001")
    base, log = older.base("f", "003"), older.log("f", "003")
    assert files(older.open().listing()) == {"f": [base, log]}


def test_layout_2_assigns_log_files_to_slices_by_completion_time(newer: TinyTable) -> None:
    newer.complete("001", "002")
    newer.complete("005", "008", "commit")
    newer.complete("003", "004")
    newer.complete("004", "009")
    newer.base("f", "001")
    newer.log("f", "003")
    late = newer.log("f", "004")
    base = newer.base("f", "005")
    assert files(newer.open().listing()) == {"f": [base, late]}


def test_layout_2_skips_log_files_of_unfinished_writes(newer: TinyTable) -> None:
    newer.complete("001", "002")
    newer.start("003")
    base = newer.base("f", "001")
    newer.log("f", "003")
    assert files(newer.open().listing()) == {"f": [base]}


def test_log_files_without_a_base_file_are_one_slice(newer: TinyTable) -> None:
    newer.complete("001", "002")
    newer.complete("003", "004")
    logs = [newer.log("f", "001"), newer.log("f", "003")]
    listing = newer.open().listing()
    assert files(listing) == {"f": logs}
    assert slices(listing)[0]["base_instant"] == "001"
    assert newer.open().listing(TableView.READ_OPTIMIZED).num_slices == 0


def test_a_pending_compactions_slice_is_merged_with_the_one_before(table: TinyTable) -> None:
    table.complete("001", "002")
    table.complete("003", "004")
    table.schedule_compaction("005", [("a", "f")])
    table.complete("006", "007")
    base = table.base("f", "001")
    if table.version == 6:
        logs = [table.log("f", "001"), table.log("f", "005")]
    else:
        logs = [table.log("f", "003"), table.log("f", "006")]
    # Files that the running compaction has written so far.
    table.base("f", "005")
    listing = table.open().listing()
    assert files(listing) == {"f": [base, *logs]}
    assert slices(listing)[0]["base_instant"] == "001"
    assert files(table.open().listing(TableView.READ_OPTIMIZED)) == {"f": [base]}


def test_copy_on_write_tables_have_no_log_files(tmp_path: Path) -> None:
    table = TinyTable.create(tmp_path / "t", hoodie__table__type="COPY_ON_WRITE")
    table.complete("001", "002", "commit")
    base = table.base("f", "001")
    table.log("f", "001")
    assert files(table.open().listing()) == {"f": [base]}


def test_partitions_are_marked_directories_of_any_depth(table: TinyTable) -> None:
    table.complete("001", "002")
    table.base("f", "001", partition="y=2020/m=1")
    table.base("g", "001", partition="y=2020/m=%2F é")
    (table.path / "unmarked").mkdir()
    (table.path / "unmarked" / "h_0-1-2_001.parquet").touch()
    listing = table.open().listing()
    assert listing.partitions.to_pylist() == ["y=2020/m=%2F é", "y=2020/m=1"]
    assert sorted(files(listing)) == ["f", "g"]


def test_a_table_without_partitions_has_the_empty_partition(table: TinyTable) -> None:
    table.complete("001", "002")
    table.base("f", "001", partition="")
    assert table.open().listing().partitions.to_pylist() == [""]


def test_a_table_without_commits_has_no_files(table: TinyTable) -> None:
    table.base("f", "001")
    listing = table.open().listing()
    assert (listing.instant, listing.num_files) == (None, 0)


def test_other_files_are_skipped(table: TinyTable) -> None:
    table.complete("001", "002")
    kept = table.base("f", "001")
    for name in ("notes.txt", ".f.parquet.crc", "f_0-1-2_001.orc", "x.parquet"):
        (table.path / "a" / name).touch()
    assert files(table.open().listing()) == {"f": [kept]}


def test_a_table_with_registered_files_of_other_writers_is_an_error(table: TinyTable) -> None:
    table.complete("001", "002")
    table.base("f", "001")
    external = "part-0.parquet_001_hudiext"
    (table.path / "a" / external).touch()
    with pytest.raises(ExternalFiles, match=f"{table.path}: the file {external} is not Hudi's"):
        table.open().listing()
