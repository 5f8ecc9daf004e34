"""Hive 3.1 reads the same rows of the same files: its own HiveServer2, fetch task and MapReduce."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.ddl import create_native
from devtools.hives import HIVE_3
from devtools.hiveserver import HiveServer
from devtools.matrix import FILES, Matrices
from devtools.service import ServiceProcess
from devtools.tables import TableType
from tests.hive.asking import FETCH, MR, Hive
from tests.hive.truths import ZONE, for_hive

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

PREDICATES = (
    *("i NOT BETWEEN 1000 AND 25000", "NOT (q IN (0, 1, 2))", "i <=> 1005", "i >= 26000"),
    *("NOT (i >= 0)", "NOT (dt BETWEEN DATE '1970-01-01' AND DATE '1973-01-01')", "p <> 'p0'"),
    *("b = false", "i IN (1, 7, 1005, 22007)", "i + 1 = 3006", "d BETWEEN 16.0 AND 17.0"),
    *("l < -3000000000", "d > 28.5 AND d < 29.2", "dec9 BETWEEN 2501.25 AND 2603.25"),
    *("dec38 > 1522000000000000000000000.0123456789", "u LIKE '😀%'", "s >= 'updated_'"),
    *("dt BETWEEN DATE '1971-01-01' AND DATE '1971-02-01'", "ts >= '1973-04-01 00:00:00'"),
    *("bin = X'0305FA'", "st.c.e = DATE '1970-01-05'", "n IS NOT NULL"),
    *(
        "f = CAST(16.25 AS float)",
        "none <> 1",
        "p = 'p0' OR i > 26000",
        "NOT (i < -4000 OR i > 25000) AND d < 6",
    ),
)
BY_MAPREDUCE = PREDICATES[1:18:4]
INPUT_FORMATS = {
    TableType.COW: "io.pyhudi.hive.HudiCopyOnWriteInputFormat",
    TableType.MOR: "io.pyhudi.hive.HudiMergeOnReadInputFormat",
}


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


@pytest.fixture(scope="module", params=TableType, ids=lambda type_: type_.name.lower())
def type_(request: pytest.FixtureRequest) -> TableType:
    found: TableType = request.param
    return found


@pytest.fixture(scope="module")
def name(hive: Hive, matrices: Matrices, type_: TableType) -> str:
    return hive.register(matrices.get(type_).table)


def test_it_is_that_hive(hive: Hive) -> None:
    assert hive.ask("SELECT version()").rows[0][0].startswith("3.1.3 ")


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_mapreduce_gives_these_rows_from_these_files(
    hive: Hive, name: str, vectorised: str
) -> None:
    settings = {"hive.vectorized.execution.enabled": vectorised}
    for predicate in BY_MAPREDUCE:
        query = f"SELECT id FROM {name} WHERE {for_hive(predicate)}"
        answer = hive.ask(query, MR, settings=settings)
        expected = hive.ask(query, FETCH)
        assert answer.rows == expected.rows, predicate
        assert answer.files == expected.files
        assert answer.scan.files_kept < answer.scan.files_considered


def test_every_column_is_the_same_for_every_reader(hive: Hive, name: str) -> None:
    query = f"SELECT * FROM {name}"
    expected = hive.ask(query, FETCH).rows
    for vectorised in ("true", "false"):
        settings = {"hive.vectorized.execution.enabled": vectorised}
        # As they are shown: NaN is not equal to itself.
        assert repr(hive.ask(query, MR, settings=settings).rows) == repr(expected)


def test_without_a_service_every_file_is_read(hive: Hive, name: str) -> None:
    query = f"SELECT id FROM {name} WHERE i > 25000"
    dead = hive.ask(query, settings={"hudi.pruning.service.addresses": "127.0.0.1:1"})
    assert dead.rows == hive.ask(query).rows
    assert dead.scan.outcomes == ("UNREACHABLE",)
    assert dead.scan.files_kept == dead.scan.files_considered >= FILES


def test_counts_are_read_and_not_taken_from_what_analyze_left(hive: Hive, name: str) -> None:
    rows = hive.ask(f"SELECT id FROM {name}").rows
    hive.run(f"ANALYZE TABLE {name} COMPUTE STATISTICS")
    counted = hive.ask(f"SELECT count(*) FROM {name}", MR)
    assert counted.rows == [(len(rows),)]
    assert counted.scan.files_kept >= FILES


def test_a_table_is_also_read_by_its_input_format(
    hive: Hive, matrices: Matrices, name: str, type_: TableType
) -> None:
    native = f"native_{name}"
    hive.run(*create_native(matrices.get(type_).table, native, INPUT_FORMATS[type_]))
    query = "SELECT id, s, ts FROM {} WHERE i > 24000"
    # Hive 3.1 gives a table's filter to its input format only if told to.
    settings = {"hive.optimize.index.filter": "true"}
    for engine in (FETCH, MR):
        answer = hive.ask_both(query.format(native), engine, settings)
        assert answer.rows == hive.ask(query.format(name), FETCH).rows
        assert answer.scan.files_kept < answer.scan.files_considered
