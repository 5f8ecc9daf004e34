"""Scans of one table in several parts of a query are one where keys would exclude little (Tez).

`sales` has a file for each of its days. `days` is a table of one file with a row for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.tables import TableSpec, create
from tests.hive.query_results import TEZ, Answer, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

FILES, ROWS = 24, 96
#: Keys are sent while the query runs, as those of a large dimension.
WHILE_IT_RUNS = {"hudi.pruning.joins.planned": "false"}


@pytest.fixture(scope="module")
def tables(
    hive: Hive, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """`sales`, `days`, `weeks` (the same in four files) and `some_days` (every third of them)."""
    parent = tmp_path_factory.mktemp("shared_scans")
    sales = spark.range(0, ROWS, 1, FILES).selectExpr(
        "id", "CAST(id DIV 4 AS int) AS sold", "id % 5 AS amount"
    )
    columns = ("id", "CAST(id AS int) AS day", "id DIV 6 AS week", "id DIV 12 AS month")
    days = spark.range(0, FILES, 1, 1).selectExpr(*columns)
    weeks = spark.range(0, FILES, 1, 4).selectExpr(*columns)
    written = {
        "sales": create(sales, TableSpec("sales", stats_columns=("sold",)), parent),
        "days": create(days, TableSpec("days", stats_columns=("day", "week")), parent),
        "weeks": create(weeks, TableSpec("weeks", stats_columns=("day", "week")), parent),
        "some_days": create(
            days.where("day % 3 = 0"), TableSpec("some_days", stats_columns=("day",)), parent
        ),
    }
    hive.run(*(create_with_handler(name, table.path) for name, table in written.items()))
    yield
    hive.run(*(f"DROP TABLE {name}" for name in written))


def query_both_ways(hive: Hive, query: str) -> Answer:
    answer = hive.query_both_ways(query, TEZ, WHILE_IT_RUNS)
    assert answer.rows
    return answer


def sums_of_two_months(days: str) -> str:
    """The sums of each week, which two parts of the query need for months of their own."""
    month = (
        "SELECT s.week, s.total FROM sums s JOIN days d ON s.week = d.week"
        " WHERE d.month = {month} AND d.day % 6 = 0"
    )
    return (
        f"WITH sums AS (SELECT week, sum(amount) AS total FROM sales JOIN {days} d ON sold = d.day"
        " GROUP BY week)"
        " SELECT a.week, a.total, b.week, b.total"
        f" FROM ({month.format(month=0)}) a JOIN ({month.format(month=1)}) b ON a.week + 2 = b.week"
    )


def test_sums_by_every_day_are_computed_once(hive: Hive, tables: None) -> None:
    """The keys of every day, and those that the small table gets, are not worth a second scan."""
    answer = query_both_ways(hive, sums_of_two_months("days"))
    assert answer.scan.files_considered // FILES == 1


def test_keys_with_gaps_restrict_the_shared_scan(hive: Hive, tables: None) -> None:
    answer = query_both_ways(hive, sums_of_two_months("some_days"))
    assert answer.scan.files_considered // FILES == 1
    assert FILES // 3 <= answer.scan.files_kept < FILES // 2


def test_beside_a_union_keys_restrict_each_scan(hive: Hive, tables: None) -> None:
    """The weeks of a month restrict the files of `weeks`, and their days the sales."""
    both = "FROM (SELECT sold, amount FROM sales UNION ALL SELECT sold, amount FROM sales) s"
    answer = query_both_ways(hive, sums_of_two_months("weeks").replace("FROM sales", both))
    assert answer.scan.files_kept < 0.6 * answer.scan.files_considered
