"""Eight queries of TPC-DS on Hudi tables have DuckDB's rows, and read fewer files by pruning (Tez).

`make tpcds` runs all 99, on more rows (bench/tpc).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
MERGED = frozenset({"web_sales", "web_returns", "inventory"})
"""The facts that are merge on read, with updates in log files."""
TABLES = ("store_sales", "catalog_sales", "web_sales", "date_dim", "item", "store")
#: Ranges of days, months and years; one scan of the fact and two; windows, and a rollup.
QUERIES = ("12", "20", "32", "42", "53", "86", "92", "98")
DATABASE = "tpcds"


class SuiteSession:
    """A session in a database of its own, whose tables are written at their first use."""

    def __init__(self, spark: SparkSession, data: Data, session: QuerySession) -> None:
        self._spark, self._data, self._session = spark, data, session
        self.written: set[str] = set()

    def write(self, names: Iterable[str]) -> None:
        """Writes and registers those of the tables that are missing."""
        for name in names:
            if name not in self.written:
                files = FACT_FILES if TPCDS.tables[name].updated else 1
                type_ = TableType.MOR if name in MERGED else TableType.COW
                path = tables.write_hudi(self._spark, self._data, name, type_, files)
                self._session.run(create_with_handler(name, path))
                self.written.add(name)

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
        session.run(f"CREATE DATABASE {DATABASE}")
        session.run(f"USE {DATABASE}")
        opened = SuiteSession(spark, data, session)
        yield opened
        for table in opened.written:
            session.run(f"DROP TABLE {table}")


@pytest.fixture(scope="module")
def truth(data: Data) -> Iterator[Oracle]:
    with oracle(data) as opened:
        yield opened


def test_queries_have_the_rows_of_duckdb_and_read_fewer_files(
    suite: SuiteSession, data: Data, truth: Oracle
) -> None:
    suite.write(TABLES)
    assert any(tables.path(data, tables.MOR, "web_sales").glob("*.log.*"))
    answers = [suite.query_both_ways(number, truth) for number in QUERIES]
    assert all(answer.rows for answer in answers)
    kept = sum(answer.scan.files_kept for answer in answers)
    assert kept < 0.8 * sum(answer.scan.files_considered for answer in answers)


@pytest.mark.long
def test_all_other_queries_have_the_rows_of_duckdb(suite: SuiteSession, truth: Oracle) -> None:
    suite.write(TPCDS.tables)
    for number in map(str, range(1, 100)):
        if number not in QUERIES:
            suite.query_both_ways(number, truth)
