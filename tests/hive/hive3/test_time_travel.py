"""Earlier states and changes in Hive 3.1, which has settings for them and no clause."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.tables import TableType
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.history_tables import Histories, HistoriesInHive, History, spark_rows
from tests.hive.query_results import FETCH, MR, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

COLUMNS = "id, v, name, p"


@pytest.fixture(scope="module")
def histories(hive: Hive, spark: SparkSession, table_root: Path) -> HistoriesInHive:
    return HistoriesInHive(hive, spark, table_root / "hive3")


@pytest.fixture(scope="module", params=TableType, ids=lambda type_: type_.name.lower())
def history(request: pytest.FixtureRequest, histories: Histories) -> History:
    return histories.get(request.param, 9)


@pytest.mark.parametrize("engine", [FETCH, MR])
def test_a_state_has_the_rows_of_hudis_spark_reader(
    hive: Hive, spark: SparkSession, history: History, engine: str
) -> None:
    for instant in history.instants.values():
        state, options = {"hudi.as.of": instant}, {"as.of.instant": instant}
        for where in ("TRUE", "id BETWEEN 18 AND 33"):
            query = f"SELECT {COLUMNS} FROM {history.name} WHERE {where}"
            answer = hive.query_both_ways(query, engine, state)
            assert answer.rows == spark_rows(spark, history.table, COLUMNS, options, where)
            assert answer.scan.states == (instant,)
        ends = "min(v), max(v), count(*)"
        answer = hive.query(f"SELECT {ends} FROM {history.name}", MR, settings=state)
        assert answer.rows == spark_rows(spark, history.table, ends, options)


def test_a_table_of_an_earlier_state_is_refused(hive: Hive, history: History) -> None:
    """The local task of a map join would read both tables of one location in one state."""
    past, state = f"{history.name}_past", {"hudi.as.of": history.instants["inserted"]}
    with pytest.raises(QueryError, match=r"needs Hive 4.*SET it in the session"):
        hive.run(create_with_handler(past, history.table.path, state))
    with pytest.raises(QueryError, match="needs Hive 4"):
        hive.run(f"ALTER TABLE {history.name} SET TBLPROPERTIES ('hudi.as.of'='2020-01-01')")


@pytest.mark.parametrize("engine", [FETCH, MR])
def test_changes_have_the_rows_of_hudis_spark_reader(
    hive: Hive, spark: SparkSession, history: History, engine: str
) -> None:
    for start, end in (("inserted", "deleted"), ("late", "widened")):
        prefix = f"hoodie.{history.name}.consume"
        settings = {
            f"{prefix}.mode": "INCREMENTAL",
            f"{prefix}.start.timestamp": history.completed[start],
            f"{prefix}.end.timestamp": history.completed[end],
        }
        options = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": history.completed[start],
            "hoodie.datasource.read.end.instanttime": history.completed[end],
        }
        for where in ("TRUE", "id BETWEEN 18 AND 33"):
            query = f"SELECT {COLUMNS} FROM {history.name} WHERE {where}"
            answer = hive.query_both_ways(query, engine, settings)
            assert answer.rows == spark_rows(spark, history.table, COLUMNS, options, where)


def test_a_state_that_never_was_is_an_error(hive: Hive, history: History) -> None:
    for engine in (FETCH, MR):
        with pytest.raises(QueryError):
            hive.query(
                f"SELECT id FROM {history.name}", engine, settings={"hudi.as.of": "20200101000000"}
            )
