"""Earlier states and changes in Hive 3.1, which has settings for them and no clause."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.tables import TableType
from pyhudi_expr.hive.session import QueryError
from tests.hive.history_tables import Histories, History, spark_rows
from tests.hive.query_results import FETCH, MR, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

COLUMNS = "id, v, name, p"


@pytest.fixture(scope="module")
def histories(hive: Hive, spark: SparkSession, table_root: Path) -> Histories:
    return Histories(hive, spark, table_root / "hive3")


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


def test_a_table_is_joined_with_its_own_past(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    then = history.instants["inserted"]
    past = f"{history.name}_past"
    hive.run(create_with_handler(past, history.table.path, {"hudi.as.of": then}))
    join = "SELECT /*+ MAPJOIN(b) */ a.id, b.v FROM {} a JOIN {} b ON a.id = b.id WHERE a.v <> b.v"
    now = {row[0]: row[1] for row in spark_rows(spark, history.table, "id, v", {})}
    rows = spark_rows(spark, history.table, "id, v", {"as.of.instant": then})
    expected = sorted(((id_, v) for id_, v in rows if id_ in now and now[id_] != v), key=repr)
    query = join.format(history.name, past)
    answer = hive.query_both_ways(query, MR, {"hive.ignore.mapjoin.hint": "false"})
    assert answer.rows == expected
    with pytest.raises(QueryError, match=r"one MapReduce job cannot read several states|code 1"):
        hive.query(query, MR, settings={"hive.auto.convert.join": "false"})


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
