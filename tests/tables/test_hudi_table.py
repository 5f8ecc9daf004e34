"""A snapshot of a table."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr import scan
from pyhudi_expr.errors import CorruptFile, HudiError, TableNotFound
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.tables.tables import TinyTable, files

AVRO = json.dumps(
    {"type": "record", "name": "r", "fields": [{"name": "x", "type": ["null", "long"]}]}
)


@pytest.fixture
def table(tmp_path: Path) -> TinyTable:
    return TinyTable.create(tmp_path / "t")


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_equivalent_paths_name_the_same_table(table: TinyTable, prefix: str) -> None:
    assert HudiTable.open(f"{prefix}{table.path}/").properties.name == "tiny"


def test_a_snapshot_does_not_change_and_refreshed_returns_a_new_one(table: TinyTable) -> None:
    table.complete("001", "002")
    opened = table.open()
    assert opened.refreshed() is opened
    # Requested before the newest write, completed after it.
    table.complete("000", "003")
    assert opened.instant == opened.refreshed().instant == "001"
    assert opened.refreshed().timeline.is_committed("000")
    table.complete("004", "005")
    assert (opened.instant, opened.refreshed().instant) == ("001", "004")


def test_the_schema_comes_from_the_newest_commit_that_has_one(table: TinyTable) -> None:
    metadata = {"extraMetadata": {"schema": AVRO}}
    (table.timeline / "001_002.commit").write_text(json.dumps(metadata))
    table.complete("003", "004")
    assert table.open().schema().names[5:] == ["x"]


def test_the_schema_may_come_from_a_base_file(table: TinyTable) -> None:
    table.complete("001", "002")
    file = table.path / "a" / table.base("f", "001")
    pq.write_table(pa.table({"y": pa.array([1], pa.int16())}), file)
    assert table.open().schema() == pa.schema([("y", pa.int16())])


def test_a_table_without_a_schema_raises_an_error(table: TinyTable) -> None:
    with pytest.raises(HudiError, match="neither a schema nor a base file"):
        table.open().schema()


def test_damaged_commit_metadata_is_named(table: TinyTable) -> None:
    (table.timeline / "001_002.replacecommit").write_bytes(b"Obj\x01 and then nothing")
    with pytest.raises(CorruptFile, match=r"001_002\.replacecommit"):
        table.open().listing()


def test_a_schema_history_is_detected(table: TinyTable) -> None:
    assert not table.open().has_schema_history
    (table.path / ".hoodie" / ".schema").mkdir()
    (table.path / ".hoodie" / ".schema" / "001.schemacommit").touch()
    assert table.open().has_schema_history


def test_completion_times_of_archived_instants_are_found(table: TinyTable) -> None:
    table.complete("007", "008")
    history = table.timeline / "history"
    history.mkdir()
    times = {"instantTime": ["001", "003"], "completionTime": ["002", "006"]}
    pq.write_table(pa.table(times), history / "001_003_0.parquet")
    (history / "manifest_1").write_text(json.dumps({"files": [{"fileName": "001_003_0.parquet"}]}))
    (history / "_version_").write_text("1")
    table.base("f", "001")
    base = table.base("f", "005")
    # Requested before the newest base file, completed after it.
    log = table.log("f", "003")
    assert files(table.open().listing()) == {"f": [base, log]}


def test_a_path_above_or_below_tables_is_refused_with_their_names(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    for name in ("trips", "fares", "users", "zones"):
        TinyTable.create(lake / name)
    trips = lake / "trips"
    for path, names in (
        (trips / "day=1" / "hour=2", f"; there is a Hudi table in {trips}: open that"),
        (trips / ".hoodie" / "no", f"; there is a Hudi table in {trips}: open that"),
        (f"file://{trips}/none", f"; there is a Hudi table in {trips}: open that"),
        (lake, f"; there is a Hudi table in {lake}/fares, {trips}, {lake}/users, ..."),
        (tmp_path, "(.hoodie/hoodie.properties is missing)"),
        (tmp_path / "none", "(.hoodie/hoodie.properties is missing)"),
    ):
        for opened in (HudiTable.open, scan):
            with pytest.raises(TableNotFound, match=re.escape(f"{path}: no Hudi table")) as found:
                opened(str(path))
            assert names in str(found.value)
            assert ("there is" in names) == ("there is" in str(found.value))


def test_a_look_for_tables_that_fails_hides_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(TableNotFound, match=r"is missing\)$"):
        HudiTable.open(str(tmp_path / "file"))
