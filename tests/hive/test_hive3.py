"""Hive 3.1 reads the same rows of the same files: its own HiveServer2, fetch task and MapReduce."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyhive import hive as pyhive

from devtools.ddl import create_native, create_with_handler
from devtools.hives import HIVE_3
from devtools.hiveserver import HiveServer
from devtools.matrix import FILES, ROWS, Matrices, Partitioning
from devtools.service import ServiceProcess
from devtools.tables import HudiTable, TableType
from pyhudi_expr.cli.main import main
from pyhudi_expr.hive.session import QueryError
from pyhudi_expr.index.key_switching import KeySettings
from tests.hive.asking import FETCH, MR, Hive
from tests.hive.keyless import KEYED, NULLS, PEOPLE, Golden, KeyedTable
from tests.hive.known_rows import KnownRows
from tests.hive.truths import ZONE

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

COW, MOR = TableType.COW, TableType.MOR
INPUT_FORMATS = {
    COW: "io.pyhudi.hive.HudiCopyOnWriteInputFormat",
    MOR: "io.pyhudi.hive.HudiMergeOnReadInputFormat",
}
VECTORISED = {"hive.vectorized.execution.enabled": "true"}
BY_ROWS = {"hive.vectorized.execution.enabled": "false"}


@dataclass(frozen=True)
class Table:
    """A matrix table: its name in Hive, what was written, and its rows for DuckDB as `t`."""

    name: str
    written: HudiTable
    known: KnownRows


Tables = Callable[..., Table]


@pytest.fixture(scope="module")
def hive(
    pruning_service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hive]:
    scratch = tmp_path_factory.mktemp("scans-3")
    own = {"hive.execution.engine": "mr"}
    with (
        HiveServer(tmp_path_factory.mktemp("hive-3"), zone=ZONE, line=HIVE_3) as server,
        Hive(server, pruning_service, scratch, own) as asked,
    ):
        yield asked


@pytest.fixture(scope="module")
def tables(hive: Hive, matrices: Matrices) -> Tables:
    """Registered at their first use: of a type, and perhaps of a version and a partitioning."""

    def get(
        type_: TableType, version: int = 9, partitioning: Partitioning = Partitioning.NONE
    ) -> Table:
        matrix = matrices.get(type_, version, partitioning)
        return Table(hive.register(matrix.table), matrix.table, KnownRows(ZONE, t=matrix.rows))

    return get


def id_of(value: object) -> str | None:
    named = isinstance(value, (TableType, Partitioning))
    return value.name.lower() if named else None


@pytest.fixture(scope="module", params=TableType, ids=id_of)
def type_(request: pytest.FixtureRequest) -> TableType:
    found: TableType = request.param
    return found


@pytest.fixture(scope="module")
def table(tables: Tables, type_: TableType) -> Table:
    return tables(type_)


def test_it_is_that_hive(hive: Hive) -> None:
    assert hive.ask("SELECT version()").rows[0][0].startswith("3.1.3 ")


# In Hive's SQL, in DuckDB's where that is another, and how many of the 32 files of the
# copy-on-write table are read. Updates have made the ranges of eight files wide in many columns,
# and NaN has hidden those of four.
PREDICATES: list[tuple[str, str | None, int]] = [
    ("b = false", None, 24),
    ("b IS NULL AND i > 0", None, 7),
    ("ti < -15", None, 1),
    ("si BETWEEN 1480 AND 1500", None, 1),
    ("i IN (1, 7, 1005, 22007)", None, 9),
    ("i NOT BETWEEN 1000 AND 25000", None, 14),
    ("i <=> 1005", "i IS NOT DISTINCT FROM 1005", 3),
    ("i + 1 = 3006", None, 3),
    ("NOT (i >= 0)", None, 5),
    ("l < -3000000000", None, 12),
    # Hive 3.1 makes a decimal of the constant, and compares floats with decimals in two ways.
    ("f = CAST(16.25 AS float)", None, 32),
    ("CAST(f AS double) BETWEEN 16.0 AND 17.0", None, 14),
    ("d BETWEEN 16.0 AND 17.0", None, 13),
    ("d = 0.0", None, 12),
    ("d < 0", None, 8),
    ("dec9 BETWEEN 2501.25 AND 2603.25", None, 8),
    ("dec9 IN (-5.25, 805.25, 805.26)", None, 4),
    ("dec38 > 1522000000000000000000000.0123456789", None, 16),
    ("s >= 'updated_'", None, 8),
    ("s LIKE 'name_017%'", None, 8),
    ("u = 'é006à3'", None, 1),
    ("u LIKE '😀%'", None, 6),
    ("u = ''", None, 5),
    ("dt BETWEEN DATE '1971-01-01' AND DATE '1971-02-01'", None, 4),
    ("dt < DATE '1970-01-01'", None, 1),
    ("NOT (dt BETWEEN DATE '1970-01-01' AND DATE '1973-01-01')", None, 12),
    ("ts >= '1973-04-01 00:00:00'", "ts >= TIMESTAMP '1973-04-01 00:00:00'", 10),
    ("ts = '1970-01-28 20:04:05.456791'", "ts = TIMESTAMP '1970-01-28 20:04:05.456791'", 1),
    ("bin = unhex('0305FA')", r"bin = '\x03\x05\xFA'::BLOB", 1),
    ("st.a = -1", None, 8),
    ("st.b LIKE 'inner_01%'", None, 16),
    ("st.c.e = DATE '1970-01-05'", None, 1),
    ("arr[0] = 3 AND i < 0", "arr[1] = 3 AND i < 0", 5),
    ("m['k'] = 30", None, 32),
    ("n IS NOT NULL", None, 27),
    ("n <=> 14", "n IS NOT DISTINCT FROM 14", 6),
    ("`none` IS NOT NULL", '"none" IS NOT NULL', 0),
    ("p = 'p0' OR i > 26000", None, 15),
    ("NOT (q IN (0, 1, 2))", None, 8),
    ("NOT (i < -4000 OR i > 25000) AND d < 6", None, 15),
    ("CASE WHEN i > 3 THEN s ELSE u END = ''", None, 1),
]


@pytest.mark.parametrize(
    ("predicate", "truth", "read"), PREDICATES, ids=[case[0] for case in PREDICATES]
)
def test_a_predicate_gives_the_right_rows_with_and_without_pruning(
    hive: Hive, table: Table, predicate: str, truth: str | None, read: int
) -> None:
    right = table.known.ids(truth or predicate)
    answer = hive.ask_both(f"SELECT id FROM {table.name} WHERE {predicate}")
    assert sorted(row[0] for row in answer.rows) == right
    assert answer.scan.files_kept >= len({key // 1000 for key in right})
    if table.written.spec.type is COW:
        assert answer.files == (FILES, read)
    else:
        assert answer.scan.files_considered > FILES


@pytest.mark.parametrize("settings", [VECTORISED, BY_ROWS], ids=["vectorised", "by rows"])
@pytest.mark.parametrize("predicate", [case[0] for case in PREDICATES[4::7]])
def test_mapreduce_gives_these_rows_from_these_files(
    hive: Hive, table: Table, predicate: str, settings: Mapping[str, str]
) -> None:
    query = f"SELECT id FROM {table.name} WHERE {predicate}"
    answer = hive.ask(query, MR, settings=settings)
    expected = hive.ask(query, FETCH)
    assert (answer.rows, answer.files) == (expected.rows, expected.files)
    assert answer.scan.files_kept < answer.scan.files_considered


def test_every_column_is_the_same_for_every_reader(hive: Hive, table: Table) -> None:
    query = f"SELECT * FROM {table.name}"
    expected = hive.ask(query, FETCH).rows
    for settings in (VECTORISED, BY_ROWS):
        # As they are shown: NaN is not equal to itself.
        assert repr(hive.ask(query, MR, settings=settings).rows) == repr(expected)


def test_values_are_those_that_were_written(hive: Hive, table: Table) -> None:
    plain = "id, b, ti, si, i, l, dec9, dec38, s, u, ts, n"
    shown = hive.ask(f"SELECT {plain} FROM {table.name}").rows
    assert shown == sorted(table.known.ask(f"SELECT {plain} FROM t"), key=repr)


def test_without_a_service_every_file_is_read(hive: Hive, table: Table) -> None:
    query = f"SELECT id FROM {table.name} WHERE i > 25000"
    dead = hive.ask(query, settings={"hudi.pruning.service.addresses": "127.0.0.1:1"})
    assert dead.rows == hive.ask(query).rows
    assert dead.scan.outcomes == ("UNREACHABLE",)
    assert dead.scan.files_kept == dead.scan.files_considered >= FILES


@pytest.mark.parametrize("settings", [VECTORISED, BY_ROWS], ids=["vectorised", "by rows"])
def test_ends_that_the_index_knows_need_no_file(
    hive: Hive, table: Table, settings: Mapping[str, str]
) -> None:
    ends = "min(i), max(i), min(dec9), max(dec9), max(n), min(l)"
    answer = hive.ask_both(f"SELECT {ends} FROM {table.name}", MR, settings)
    assert answer.rows == table.known.ask(f"SELECT {ends} FROM t")
    is_merged = table.written.spec.type is MOR
    assert answer.scan.outcomes == ("NO_FILTER" if is_merged else "ANSWERED",)
    assert (answer.scan.files_kept > 0) == is_merged


@pytest.mark.parametrize("settings", [VECTORISED, BY_ROWS], ids=["vectorised", "by rows"])
@pytest.mark.parametrize("asked", ["count(*)", "count(n), count(1), min(i), max(dec9)"])
def test_counts_are_the_index_s_and_not_what_analyze_left(
    hive: Hive, table: Table, asked: str, settings: Mapping[str, str]
) -> None:
    hive.run(f"ANALYZE TABLE {table.name} COMPUTE STATISTICS")
    counted = hive.ask_both(f"SELECT {asked} FROM {table.name}", MR, settings)
    assert counted.rows == table.known.ask(f"SELECT {asked} FROM t")
    is_merged = table.written.spec.type is MOR
    assert counted.scan.outcomes == ("NO_FILTER" if is_merged else "ANSWERED",)
    assert (counted.scan.files_kept > 0) == is_merged


# Joins


JOINS = {
    "map": {"hive.auto.convert.join": "true"},
    "shuffle": {"hive.auto.convert.join": "false"},
}


@pytest.fixture(scope="module")
def both(hive: Hive, matrices: Matrices, tables: Tables) -> tuple[str, str, KnownRows]:
    """The names of both tables, and their rows as `cow` and `mor`."""
    known = KnownRows(ZONE, cow=matrices.get(COW).rows, mor=matrices.get(MOR).rows)
    return tables(COW).name, tables(MOR).name, known


JOINED = [
    "SELECT x.id, y.s FROM {cow} x JOIN {mor} y ON x.i = y.i WHERE x.i > 24000 AND y.ti > 12",
    "SELECT x.id, y.id FROM {cow} x JOIN {mor} y ON x.dec9 = y.dec9 AND x.dt = y.dt"
    " WHERE x.ti = 3 AND y.ti BETWEEN 3 AND 4",
    "SELECT x.id, y.n FROM {cow} x LEFT JOIN {mor} y ON x.u = y.u AND y.q = 1 WHERE x.ti < -13",
    "SELECT x.q, count(*), sum(y.l) FROM {cow} x JOIN {mor} y ON x.id = y.id"
    " WHERE x.s LIKE 'name_01%' AND y.ti > -6 GROUP BY x.q",
    "SELECT x.id FROM {cow} x LEFT SEMI JOIN {mor} y ON x.ts = y.ts AND y.ti = 5 WHERE x.i > 0",
]


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("query", JOINED, ids=range(len(JOINED)))
def test_joins_have_the_right_rows_and_map_joins_prune_both_sides(
    hive: Hive, both: tuple[str, str, KnownRows], query: str, join: str
) -> None:
    """A job of MapReduce that reads several tables gets no filter from Hive."""
    cow, mor, known = both
    asked = query.format(cow=cow, mor=mor)
    plan = str(hive.ask(f"EXPLAIN {asked}", MR, settings=JOINS[join]).rows)
    assert ("Map Join Operator" in plan) == (join == "map")
    answer = hive.ask_both(asked, MR, JOINS[join])
    right = known.ask(query.format(cow="cow", mor="mor").replace("LEFT SEMI", "SEMI"))
    assert answer.rows == sorted(right, key=repr)
    kept, considered = answer.scan.files_kept, answer.scan.files_considered
    if join == "map":
        assert kept < considered - FILES
    else:
        assert (kept, answer.scan.outcomes) == (considered, ("NO_FILTER",))


@pytest.mark.parametrize("join", JOINS)
def test_keys_that_are_null_meet_by_null_safe_equality_only(
    hive: Hive, both: tuple[str, str, KnownRows], join: str
) -> None:
    cow, mor, known = both
    query = "SELECT x.id, y.id FROM {} x JOIN {} y ON x.n {} y.n WHERE x.ti = -15 AND y.ti = -14"
    for hives, truth, rows in (("=", "=", 4), ("<=>", "IS NOT DISTINCT FROM", 60)):
        answer = hive.ask_both(query.format(cow, mor, hives), MR, JOINS[join])
        right = known.ask(query.format("cow", "mor", truth))
        assert answer.rows == sorted(right, key=repr)
        assert len(answer.rows) == rows


def test_a_table_that_is_joined_with_itself_loses_no_row(hive: Hive, table: Table) -> None:
    """MapReduce reads one file for both, with the filter of one of them."""
    query = "SELECT x.id, y.id FROM {} x JOIN {} y ON x.id = y.id + 1000 WHERE x.i > 20000"
    for settings in JOINS.values():
        answer = hive.ask_both(query.format(table.name, table.name), MR, settings)
        right = table.known.ask(query.format("t", "t"))
        assert answer.rows == sorted(right, key=repr)


# Partitions


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
    answer = hive.ask_both(f"SELECT id, p, q FROM {table.name} WHERE {predicate}")
    right = table.known.ask(f"SELECT id, p, q FROM t WHERE {predicate}")
    assert answer.rows == sorted(right, key=repr)
    assert answer.scan.files_kept == read


def test_partitioned_by_is_refused_with_the_way_out(hive: Hive, tables: Tables) -> None:
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
    # Hive 3.1 gives a table's filter to its input format only if told to.
    settings = {"hive.optimize.index.filter": "true"}
    right = sorted(table.known.ask(query.format("t")), key=repr)
    for engine in (FETCH, MR):
        answer = hive.ask_both(query.format(native), engine, settings)
        assert answer.rows == right
        assert answer.scan.files_kept < answer.scan.files_considered


# Views of a table of Hudi's, and of Hive's


def test_the_read_optimised_view_reads_base_files_only(hive: Hive, tables: Tables) -> None:
    table = tables(MOR)
    properties = {"hudi.view": "read_optimized"}
    hive.run(create_with_handler("optimised", table.written.path, properties))
    for engine in (FETCH, MR):
        whole = hive.ask("SELECT id, s FROM optimised", engine)
        assert whole.files == (FILES, FILES)
        assert len(whole.rows) == FILES * ROWS
        assert not any(row[1].startswith("updated") for row in whole.rows)
        pruned = hive.ask_both("SELECT id, ts FROM optimised WHERE s > 'name_031'", engine)
        assert (len(pruned.rows), pruned.files) == (ROWS, (FILES, 1))
    snapshot = f"SELECT id FROM {table.name} WHERE s >= 'updated_'"
    assert len(hive.ask(snapshot).rows) == 16
    assert hive.ask(snapshot, settings=properties).rows == []


def test_what_is_asked_of_a_view_prunes_its_table(hive: Hive, table: Table) -> None:
    view = f"seen_{table.name}"
    hive.run(f"CREATE VIEW {view} AS SELECT id, upper(s) AS t, i + 1 AS j FROM {table.name}")
    query = f"SELECT id, t FROM {view} WHERE j > 26001 AND t LIKE 'N%'"
    right = table.known.ask("SELECT id, upper(s) FROM t WHERE i > 26000 AND s LIKE 'n%'")
    for engine in (FETCH, MR):
        answer = hive.ask_both(query, engine)
        assert answer.rows == sorted(right, key=repr)
        assert answer.scan.files_kept < answer.scan.files_considered


def test_tables_are_made_of_what_is_read(hive: Hive, table: Table) -> None:
    copy = f"copy_{table.name}"
    columns = "id, b, l, dec9, dec38, s, u, ts, n"
    first = f"SELECT {columns} FROM {table.name} WHERE i > 20000"
    made = hive.ask(f"CREATE TABLE {copy} STORED AS ORC AS {first}", MR)
    assert made.scan.files_kept < made.scan.files_considered
    more = f"SELECT {columns} FROM {table.name} WHERE i BETWEEN -5000 AND -3000"
    added = hive.ask(f"INSERT INTO TABLE {copy} {more}", MR)
    assert added.scan.files_kept < added.scan.files_considered
    right = table.known.ask(f"SELECT {columns} FROM t WHERE i > 20000 OR i <= -3000")
    assert hive.ask(f"SELECT * FROM {copy}").rows == sorted(right, key=repr)


# What is refused


def refusal(hive: Hive, statement: str) -> str:
    """The message with which Hive refuses the statement."""
    with pytest.raises(QueryError) as caught:
        hive.run(statement)
    return str(caught.value)


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


@pytest.mark.parametrize(("write", "told"), WRITES)
def test_writes_are_refused_and_change_nothing(
    hive: Hive, table: Table, write: str, told: str
) -> None:
    written = table.written
    before = {file: (written.path / file).stat().st_size for file in written.data_files()}
    assert told in refusal(hive, write.format(name=table.name))
    assert {file: (written.path / file).stat().st_size for file in written.data_files()} == before
    assert hive.ask(f"SELECT id FROM {table.name} WHERE id = 5005").rows == [(5005,)]


def test_a_table_cannot_be_made_of_a_query_by_the_handler(hive: Hive, table: Table) -> None:
    statement = (
        "CREATE TABLE made STORED BY 'io.pyhudi.hive.HudiStorageHandler' AS"
        f" SELECT id FROM {table.name}"
    )
    assert refusal(hive, statement)
    assert hive.ask("SHOW TABLES LIKE 'made'").rows == []


# Virtual keys


@pytest.mark.parametrize("version", [6, 8])
def test_tables_without_meta_fields_have_the_column_without_values(
    hive: Hive, golden: Golden, version: int
) -> None:
    name = f"without_keys_{version}"
    hive.run(
        create_with_handler(name, golden[f"cow_v{version}_simplekeygen_hivestyle_no_metafields"])
    )
    assert hive.ask_both(f"SELECT id, name FROM {name} WHERE id > 0").rows == PEOPLE
    pruned = hive.ask_both(f"SELECT id, name FROM {name} WHERE bytefield = 20")
    assert (pruned.rows, pruned.scan.files_kept) == ([(2, "Bob")], 1)
    every_way(hive, NULLS.format(name), [(None, *row) for row in PEOPLE])


@pytest.mark.parametrize("archive", KEYED)
def test_stored_keys_are_hidden_while_keys_are_virtual(
    hive: Hive, golden: Golden, tmp_path: Path, archive: str
) -> None:
    """The files have keys, by which Hive 3.1's own reader would filter."""
    table = KeyedTable.registered(hive, golden, archive, tmp_path)
    keyed = table.rows(hive)

    table.hide_keys(KeySettings(keep_column=True))
    every_way(hive, NULLS.format(table.name), [(None, *row[1:]) for row in keyed])
    none = f"SELECT id FROM {table.name} WHERE `_hoodie_record_key` = '{keyed[0][0]}'"
    every_way(hive, none, [])


def every_way(hive: Hive, query: str, rows: list[tuple[object, ...]]) -> None:
    """These are the query's rows for every reader."""
    assert hive.ask_both(query).rows == rows
    for settings in (VECTORISED, BY_ROWS):
        assert hive.ask_both(query, MR, settings).rows == rows


# From outside


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(hive: Hive, capsys: pytest.CaptureFixture[str]) -> Run:
    """`pyhudi hive` with this HiveServer2: exit code, standard output, standard error."""
    options = ["--hs2", f"127.0.0.1:{hive.server.port}", "--auth", "NOSASL", "--json"]

    def run(command: str, *arguments: object) -> tuple[int, str, str]:
        code = main(["hive", command, *options, *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_table_is_registered_and_followed(run: Run, hive: Hive, table: Table) -> None:
    name = f"followed_{table.name}"
    arguments = (table.written.path, "--name", name, "--property", "hudi.view=snapshot")
    code, out, err = run("register", *arguments)
    assert code == 0, err
    created = json.loads(out)
    assert [text.split()[0] for text in created["statements"]] == ["CREATE"]
    described = [row[:2] for row in hive.ask(f"DESCRIBE {name}").rows]
    assert described == sorted((each["name"], each["type"]) for each in created["columns"])
    answer = hive.ask_both(f"SELECT id FROM {name} WHERE i > 25000")
    assert sorted(row[0] for row in answer.rows) == table.known.ids("i > 25000")
    assert answer.scan.files_kept < answer.scan.files_considered

    assert json.loads(run("register", *arguments)[1])["statements"] == []
    changed = (*arguments[:3], "--property", "hudi.view=read_optimized")
    statements = json.loads(run("register", *changed)[1])["statements"]
    assert [text.split()[:2] for text in statements] == [["ALTER", "TABLE"]]


def test_columns_that_hudi_has_gained_are_added(
    run: Run, hive: Hive, tables: Tables, tmp_path: Path
) -> None:
    path = shutil.copytree(tables(COW).written.path, tmp_path / "gained")
    assert run("register", path, "--name", "gained")[0] == 0
    hive.run("DROP TABLE gained", f"CREATE EXTERNAL TABLE gained (a int) LOCATION '{path}'")
    code, _, err = run("register", path, "--name", "gained")
    assert (code, "--replace" in err) == (1, True)
    code, out, err = run("register", path, "--name", "gained", "--replace")
    assert code == 0, err
    assert [text.split()[0] for text in json.loads(out)["statements"]] == ["DROP", "CREATE"]
    assert (path / ".hoodie" / "hoodie.properties").is_file()
    assert hive.ask("SELECT id FROM gained WHERE id = 5005").rows == [(5005,)]


def findings(out: str) -> dict[str, dict[str, str]]:
    return {found["link"]: found for found in json.loads(out)["findings"]}


def test_the_doctor_looks_at_each_link(
    run: Run, hive: Hive, tables: Tables, pruning_service: ServiceProcess
) -> None:
    table = tables(MOR)
    path, name = table.written.path, table.name
    here = ("--set", f"hudi.pruning.service.addresses={pruning_service.address}")
    code, out, err = run("doctor", path, "--name", name, *here)
    found = findings(out)
    assert code == 0, err
    assert found.pop("probe")["verdict"] == "skipped"
    assert {each["verdict"] for each in found.values()} == {"ok"}
    assert found["HiveServer2"]["told"].startswith("3.1.3 ")
    assert "pyhudi-hive3-handler.jar" in found["handler"]["told"]

    nobody = ("--set", "hudi.pruning.service.addresses=127.0.0.1:9")
    code, out, _ = run("doctor", path, "--name", name, *nobody)
    assert (code, findings(out)["service, from HiveServer2"]["verdict"]) == (1, "failed")

    code, out, _ = run("doctor", path, "--name", "stranger", *here)
    assert (code, findings(out)["registration"]["verdict"]) == (1, "failed")


class OverHttp(HiveServer):
    """One that speaks HTTP and nothing else."""

    def connect(self, user: str = "pyhudi") -> pyhive.Connection:
        """As PyHive itself connects."""
        return pyhive.connect("127.0.0.1", self.port, scheme="http", auth="NONE", username=user)


def test_tables_are_registered_over_http(
    golden: Golden,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {
        "hive.server2.authentication": "NONE",
        "hive.server2.transport.mode": "http",
        "hive.server2.thrift.http.port": "${hive.server2.thrift.port}",
    }
    register = ["hive", "register", str(golden["cow_v9_txns_simple_meta"]), "--name", "by_http"]
    monkeypatch.setenv("PYHUDI_HS2_USER", "somebody")
    with OverHttp(tmp_path / "server", settings=settings, line=HIVE_3) as server:
        monkeypatch.setenv("PYHUDI_HS2", f"127.0.0.1:{server.port}")
        assert main([*register, "--transport", "http"]) == 0, capsys.readouterr().err
        assert main([*register, "--transport", "http"]) == 0
        assert "it is up to date" in capsys.readouterr().err
        assert main([*register, "--timeout", "5"]) == 1
        assert f"HiveServer2 at 127.0.0.1:{server.port}" in capsys.readouterr().err
