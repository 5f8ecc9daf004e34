"""SQL predicates: the meaning of each construct in Hive's dialect."""

import math
from decimal import Decimal

import pyarrow as pa
import pytest

from pyhudi_expr.expr.frontend.sql.parser import SPARK, PredicateSyntaxError, parse_predicate
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Case,
    Cast,
    CharType,
    Column,
    Comparison,
    Constant,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
    Truth,
    Unknown,
)

A, B = Column(("a",)), Column(("b",))
ONE, TWO = Literal(1, pa.int32()), Literal(2, pa.int32())
B_IS_TRUE = Comparison(Op.EQ, B, Literal(True, pa.bool_()))


def eq(value: object, type_: pa.DataType) -> Comparison:
    return Comparison(Op.EQ, A, Literal(value, type_))


@pytest.mark.parametrize(
    ("operator", "op"),
    [
        ("=", Op.EQ),
        ("==", Op.EQ),
        ("<=>", Op.NULL_SAFE_EQ),
        ("IS NOT DISTINCT FROM", Op.NULL_SAFE_EQ),
        ("<>", Op.NE),
        ("!=", Op.NE),
        ("<", Op.LT),
        ("<=", Op.LTEQ),
        (">", Op.GT),
        (">=", Op.GTEQ),
    ],
)
def test_operators_may_stand_either_way_round(operator, op):
    assert parse_predicate(f"a {operator} 1", SPARK) == Comparison(op, A, ONE)
    assert parse_predicate(f"1 {operator} a", SPARK) == Comparison(op, ONE, A)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a IN (1, 2, NULL)", In(A, (ONE, TWO, Literal(None, pa.null())))),
        ("a NOT IN (1)", Not(In(A, (ONE,)))),
        ("a BETWEEN 1 AND 2", Between(A, ONE, TWO)),
        ("a NOT BETWEEN 1 AND 2", Not(Between(A, ONE, TWO))),
        ("a IS NULL", IsNull(A)),
        ("a IS NOT NULL", Not(IsNull(A))),
        ("(a > 1) IS NULL", IsNull(Comparison(Op.GT, A, ONE))),
        ("(a IN (1)) IS NOT NULL", Not(IsNull(In(A, (ONE,))))),
        ("a IS DISTINCT FROM 1", Not(Comparison(Op.NULL_SAFE_EQ, A, ONE))),
        ("b IS TRUE", Comparison(Op.NULL_SAFE_EQ, B, Literal(True, pa.bool_()))),
        ("b IS NOT FALSE", Not(Comparison(Op.NULL_SAFE_EQ, B, Literal(False, pa.bool_())))),
        ("b", B_IS_TRUE),
        ("NOT b", Not(B_IS_TRUE)),
        ("! b", Not(B_IS_TRUE)),
        ("true", Constant(Truth.YES)),
        ("false", Constant(Truth.NO)),
        ("null", Constant(Truth.NULL)),
        ("(b AND (b)) AND b", And((B_IS_TRUE, B_IS_TRUE, B_IS_TRUE))),
        ("b OR b AND b", Or((B_IS_TRUE, And((B_IS_TRUE, B_IS_TRUE))))),
        ("NOT (b OR b)", Not(Or((B_IS_TRUE, B_IS_TRUE)))),
        ("a.b.c = 1", Comparison(Op.EQ, Column(("a", "b", "c")), ONE)),
        ("a.b.c.d.e.f = 1", Comparison(Op.EQ, Column(tuple("abcdef")), ONE)),
        ("`a b`.`C` = 1", Comparison(Op.EQ, Column(("a b", "C")), ONE)),
        ("date = 1 -- a comment", Comparison(Op.EQ, Column(("date",)), ONE)),
    ],
)
def test_connectives_nest_as_written(text, expected):
    assert parse_predicate(text, SPARK) == expected


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("1", 1, pa.int32()),
        ("-1", -1, pa.int32()),
        ("3000000000", 3_000_000_000, pa.int64()),
        ("1Y", 1, pa.int8()),
        ("1S", 1, pa.int16()),
        ("1L", 1, pa.int64()),
        ("99999999999999999999", Decimal("99999999999999999999"), pa.decimal128(20, 0)),
        ("1.50", Decimal("1.50"), pa.decimal128(3, 2)),
        ("-.5", Decimal("-0.5"), pa.decimal128(1, 1)),
        ("0.1234567890123456789", Decimal("0.1234567890123456789"), pa.decimal128(19, 19)),
        ("1.5BD", Decimal("1.5"), pa.decimal128(2, 1)),
        ("1.5e3", 1500.0, pa.float64()),
        ("1D", 1.0, pa.float64()),
        ("true", True, pa.bool_()),
        ("null", None, pa.null()),
        ("X'00fF'", b"\x00\xff", pa.binary()),
        ("DATE '2020-02-29'", 18321, pa.date32()),
        ("DATE '1969-12-31'", -1, pa.date32()),
        ("TIMESTAMP '1970-01-01 00:00:01'", 1, pa.timestamp("s")),
        ("TIMESTAMP '1970-01-01 00:00:01.5'", 1_500_000, pa.timestamp("us")),
        ("TIMESTAMP '1969-12-31 23:59:59.999999999'", -1, pa.timestamp("ns")),
        ("TIMESTAMP '9999-12-31 23:59:59.9'", 253402300799900000, pa.timestamp("us")),
    ],
)
def test_literals_are_typed_and_exact(text, value, type_):
    assert parse_predicate(f"a = {text}") == eq(value, type_)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'plain'", "plain"),
        ('"double"', "double"),
        ("''", ""),
        (r"'it\'s'", "it's"),
        ("'it''s'", "its"),  # Hive joins adjacent strings
        ("'a' 'b'", "ab"),
        (r"'\t\n\r\b\0\Z'", "\t\n\r\b\0\x1a"),
        (r"'\\'", "\\"),
        (r"'\101\u00e9'", "Aé"),
        (r"'\ud83d\ude00'", "😀"),
        (r"'\x\q'", "xq"),
        (r"'\%\_'", r"\%\_"),
        ("'naïve 😀'", "naïve 😀"),
        ("'-- no /* comment */'", "-- no /* comment */"),
    ],
)
def test_strings_follow_hives_escapes(text, value):
    assert parse_predicate(f"a = {text}") == eq(value, pa.string())


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("CAST('2020-01-01' AS DATE)", 18262, pa.date32()),
        ("CAST('1970-01-02' AS TIMESTAMP)", 86400, pa.timestamp("s")),
        ("CAST(DATE '1970-01-02' AS TIMESTAMP)", 86400, pa.timestamp("s")),
        ("CAST(TIMESTAMP '1970-01-02 00:00:00' AS DATE)", 1, pa.date32()),
        ("CAST(5 AS BIGINT)", 5, pa.int64()),
        ("CAST('5' AS TINYINT)", 5, pa.int8()),
        ("CAST(5.00 AS INT)", 5, pa.int32()),
        ("CAST('1.25' AS DECIMAL(10,2))", Decimal("1.25"), pa.decimal128(10, 2)),
        ("CAST(0.1 AS DOUBLE)", 0.1, pa.float64()),
        ("CAST(0.1 AS FLOAT)", 0.10000000149011612, pa.float32()),
        ("CAST('-Infinity' AS DOUBLE)", -math.inf, pa.float64()),
        ("CAST('ab' AS CHAR(2))", "ab", CharType(2, padded=True)),
        ("CAST('ab' AS VARCHAR(3))", "ab", CharType(3, padded=False)),
        ("CAST('é' AS BINARY)", "é".encode(), pa.binary()),
        ("CAST(7 AS STRING)", "7", pa.string()),
        ("CAST(NULL AS INT)", None, pa.int32()),
    ],
)
def test_casts_of_literals_are_folded_where_they_are_exact(text, value, type_):
    assert parse_predicate(f"a = {text}") == eq(value, type_)


def test_nan_is_written_as_a_cast():
    found = parse_predicate("a = CAST('NaN' AS DOUBLE)")
    assert math.isnan(found.right.value)


@pytest.mark.parametrize(
    "text",
    [
        "CAST(300 AS TINYINT)",
        "CAST(1.5 AS INT)",
        "CAST('x' AS INT)",
        "CAST('2020-02-30' AS DATE)",
        "CAST('2020-1-1' AS DATE)",
        "CAST(1.255 AS DECIMAL(10,2))",
        "CAST(16777217 AS FLOAT)",
        "CAST('abc' AS VARCHAR(2))",
        "CAST(TIMESTAMP '1970-01-02 00:00:01' AS DATE)",
        "CAST('2020-01-01 00:00:00' AS TIMESTAMP WITH LOCAL TIME ZONE)",
        "DATE 'garbage'",
    ],
)
def test_casts_that_round_or_fail_stay_casts(text):
    found = parse_predicate(f"a = {text}")
    assert isinstance(found.right, Cast)


def test_casts_and_functions_of_columns_keep_their_names_and_types():
    assert parse_predicate("CAST(a AS varchar(5)) = 1").left == Cast(A, CharType(5, padded=False))
    assert parse_predicate("CAST(a AS DECIMAL(10, 2)) = 1").left == Cast(A, pa.decimal128(10, 2))
    assert parse_predicate("Year(a) = 1").left == Call("year", (A,))
    assert parse_predicate("substr(a, 1) = 1").left == Call("substr", (A, ONE))
    assert parse_predicate("a + 1 = 2").left == Call("+", (A, ONE))
    assert parse_predicate("1 - a = 2").left == Call("-", (ONE, A))


@pytest.mark.parametrize(
    "text",
    [
        "a RLIKE 'x'",
        "a LIKE 'x' ESCAPE '!'",
        "a NOT LIKE ANY ('x', 'y')",
        "a IN (SELECT 1)",
        "(a, b) IN ((1, 2, 3))",
        "EXISTS (SELECT 1)",
        "a[0] = 1",
        "a & 1 = 1",
        "a > INTERVAL 1 DAY",
        "a BETWEEN SYMMETRIC 2 AND 1",
        "current_user() > a",
        "CAST(a AS map<string,int>) = 1",
        "a = 1" + "0" * 80,
        "a = .1.5",
    ],
)
def test_unsupported_sql_is_unknown_with_a_reason(text):
    found = parse_predicate(text)
    assert isinstance(found, Unknown)
    assert found.reason


def test_choices_keep_their_conditions():
    is_one, null = Comparison(Op.EQ, A, ONE), Literal(None, pa.null())
    found = parse_predicate("CASE WHEN a = 1 THEN b WHEN a > 1 THEN 1 END = 1").left
    assert found == Case(((is_one, B), (Comparison(Op.GT, A, ONE), ONE)), null)
    assert parse_predicate("CASE a WHEN 1 THEN b ELSE 1 END = 1").left == Case(((is_one, B),), ONE)
    assert parse_predicate("if(a = 1, b, 1) = 1").left == Case(((is_one, B),), ONE)
    truth = parse_predicate("if(a = 1, true, false)")
    assert truth.right == Literal(True, pa.bool_())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a + INTERVAL 1 DAY", (0, 1, 0)),
        ("a - INTERVAL '2' MONTHS", (-2, 0, 0)),
        ("INTERVAL -1 YEAR + a", (-12, 0, 0)),
        ("a + (INTERVAL '1.5' SECOND)", (0, 0, 1_500_000)),
        ("a - INTERVAL '-3' HOURS", (0, 0, 3 * 3_600_000_000)),
    ],
)
def test_intervals_become_units_of_time(text: str, parts: tuple[int, int, int]) -> None:
    amounts = tuple(Literal(part, pa.int64()) for part in parts)
    assert parse_predicate(f"{text} = 1").left == Call("plus interval", (A, *amounts))


@pytest.mark.parametrize(
    "interval",
    ["'1-2' YEAR TO MONTH", "'1 02:03:04' DAY TO SECOND", "'0.5' DAY", "'x' DAY", "a DAY"],
)
def test_unsupported_intervals(interval: str) -> None:
    assert isinstance(parse_predicate(f"a + INTERVAL {interval} = 1"), Unknown)


def test_functions_that_are_predicates():
    assert parse_predicate("isnull(a)") == IsNull(A)
    assert parse_predicate("isnotnull(a)") == Not(IsNull(A))
    assert parse_predicate("isnan(a)").op is Op.NULL_SAFE_EQ
    assert parse_predicate("startswith(a, 'x')") == StartsWith(A, "x")


def test_rows_are_compared_field_by_field():
    found = parse_predicate("(a, b) = (1, 1)", SPARK)
    both = [Comparison(Op.EQ, A, ONE), Comparison(Op.EQ, B, ONE)]
    assert list(found.children[:2]) == both
    assert isinstance(found.children[2], Unknown)  # engines differ if a field is NULL
    assert parse_predicate("(a, b) IN ((1, 1))", SPARK) == found


def test_only_the_unsupported_part_of_sql_is_unknown():
    found = parse_predicate("a = 1 AND a RLIKE 'x' AND a NOT RLIKE 'y'")
    assert found.children[0] == Comparison(Op.EQ, A, ONE)
    assert isinstance(found.children[1], Unknown)
    assert isinstance(found.children[2].child, Unknown)


def test_like_and_not_like():
    assert parse_predicate("a LIKE 'x%'") == StartsWith(A, "x")
    assert parse_predicate("a NOT LIKE 'x%'") == Not(StartsWith(A, "x"))
    assert parse_predicate(r"a LIKE 'x\_%'", SPARK) == StartsWith(A, "x_")
    assert parse_predicate("a LIKE NULL") == Constant(Truth.NULL)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("   ", 1, 1),
        ("a = 1 AND", 1, 7),
        ("a = \n  )", 2, 3),
        ("a = 1 b", 1, 7),
        ("a = 'open", 1, 5),
        ("b AND\n a = `x", 2, 6),
        ("SELECT 1", 1, 8),
        ("a = 1; b", 1, 1),
        ("a(", 1, 2),
    ],
)
def test_syntax_errors_have_a_position(text, line, column):
    with pytest.raises(PredicateSyntaxError) as error:
        parse_predicate(text)
    assert (error.value.line, error.value.column) == (line, column)
    assert f"line {line}, column {column}: " in str(error.value)
    assert "sqlglot" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "b" + ")" * 10_000,
        "(" * 10_000,
        "NOT " * 10_000 + "b",
        "a" + " + 1" * 10_000 + " > 1",
        "a" + ".b" * 10_000,
        "CASE WHEN " * 10_000,
        "f(" * 10_000,
        "a = " * 10_000 + "1",
        "- " * 10_000 + "a = 1",
        "cast(" * 10_000,
        "b AND (b OR " * 10_000,
    ],
    ids=lambda text: text[:12],
)
def test_deep_input_is_a_clear_error(text):
    with pytest.raises(PredicateSyntaxError, match="nested too deeply"):
        parse_predicate(text)


@pytest.mark.slow
def test_long_input_is_fine_up_to_a_limit():
    assert len(parse_predicate(" OR ".join(["a = 1"] * 10_000)).children) == 10_000
    with pytest.raises(PredicateSyntaxError, match="longer than"):
        parse_predicate("a = '" + "x" * (1 << 20) + "'")


def test_what_is_not_supported_is_named_as_it_was_written() -> None:
    assert parse_predicate("city ILIKE 'osl%'") == Unknown("not supported: ILIKE")
