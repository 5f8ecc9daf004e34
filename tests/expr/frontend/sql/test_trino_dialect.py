"""Where Trino's and Presto's SQL differs from Hive's."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.sql.parser import PRESTO, SPARK, TRINO, SqlDialect, parse_predicate
from pyhudi_expr.expr.nodes import (
    And,
    Call,
    Case,
    Cast,
    CharType,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Matches,
    Not,
    Op,
    StartsWith,
    walk,
)
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from tests.expr.frontend.sql.test_dialects import (
    NULL,
    ONE,
    OPERATORS,
    PRESTOS,
    READ,
    SECOND,
    A,
    is_unknown,
    literal,
    may_be_in_a_file_of,
)
from tests.expr.statistics import RowStatistics


@PRESTOS
@pytest.mark.parametrize(
    ("text", "value"),
    [("'it''s'", "it's"), (r"'back\slash'", r"back\slash"), (r"'\u0041'", r"\u0041")],
)
def test_prestos_strings_have_no_escapes(dialect: SqlDialect, text: str, value: str) -> None:
    assert literal(text, dialect) == Literal(value, pa.string())
    assert parse_predicate('"a b" = 1', dialect).left == Column(("a b",))


@PRESTOS
@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("1.50", Decimal("1.50"), pa.decimal128(3, 2)),
        ("1e0", 1.0, pa.float64()),
        ("DECIMAL '1.50'", Decimal("1.50"), pa.decimal128(38, 2)),
        ("DOUBLE '0.1'", 0.1, pa.float64()),
        ("REAL '0.5'", 0.5, pa.float32()),
        ("BIGINT '5'", 5, pa.int64()),
        ("VARCHAR 'x'", "x", pa.string()),
        ("CAST('x' AS char(3))", "x", CharType(3, padded=True)),
        ("X'00fF'", b"\x00\xff", pa.binary()),
    ],
)
def test_presto_constants_have_their_types(
    dialect: SqlDialect, text: str, value: Any, type_: Any
) -> None:
    assert literal(text, dialect) == Literal(value, type_)


@PRESTOS
def test_times_are_compared_as_they_are_read(dialect: SqlDialect) -> None:
    second, read = Literal(1, pa.timestamp("s")), READ[dialect.name]
    found = parse_predicate("a = TIMESTAMP '1970-01-01 00:00:01'", dialect)
    assert found == Comparison(Op.EQ, read, second)
    found = parse_predicate("a IN (TIMESTAMP '1970-01-01 00:00:01')", dialect)
    assert found == In(read, (second,))
    assert parse_predicate("year(a) = 1", dialect).left == Call("year", (read,))
    assert parse_predicate("a < b", dialect).left == read  # either may be a time
    assert parse_predicate("a < 1", dialect).left == A  # no time is comparable with a number
    compared = parse_predicate("nullif(a, TIMESTAMP '1970-01-01 00:00:01') IS NULL", dialect)
    assert compared == IsNull(Call("nullif", (read, second)))
    shifted = parse_predicate("a + INTERVAL '1' DAY > b", dialect).left
    added = parse_predicate("date_add('day', 1, a) > b", dialect).left
    assert shifted.args == added.args
    assert shifted.args[0] == read


@PRESTOS
def test_times_beside_one_with_a_zone_may_be_in_any_zone(dialect: SqlDialect) -> None:
    for constant in ("01:00:01 +01:00", "00:00:01 UTC"):
        predicate = parse_predicate(f"a = TIMESTAMP '1970-01-01 {constant}'", dialect)
        hours = [-60, -14, 0, 14, 60]
        found = [may_be_in_a_file_of(predicate, hour * 3600 * SECOND) for hour in hours]
        assert found == [False, True, True, True, False]


@PRESTOS
@given(
    stored=st.integers(-5000, 5000),
    literal_micros=st.integers(-5000, 5000),
    operator=st.sampled_from(sorted(OPERATORS)),
)
@example(stored=-999, literal_micros=499, operator="=")
def test_no_time_read_with_three_digits_is_lost(
    dialect: SqlDialect, stored: int, literal_micros: int, operator: str
) -> None:
    literal_text = f"1970-01-01 00:00:{(SECOND + literal_micros) / 1e6:09.6f}"
    predicate = parse_predicate(f"a {operator} TIMESTAMP '{literal_text}'", dialect)
    for read, constant in (
        ((stored + 500) // 1000 * 1000, literal_micros),  # Trino
        (stored // 1000 * 1000, literal_micros // 1000 * 1000),  # Presto
        (math.trunc(stored / 1000) * 1000, literal_micros // 1000 * 1000),  # Presto, before 1970
    ):
        if OPERATORS[operator](read, constant):
            assert may_be_in_a_file_of(predicate, SECOND + stored)


def test_presto_reads_wall_clocks_as_instants() -> None:
    """Unless `legacy_timestamp` is off: then a request has the zone UTC."""
    noon, eleven = 45_000 * SECOND, 41_400 * SECOND  # at half past
    predicate = parse_predicate("hour(a) = 12", PRESTO)
    for zone, kept in (("UTC", noon), ("Europe/Paris", eleven)):
        kept_times = [may_be_in_a_file_of(predicate, time, zone) for time in (noon, eleven)]
        assert kept_times == [kept == noon, kept == eleven]
    assert may_be_in_a_file_of(predicate, 0, None)


def test_prestos_days_have_24_hours() -> None:
    """Additions of intervals, not of date_add: clocks are put forward in between."""
    day = 86_400 * SECOND
    stored = 18_349 * day + day // 2  # 2020-03-28, 13:00 in Paris
    for text, hour in (("a + INTERVAL '1' DAY", 14), ("date_add('day', 1, a)", 13)):
        predicate = parse_predicate(f"{text} = TIMESTAMP '2020-03-29 {hour}:00:00'", PRESTO)
        assert may_be_in_a_file_of(predicate, stored, "Europe/Paris")


def test_presto_finds_false_for_nan_below_not() -> None:
    """Presto evaluates the opposite: NaN < 1 is FALSE, and so is NOT (NaN < 1)."""
    scope = Scope(pa.schema([("a", pa.float64())]))
    evidence = [StatisticsEvidence(RowStatistics([[{"a": 5.0}], [{"a": math.nan}]]))]
    for text in ("NOT (a < 1e0)", "a NOT BETWEEN 0e0 AND 1e0"):
        bound = bind(parse_predicate(text, PRESTO), scope)
        assert as_array(may_be(bound, False, evidence), 2).tolist() == [False, True]
        assert as_array(may_be(bound, True, evidence), 2).all()


def test_presto_finds_null_between_an_end_and_null() -> None:
    bound = bind(
        parse_predicate("(a BETWEEN b AND c) IS NULL", PRESTO),
        Scope(pa.schema([(name, pa.int32()) for name in "abc"])),
    )
    rows = [[{"a": 1, "b": 2, "c": None}], [{"a": 1, "b": 2, "c": 3}]]
    evidence = [StatisticsEvidence(RowStatistics(rows))]
    assert as_array(may_be(bound, True, evidence), 2).tolist() == [True, False]


def test_presto_counts_letters_of_two_utf_16_units_differently() -> None:
    assert is_unknown(parse_predicate("a LIKE '😀%'", PRESTO))
    assert not is_unknown(parse_predicate("a LIKE '😀%'", TRINO))


def test_the_date_of_a_day_that_the_zone_skips() -> None:
    for zone, kept in (("UTC", False), ("Pacific/Apia", True)):
        bound = bind(
            parse_predicate("date(a) = DATE '2011-12-31'", PRESTO),
            Scope(pa.schema([("a", pa.date32())]), here(zone)),
        )
        evidence = StatisticsEvidence(
            RowStatistics([[{"a": date(2011, 12, 30).toordinal() - 719_163}]])
        )
        assert bool(as_array(may_be(bound, True, [evidence]), 1)[0]) is kept


@PRESTOS
@pytest.mark.parametrize(
    "text",
    [
        "a / 2 = 1",  # an integer for integers
        "CAST(a AS integer) = 1",  # rounds
        "CAST(a AS varchar) = '1'",  # formats times with zeros
        "CAST(a AS timestamp(0)) = b",
        "a = CAST('1970-01-01 00:00:00.6' AS timestamp(0))",
        "floor(a) = 1",
        "round(a) = 1",
        "trim(a) = 'x'",
        "substr(a, 0, 3) = 'x'",  # empty; Hive takes the first three characters
        "date_trunc(a, 'month') = b",
        "a = 0x1F",
        "regexp_like(a, 'x')",
        "a AT TIME ZONE 'UTC' = b",
        "contains(a, 1)",
        "try(a = 1)",
        "a = U&'\\0041'",
        # The calendar is that of the constant's own zone; the session's zone is that of a.
        "CAST(a AS timestamp with time zone) = b",
        "day(TIMESTAMP '2019-12-31 23:59:59 -08:00') = a",
        "date_trunc('day', coalesce(TIMESTAMP '2019-12-31 23:59:59 -08:00', a)) = b",
        "CAST(TIMESTAMP '2019-12-31 23:59:59 -08:00' AS date) = a",
        "TIMESTAMP '2019-12-31 23:59:59 -08:00' + INTERVAL '1' MONTH = a",
    ],
)
def test_functions_that_presto_computes_differently_are_unsupported(
    dialect: SqlDialect, text: str
) -> None:
    assert is_unknown(parse_predicate(text, dialect))


@PRESTOS
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("starts_with(a, 'x')", StartsWith(A, "x")),
        ("NOT starts_with(a, 'x')", Not(StartsWith(A, "x"))),
        ("coalesce(a, 1) = 1", Comparison(Op.EQ, Call("coalesce", (A, ONE)), ONE)),
        ("mod(a, 1) = 1", Comparison(Op.EQ, Call("%", (A, ONE)), ONE)),
        ("a IS NOT DISTINCT FROM NULL", Comparison(Op.NULL_SAFE_EQ, A, NULL)),
        ("a IS NULL", IsNull(A)),
    ],
)
def test_presto_functions_are_converted(
    dialect: SqlDialect, text: str, expected: HudiExpression
) -> None:
    assert parse_predicate(text, dialect) == expected


@PRESTOS
def test_other_syntax_of_presto(dialect: SqlDialect) -> None:
    same = parse_predicate("year(a) = 1", dialect)
    assert parse_predicate("EXTRACT(YEAR FROM a) = 1", dialect) == same
    doy = parse_predicate("day_of_year(a) = 1", dialect)
    assert parse_predicate("EXTRACT(DOY FROM a) = 1", dialect) == doy
    assert doy == parse_predicate("doy(a) = 1", dialect)
    begin = parse_predicate("substr(a, 1, 2) = 'x'", dialect)
    assert parse_predicate("SUBSTRING(a FROM 1 FOR 2) = 'x'", dialect) == begin
    chosen = parse_predicate("if(a = 1, b) = 1", dialect).left
    assert isinstance(chosen, Case)
    nan = parse_predicate("is_nan(a)", dialect)
    assert isinstance(nan, Comparison)
    assert nan.op is Op.EQ  # NULL of NULL, where Spark's is FALSE
    assert isinstance(parse_predicate("date(a) = 1", dialect).left, Cast)


def test_like_in_presto() -> None:
    """In Presto ``$`` also matches the end of a line, and ``'' LIKE '%%'`` is FALSE."""
    assert parse_predicate("a LIKE 'x%%'", TRINO) == StartsWith(A, "x")
    for text, rest in (("a LIKE 'x_z'", ("x", None, "z")), ("a LIKE '_'", (None,))):
        found = parse_predicate(text, PRESTO)
        assert Matches(A, rest, False) in walk(found)
        assert Matches(A, rest, True) not in walk(found)
    assert is_unknown(parse_predicate("a NOT LIKE '%%'", PRESTO))
    assert StartsWith(A, "x") in walk(parse_predicate("a LIKE 'x%%'", PRESTO))


@pytest.mark.parametrize(
    ("text", "is_supported"),
    [
        ("EXTRACT(HOUR FROM a) = 1", False),
        ("EXTRACT(YEAR FROM a) = 1", True),
        ("hour(a) = 1", True),
        ("CASE a WHEN b THEN 1 END = 1", True),
        ("CASE a WHEN 1 THEN 1 WHEN -2 THEN 2 END = 1", True),
        ("CASE a WHEN 'x' THEN 1 WHEN 'y' THEN 2 END = 1", True),
        ("CASE a WHEN DATE '2020-01-01' THEN 1 WHEN DATE '2020-01-02' THEN 2 END = 1", True),
        ("CASE a WHEN 1 THEN 1 WHEN 1.5 THEN 2 END = 1", False),
        ("CASE a WHEN 1 THEN 1 WHEN b THEN 2 END = 1", False),
        ("CASE a WHEN 1.5 THEN 1 WHEN 10.25 THEN 2 END = 1", False),
        ("CASE WHEN a = 1 THEN 1 WHEN a = b THEN 2 END = 1", True),
    ],
)
def test_expressions_that_presto_confuses_are_unsupported(text: str, is_supported: bool) -> None:
    assert is_unknown(parse_predicate(text, PRESTO)) is not is_supported
    assert not is_unknown(parse_predicate(text, TRINO))


def test_a_backslash_is_an_ordinary_character_in_prestos_patterns() -> None:
    assert parse_predicate(r"a LIKE 'x\_y%'", SPARK) == StartsWith(A, "x_y")
    found = parse_predicate(r"a LIKE 'x\_y%'", TRINO)
    assert isinstance(found, And)
    assert found.children[0] == StartsWith(A, "x\\")
    assert parse_predicate(r"a LIKE 'x\%'", TRINO) == StartsWith(A, "x\\")
    assert Matches(A, ("x", None, "y"), True) in walk(parse_predicate("a LIKE 'x_y'", TRINO))
