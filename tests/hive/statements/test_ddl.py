"""DDL statements: which are accepted, and the error messages of refused ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.matrix import Matrices, Partitioning
from devtools.tables import META_COLUMNS, HudiTable, TableType
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.query_results import FETCH, TEZ, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive]

HANDLER = "io.pyhudi.hive.HudiStorageHandler"

_STATEMENT = re.compile(r"CREATE EXTERNAL TABLE .*LOCATION '[^']*'", re.DOTALL)

Columns = tuple[tuple[str, str], ...]


@pytest.fixture(scope="module")
def table(matrices: Matrices) -> HudiTable:
    return matrices.get(TableType.MOR).table


def create(name: str, columns: Columns, location: Path | str, kind: str = "EXTERNAL ") -> str:
    listed = ", ".join(f"`{column}` {type_}" for column, type_ in columns)
    return f"CREATE {kind}TABLE {name} ({listed}) STORED BY '{HANDLER}' LOCATION '{location}'"


def refusal(hive: Hive, statement: str) -> str:
    """The error message with which Hive refuses the statement."""
    with pytest.raises(QueryError) as caught:
        hive.run(statement)
    return str(caught.value)


def described(hive: Hive, name: str) -> Columns:
    rows = hive.query(f"DESCRIBE {name}").rows
    return tuple((row[0], row[1]) for row in rows if row[0] and not row[0].startswith("#"))


@pytest.mark.parametrize("type_", TableType, ids=lambda type_: type_.name.lower())
def test_columns_are_taken_from_the_table(hive: Hive, matrices: Matrices, type_: TableType) -> None:
    source = matrices.get(type_).table
    assert sorted(described(hive, hive.register(source))) == sorted(source.hive_columns())


def test_the_right_columns_are_accepted_in_any_case(hive: Hive, table: HudiTable) -> None:
    upper = tuple((name.upper(), kind) for name, kind in table.hive_columns())
    hive.run(create("upper_case", upper, table.path))
    answer = hive.query("SELECT ID, Ts FROM Upper_Case WHERE Ti = 0")
    assert len(answer.rows) == 24
    assert answer.scan.files_kept < answer.scan.files_considered


def without(name: str) -> Callable[[Columns], Columns]:
    return lambda columns: tuple(c for c in columns if c[0] != name)


def with_type(name: str, type_: str) -> Callable[[Columns], Columns]:
    return lambda columns: tuple((n, type_ if n == name else k) for n, k in columns)


def renamed(old: str, new: str) -> Callable[[Columns], Columns]:
    return lambda columns: tuple((new if n == old else n, k) for n, k in columns)


WRONG: dict[str, tuple[Callable[[Columns], Columns], str]] = {
    "no meta columns": (lambda columns: columns[len(META_COLUMNS) :], "column 1 is `id` bigint"),
    "one meta column missing": (without("_hoodie_record_key"), "column 3"),
    "a column missing": (without("dec9"), "has to be `dec9` decimal(9,2)"),
    "the last column missing": (without("q"), "is missing: `q` int"),
    "one too many": (lambda columns: (*columns, ("more", "int")), "`more` int"),
    "another name": (renamed("s", "text"), "is `text` string and has to be `s` string"),
    "another order": (lambda columns: (*columns[:5], columns[6], columns[5], *columns[7:]), "`id`"),
    "a narrower type": (with_type("l", "int"), "is `l` int and has to be `l` bigint"),
    "a wider type": (with_type("i", "bigint"), "is `i` bigint and has to be `i` int"),
    "another kind": (with_type("dt", "string"), "is `dt` string and has to be `dt` date"),
    "another scale": (with_type("dec9", "decimal(9,3)"), "has to be `dec9` decimal(9,2)"),
    "another struct": (with_type("st", "struct<a:int,b:string>"), "has to be `st` struct<"),
}


@pytest.mark.smoke("another name")
@pytest.mark.parametrize("wrong_columns", WRONG)
def test_wrong_columns_are_refused_with_the_right_ddl(
    hive: Hive, table: HudiTable, wrong_columns: str
) -> None:
    change, problem = WRONG[wrong_columns]
    name = "wrong_" + wrong_columns.replace(" ", "_")
    message = refusal(hive, create(name, change(table.hive_columns()), table.path))
    assert problem in message

    statement_in_message = _STATEMENT.search(message)
    assert statement_in_message is not None
    statement = statement_in_message[0]
    for column, kind in table.hive_columns():
        assert f"`{column}` {kind}" in statement
    hive.run(statement)
    assert hive.query(f"SELECT id FROM {name} WHERE id = 5005").rows == [(5005,)]


def test_a_managed_table_is_refused(hive: Hive, table: HudiTable) -> None:
    message = refusal(hive, create("managed", table.hive_columns(), table.path, kind=""))
    assert "EXTERNAL" in message


def test_a_table_without_location_is_refused(hive: Hive) -> None:
    assert "LOCATION" in refusal(hive, f"CREATE EXTERNAL TABLE nowhere STORED BY '{HANDLER}'")


def test_a_location_without_a_hudi_table_is_refused(hive: Hive, tmp_path: Path) -> None:
    message = refusal(hive, create_with_handler("nothing", tmp_path))
    assert "is not a Hudi table" in message
    assert str(tmp_path) in message


def test_the_location_of_a_partition_is_refused(hive: Hive, matrices: Matrices) -> None:
    path = matrices.get(TableType.MOR, 9, Partitioning.HIVE).table.path
    message = refusal(hive, create_with_handler("part", path / "q=1"))
    assert "LOCATION has to be the whole table" in message


def test_purging_with_drop_is_refused(hive: Hive, table: HudiTable) -> None:
    properties = {"external.table.purge": "true"}
    message = refusal(hive, create_with_handler("purged", table.path, properties))
    assert "external.table.purge" in message


CHANGES = {
    "REPLACE COLUMNS (id bigint)": "",
    "ADD COLUMNS (more int)": "more",
    "CHANGE COLUMN i j int": "",
    "SET LOCATION '/nowhere'": "",
    "RENAME TO renamed": "",
    "SET TBLPROPERTIES ('external.table.purge'='true')": "external.table.purge",
    "ADD PARTITION (p='x')": "",
    "SET SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'": "",
}


@pytest.mark.smoke("REPLACE COLUMNS")
@pytest.mark.parametrize("change", CHANGES)
def test_changes_that_would_break_the_table_are_refused(
    hive: Hive, table: HudiTable, change: str
) -> None:
    name = "kept"
    hive.run(f"DROP TABLE IF EXISTS {name}", create_with_handler(name, table.path))
    before = described(hive, name)
    assert CHANGES[change] in refusal(hive, f"ALTER TABLE {name} {change}")
    assert described(hive, name) == before
    assert hive.query(f"SELECT id FROM {name} WHERE id = 5005").rows == [(5005,)]


WRITES = [
    "INSERT INTO {name} SELECT * FROM {name}",
    "INSERT OVERWRITE TABLE {name} SELECT * FROM {name}",
    "INSERT INTO {name} (id) VALUES (1)",
    "DELETE FROM {name} WHERE id = 1",
    "UPDATE {name} SET i = 1 WHERE id = 1",
    "TRUNCATE TABLE {name}",
    "LOAD DATA LOCAL INPATH '/dev/null' INTO TABLE {name}",
]


@pytest.mark.smoke("UPDATE {name")
@pytest.mark.parametrize("write", WRITES)
def test_writes_are_refused(hive: Hive, table: HudiTable, write: str) -> None:
    name = hive.register(table)
    before = {file: (table.path / file).stat().st_size for file in table.data_files()}
    assert refusal(hive, write.format(name=name))
    assert {file: (table.path / file).stat().st_size for file in table.data_files()} == before


def test_the_error_of_an_insert_names_a_writer(hive: Hive, table: HudiTable) -> None:
    name = hive.register(table)
    assert "read-only in Hive" in refusal(hive, f"INSERT INTO {name} SELECT * FROM {name}")


def test_dropping_a_table_keeps_its_data(hive: Hive, table: HudiTable) -> None:
    before = table.data_files()
    hive.run(create_with_handler("dropped", table.path), "DROP TABLE dropped")
    assert table.data_files() == before
    assert (table.path / ".hoodie" / "hoodie.properties").is_file()


@pytest.mark.parametrize("engine", [FETCH, TEZ])
def test_the_read_optimised_view_reads_base_files_only(
    hive: Hive, table: HudiTable, engine: str
) -> None:
    if not hive.query("SHOW TABLES LIKE 'optimised'").rows:
        hive.run(create_with_handler("optimised", table.path, {"hudi.view": "read_optimized"}))
    snapshot = hive.register(table)

    unfiltered = hive.query("SELECT id, s FROM optimised", engine)
    assert unfiltered.files == (32, 32)
    assert [row[0] for row in unfiltered.rows] == sorted(
        (1000 * k + r for k in range(32) for r in range(24)), key=lambda key: repr((key,))
    )
    assert not any(row[1].startswith("updated") for row in unfiltered.rows)

    pruned = hive.query_both_ways("SELECT id, ts FROM optimised WHERE s > 'name_031'", engine)
    assert pruned.files == (32, 1)
    set_by_session = {"hudi.view": "read_optimized"}
    for query in ("SELECT id FROM {} WHERE s >= 'updated_'", "SELECT id FROM {} WHERE i = 3005"):
        expected = hive.query(query.format("optimised"), engine)
        answer = hive.query(query.format(snapshot), engine, settings=set_by_session)
        assert (answer.rows, answer.files) == (expected.rows, expected.files)
