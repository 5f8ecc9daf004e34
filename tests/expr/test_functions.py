"""Functions of a column: their bounds follow from those of the column."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Cast,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Term,
    Unknown,
)
from tests.expr.kept_files import X, Y, eq, kept, less, lit
from tests.expr.statistics import NOTHING, RecordedStatistics

TINY, INT, LONG, DOUBLE = pa.int8(), pa.int32(), pa.int64(), pa.float64()


def plus(left: Term, right: Term) -> Call:
    return Call("+", (left, right))


def minus(left: Term, right: Term) -> Call:
    return Call("-", (left, right))


def days(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - date(1970, 1, 1)).days


ONE = lit(1, INT)


@pytest.mark.parametrize(
    ("predicate", "type_", "files", "expected"),
    [
        (eq(plus(X, ONE), lit(6, INT)), INT, [[4], [5], [6]], [1]),
        (eq(plus(ONE, X), lit(6, INT)), INT, [[4], [5], [6]], [1]),
        (eq(minus(X, ONE), lit(4, INT)), INT, [[4], [5], [6]], [1]),
        (eq(minus(ONE, X), lit(-4, INT)), INT, [[4], [5], [6]], [1]),
        (Not(eq(plus(X, ONE), lit(6, INT))), INT, [[4], [5], [6]], [0, 2]),
        (less(plus(plus(X, ONE), ONE), lit(7, INT)), INT, [[4], [5], [6]], [0]),
        (IsNull(plus(X, ONE)), INT, [[4], [None]], [1]),
        (eq(plus(X, lit(300, INT)), lit(310, INT)), TINY, [[10], [11]], [0, 1]),
        # overflow wraps in one engine, is null or an error in others
        (eq(plus(X, lit(1, TINY)), lit(-128, INT)), TINY, [[127], [126]], [0]),
        (eq(plus(X, ONE), lit(-(2**31), INT)), INT, [[2**31 - 1], [5]], [0]),
        (IsNull(plus(X, ONE)), INT, [[2**31 - 1], [5]], [0]),
        (less(minus(X, lit(-(2**63), LONG)), lit(0, LONG)), LONG, [[1], [-1]], [0, 1]),
        (eq(plus(X, lit(1.0, DOUBLE)), lit(6.0, DOUBLE)), INT, [[4], [5]], [1]),
        (eq(plus(X, lit(None, INT)), lit(6, INT)), INT, [[4], [5]], [0, 1]),
        (eq(Call("*", (X, ONE)), lit(5, INT)), INT, [[4], [5]], [1]),
    ],
)
def test_addition_of_a_constant(
    predicate: HudiExpression, type_: pa.DataType, files: list[list[Any]], expected: list[int]
) -> None:
    assert kept(predicate, type_, *files) == expected


def test_nested_additions_wrap_at_the_width_of_the_inner_one() -> None:
    hundred = lit(100, TINY)
    predicate = less(plus(plus(X, hundred), hundred), lit(0, TINY))
    assert kept(predicate, TINY, [10]) == [0]  # 10 + 100 fits, 110 + 100 is -46


@pytest.mark.parametrize(
    ("target", "literal", "type_", "files", "expected"),
    [
        (LONG, lit(5, LONG), INT, [[4], [5]], [1]),
        (TINY, lit(5, TINY), INT, [[4], [5]], [1]),
        (TINY, lit(5, TINY), INT, [[261], [4]], [0]),  # 261 wraps to 5
        (TINY, lit(500, INT), INT, [[500], [4]], [0]),  # Hive's vectors do not truncate it
        (DOUBLE, lit(5.5, DOUBLE), INT, [[5], [6], [5, 6]], [2]),
        (DOUBLE, lit(2.0**53, DOUBLE), LONG, [[2**53 + 1], [2**53 + 2]], [0]),
        (DOUBLE, lit(0.5, DOUBLE), pa.float32(), [[0.25], [0.5]], [1]),
        (pa.decimal128(10, 2), lit(Decimal("5.00"), pa.decimal128(3, 2)), INT, [[4], [5]], [1]),
        (pa.timestamp("us"), lit(86_400_000_000, pa.timestamp("us")), pa.date32(), [[0], [1]], [1]),
        (pa.timestamp("ns"), lit(2_932_896, pa.date32()), pa.date32(), [[0], [2_932_896]], [1]),
        (INT, lit(5, INT), pa.string(), [["4"], ["5"], ["4", "6"], ["04"], ["4.0"]], [1, 2, 3, 4]),
        (pa.string(), lit("5", pa.string()), INT, [[4], [5], [4, 50]], [1, 2]),
        (INT, lit(4, INT), DOUBLE, [[3.9], [4.5], [math.nan]], [1, 2]),
        (pa.float32(), lit(5.0, pa.float32()), INT, [[4], [5]], [1]),
        (pa.float32(), lit(2.0**24, pa.float32()), INT, [[2**24 + 1], [2**24 + 2]], [0]),
    ],
)  # fmt: skip
def test_casts_keep_the_files_that_may_match(
    target: pa.DataType,
    literal: Literal,
    type_: pa.DataType,
    files: list[list[Any]],
    expected: list[int],
) -> None:
    assert kept(eq(Cast(X, target), literal), type_, *files, zone="UTC") == expected


def test_integers_without_statistics_compared_as_wide_decimals() -> None:
    sum_ = plus(X, lit(-(2**63), LONG))
    predicate = eq(Cast(sum_, pa.decimal128(21, 2)), lit(Decimal("1.00"), pa.decimal128(21, 2)))
    assert kept(predicate, TINY, [1], [2], absent=frozenset("x")) == [0, 1]


@pytest.mark.parametrize(
    ("condition", "is_null", "is_not_null"),
    [
        (less(X, ONE), [1, 2], [0, 1]),
        (Not(less(X, ONE)), [1, 2], [0, 1]),
        (Comparison(Op.NULL_SAFE_EQ, X, ONE), [], [0, 1, 2]),
        (In(X, (ONE, lit(9, INT))), [1, 2], [0, 1]),
        (Between(X, ONE, lit(9, INT)), [1, 2], [0, 1]),
        # FALSE if one end is known, though the other one is NULL; not in Hive
        (Between(ONE, X, X), [1, 2], [0, 1, 2]),
        (And((less(X, ONE), less(X, lit(9, INT)))), [1, 2], [0, 1]),
        (less(X, lit(None, INT)), [0, 1, 2], []),
        # NULL for reasons other than its operands: unknown
        (In(X, (ONE, lit(None, INT))), [0, 1, 2], [0, 1, 2]),
        (Unknown("something"), [0, 1, 2], [0, 1, 2]),
        (less(Column(("none",)), ONE), [0, 1, 2], [0, 1, 2]),
    ],
)
def test_a_condition_is_null_where_its_operands_are(
    condition: HudiExpression, is_null: list[int], is_not_null: list[int]
) -> None:
    files = ([1, 5], [1, None], [None, None])
    assert kept(IsNull(condition), INT, *files) == is_null
    assert kept(Not(IsNull(condition)), INT, *files) == is_not_null


def test_a_sum_that_overflows_makes_a_condition_null() -> None:
    assert kept(IsNull(less(plus(X, ONE), ONE)), INT, [5], [2**31 - 1]) == [1]


HOUR = 3_600 * 10**6


@pytest.mark.parametrize(
    ("interval", "kept_files"),
    [
        ((0, 0, HOUR), [1]),  # 2021-06-01 12:00 UTC from 11:00
        ((0, 1, 0), [0]),  # from 05-31 12:00
        ((0, 0, -HOUR), [2]),
        ((1, 0, 0), [3]),  # months, by whole days
        ((1, 1, 0), [0, 1, 2, 3]),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_intervals_are_added_to_timestamps(
    interval: tuple[int, int, int], kept_files: list[int], zone: str
) -> None:
    noon = 1_622_548_800 * 10**6  # 2021-06-01 12:00 UTC
    starts = [noon - 24 * HOUR, noon - HOUR, noon + HOUR, noon - 31 * 24 * HOUR]
    amounts = (lit(part, LONG) for part in interval)
    later = Call("plus interval", (X, *amounts))
    predicate = eq(later, lit(noon, pa.timestamp("us", "UTC")))
    files = [[start] for start in starts]
    assert kept(predicate, pa.timestamp("us", "UTC"), *files, zone=zone) == kept_files


def test_a_cast_that_may_overflow_may_be_null() -> None:
    assert kept(IsNull(Cast(X, TINY)), INT, [5], [500], [None]) == [1, 2]
    assert kept(IsNull(Cast(X, LONG)), INT, [5], [None]) == [1]
    assert kept(IsNull(Cast(X, pa.decimal128(2, 0))), INT, [5], [99], [100]) == [2]


def test_the_year_of_a_date() -> None:
    year, files = (
        Call("year", (X,)),
        [[days(2019, 12, 31)], [days(2020, 1, 1)], [days(2020, 12, 31)]],
    )
    assert kept(eq(year, lit(2020, INT)), pa.date32(), *files) == [1, 2]
    assert kept(less(year, lit(2020, INT)), pa.date32(), *files) == [0]
    old = [days(1500, 1, 5)]
    assert kept(eq(year, lit(1499, INT)), pa.date32(), old) == [
        0
    ]  # may be relabelled by the Julian calendar
    assert kept(eq(Call("year", (X,)), lit(1970, INT)), pa.timestamp("us"), [0]) == [0]


def test_a_cast_to_date_is_compared_with_a_timestamp_column() -> None:
    types = {"x": pa.date32(), "y": pa.timestamp("us")}
    files = [[(1, 86_400_000_000)], [(1, 86_400_000_001)]]
    cast = eq(Cast(X, pa.timestamp("us")), Y)
    assert kept(cast, types, *files, zone="UTC") == [0]
    # Elsewhere a day may begin after midnight.
    assert kept(cast, types, *files) == [0, 1]


@pytest.mark.parametrize(
    ("term", "type_", "literal", "value"),
    [
        (plus(X, ONE), INT, lit(-100, INT), 5),
        (minus(ONE, X), INT, lit(-100, INT), 5),
        (Cast(X, pa.timestamp("us")), pa.date32(), lit(-(10**6), pa.date32()), 5),
        (Cast(X, pa.decimal128(10, 2)), INT, lit(-100, INT), 5),
        (Cast(X, pa.decimal128(10, 2)), LONG, lit(-100, INT), 5),
        (Cast(X, DOUBLE), LONG, lit(-100, INT), 5),
        (Call("year", (X,)), pa.date32(), lit(-5, INT), 5),
        (Call("year", (X,)), pa.date32(), lit(3000, INT), 5),
    ],
)
@pytest.mark.parametrize(
    "given", [NOTHING, RecordedStatistics(minimum=False), RecordedStatistics(maximum=False)]
)
def test_the_function_of_an_unknown_bound_is_unknown(
    term: Term, type_: pa.DataType, literal: Literal, value: int, given: RecordedStatistics
) -> None:
    for predicate, unknown_side in (
        (less(term, literal), "minimum"),
        (less(literal, term), "maximum"),
    ):
        if not getattr(given, unknown_side):
            assert kept(predicate, type_, [value], given={("x", 0): given}) == [0]


def test_substring_of_a_bound_truncated_within_a_character() -> None:
    beginning = Call("substr", (X, lit(1, INT), lit(2, INT)))
    loose = {("x", 0): RecordedStatistics(loose=True)}
    text = lit("0\x80", pa.string())
    assert kept(eq(beginning, text), pa.string(), ["0\x80"], given=loose) == [0]


def test_substring_counts_characters_or_utf_16_units() -> None:
    beginning = Call("substr", (X, lit(1, INT), lit(2, INT)))
    text = lit("\U000100000", pa.string())
    for predicate in (eq(beginning, text), Not(eq(beginning, text))):
        assert kept(predicate, pa.string(), ["\U000100000"]) == [0]
