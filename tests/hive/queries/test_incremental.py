"""Changes of tables: the rows of Hudi's Spark incremental reader with the same bounds."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from pyhudi_expr.hive.session import QueryError
from tests.hive.history_tables import (
    FIXTURE_CASES,
    Histories,
    History,
    case_id,
    spark_rows,
)
from tests.hive.query_results import FETCH, MR, TEZ, Hive, Rows

pytestmark = [pytest.mark.spark, pytest.mark.hive]

COLUMNS = "id, v, name, p, _hoodie_commit_time"
IN_HIVE = COLUMNS.replace("_hoodie_commit_time", "`_hoodie_commit_time`")
WHERE = ("TRUE", "id BETWEEN 18 AND 33", "v > 900", "p = 'p1' AND name LIKE 'updated%'")
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
    for start, end in RANGES:
        settings = consume(history, start, end)
        for where in WHERE:
            query = f"SELECT {IN_HIVE} FROM {history.name} WHERE {where}"
            answer = hive.query_both_ways(query, FETCH, settings)
            assert answer.rows == changes(spark, history, start, end, where), (start, end, where)
            found.append(len(answer.rows))
    assert len(set(found)) > len(RANGES)


@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.parametrize("engine", [MR, TEZ])
def test_every_engine_reads_the_changes(
    hive: Hive, spark: SparkSession, history: History, engine: str, vectorized: str
) -> None:
    batches = {"hive.vectorized.execution.enabled": vectorized}
    for start, end in ((None, "deleted"), ("deleted", None)):
        settings = {**consume(history, start, end), **batches}
        query = f"SELECT {IN_HIVE} FROM {history.name} WHERE id < 105"
        answer = hive.query_both_ways(query, engine, settings)
        assert answer.rows == changes(spark, history, start, end, "id < 105")
        counted = hive.query(
            f"SELECT count(*), min(v), max(name) FROM {history.name}", engine, settings=settings
        )
        rows = changes(spark, history, start, end)
        assert counted.rows == [
            (len(rows), min(row[1] for row in rows), max(row[2] for row in rows))
        ]


def test_files_of_other_commits_and_other_values_are_not_read(hive: Hive, history: History) -> None:
    name = history.name
    everything = hive.query(f"SELECT id FROM {name}").scan.files_considered
    last = hive.query(f"SELECT id FROM {name}", settings=consume(history, "deleted", "added"))
    assert 0 < last.scan.files_considered < everything
    assert last.scan.states == (
        f"changes after {history.completed['deleted']} to {history.completed['added']}, commits: 1",
    )
    first = consume(history, None, "inserted")
    pruned = hive.query(f"SELECT id FROM {name} WHERE id = 20", settings=first)
    assert (pruned.rows, pruned.scan.files_kept) == ([(20,)], 1)
    assert pruned.scan.files_considered > 1


def test_at_most_so_many_commits_are_read(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    query = f"SELECT {IN_HIVE} FROM {history.name}"
    names = list(history.instants)
    for most in (1, 3):
        settings = consume(history, "inserted", None, max_commits=str(most))
        expected = changes(spark, history, "inserted", names[most])
        assert hive.query(query, settings=settings).rows == expected
    everything = consume(history, "inserted", None, max_commits="-1")
    assert hive.query(query, settings=everything).rows == changes(spark, history, "inserted", None)


def test_a_table_can_be_defined_as_the_changes_of_another(
    hive: Hive, spark: SparkSession, history: History
) -> None:
    name = f"{history.name}_since"
    properties = {
        f"hoodie.{name}.consume.mode": "incremental",
        f"hoodie.{name}.consume.start.timestamp": history.completed["deleted"],
    }
    hive.run(create_with_handler(name, history.table.path, properties))
    expected = changes(spark, history, "deleted", None)
    for engine in (FETCH, MR, TEZ):
        assert hive.query(f"SELECT {IN_HIVE} FROM {name}", engine).rows == expected
    join = "SELECT a.id, b.v FROM {} a JOIN {} b ON a.id = b.id"
    rows = sorted(((row[0], row[1]) for row in expected), key=repr)
    for engine in (MR, TEZ):
        assert hive.query_both_ways(join.format(history.name, name), engine).rows == rows
    shuffle = {"hive.auto.convert.join": "false"}
    with pytest.raises(QueryError, match="one MapReduce job cannot read several states"):
        hive.query(join.format(history.name, name), MR, settings=shuffle)


def test_explain_names_the_range(hive: Hive, history: History) -> None:
    settings = consume(history, "deleted", None) | {"hive.explain.user": "false"}
    query = f"EXPLAIN SELECT id FROM {history.name} WHERE id < 110"
    plan = "\n".join(row[0] for row in hive.query(query, TEZ, settings=settings).rows)
    assert f"changes after {history.completed['deleted']}, " in plan


WRONG: Mapping[str, tuple[dict[str, str], str]] = {
    "no start": ({"start.timestamp": ""}, "consume.start.timestamp is not set"),
    "malformed start": ({"start.timestamp": "earliest"}, "neither an instant of its timeline"),
    "malformed number": ({"max.commits": "all"}, "consume.max.commits is 'all', not a number"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_malformed_settings_are_errors(hive: Hive, history: History, wrong: str) -> None:
    changed, reason = WRONG[wrong]
    prefix = f"hoodie.{history.name}.consume."
    settings = consume(history, None, None) | {prefix + key: text for key, text in changed.items()}
    for engine in (FETCH, TEZ):
        with pytest.raises(QueryError, match=reason):
            hive.query(f"SELECT id FROM {history.name}", engine, settings=settings)
