"""Which records of the metadata table are valid."""

import io
import json
from pathlib import Path

import fastavro
import pytest

from pyhudi_expr.errors import CorruptFile, HudiError
from pyhudi_expr.tables.hudi_names import FILES
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from tests.tables.mdt.file_bytes import delete_block, hfile, log_block
from tests.tables.tables import TinyTable

pytestmark = pytest.mark.usefixtures("engine")

SCHEMA = {
    "type": "record",
    "name": "HoodieMetadataRecord",
    "fields": [
        {"name": "key", "type": "string"},
        {"name": "type", "type": "int"},
        {
            "name": "filesystemMetadata",
            "type": {
                "type": "map",
                "values": {
                    "type": "record",
                    "name": "HoodieMetadataFileInfo",
                    "fields": [
                        {"name": "size", "type": "long"},
                        {"name": "isDeleted", "type": "boolean"},
                    ],
                },
            },
        },
    ],
}


def content(**files_of: list[str]) -> bytes:
    """An HFile with the files of each partition."""
    cells = []
    for partition, names in sorted(files_of.items()):
        out = io.BytesIO()
        files = {name: {"size": 7, "isDeleted": False} for name in names}
        record = {"key": "", "type": 2, "filesystemMetadata": files}
        fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMA), record)
        cells.append((partition.encode(), out.getvalue()))
    return hfile(cells, schema=json.dumps(SCHEMA))


class Tables:
    """A data table and its metadata table with one file group in `files`."""

    def __init__(self, path: Path, version: int, partitions: str = "files,record_index") -> None:
        self.data = TinyTable.create(
            path, version, **{"hoodie.table.metadata.partitions": partitions}
        )
        self.metadata = TinyTable.create(
            path / ".hoodie" / "metadata",
            version,
            **{"hoodie.table.base.file.format": "HFILE", "hoodie.table.partition.fields": ""},
        )
        self.files = self.metadata.path / "files"
        self.files.mkdir()
        self.initialised = "00000000000000000"
        self.metadata.complete(self.initialised, "100")

    def write(self, requested: str, completed: str) -> None:
        """An instant that both tables completed."""
        self.data.complete(requested, completed)
        self.metadata.complete(requested, completed)

    def base(self, bytes_: bytes, instant: str | None = None, shard: int = 0) -> None:
        name = f"files-{shard:04d}-0_0-1-2_{instant or self.initialised}.hfile"
        (self.files / name).write_bytes(bytes_)

    def log(self, instant: str, bytes_: bytes) -> None:
        """Layout 2: a file of the instant; layout 1: blocks appended to the base file's log."""
        in_name = instant if self.data.version >= 8 else self.initialised
        with (self.files / f".files-0000-0_{in_name}.log.1_0-1-2").open("ab") as file:
            file.write(bytes_)

    def open(self) -> MetadataTable:
        opened = MetadataTable.open(self.data.open())
        assert opened is not None
        return opened

    def names(self) -> dict[str, list[str]]:
        records = self.open().scan(FILES)
        return {
            key: sorted(payload["filesystemMetadata"])
            for key, payload in zip(records.keys, records.payloads, strict=True)
        }


@pytest.fixture(params=[6, 9], ids=["layout1", "layout2"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    tables = Tables(tmp_path / "t", request.param)
    tables.base(content(a=["f1"]))
    tables.write("201", "202")
    return tables


@pytest.fixture
def newer(tmp_path: Path) -> Tables:
    tables = Tables(tmp_path / "t", 9)
    tables.base(content(a=["f1"]))
    tables.write("201", "202")
    return tables


@pytest.fixture
def older(tmp_path: Path) -> Tables:
    tables = Tables(tmp_path / "t", 6)
    tables.base(content(a=["f1"]))
    tables.write("201", "202")
    return tables


def test_logs_are_merged_over_the_base_file(tables: Tables) -> None:
    tables.log("201", log_block("201", content(a=["f2"], b=["g"])))
    assert tables.names() == {"a": ["f1", "f2"], "b": ["g"]}


def test_a_block_of_an_unfinished_data_commit_is_ignored(tables: Tables) -> None:
    tables.data.start("203")
    tables.metadata.complete("203", "204")
    tables.log("203", log_block("203", content(a=["f2"])))
    assert tables.names() == {"a": ["f1"]}


def test_a_block_of_an_unfinished_commit_is_ignored(tables: Tables) -> None:
    tables.metadata.start("203")
    tables.data.complete("203", "204")
    tables.log("203", log_block("203", content(a=["f2"])))
    assert tables.names() == {"a": ["f1"]}


def test_a_block_of_an_index_build_is_read(tables: Tables) -> None:
    tables.metadata.complete("203", "204")
    tables.log("203", log_block("203", content(a=["f2"])))
    assert tables.names() == {"a": ["f1", "f2"]}


def test_deleted_keys_are_missing_until_they_are_added_again(tables: Tables) -> None:
    tables.log("201", delete_block("201", ["a", "unknown"]))
    assert tables.names() == {}
    tables.write("203", "204")
    tables.log("203", log_block("203", content(a=["f2"])))
    assert tables.names() == {"a": ["f2"]}


def test_a_rollback_invalidates_earlier_blocks(older: Tables) -> None:
    older.log("201", log_block("201", content(a=["f2"])))
    older.log("201", log_block("203", b"", kind=0, header={1: "201"}))
    assert older.names() == {"a": ["f1"]}
    older.log("201", log_block("201", content(a=["f3"])))
    assert older.names() == {"a": ["f1", "f3"]}


def test_a_truncated_block_of_a_failed_writer_is_skipped(tables: Tables) -> None:
    tables.data.start("203")
    tables.metadata.start("203")
    tables.log("201", log_block("201", content(a=["f2"])))
    tables.log("203", log_block("203", content(a=["f3"]))[:-20])
    assert tables.names() == {"a": ["f1", "f2"]}


def test_a_truncated_block_of_a_completed_writer_is_corruption(tables: Tables) -> None:
    tables.log("201", log_block("201", content(a=["f2"]))[:-20])
    with pytest.raises(CorruptFile, match="damaged block"):
        tables.names()


def test_a_compacted_block_replaces_its_sources(tables: Tables) -> None:
    tables.write("203", "204")
    tables.write("205", "206")
    tables.write("207", "208")
    tables.log("201", log_block("201", content(a=["f2"])))
    tables.log("203", log_block("203", content(a=["f3"])))
    tables.log("205", delete_block("205", ["a"]) + log_block("205", content(b=["g"])))
    tables.log("207", log_block("207", content(a=["f2", "f4"]), header={4: "201,203"}))
    # The deletion came after the compacted blocks.
    assert tables.names() == {"b": ["g"]}


def test_blocks_compacted_twice_are_read_once(tables: Tables) -> None:
    for requested in ("203", "205", "207"):
        tables.write(requested, str(int(requested) + 1))
    tables.log("201", log_block("201", content(a=["f2"])))
    tables.log("203", log_block("203", content(a=["once"]), header={4: "201"}))
    tables.log("205", log_block("205", content(a=["f5"])))
    tables.log("207", log_block("207", content(a=["twice"]), header={4: "203,205"}))
    assert tables.names() == {"a": ["f1", "twice"]}


def test_an_unfinished_log_compaction_changes_nothing(tables: Tables) -> None:
    tables.data.start("203")
    tables.metadata.start("203")
    tables.log("201", log_block("201", content(a=["f2"])))
    tables.log("203", log_block("203", content(a=["compacted"]), header={4: "201"}))
    assert tables.names() == {"a": ["f1", "f2"]}


def test_a_compactions_base_file_replaces_older_files(newer: Tables) -> None:
    newer.log("201", log_block("201", content(a=["f2"])))
    newer.metadata.complete("203", "204", "commit")
    newer.base(content(a=["compacted"]), "203")
    newer.write("205", "206")
    newer.log("205", log_block("205", content(a=["f3"])))
    assert newer.names() == {"a": ["compacted", "f3"]}


def test_missing_file_groups_are_detected(tables: Tables) -> None:
    tables.base(content(b=["g"]), shard=2)
    with pytest.raises(CorruptFile, match="file groups are missing"):
        tables.open().scan(FILES)


def test_a_damaged_base_file_is_named(tables: Tables) -> None:
    tables.base(content(a=["f1"])[:-1])
    with pytest.raises(CorruptFile, match=r"files-0000-0_0-1-2_0+\.hfile"):
        tables.open().scan(FILES)


def test_a_partition_that_cannot_be_listed_fails_alone(tmp_path: Path) -> None:
    tables = Tables(tmp_path / "t", 9, "files,column_stats,partition_stats")
    tables.base(content(a=["f1"]))
    tables.write("201", "202")
    (tables.metadata.path / "column_stats").write_bytes(b"no directory")
    opened = tables.open()
    with pytest.raises(HudiError, match="'column_stats' cannot be read"):
        opened.scan("column_stats")
    with pytest.raises(CorruptFile, match="file groups are missing"):
        opened.scan("partition_stats")
    assert opened.scan(FILES).keys == ["a"]


def test_a_missing_partition_is_refused(tables: Tables) -> None:
    with pytest.raises(HudiError, match="has no 'column_stats'"):
        tables.open().scan("column_stats")


def test_a_table_without_metadata_has_none(tmp_path: Path) -> None:
    table = TinyTable.create(tmp_path / "t")
    assert MetadataTable.open(table.open()) is None


def test_a_snapshot_is_consistent_for_both_tables(tables: Tables) -> None:
    before = tables.data.open()
    tables.write("203", "204")
    opened = MetadataTable.open(before)
    assert opened is not None
    assert (before.instant, opened.table.instant, opened.instant) == ("201", "203", "203")


def test_commits_missing_in_the_metadata_table_are_not_covered(tables: Tables) -> None:
    tables.data.complete("203", "204")
    opened = tables.open()
    assert opened.covers("201")
    assert not opened.covers("203")
    assert opened.instant == "201"
    assert not opened.lists_files


def test_files_are_listed_from_the_storage_if_the_metadata_lags(tables: Tables) -> None:
    tables.data.complete("203", "204")
    name = tables.data.base("f", "203")
    opened = tables.open()
    listing = current_listing(opened.table, opened, TableView.SNAPSHOT)
    assert listing.file_name.to_pylist() == [name]


def test_metadata_of_another_snapshot_is_not_used_for_listing(tables: Tables) -> None:
    opened = tables.open()
    name = tables.data.base("f", "201")
    again = HudiTable.open(str(tables.data.path))
    assert current_listing(again, opened, TableView.SNAPSHOT).file_name.to_pylist() == [name]
