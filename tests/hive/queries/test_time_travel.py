"""Earlier states of tables: the rows of Hudi's Spark reader at the same instants."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import cycle
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.tables import TableType
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.expected_rows import ZONE
from tests.hive.history_tables import (
    FIXTURE_CASES,
    Histories,
    History,
    case_id,
    spark_rows,
)
from tests.hive.query_results import FETCH, MR, TEZ, Hive, Rows
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

COLUMNS = "id, v, name, p"
WHERE = ("id BETWEEN 18 AND 33", "v > 900", "p = 'p1' AND name LIKE 'updated%'")
AS_ROWS = {"hive.vectorized.execution.enabled": "false"}


@pytest.fixture(scope="module", params=FIXTURE_CASES, ids=case_id)
def history(request: pytest.FixtureRequest, histories: Histories) -> History:
    """A table and its commits."""
    return histories.get(*request.param)


@pytest.fixture(scope="module")
def cow(histories: Histories) -> History:
    """A table without log files, for what does not depend on them."""
    return histories.get(TableType.COW, 8)


def rows_at(spark: SparkSession, history: History, instant: str, where: str = "TRUE") -> Rows:
    """The rows that Hudi's Spark reader finds as of an instant."""
    return spark_rows(spark, history.table, COLUMNS, {"as.of.instant": instant}, where)


def wall_clock(instant: str, zone: str, later_millis: int = 0) -> str:
    """The time of an instant in UTC, or shortly after it, on the clock of a zone."""
    time = datetime.strptime(f"{instant}000", "%Y%m%d%H%M%S%f").replace(tzinfo=timezone.utc)
    time += timedelta(milliseconds=later_millis)
    return time.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def as_of(history: History, name: str) -> str:
    """The table as of one of its commits, in FROM."""
    return f"{history.name} FOR SYSTEM_VERSION AS OF {history.instants[name]}"


def test_rows_are_those_of_hudis_spark_reader(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    states = {}
    for (name, instant), where in zip(history.instants.items(), cycle(WHERE), strict=False):
        query = f"SELECT {COLUMNS} FROM {as_of(history, name)}"
        states[name] = hive.query(query, pruning=False).rows
        assert states[name] == rows_at(spark, history, instant), name
        answer = hive.query(f"{query} WHERE {where}")
        assert answer.rows == rows_at(spark, history, instant, where), (name, where)
        assert answer.scan.states == (instant,)
        assert answer.scan.files_kept < answer.scan.files_considered
    differ = ("inserted", "updated", "deleted", "added", "widened")
    assert len({repr(states[name]) for name in differ}) == len(differ)


@pytest.mark.long
def test_every_condition_has_the_rows_of_hudis_spark_reader_in_every_state(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    for name, instant in history.instants.items():
        for where in WHERE:
            query = f"SELECT {COLUMNS} FROM {as_of(history, name)} WHERE {where}"
            answer = hive.query_both_ways(query)
            assert answer.rows == rows_at(spark, history, instant, where), (name, where)


@pytest.mark.parametrize(
    ("engine", "settings"), [(MR, {}), (TEZ, {}), long(MR, AS_ROWS), long(TEZ, AS_ROWS)]
)
def test_every_engine_reads_the_state(
    hive: Hive, spark: SparkSession, history: History, engine: str, settings: dict[str, str]
) -> None:
    instant, where = history.instants["deleted"], WHERE[0]
    query = f"SELECT {COLUMNS} FROM {as_of(history, 'deleted')} WHERE {where}"
    answer = hive.query(query, engine, settings=settings)
    assert answer.rows == rows_at(spark, history, instant, where)
    assert answer.scan.states == (instant,)
    assert answer.scan.files_kept < answer.scan.files_considered


@pytest.mark.parametrize(
    ("zone", "setting"), [(ZONE, "LOCAL"), long("Asia/Kolkata", "Asia/Kolkata")]
)
def test_times_are_of_the_sessions_clock(
    hive: Hive, spark: SparkSession, cow: History, zone: str, setting: str
) -> None:
    for instant in (cow.instants["inserted"], cow.instants["deleted"]):
        expected = rows_at(spark, cow, instant)
        for millis in (0, 1):
            time = wall_clock(instant, zone, millis)
            answer = hive.query(
                f"SELECT {COLUMNS} FROM {cow.name} FOR SYSTEM_TIME AS OF '{time}'",
                settings={"hive.local.time.zone": setting},
            )
            assert answer.rows == expected
            assert min(answer.scan.states) >= instant


@pytest.mark.smoke("cow-8")
def test_columns_that_were_added_later_are_null(hive: Hive, history: History) -> None:
    before = hive.query(f"SELECT extra FROM {as_of(history, 'added')}")
    assert {row[0] for row in before.rows} == {None}
    after = hive.query(f"SELECT extra FROM {as_of(history, 'widened')}")
    assert len({row[0] for row in after.rows}) == len(range(1, 110, 9)) + 1


COUNTED = "count(*), count(name), min(v), max(v), min(id), max(p)"


@pytest.mark.parametrize(("engine", "names"), [(TEZ, ["deleted"]), long(TEZ, None), long(MR, None)])
def test_counts_and_extremes_are_of_the_state(
    hive: Hive, spark: SparkSession, history: History, engine: str, names: list[str] | None
) -> None:
    """Those that statistics answer, too."""
    for name in names or history.instants:
        options = {"as.of.instant": history.instants[name]}
        expected = spark_rows(spark, history.table, COUNTED, options)
        assert hive.query(f"SELECT {COUNTED} FROM {as_of(history, name)}", engine).rows == expected
        counted = hive.query(f"SELECT count(*) FROM {as_of(history, name)}", engine)
        assert counted.rows == [expected[0][:1]]


def changed_since(spark: SparkSession, history: History, then: str) -> Rows:
    """Ids whose values have changed, and both values."""
    now = {row[0]: row[1] for row in spark_rows(spark, history.table, "id, v", {})}
    past = {row[0]: row[1] for row in rows_at(spark, history, history.instants[then])}
    changed = [(key, now[key], past[key]) for key in now.keys() & past if now[key] != past[key]]
    assert changed
    return sorted(changed, key=repr)


JOIN = "SELECT a.id, a.v, b.v FROM {} a JOIN {} b ON a.id = b.id WHERE a.v <> b.v"
SHUFFLE = {"hive.auto.convert.join": "false"}


@pytest.mark.parametrize(("engine", "settings"), [(TEZ, {}), long(TEZ, SHUFFLE)], ids=str)
def test_a_table_is_joined_with_its_own_past(
    hive: Hive, spark: SparkSession, history: History, engine: str, settings: dict[str, str]
) -> None:
    query = JOIN.format(history.name, as_of(history, "inserted"))
    answer = hive.query(query, engine, settings=settings)
    assert answer.rows == changed_since(spark, history, "inserted")
    assert answer.scan.states == (history.instants["inserted"],)


@pytest.mark.long
@pytest.mark.parametrize(("engine", "settings"), [(TEZ, {}), (TEZ, SHUFFLE)], ids=str)
def test_any_two_states_are_joined(
    hive: Hive, spark: SparkSession, history: History, engine: str, settings: dict[str, str]
) -> None:
    expected = changed_since(spark, history, "inserted")
    turned = JOIN.format(as_of(history, "inserted"), history.name)
    answer = hive.query_both_ways(turned, engine, settings)
    assert answer.rows == sorted(((key, then, now) for key, now, then in expected), key=repr)
    both = JOIN.format(as_of(history, "deleted"), as_of(history, "inserted"))
    states = hive.query_both_ways(both, engine, settings).scan.states
    assert states == (history.instants["inserted"], history.instants["deleted"])


@pytest.mark.parametrize(("engine", "settings"), [(TEZ, {}), long(TEZ, SHUFFLE)], ids=str)
def test_two_names_of_a_table_can_be_of_two_states(
    hive: Hive, spark: SparkSession, cow: History, engine: str, settings: dict[str, str]
) -> None:
    then = cow.instants["inserted"]
    past = f"{cow.name}_past_{engine}_{len(settings)}"
    hive.run(create_with_handler(past, cow.table.path, {"hudi.as.of": then}))
    answer = hive.query(JOIN.format(cow.name, past), engine, settings=settings)
    assert answer.rows == changed_since(spark, cow, "inserted")
    assert answer.scan.states == (then,)
    count = hive.query(f"SELECT count(*) FROM {past}", engine).rows
    assert count == [(len(rows_at(spark, cow, then)),)]


def test_one_mapreduce_job_does_not_read_two_states(hive: Hive, cow: History) -> None:
    """Hive would give the rows of each file to both scans."""
    query = JOIN.format(cow.name, as_of(cow, "inserted"))
    with pytest.raises(QueryError, match="one MapReduce job cannot read several states"):
        hive.query(query, MR, settings=SHUFFLE)


@pytest.mark.parametrize("engine", [FETCH, long(MR), long(TEZ)])
def test_a_session_can_read_a_state(
    hive: Hive, spark: SparkSession, cow: History, engine: str
) -> None:
    then = cow.instants["deleted"]
    query = f"SELECT {COLUMNS} FROM {cow.name}"
    for text in (then, f"{wall_clock(then, 'UTC')} UTC", wall_clock(then, ZONE)):
        answer = hive.query(query, engine, settings={"hudi.as.of": text})
        assert answer.rows == rows_at(spark, cow, then)
    clause = f"{query} FOR SYSTEM_VERSION AS OF {cow.instants['inserted']}"
    answer = hive.query(clause, engine, settings={"hudi.as.of": then})
    assert answer.scan.states == (cow.instants["inserted"],)


@pytest.mark.smoke
def test_explain_names_the_state(hive: Hive, cow: History) -> None:
    query = f"EXPLAIN SELECT v FROM {as_of(cow, 'updated')} WHERE id < 9"
    plan = hive.query(query, TEZ, settings={"hive.explain.user": "false"}).rows
    assert f"as of {cow.instants['updated']}" in "\n".join(row[0] for row in plan)


NEVER = {
    "FOR SYSTEM_VERSION AS OF 20200101000000000": "its active timeline begins with {first}",
    "FOR SYSTEM_TIME AS OF '2020-01-01 00:00:00'": "its active timeline begins with {first}",
    "FOR SYSTEM_VERSION AS OF 2026": "neither an instant of its timeline",
    "FOR SYSTEM_VERSION AS OF 20269999000000": "neither an instant of its timeline",
    "FOR SYSTEM_TIME AS OF 'yesterday'": "is not a time, such as|'yesterday' could not be parsed",
}


def test_states_that_never_were_are_errors(hive: Hive, cow: History) -> None:
    for clause, reason in NEVER.items():
        for what, engine, pruning in (("id", FETCH, True), ("count(*)", TEZ, False)):
            query = f"SELECT {what} FROM {cow.name} {clause}"
            with pytest.raises(QueryError, match=reason.format(first=cow.instants["inserted"])):
                hive.query(query, engine, pruning=pruning)
