"""Four queries of TPC-DS on Hudi tables have DuckDB's rows, and read fewer files by pruning (Tez).

`make tpcds` runs all 99, on more rows (bench/tpc).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench.tpc import tables
from bench.tpc.data import Data, generated
from bench.tpc.dialect import hive_text
from bench.tpc.hive import SESSION_SETTINGS
from bench.tpc.oracle import Oracle, oracle
from bench.tpc.suites import TPCDS
from devtools.ddl import create_with_handler
from devtools.tables import TableType
from tests.hive.query_results import Answer, Hive, QuerySession

pytestmark = [pytest.mark.spark, pytest.mark.hive]

SCALE = 0.01
FACT_FILES = 6
TABLES = ("store_sales", "date_dim", "item", "store")
#: Each reads some days or months of the fact, by the keys of its join with the days.
QUERIES: Mapping[TableType, Sequence[str]] = {
    TableType.COW: ("42", "55"),
    TableType.MOR: ("52", "63"),
}


class SuiteSession:
    """A session with a database for each type of facts. Tables are written at their first use."""

    def __init__(self, spark: SparkSession, data: Data, session: QuerySession) -> None:
        self._spark, self._data, self._session = spark, data, session
        self._paths: dict[tuple[TableType, str], Path] = {}
        self.registered: list[str] = []

    def use(self, type_: TableType, names: Iterable[str]) -> None:
        """Uses the database whose facts are of this type, with these tables."""
        database = f"tpcds_{type_.name.lower()}"
        self._session.run(f"CREATE DATABASE IF NOT EXISTS {database}")
        self._session.run(f"USE {database}")
        for name in names:
            table = f"{database}.{name}"
            if table not in self.registered:
                self._session.run(create_with_handler(table, self._written(type_, name)))
                self.registered.append(table)

    def _written(self, type_: TableType, name: str) -> Path:
        is_fact = TPCDS.tables[name].updated is not None
        kind = (type_ if is_fact else TableType.COW, name)
        if kind not in self._paths:
            files = FACT_FILES if is_fact else 1
            self._paths[kind] = tables.write_hudi(self._spark, self._data, name, kind[0], files)
        return self._paths[kind]

    def query_both_ways(self, number: str, truth: Oracle) -> Answer:
        """Compares the rows with DuckDB's, without pruning and with it."""
        query = self._data.queries()[number]
        for switch in ("false", "true"):
            self._session.run(f"SET hudi.pruning.enabled={switch}")
            answer = self._session.query(hive_text(TPCDS.name, number, query))
            verdict = truth.verdict(query, answer.rows)
            assert verdict.is_equal, f"query {number}, pruning {switch}: {verdict}"
        return answer


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return generated(TPCDS, SCALE, tmp_path_factory.mktemp("tpcds") / "data")


@pytest.fixture(scope="module")
def suite(hive: Hive, spark: SparkSession, data: Data) -> Iterator[SuiteSession]:
    settings = {**SESSION_SETTINGS, "hive.stats.fetch.column.stats": "true"}
    with hive.session(settings) as session:
        opened = SuiteSession(spark, data, session)
        yield opened
        for table in opened.registered:
            session.run(f"DROP TABLE {table}")


@pytest.fixture(scope="module")
def truth(data: Data) -> Iterator[Oracle]:
    with oracle(data) as opened:
        yield opened


@pytest.mark.smoke
def test_queries_have_the_rows_of_duckdb_and_read_fewer_files(
    suite: SuiteSession, data: Data, truth: Oracle
) -> None:
    for type_, numbers in QUERIES.items():
        suite.use(type_, TABLES)
        answers = [suite.query_both_ways(number, truth) for number in numbers]
        assert all(answer.rows for answer in answers)
        files = [answer.files for answer in answers]
        print(type_, files)
        assert sum(kept for _, kept in files) < 0.8 * sum(considered for considered, _ in files)
    assert any(tables.path(data, tables.MOR, "store_sales").glob("*.log.*"))


@pytest.mark.long
@pytest.mark.parametrize("type_", TableType)
def test_all_queries_have_the_rows_of_duckdb(
    suite: SuiteSession, truth: Oracle, type_: TableType
) -> None:
    suite.use(type_, TPCDS.tables)
    for number in map(str, range(1, 100)):
        if number not in QUERIES[type_]:
            suite.query_both_ways(number, truth)
