"""Parsing of hoodie.properties."""

from pathlib import Path

import pytest

from pyhudi_expr.errors import TableNotFound, UnsupportedTable
from pyhudi_expr.tables.properties import TableProperties, TableType, require_changeable
from pyhudi_expr.tables.storage import Storage


def parse(**properties: str) -> TableProperties:
    raw = {"hoodie.table.version": "9"}
    raw |= {f"hoodie.{key.replace('__', '.')}": value for key, value in properties.items()}
    return TableProperties.parse(raw, "/t")


def test_defaults_are_hudis() -> None:
    found = parse()
    assert found.table_type is TableType.COPY_ON_WRITE
    assert found.meta_fields
    assert not found.hive_style_partitioning
    assert not found.drop_partition_columns
    assert found.base_file_format == "PARQUET"
    assert found.timeline_dir == ".hoodie/timeline"


@pytest.mark.parametrize("version", ["", "7", "10", "x"])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(UnsupportedTable, match="/t: table version"):
        parse(table__version=version)


@pytest.mark.parametrize("version", ["0", "5"])
def test_old_tables_are_read_without_their_metadata_tables_and_not_changed(version: str) -> None:
    found = parse(table__version=version, table__metadata__partitions="files,column_stats")
    assert found.timeline_dir == ".hoodie"
    assert not found.metadata_partitions
    with pytest.raises(UnsupportedTable, match=r"Hudi 0\.14 or 0\.15 upgrades them"):
        require_changeable(found, "/t")
    require_changeable(parse(table__version="6"), "/t")


def test_a_table_from_before_versions_has_none() -> None:
    raw = {"hoodie.table.name": "t", "hoodie.timeline.layout.version": "0"}
    found = TableProperties.parse(raw, "/t")
    assert (found.version, found.timeline_layout) == (0, 1)


def test_version_6_has_the_older_timeline() -> None:
    assert parse(table__version="6").timeline_dir == ".hoodie"


def test_a_metadata_partition_in_flight_is_not_listed() -> None:
    found = parse(
        table__metadata__partitions="files,column_stats",
        table__metadata__partitions__inflight="column_stats",
    )
    assert found.metadata_partitions == {"files"}


def test_partition_fields_may_carry_key_generator_types() -> None:
    found = parse(table__partition__fields="a:SIMPLE,ts:TIMESTAMP")
    assert found.partition_fields == ("a", "ts")


def test_a_directory_without_properties_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match="no Hudi table here"):
        TableProperties.read(Storage.open(str(tmp_path)))


def test_the_backup_is_read_while_the_file_is_rewritten(tmp_path: Path) -> None:
    (tmp_path / ".hoodie").mkdir()
    backup = tmp_path / ".hoodie" / "hoodie.properties.backup"
    backup.write_text("#comment\nhoodie.table.version=8\nhoodie.table.name=a\\:b\n")
    assert TableProperties.read(Storage.open(str(tmp_path))).name == "a:b"
