"""Earlier states of tables: the rows of Hudi's Spark reader at the same instants."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from pyhudi_expr.hive.session import QueryError
from tests.hive.expected_rows import ZONE
from tests.hive.history_tables import (
    FILES_AT_FIRST,
    FIXTURE_CASES,
    Histories,
    History,
    case_id,
    spark_rows,
)
from tests.hive.query_results import FETCH, MR, TEZ, Hive, Rows

pytestmark = [pytest.mark.spark, pytest.mark.hive]

COLUMNS = "id, v, name, p"
WHERE = ("TRUE", "id BETWEEN 18 AND 33", "v > 900", "p = 'p1' AND name LIKE 'updated%'")
AS_ROWS = {"hive.vectorized.execution.enabled": "false"}


@pytest.fixture(scope="module", params=FIXTURE_CASES, ids=case_id)
def history(request: pytest.FixtureRequest, histories: Histories) -> History:
    """A table and its commits."""
    return histories.get(*request.param)


def rows_at(spark: SparkSession, history: History, instant: str, where: str = "TRUE") -> Rows:
    """The rows that Hudi's Spark reader finds as of an instant."""
    return spark_rows(spark, history.table, COLUMNS, {"as.of.instant": instant}, where)


def wall_clock(instant: str, zone: str, later_millis: int = 0) -> str:
    """The time of an instant in UTC, or shortly after it, on the clock of a zone."""
    time = datetime.strptime(f"{instant}000", "%Y%m%d%H%M%S%f").replace(tzinfo=timezone.utc)
    time += timedelta(milliseconds=later_millis)
    return time.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def test_rows_are_those_of_hudis_spark_reader(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    states = {}
    for name, instant in history.instants.items():
        pruned_files = 0
        for where in WHERE:
            query = (
                f"SELECT {COLUMNS} FROM {history.name} FOR SYSTEM_VERSION AS OF {instant}"
                f" WHERE {where}"
            )
            answer = hive.query_both_ways(query)
            assert answer.rows == rows_at(spark, history, instant, where), (name, where)
            assert answer.scan.states == (instant,)
            pruned_files += answer.scan.files_considered - answer.scan.files_kept
            if where == "TRUE":
                states[name] = answer.rows
        assert pruned_files >= FILES_AT_FIRST
    differ = ("inserted", "updated", "deleted", "added", "widened")
    assert len({repr(states[name]) for name in differ}) == len(differ)


@pytest.mark.parametrize(
    ("engine", "settings"), [(MR, {}), (MR, AS_ROWS), (TEZ, {}), (TEZ, AS_ROWS)]
)
def test_every_engine_reads_the_state(
    hive: Hive, spark: SparkSession, history: History, engine: str, settings: dict[str, str]
) -> None:
    instant = history.instants["deleted"]
    for where in WHERE[1:3]:
        query = (
            f"SELECT {COLUMNS} FROM {history.name} FOR SYSTEM_VERSION AS OF {instant} WHERE {where}"
        )
        answer = hive.query_both_ways(query, engine, settings)
        assert answer.rows == rows_at(spark, history, instant, where)
        assert answer.scan.states == (instant,)
        assert answer.scan.files_kept < answer.scan.files_considered


def test_times_are_of_the_sessions_clock(hive: Hive, spark: SparkSession, history: History) -> None:
    for name, instant in list(history.instants.items())[:3]:
        expected = rows_at(spark, history, instant)
        for zone, setting in ((ZONE, "LOCAL"), ("Asia/Kolkata", "Asia/Kolkata")):
            for millis in (0, 1):
                time = wall_clock(instant, zone, millis)
                answer = hive.query(
                    f"SELECT {COLUMNS} FROM {history.name} FOR SYSTEM_TIME AS OF '{time}'",
                    settings={"hive.local.time.zone": setting},
                )
                assert answer.rows == expected, (name, zone)
                (state,) = answer.scan.states
                assert instant <= state


def test_columns_that_were_added_later_are_null(hive: Hive, history: History) -> None:
    state = f"{history.name} FOR SYSTEM_VERSION AS OF"
    for engine in (FETCH, TEZ):
        before = hive.query(f"SELECT extra FROM {state} {history.instants['added']}", engine)
        assert {row[0] for row in before.rows} == {None}
        after = hive.query(f"SELECT extra FROM {state} {history.instants['widened']}", engine)
        assert len({row[0] for row in after.rows}) == len(range(1, 110, 9)) + 1


COUNTED = "count(*), count(name), min(v), max(v), min(id), max(p)"


def test_counts_and_extremes_are_of_the_state(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    """Those that statistics answer, too."""
    for name, instant in history.instants.items():
        state = f"{history.name} FOR SYSTEM_VERSION AS OF {instant}"
        expected = spark_rows(spark, history.table, COUNTED, {"as.of.instant": instant})
        for engine in (TEZ, MR):
            assert hive.query(f"SELECT {COUNTED} FROM {state}", engine).rows == expected, name
        assert hive.query(f"SELECT count(*) FROM {state}", TEZ).rows == [expected[0][:1]]


def joined(spark: SparkSession, history: History, then: str) -> Rows:
    """Ids whose values have changed, and both values."""
    now = {row[0]: row[1] for row in spark_rows(spark, history.table, "id, v", {})}
    past = {row[0]: row[1] for row in rows_at(spark, history, then)}
    changed = [(key, now[key], past[key]) for key in now.keys() & past if now[key] != past[key]]
    return sorted(changed, key=repr)


JOIN = "SELECT /*+ MAPJOIN(b) */ a.id, a.v, b.v FROM {} a JOIN {} b ON a.id = b.id WHERE a.v <> b.v"
HINTS = {"hive.ignore.mapjoin.hint": "false"}
"""Without a hint MapReduce joins a location with itself in one job."""
SHUFFLE = {"hive.auto.convert.join": "false"}


@pytest.mark.parametrize(("engine", "settings"), [(TEZ, {}), (TEZ, SHUFFLE), (MR, HINTS)])
def test_a_table_is_joined_with_its_own_past(
    hive: Hive, spark: SparkSession, history: History, engine: str, settings: dict[str, str]
) -> None:
    then, later = history.instants["inserted"], history.instants["deleted"]
    past = f"{history.name} FOR SYSTEM_VERSION AS OF {then}"
    expected = joined(spark, history, then)
    assert expected
    for one, other in ((history.name, past), (past, history.name)):
        answer = hive.query_both_ways(JOIN.format(one, other), engine, settings)
        if one == past:
            assert answer.rows == sorted(((k, b, a) for k, a, b in expected), key=repr)
        else:
            assert answer.rows == expected
        assert answer.scan.states == (then,)
    both = JOIN.format(f"{history.name} FOR SYSTEM_VERSION AS OF {later}", past)
    assert hive.query_both_ways(both, engine, settings).scan.states == (then, later)


def test_two_names_of_a_table_can_be_of_two_states(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    then = history.instants["inserted"]
    past = f"{history.name}_past"
    hive.run(create_with_handler(past, history.table.path, {"hudi.as.of": then}))
    join, expected = JOIN.format(history.name, past), joined(spark, history, then)
    for engine, settings in ((TEZ, {}), (TEZ, SHUFFLE), (MR, HINTS)):
        assert hive.query_both_ways(join, engine, settings).rows == expected
    count = hive.query(f"SELECT count(*) FROM {past}", TEZ).rows
    assert count == [(len(rows_at(spark, history, then)),)]


def test_one_mapreduce_job_does_not_read_two_states(hive: Hive, history: History) -> None:
    """Hive would give the rows of each file to both scans."""
    past = f"{history.name} FOR SYSTEM_VERSION AS OF {history.instants['inserted']}"
    with pytest.raises(QueryError, match="one MapReduce job cannot read several states"):
        hive.query(JOIN.format(history.name, past), MR, settings=SHUFFLE)


def test_a_session_can_read_a_state(hive: Hive, spark: SparkSession, history: History) -> None:
    then = history.instants["deleted"]
    expected = rows_at(spark, history, then)
    query = f"SELECT {COLUMNS} FROM {history.name}"
    for text in (then, f"{wall_clock(then, 'UTC')} UTC", wall_clock(then, ZONE)):
        for engine in (FETCH, MR, TEZ):
            answer = hive.query(query, engine, settings={"hudi.as.of": text})
            assert answer.rows == expected
    clause = f"{query} FOR SYSTEM_VERSION AS OF {history.instants['inserted']}"
    answer = hive.query(clause, settings={"hudi.as.of": then})
    assert answer.scan.states == (history.instants["inserted"],)


def test_explain_names_the_state(hive: Hive, history: History) -> None:
    then = history.instants["updated"]
    query = f"SELECT v FROM {history.name} FOR SYSTEM_VERSION AS OF {then} WHERE id < 9"
    plan = hive.query(f"EXPLAIN {query}", TEZ, settings={"hive.explain.user": "false"}).rows
    assert f"as of {then}" in "\n".join(row[0] for row in plan)


NEVER = {
    "FOR SYSTEM_VERSION AS OF 20200101000000000": "its active timeline begins with {first}",
    "FOR SYSTEM_TIME AS OF '2020-01-01 00:00:00'": "its active timeline begins with {first}",
    "FOR SYSTEM_VERSION AS OF 2026": "neither an instant of its timeline",
    "FOR SYSTEM_VERSION AS OF 20269999000000": "neither an instant of its timeline",
    "FOR SYSTEM_TIME AS OF 'yesterday'": "is not a time, such as|'yesterday' could not be parsed",
}


def test_states_that_never_were_are_errors(hive: Hive, history: History) -> None:
    first = history.instants["inserted"]
    for clause, reason in NEVER.items():
        for engine, pruning in ((FETCH, True), (TEZ, False)):
            for what in ("id", "count(*)"):
                query = f"SELECT {what} FROM {history.name} {clause}"
                with pytest.raises(QueryError, match=reason.format(first=first)):
                    hive.query(query, engine, pruning=pruning)
