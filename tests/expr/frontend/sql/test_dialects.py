"""Where Spark's, Trino's and Presto's SQL differs from Hive's."""

from __future__ import annotations

import operator as of_python
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.sql.parser import (
    DIALECTS,
    HIVE,
    PRESTO,
    SPARK,
    TRINO,
    PredicateSyntaxError,
    SqlDialect,
    parse_predicate,
)
from pyhudi_expr.expr.nodes import (
    TO_MILLISECOND_INSTANTS,
    TO_MILLISECONDS,
    And,
    Call,
    Column,
    Comparison,
    HudiExpression,
    Literal,
    Not,
    Op,
    StartsWith,
    Unknown,
    walk,
)
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from tests.expr.statistics import RowStatistics

A, B = Column(("a",)), Column(("b",))
ONE, NULL = Literal(1, pa.int32()), Literal(None, pa.null())
READ = {
    "trino": Call(TO_MILLISECONDS, (A,)),
    "presto": Call(TO_MILLISECOND_INSTANTS, (A,)),
}
EACH = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
PRESTOS = pytest.mark.parametrize("dialect", [TRINO, PRESTO], ids=["trino", "presto"])

SECOND = 1_000_000
OPERATORS = {
    **{"=": of_python.eq, "<": of_python.lt, ">": of_python.gt},
    **{"<=": of_python.le, ">=": of_python.ge, "<>": of_python.ne},
}


def may_be_in_a_file_of(predicate: HudiExpression, micros: int, zone: str | None = "UTC") -> bool:
    bound = bind(predicate, Scope(pa.schema([("a", pa.timestamp("us"))]), here(zone)))
    evidence = StatisticsEvidence(RowStatistics([[{"a": micros}]]))
    return bool(as_array(may_be(bound, True, [evidence]), 1)[0])


def literal(text: str, dialect: SqlDialect) -> Any:
    found = parse_predicate(f"a = {text}", dialect)
    return found.right if isinstance(found, Comparison) else found


def is_unknown(predicate: HudiExpression) -> bool:
    return any(isinstance(node, Unknown) for node in walk(predicate))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'it\'s'", "it's"),
        ("'a' 'b'", "ab"),
        (r"'\U0001F600\u00e9\101'", "😀éA"),
        (r"'\%\_'", r"\%\_"),
        (r"r'\n'", r"\n"),
        ('"double"', "double"),
    ],
)
def test_spark_strings_are_unescaped(text: str, value: str) -> None:
    assert literal(text, SPARK) == Literal(value, pa.string())


def test_sql_that_spark_3_and_4_read_differently_is_unsupported() -> None:
    assert is_unknown(parse_predicate("a = 'it''s' AND b = 1", SPARK))
    assert not is_unknown(parse_predicate("a = 'it' 's' AND b = 1", SPARK))


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("1.5F", 1.5, pa.float32()),
        ("1.5BD", Decimal("1.5"), pa.decimal128(2, 1)),
        ("1L", 1, pa.int64()),
        ("CAST('ab' AS varchar(1))", "ab", pa.string()),  # casts to varchar do not truncate
        ("TIMESTAMP '1970-01-01 00:00:01'", 1, pa.timestamp("s")),
        ("TIMESTAMP_NTZ '1970-01-01 00:00:01'", 1, pa.timestamp("s")),
        ("TIMESTAMP '1970-01-01 01:00:01+01:00'", 1, pa.timestamp("s", "UTC")),
        ("TIMESTAMP '1970-01-01T00:00:00.000001Z'", 1, pa.timestamp("us", "UTC")),
    ],
)
def test_spark_constants_have_their_types(text: str, value: Any, type_: pa.DataType) -> None:
    assert literal(text, SPARK) == Literal(value, type_)


@PRESTOS
def test_a_cast_of_a_time_reaches_every_year(dialect: SqlDialect) -> None:
    text = "CAST(a AS timestamp) < TIMESTAMP '0105-12-18 00:00:00'"
    assert may_be_in_a_file_of(parse_predicate(text, dialect), -62_135_596_799 * SECOND)


@EACH
def test_sums_of_float32_are_float32(dialect: SqlDialect) -> None:
    """0.1 + 0.1 + 6449891 is 6449891 in an engine that computes with 24 bits."""
    schema = pa.schema([("f", pa.float32()), ("i", pa.int32())])
    bound = bind(parse_predicate("(f + f) + i = 6449891", dialect), Scope(schema))
    evidence = [StatisticsEvidence(RowStatistics([[{"f": 0.10000000149011612, "i": 6_449_891}]]))]
    assert as_array(may_be(bound, True, evidence), 1).all()


@PRESTOS
def test_zeros_among_options_may_have_a_sign(dialect: SqlDialect) -> None:
    bound = bind(
        parse_predicate("a IN (REAL '-0', -5)", dialect), Scope(pa.schema([("a", pa.int32())]))
    )
    evidence = [StatisticsEvidence(RowStatistics([[{"a": 0}]]))]
    assert as_array(may_be(bound, False, evidence), 1).all()


@PRESTOS
def test_rows_with_a_null_may_be_neither_equal_nor_not(dialect: SqlDialect) -> None:
    bound = bind(
        parse_predicate("((a, b) IN ((1, 12), (7, 1))) IS NULL", dialect),
        Scope(pa.schema([("a", pa.int32()), ("b", pa.int32())])),
    )
    evidence = [StatisticsEvidence(RowStatistics([[{"a": 86_400, "b": None}]]))]
    assert as_array(may_be(bound, True, evidence), 1).all()


def test_a_constant_that_hive_converts_to_null_equals_a_null_of_a_row() -> None:
    """-400 is no tinyint: Hive compares NULL with NULL, and finds the rows equal."""
    schema = pa.schema([("a", pa.int8()), ("b", pa.int32())])
    bound = bind(parse_predicate("(a, b) IN ((-400, 1))", HIVE), Scope(schema))
    rows = [[{"a": None, "b": 1}], [{"a": None, "b": 2}], [{"a": 3, "b": 1}]]
    evidence = [StatisticsEvidence(RowStatistics(rows))]
    assert as_array(may_be(bound, True, evidence), 3).tolist() == [True, False, False]


@PRESTOS
def test_a_cast_without_effect_stays_a_column(dialect: SqlDialect) -> None:
    schema = pa.schema([("a", pa.date32()), ("b", pa.date32()), ("n", pa.int32())])
    for text, plain in (
        ("a = DATE '1970-01-05'", "a = DATE '1970-01-05'"),
        ("a < b", "a < b"),
        ("CAST(n AS double) > 1e0", "CAST(n AS double) > 1e0"),
    ):
        bound = bind(parse_predicate(text, dialect), Scope(schema))
        assert bound == bind(parse_predicate(plain, HIVE), Scope(schema))


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("arguments", ["a PLACING 'x' FROM 1", "a PLACING 'x' FROM 1 FOR 2"])
def test_overlay_is_unsupported(dialect: SqlDialect, arguments: str) -> None:
    assert is_unknown(parse_predicate(f"overlay({arguments}) = 'x'", dialect))


@EACH
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a LIKE 'x%'", StartsWith(A, "x")),
        ("a NOT LIKE 'x%'", Not(StartsWith(A, "x"))),
    ],
)
def test_like_has_each_dialects_escapes(
    dialect: SqlDialect, text: str, expected: HudiExpression
) -> None:
    assert parse_predicate(text, dialect) == expected


@pytest.mark.parametrize("dialect", [SPARK, TRINO], ids=["spark", "trino"])
def test_escapes_of_like(dialect: SqlDialect) -> None:
    def pattern(text: str) -> HudiExpression:
        return parse_predicate(f"a LIKE {text}", dialect)

    assert pattern("'x!%!_!!%' ESCAPE '!'") == StartsWith(A, "x%_!")
    assert pattern("'x!%' ESCAPE '!'") == And(
        (Comparison(Op.EQ, A, Literal("x%", pa.string())), StartsWith(A, "x%"))
    )
    begin = pattern("'x!%y_z%' ESCAPE '!'")
    assert isinstance(begin, And)
    assert begin.children[0] == StartsWith(A, "x%y")
    negated = parse_predicate("a NOT LIKE 'x!%%' ESCAPE '!'", dialect)
    assert negated == Not(StartsWith(A, "x%"))
    for wrong in ("'x!y%' ESCAPE '!'", "'x!' ESCAPE '!'", "'x%!y' ESCAPE '!'", "'x%' ESCAPE '!!'"):
        assert is_unknown(pattern(wrong))
        assert not any(isinstance(node, StartsWith) for node in walk(pattern(wrong)))


@EACH
@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("", 1, 1), ("a = 1 AND", 1, 7), ("a = \n  )", 2, 3), ("a = 'open", 1, 5), ("a = 1; b", 1, 1)],
)
def test_errors_have_a_position(dialect: SqlDialect, text: str, line: int, column: int) -> None:
    with pytest.raises(PredicateSyntaxError) as error:
        parse_predicate(text, dialect)
    assert (error.value.line, error.value.column) == (line, column)


@EACH
@pytest.mark.parametrize("text", ["(" * 9999 + "b", "NOT " * 9999 + "b", "a" + " + 1" * 9999])
def test_deep_and_long_texts_are_refused(dialect: SqlDialect, text: str) -> None:
    with pytest.raises(PredicateSyntaxError, match="nested too deeply"):
        parse_predicate(text, dialect)
    with pytest.raises(PredicateSyntaxError, match="longer than"):
        parse_predicate("a = '" + "x" * (1 << 20) + "'", dialect)
