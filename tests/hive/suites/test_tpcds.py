"""Eight queries of TPC-DS on Hudi tables have DuckDB's rows, and read fewer files by pruning (Tez).

`make tpcds` runs all 99, on more rows (bench/tpc).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

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
from tests.hive.query_results import Hive, QuerySession

pytestmark = [pytest.mark.spark, pytest.mark.hive]

SCALE = 0.01
FACT_FILES = 12
#: The facts of one kind of sale are merge on read.
TABLES: Mapping[str, TableType] = {
    "store_sales": TableType.COW,
    "catalog_sales": TableType.COW,
    "web_sales": TableType.MOR,
    "date_dim": TableType.COW,
    "item": TableType.COW,
    "store": TableType.COW,
}
#: Ranges of dates, months and years; one fact and two (a subquery); windows and a rollup.
QUERIES = ("12", "20", "32", "42", "53", "86", "92", "98")
DATABASE = "tpcds"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return generated(TPCDS, SCALE, tmp_path_factory.mktemp("tpcds") / "data")


@pytest.fixture(scope="module")
def session(hive: Hive, spark: SparkSession, data: Data) -> Iterator[QuerySession]:
    with ExitStack() as cleanup:
        hive.run(f"CREATE DATABASE {DATABASE}")
        cleanup.callback(hive.run, f"DROP DATABASE {DATABASE} CASCADE")
        for name, type_ in TABLES.items():
            files = FACT_FILES if TPCDS.tables[name].updated else None
            path = tables.write_hudi(spark, data, name, type_, files)
            hive.run(create_with_handler(f"{DATABASE}.{name}", path))
        settings = {**SESSION_SETTINGS, "hive.stats.fetch.column.stats": "true"}
        opened = cleanup.enter_context(hive.session(settings))
        opened.run(f"USE {DATABASE}")
        yield opened


@pytest.fixture(scope="module")
def duckdb(data: Data) -> Iterator[Oracle]:
    with oracle(data) as opened:
        yield opened


def test_queries_have_the_rows_of_duckdb_and_read_fewer_files(
    session: QuerySession, data: Data, duckdb: Oracle
) -> None:
    considered = kept = 0
    for number in QUERIES:
        query = data.queries()[number]
        for switch in ("false", "true"):
            session.run(f"SET hudi.pruning.enabled={switch}")
            answer = session.query(hive_text(TPCDS.name, number, query))
            verdict = duckdb.verdict(query, answer.rows)
            assert answer.rows, number
            assert verdict.is_equal, f"query {number}, pruning {switch}: {verdict}"
        considered += answer.scan.files_considered
        kept += answer.scan.files_kept
        print(number, answer.files)
    assert kept < considered / 2
