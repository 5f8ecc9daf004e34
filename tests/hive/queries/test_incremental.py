"""Changes of tables: the rows of Hudi's Spark incremental reader with the same bounds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.tables import TableType
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.history_tables import (
    FILES_AT_FIRST,
    FIXTURE_CASES,
    Histories,
    History,
    case_id,
    spark_rows,
)
from tests.hive.query_results import FETCH, MR, TEZ, Hive, Rows
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

COLUMNS = "id, v, name, p, _hoodie_commit_time"
IN_HIVE = COLUMNS.replace("_hoodie_commit_time", "`_hoodie_commit_time`")
WHERE = ("id BETWEEN 18 AND 33", "v > 900", "p = 'p1' AND name LIKE 'updated%'")
RANGES = (
    (None, None),
    (None, "inserted"),
    (None, "deleted"),
    ("inserted", "updated"),
    ("inserted", None),
    ("updated", "late"),
    ("late", "deleted"),
    ("updated", "added"),
    ("added", None),
    ("widened", "widened"),
)
"""After the commit of the first name until that of the second."""


@pytest.fixture(scope="module", params=FIXTURE_CASES, ids=case_id)
def history(request: pytest.FixtureRequest, histories: Histories) -> History:
    """A table and its commits."""
    return histories.get(*request.param)


@pytest.fixture(scope="module")
def cow(histories: Histories) -> History:
    """A table without log files, for what does not depend on them."""
    return histories.get(TableType.COW, 8)


def consume(history: History, start: str | None, end: str | None, **more: str) -> dict[str, str]:
    """The settings with which a session in Hive reads a range."""
    bounds = {
        "mode": "INCREMENTAL",
        "start.timestamp": history.completed[start] if start else "000",
    }
    if end:
        bounds["end.timestamp"] = history.completed[end]
    bounds |= {key.replace("_", "."): value for key, value in more.items()}
    return {f"hoodie.{history.name}.consume.{key}": value for key, value in bounds.items()}


def changes(
    spark: SparkSession, history: History, start: str | None, end: str | None, where: str = "TRUE"
) -> Rows:
    """The rows that Hudi's Spark reader finds in a range."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": history.completed[start] if start else "000",
    }
    if end:
        options["hoodie.datasource.read.end.instanttime"] = history.completed[end]
    return spark_rows(spark, history.table, COLUMNS, options, where)


def test_rows_are_those_of_hudis_spark_reader(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    found = []
    for (start, end), where in zip(RANGES[::2], cycle(WHERE), strict=False):
        settings = consume(history, start, end)
        query = f"SELECT {IN_HIVE} FROM {history.name}"
        everything = hive.query(query, pruning=False, settings=settings)
        assert everything.rows == changes(spark, history, start, end), (start, end)
        some = hive.query(f"{query} WHERE {where}", settings=settings)
        assert some.rows == changes(spark, history, start, end, where), (start, end, where)
        found.append(len(everything.rows))
    assert len(set(found)) > 3


@pytest.mark.long
def test_every_condition_has_the_rows_of_hudis_spark_reader_in_every_range(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    for start, end in RANGES:
        for where in WHERE:
            query = f"SELECT {IN_HIVE} FROM {history.name} WHERE {where}"
            answer = hive.query_both_ways(query, FETCH, consume(history, start, end))
            assert answer.rows == changes(spark, history, start, end, where), (start, end, where)


AS_ROWS = {"hive.vectorized.execution.enabled": "false"}


@pytest.mark.smoke("cow-8-mr-settings0")
@pytest.mark.parametrize(
    ("engine", "settings"), [(MR, {}), (TEZ, {}), long(MR, AS_ROWS), long(TEZ, AS_ROWS)]
)
def test_every_engine_reads_the_changes(
    hive: Hive, spark: SparkSession, history: History, engine: str, settings: dict[str, str]
) -> None:
    read = {**consume(history, "inserted", "added"), **settings}
    query = f"SELECT {IN_HIVE} FROM {history.name} WHERE id < 105"
    answer = hive.query(query, engine, settings=read)
    assert answer.rows == changes(spark, history, "inserted", "added", "id < 105")
    ends = f"SELECT count(*), min(v), max(name) FROM {history.name}"
    rows = changes(spark, history, "inserted", "added")
    least, greatest = min(row[1] for row in rows), max(row[2] for row in rows)
    assert hive.query(ends, engine, settings=read).rows == [(len(rows), least, greatest)]


def test_files_of_other_commits_are_not_read(hive: Hive, history: History) -> None:
    query = f"SELECT id FROM {history.name}"
    everything = hive.query(query).scan.files_considered
    scan = hive.query(query, settings=consume(history, "deleted", "added")).scan
    assert 0 < scan.files_considered < everything
    start, end = history.completed["deleted"], history.completed["added"]
    assert scan.states == (f"changes after {start} to {end}, commits: 1",)


def test_files_are_pruned_by_their_values(hive: Hive, cow: History) -> None:
    query = f"SELECT id FROM {cow.name} WHERE id = 20"
    answer = hive.query_both_ways(query, settings=consume(cow, None, "inserted"))
    assert (answer.rows, answer.files) == ([(20,)], (FILES_AT_FIRST, 1))


def test_at_most_so_many_commits_are_read(hive: Hive, spark: SparkSession, cow: History) -> None:
    query = f"SELECT {IN_HIVE} FROM {cow.name}"
    names = list(cow.instants)
    for most in (1, 3):
        settings = consume(cow, "inserted", None, max_commits=str(most))
        expected = changes(spark, cow, "inserted", names[most])
        assert hive.query(query, settings=settings).rows == expected
    everything = consume(cow, "inserted", None, max_commits="-1")
    assert hive.query(query, settings=everything).rows == changes(spark, cow, "inserted", None)


@pytest.mark.parametrize("engine", [TEZ, long(MR)])
def test_a_table_can_be_defined_as_the_changes_of_another(
    hive: Hive, spark: SparkSession, cow: History, engine: str
) -> None:
    name = f"{cow.name}_since_{engine}"
    properties = {
        f"hoodie.{name}.consume.mode": "incremental",
        f"hoodie.{name}.consume.start.timestamp": cow.completed["deleted"],
    }
    hive.run(create_with_handler(name, cow.table.path, properties))
    expected = changes(spark, cow, "deleted", None)
    assert hive.query(f"SELECT {IN_HIVE} FROM {name}", engine).rows == expected
    join = f"SELECT a.id, b.v FROM {cow.name} a JOIN {name} b ON a.id = b.id"
    if engine == MR:
        with pytest.raises(QueryError, match="one MapReduce job cannot read several states"):
            hive.query(join, MR, settings={"hive.auto.convert.join": "false"})
    else:
        rows = sorted(((row[0], row[1]) for row in expected), key=repr)
        assert hive.query(join, engine).rows == rows


def test_explain_names_the_range(hive: Hive, cow: History) -> None:
    settings = consume(cow, "deleted", None) | {"hive.explain.user": "false"}
    query = f"EXPLAIN SELECT id FROM {cow.name} WHERE id < 110"
    plan = "\n".join(row[0] for row in hive.query(query, TEZ, settings=settings).rows)
    assert f"changes after {cow.completed['deleted']}, " in plan


WRONG: Mapping[str, tuple[dict[str, str], str]] = {
    "no start": ({"start.timestamp": ""}, "consume.start.timestamp is not set"),
    "malformed start": ({"start.timestamp": "earliest"}, "neither an instant of its timeline"),
    "malformed number": ({"max.commits": "all"}, "consume.max.commits is 'all', not a number"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_malformed_settings_are_errors(hive: Hive, cow: History, wrong: str) -> None:
    changed, reason = WRONG[wrong]
    prefix = f"hoodie.{cow.name}.consume."
    settings = consume(cow, None, None) | {prefix + key: text for key, text in changed.items()}
    with pytest.raises(QueryError, match=reason):
        hive.query(f"SELECT id FROM {cow.name}", settings=settings)
