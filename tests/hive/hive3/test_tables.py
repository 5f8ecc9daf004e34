"""Tables in Hive 3.1: partitions, input formats, views, virtual keys, and refused writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.ddl import create_native, create_with_handler
from devtools.matrix import FILES, ROWS, Partitioning
from devtools.tables import TableType
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from tests.hive.hive3.matrix_tables import (
    COW,
    MOR,
    Table,
    Tables,
    assert_same_rows_everywhere,
    id_of,
    refusal,
)
from tests.hive.query_results import FETCH, MR, Hive
from tests.hive.virtual_key_tables import KEYED, NULLS, PEOPLE, Golden, KeyedTable

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

INPUT_FORMATS = {
    COW: "io.pyhudi.hive.HudiCopyOnWriteInputFormat",
    MOR: "io.pyhudi.hive.HudiMergeOnReadInputFormat",
}
PARTITIONED = [
    (COW, 9, Partitioning.SPECIAL, "p = 'a b'", 4),
    (COW, 9, Partitioning.SPECIAL, "p IS NULL", 4),
    (COW, 9, Partitioning.SPECIAL, "p IN ('50% off', '日本')", 8),
    (COW, 9, Partitioning.SPECIAL, "p = 'naïve/é' AND ti = 1", 1),
    (MOR, 9, Partitioning.HIVE, "q = 1", 12),
    (MOR, 9, Partitioning.HIVE, "q >= 2 AND ti < 1", 1),
    (COW, 8, Partitioning.LEVELS, "p = 'p1' AND q = 1", 4),
    (MOR, 6, Partitioning.PLAIN, "p > 'p2'", 12),
]


@pytest.mark.parametrize(
    ("type_", "version", "partitioning", "predicate", "read"), PARTITIONED, ids=id_of
)
def test_a_filter_on_partitions_reads_no_other(
    hive: Hive,
    tables: Tables,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    predicate: str,
    read: int,
) -> None:
    table = tables(type_, version, partitioning)
    answer = hive.query_both_ways(f"SELECT id, p, q FROM {table.name} WHERE {predicate}")
    expected = table.known.query(f"SELECT id, p, q FROM t WHERE {predicate}")
    assert answer.rows == sorted(expected, key=repr)
    assert answer.scan.files_kept == read


def test_partitioned_by_is_refused_with_an_alternative(hive: Hive, tables: Tables) -> None:
    table = tables(COW, 8, Partitioning.LEVELS).written
    statement = (
        "CREATE EXTERNAL TABLE parted (id bigint) PARTITIONED BY (p string)"
        f" STORED BY 'io.pyhudi.hive.HudiStorageHandler' LOCATION '{table.path}'"
    )
    assert "in Hive 3.1 partition columns are plain columns" in refusal(hive, statement)


@pytest.mark.parametrize(
    ("type_", "version", "partitioning"),
    [(COW, 9, Partitioning.NONE), (MOR, 9, Partitioning.HIVE)],
    ids=id_of,
)
def test_a_table_is_also_read_by_its_input_format(
    hive: Hive, tables: Tables, type_: TableType, version: int, partitioning: Partitioning
) -> None:
    table = tables(type_, version, partitioning)
    native = f"native_{table.name}"
    hive.run(*create_native(table.written, native, INPUT_FORMATS[type_]))
    query = "SELECT id, s, ts, q FROM {} WHERE i > 24000"
    # Hive 3.1 passes a table's filter to its input format only with this setting.
    settings = {"hive.optimize.index.filter": "true"}
    expected = sorted(table.known.query(query.format("t")), key=repr)
    for engine in (FETCH, MR):
        answer = hive.query_both_ways(query.format(native), engine, settings)
        assert answer.rows == expected
        assert answer.scan.files_kept < answer.scan.files_considered


def test_the_read_optimised_view_reads_base_files_only(hive: Hive, tables: Tables) -> None:
    table = tables(MOR)
    properties = {"hudi.view": "read_optimized"}
    hive.run(create_with_handler("optimised", table.written.path, properties))
    for engine in (FETCH, MR):
        unfiltered = hive.query("SELECT id, s FROM optimised", engine)
        assert unfiltered.files == (FILES, FILES)
        assert len(unfiltered.rows) == FILES * ROWS
        assert not any(row[1].startswith("updated") for row in unfiltered.rows)
        pruned = hive.query_both_ways("SELECT id, ts FROM optimised WHERE s > 'name_031'", engine)
        assert (len(pruned.rows), pruned.files) == (ROWS, (FILES, 1))
    snapshot = f"SELECT id FROM {table.name} WHERE s >= 'updated_'"
    assert len(hive.query(snapshot).rows) == 16
    assert hive.query(snapshot, settings=properties).rows == []


def test_a_filter_on_a_view_prunes_its_table(hive: Hive, table: Table) -> None:
    view = f"seen_{table.name}"
    hive.run(f"CREATE VIEW {view} AS SELECT id, upper(s) AS t, i + 1 AS j FROM {table.name}")
    query = f"SELECT id, t FROM {view} WHERE j > 26001 AND t LIKE 'N%'"
    expected = table.known.query("SELECT id, upper(s) FROM t WHERE i > 26000 AND s LIKE 'n%'")
    for engine in (FETCH, MR):
        answer = hive.query_both_ways(query, engine)
        assert answer.rows == sorted(expected, key=repr)
        assert answer.scan.files_kept < answer.scan.files_considered


def test_tables_are_created_from_queries(hive: Hive, table: Table) -> None:
    copy = f"copy_{table.name}"
    columns = "id, b, l, dec9, dec38, s, u, ts, n"
    first = f"SELECT {columns} FROM {table.name} WHERE i > 20000"
    made = hive.query(f"CREATE TABLE {copy} STORED AS ORC AS {first}", MR)
    assert made.scan.files_kept < made.scan.files_considered
    more = f"SELECT {columns} FROM {table.name} WHERE i BETWEEN -5000 AND -3000"
    added = hive.query(f"INSERT INTO TABLE {copy} {more}", MR)
    assert added.scan.files_kept < added.scan.files_considered
    expected = table.known.query(f"SELECT {columns} FROM t WHERE i > 20000 OR i <= -3000")
    assert hive.query(f"SELECT * FROM {copy}").rows == sorted(expected, key=repr)


READ_ONLY = "Hudi tables are read-only in Hive; write them with Apache Hudi (Spark, Flink)"
WRITES = [
    ("INSERT INTO {name} SELECT * FROM {name}", READ_ONLY),
    ("INSERT OVERWRITE TABLE {name} SELECT * FROM {name}", READ_ONLY),
    ("FROM {name} INSERT INTO TABLE {name} SELECT *", READ_ONLY),
    ("TRUNCATE TABLE {name}", "truncate"),
    ("LOAD DATA LOCAL INPATH '/dev/null' INTO TABLE {name}", "non-native table"),
    ("DELETE FROM {name} WHERE id = 1", "transaction manager"),
    ("UPDATE {name} SET i = 1 WHERE id = 1", "transaction manager"),
    ("ALTER TABLE {name} REPLACE COLUMNS (id bigint)", ""),
    ("ALTER TABLE {name} CHANGE COLUMN i j int", ""),
    ("ALTER TABLE {name} SET LOCATION '/nowhere'", ""),
    ("ALTER TABLE {name} SET TBLPROPERTIES ('external.table.purge'='true')", "purge"),
]


@pytest.mark.parametrize(("write", "message"), WRITES)
def test_writes_are_refused_and_change_nothing(
    hive: Hive, table: Table, write: str, message: str
) -> None:
    written = table.written
    before = {file: (written.path / file).stat().st_size for file in written.data_files()}
    assert message in refusal(hive, write.format(name=table.name))
    assert {file: (written.path / file).stat().st_size for file in written.data_files()} == before
    assert hive.query(f"SELECT id FROM {table.name} WHERE id = 5005").rows == [(5005,)]


def test_a_table_of_the_handler_cannot_be_created_from_a_query(hive: Hive, table: Table) -> None:
    statement = (
        "CREATE TABLE made STORED BY 'io.pyhudi.hive.HudiStorageHandler' AS"
        f" SELECT id FROM {table.name}"
    )
    assert refusal(hive, statement)
    assert hive.query("SHOW TABLES LIKE 'made'").rows == []


@pytest.mark.parametrize("version", [6, 8])
def test_without_meta_fields_the_key_column_is_null(
    hive: Hive, golden: Golden, version: int
) -> None:
    name = f"without_keys_{version}"
    hive.run(
        create_with_handler(name, golden[f"cow_v{version}_simplekeygen_hivestyle_no_metafields"])
    )
    assert hive.query_both_ways(f"SELECT id, name FROM {name} WHERE id > 0").rows == PEOPLE
    pruned = hive.query_both_ways(f"SELECT id, name FROM {name} WHERE bytefield = 20")
    assert (pruned.rows, pruned.scan.files_kept) == ([(2, "Bob")], 1)
    assert_same_rows_everywhere(hive, NULLS.format(name), [(None, *row) for row in PEOPLE])


@pytest.mark.parametrize("archive", KEYED)
def test_stored_keys_are_hidden_while_keys_are_virtual(
    hive: Hive, golden: Golden, tmp_path: Path, archive: str
) -> None:
    """The files contain keys, by which Hive 3.1's own reader would filter."""
    table = KeyedTable.registered(hive, golden, archive, tmp_path)
    keyed = table.rows(hive)

    table.hide_keys(VirtualKeySettings(keep_column=True))
    assert_same_rows_everywhere(hive, NULLS.format(table.name), [(None, *row[1:]) for row in keyed])
    none = f"SELECT id FROM {table.name} WHERE `_hoodie_record_key` = '{keyed[0][0]}'"
    assert_same_rows_everywhere(hive, none, [])
