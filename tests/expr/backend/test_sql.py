"""Predicates as SQL: parsed again they are the same, and DuckDB finds the same rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import sqlglot

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.backend.arrow import InexpressibleInArrowError, to_arrow
from pyhudi_expr.expr.backend.sql import Dialect, InexpressibleInSqlError, to_sql
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.nodes import Column, Comparison, In, Literal, Not, Op, StartsWith, Unknown
from tests.index.prune.predicates import ALL, ONLY_SPARK

A = Column(("a",))
INSTANT = pa.timestamp("us", "UTC")


def is_fully_supported(text: str) -> bool:
    """Whether no part of it is only partially supported."""
    return not any(isinstance(one, e.Matches | Unknown) for one in e.walk(parse_predicate(text)))


@pytest.mark.parametrize("text", [*filter(is_fully_supported, (*ALL, *ONLY_SPARK))])
def test_hives_sql_survives_a_round_trip(text: str) -> None:
    predicate = parse_predicate(text, SPARK)
    written = to_sql(predicate, Dialect.HIVE)
    again = parse_predicate(written, SPARK)
    # A prefix with LIKE's special characters is written with instr().
    assert again == predicate or to_sql(again, Dialect.HIVE) == written


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("text", ["it's", "back\\slash", 'a "b" `c`', "tab\tnewline\n", "é😀", ""])
def test_texts_are_quoted_by_each_dialects_rules(dialect: Dialect, text: str) -> None:
    printed = to_sql(Comparison(Op.EQ, A, Literal(text, pa.string())), dialect)
    (literal,) = sqlglot.parse_one(printed, dialect=dialect.value).find_all(sqlglot.exp.Literal)
    assert literal.this == text


@pytest.mark.parametrize(
    ("predicate", "dialect", "expected"),
    [
        (
            Comparison(Op.NULL_SAFE_EQ, A, Literal(None, pa.null())),
            "trino",
            "{} IS NOT DISTINCT FROM NULL",
        ),
        (Comparison(Op.EQ, A, Literal(1.5, pa.float64())), "presto", "{} = CAST('1.5' AS DOUBLE)"),
        (Comparison(Op.EQ, A, Literal(0, pa.date32())), "trino", "{} = CAST('1970-01-01' AS DATE)"),
        (Comparison(Op.EQ, A, Literal(b"\x00", pa.binary())), "trino", "{} = x'00'"),
        (Comparison(Op.EQ, A, Literal(2**40, pa.int64())), "trino", "{} = 1099511627776"),
        (Comparison(Op.EQ, A, Literal(1, pa.int64())), "spark", "{} = CAST('1' AS BIGINT)"),
        (
            Comparison(Op.LT, A, Literal(-1, pa.timestamp("ns"))),
            "spark",
            "{} < CAST('1969-12-31 23:59:59.999999999' AS TIMESTAMP_NTZ)",
        ),
        (
            Comparison(Op.LT, A, Literal(1_500_000, INSTANT)),
            "trino",
            "{} < CAST('1970-01-01 00:00:01.5 UTC' AS TIMESTAMP WITH TIME ZONE)",
        ),
        (StartsWith(A, "ab"), "trino", "{} LIKE 'ab%'"),
        (StartsWith(A, "50%"), "trino", "{} LIKE '50!%%' ESCAPE '!'"),
        (Not(In(A, (Literal(1, pa.int32()),))), "duckdb", "NOT ({} IN (1))"),
        (In(A, ()), "trino", "FALSE"),
    ],
)
def test_each_dialect_has_its_syntax(predicate: Any, dialect: str, expected: str) -> None:
    quoted = "`a`" if dialect in ("hive", "spark") else '"a"'
    assert to_sql(predicate, Dialect(dialect)) == expected.format(quoted)


@pytest.mark.parametrize(
    ("predicate", "dialect"),
    [
        (Unknown("x"), Dialect.HIVE),
        (e.Matches(A, ("a", None), True), Dialect.SPARK),
        (e.Constant(e.Truth.YES_NO), Dialect.HIVE),
        (parse_predicate("year(a) = 1"), Dialect.TRINO),
        (parse_predicate("CAST(a AS int) = 1"), Dialect.DUCKDB),
        (parse_predicate("a / 2 = 1"), Dialect.TRINO),
        (Comparison(Op.EQ, A, Literal(10**12, pa.date32())), Dialect.HIVE),
        (Comparison(Op.EQ, A, Literal(1, pa.time64("us"))), Dialect.HIVE),
    ],
)
def test_predicates_that_a_dialect_cannot_express(predicate: Any, dialect: Dialect) -> None:
    with pytest.raises(InexpressibleInSqlError):
        to_sql(predicate, dialect)


TABLE = pa.table(
    {
        "i": pa.array([1, 2, None, -5, 7], pa.int32()),
        "l": pa.array([2**40, None, 0, 1, 2], pa.int64()),
        "d": pa.array([0.5, -0.0, None, 1e300, 7.0], pa.float64()),
        "s": pa.array(["it's", "é😀", None, "", "abc"]),
        "b": pa.array([True, False, None, True, False]),
        "m": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal(0), Decimal(7)]),
        "day": pa.array([0, 19727, None, -1, 5], pa.int32()).cast(pa.date32()),
        "t": pa.array([0, 1, None, -1, 10**15], pa.int64()).cast(pa.timestamp("us")),
    }
)
QUESTIONS = [
    *("i = 1", "i <> 1", "i < 7 AND l > 0", "i IS NULL OR s = ''", "NOT (i > 1)", "i <=> NULL"),
    *("i IN (1, 7)", "i NOT IN (1, NULL)", "i IN (1, NULL)", "i BETWEEN -5 AND 2", "i + 1 = 3"),
    *("l = 1099511627776", "d >= 0.5", "d < 1e300", "s LIKE 'a%'", "s NOT LIKE 'it%'", "s > 'b'"),
    *("b", "NOT b", "b IS NULL", "m > 1.25", "m = -2.25", "day > DATE '1970-01-03'"),
    *("t < TIMESTAMP '1970-01-01 00:00:00'", "t = TIMESTAMP '1970-01-01 00:00:00.000001'"),
    *("CASE WHEN i > 1 THEN l ELSE 0 END = 2", "CASE WHEN i > 1 THEN l ELSE 0 END = 0"),
    *("coalesce(i, 0) = 0", "(i > 1) IS NULL"),
    *("NOT ((i > 1) AND (l > 0 OR s IS NOT NULL))", "true", "false", "null", "i = NULL"),
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_arrow_and_duckdb_find_the_same_rows(text: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    predicate = parse_predicate(text)
    sql = f"SELECT * FROM rows WHERE {to_sql(predicate, Dialect.DUCKDB)}"
    with duckdb.connect() as connection:
        connection.register("rows", TABLE)
        by_sql = connection.sql(sql).to_arrow_table()
    by_arrow = TABLE.filter(to_arrow(predicate))
    assert by_sql.to_pylist() == by_arrow.to_pylist()


def test_arrow_supports_struct_fields() -> None:
    table = pa.table({"st": pa.array([{"a": 1}, {"a": 2}, None])})
    predicate = Comparison(Op.GT, Column(("st", "a")), Literal(1, pa.int32()))
    assert table.filter(to_arrow(predicate)).to_pylist() == [{"st": {"a": 2}}]


def test_arrow_supports_null_safe_equality() -> None:
    table = pa.table({"a": pa.array([1, None]), "b": pa.array([None, None], pa.int64())})
    same = Comparison(Op.NULL_SAFE_EQ, A, Column(("b",)))
    assert table.filter(to_arrow(same)).num_rows == 1
    assert table.filter(to_arrow(Not(same))).num_rows == 1


@pytest.mark.parametrize("text", ["sha2(a, 256) = 'x'", "CAST(a AS int) = 1", "a RLIKE '(?i)a'"])
def test_predicates_that_arrow_cannot_express(text: str) -> None:
    with pytest.raises(InexpressibleInArrowError):
        to_arrow(parse_predicate(text))


def test_arrow_expressions_survive_a_round_trip() -> None:
    from pyhudi_expr.expr.frontend.arrow.expressions import parse_arrow

    predicate = parse_predicate("(i > 3 AND s = 'x') OR d < 1e300")
    schema = pa.schema([("i", pa.int32()), ("s", pa.string()), ("d", pa.float64())])
    expression: pc.Expression = to_arrow(predicate)
    assert parse_arrow(expression, schema) == predicate
