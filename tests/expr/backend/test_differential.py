"""Random predicates as SQL, evaluated by an engine: no file with a match is excluded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from pyhudi_expr.expr.backend.index_filter import index_filter
from pyhudi_expr.expr.backend.sql import Dialect, InexpressibleInSqlError, to_sql
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from tests.example_counts import examples
from tests.expr.backend.random_trees import (
    FILES,
    ROWS,
    SCHEMA,
    SPARKS_FUNCTIONS,
    RandomPredicates,
    row,
    table,
)
from tests.expr.statistics import RowStatistics
from tests.marks import long

#: Predicates for DuckDB, one query each; `make fuzz` runs other and more ones.
CASES = examples(300)
SEED = 11 if settings().derandomize else None
AT_ONCE = 60


def stored(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


@lru_cache(maxsize=1)
def evidence() -> StatisticsEvidence:
    return StatisticsEvidence(
        RowStatistics(
            [
                [{name: stored(v) for name, v in row(file, r).items()} for r in range(ROWS)]
                for file in range(FILES)
            ]
        )
    )


def may_hold(predicate: HudiExpression, truth: bool) -> set[int]:
    """The files that may hold a row for which the predicate has this truth value."""
    bound = bind(predicate, Scope(SCHEMA, here("UTC")))
    mask = as_array(may_be(bound, truth, [evidence()]), FILES)
    return {file for file in range(FILES) if mask[file]}


def expressible_predicates(
    dialect: Dialect, functions: Mapping[str, Any]
) -> Iterator[tuple[HudiExpression, str]]:
    """An endless sequence of random predicates that the dialect can express."""
    source = RandomPredicates(Random(SEED), functions)
    while True:
        predicate = source.predicate()
        try:
            yield predicate, to_sql(predicate, dialect)
        except InexpressibleInSqlError:
            continue


def assert_no_match_is_excluded(
    predicate: HudiExpression, sql: str, found: Mapping[bool, set[int]]
) -> int:
    """Fails if a file with such a row is excluded; returns the number of excluded files."""
    for truth, files in found.items():
        lost = files - may_hold(predicate, truth)
        assert not lost, f"{sql} is {truth} in files {sorted(lost)}: {predicate}"
    return FILES - len(may_hold(predicate, True))


def index_table() -> str:
    """SQL for the index table of `rows`: as in Hudi, zeros for NaN. File 0 has no statistics."""
    columns = ["file", "count(*) AS valueCount"]
    for field in SCHEMA:
        name, nothing = field.name, "WHEN file = 0 THEN NULL"
        if pa.types.is_floating(field.type):
            nothing += f" WHEN bool_or(isnan({name})) THEN 0"
        columns += (
            f"CASE {case} ELSE {otherwise} END AS {name}_{called}"
            for case, otherwise, called in (
                (nothing, f"min({name})", "minValue"),
                (nothing, f"max({name})", "maxValue"),
                ("WHEN file = 0 THEN NULL", f"count(*) - count({name})", "nullCount"),
            )
        )
    return f"SELECT {', '.join(columns)} FROM rows GROUP BY file"


def of_index(predicate: HudiExpression, dialect: Dialect) -> str:
    """The predicate as a condition on the index table."""
    return to_sql(index_filter(predicate, SCHEMA), dialect)


def test_duckdb_finds_no_row_in_an_excluded_file() -> None:
    duckdb = pytest.importorskip("duckdb")
    excluded, excluded_by_sql = 0, 0
    source = expressible_predicates(Dialect.DUCKDB, {})
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("arrow_rows", table())
        connection.execute("CREATE TABLE rows AS SELECT * FROM arrow_rows")
        connection.execute(f"CREATE TABLE statistics AS {index_table()}")
        for _ in range(CASES):
            predicate, sql = next(source)
            try:
                rows = connection.sql(f"SELECT DISTINCT file, ({sql}) FROM rows").fetchall()
            except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.BinderException):
                continue  # types that only other engines compare, and sums that overflow
            found = {
                truth: {file for file, value in rows if value is truth} for truth in (True, False)
            }
            excluded += assert_no_match_is_excluded(predicate, sql, found)
            condition = of_index(predicate, Dialect.DUCKDB)
            matching_files = connection.sql(
                f"SELECT file FROM statistics WHERE {condition}"
            ).fetchall()
            assert found[True] <= {file for (file,) in matching_files}, f"{sql}: {condition}"
            excluded_by_sql += FILES - len(matching_files)
    assert excluded > CASES * FILES / 10
    assert excluded_by_sql > excluded / 2


@pytest.mark.smoke
@pytest.mark.spark
@pytest.mark.parametrize("cases", [AT_ONCE, long(10 * AT_ONCE)])
def test_spark_finds_no_row_in_an_excluded_file(spark: SparkSession, cases: int) -> None:
    source = expressible_predicates(Dialect.SPARK, SPARKS_FUNCTIONS)
    predicates = [next(source) for _ in range(cases)]
    frame = spark.createDataFrame(table().to_pylist(), _spark_schema()).coalesce(1).cache()
    frame.createOrReplaceTempView("rows")
    index = spark.sql(index_table()).cache()
    excluded = 0
    for at in range(0, cases, AT_ONCE):
        some = predicates[at : at + AT_ONCE]
        columns = [f.expr(sql).alias(f"p{n}") for n, (_, sql) in enumerate(some)]
        answers = frame.select("file", *columns).collect()
        conditions = [of_index(predicate, Dialect.SPARK) for predicate, _ in some]
        matching_files = index.select(
            "file", *(f.expr(sql).alias(f"p{n}") for n, sql in enumerate(conditions))
        ).collect()
        for n, (predicate, sql) in enumerate(some):
            found = {
                truth: {answer[0] for answer in answers if answer[n + 1] is truth}
                for truth in (True, False)
            }
            excluded += assert_no_match_is_excluded(predicate, sql, found)
            assert_no_match_is_excluded(parse_predicate(sql, SPARK), sql, found)
            by_index = {answer[0] for answer in matching_files if answer[n + 1]}
            assert found[True] <= by_index, f"{sql}: {conditions[n]}"
    index.unpersist()
    frame.unpersist()
    assert excluded > cases * FILES / 10


def _spark_schema() -> str:
    return (
        "i int, l bigint, n int, d double, f float, m decimal(9,2), s string, b boolean, day date,"
        " t timestamp_ntz, file bigint"
    )
