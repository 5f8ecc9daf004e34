"""Literals of another type than the column: the readings of all engines are kept."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.expr.frontend.sql.parser import HIVE, SPARK, SqlDialect, parse_predicate
from pyhudi_expr.expr.nodes import (
    Between,
    CharType,
    Column,
    Comparison,
    Literal,
    Not,
    Op,
)
from tests.expr.kept_files import X, among, compared, eq, kept, less, lit

INT, LONG, FLOAT, DOUBLE = pa.int32(), pa.int64(), pa.float32(), pa.float64()
SMALL, WIDE = pa.decimal128(10, 2), pa.decimal128(38, 10)
TENTHS = pa.decimal128(1, 1)
BIG = 2**53
BEGINNING_TWICE = ([0, 1], [0, 1, 2], [0, 1], [0, 1, 2])


@pytest.mark.parametrize(
    ("type_", "files", "literal", "expected"),
    [
        # exact in every engine
        (INT, [[4], [5], [6]], lit(5.0, DOUBLE), ([1], [0, 2], [0], [1, 2])),
        (INT, [[4], [5], [6]], lit(5.5, DOUBLE), ([], [0, 1, 2], [0, 1], [1, 2])),
        (INT, [[4], [5], [6]], lit(Decimal("5.5"), SMALL), ([], [0, 1, 2], [0, 1], [1, 2])),
        (INT, [[-6], [-5]], lit(-5.5, DOUBLE), ([], [0, 1], [0], [0, 1])),
        (SMALL, [[Decimal("4.99")], [Decimal(5)]], lit(5, INT), ([1], [0], [0], [1])),
        (WIDE, [[Decimal("4.99")], [Decimal(5)]], lit(5, INT), ([1], [0], [0], [1])),
        (
            SMALL,
            [[Decimal("1.23")], [Decimal("1.24")]],
            lit(Decimal("1.234"), pa.decimal128(4, 3)),
            ([], [0, 1], [0], [0, 1]),
        ),
        (DOUBLE, [[4.5], [5.0]], lit(5, LONG), ([1], [0], [0], [1])),
        (DOUBLE, [[0.0], [0.5]], lit(Decimal("0.5"), SMALL), ([1], [0], [0], [1])),
        # as doubles, integers above 2**53 equal their neighbours
        (LONG, [[BIG], [BIG + 1], [BIG + 9]], lit(2.0**53, DOUBLE), BEGINNING_TWICE),
        (LONG, [[2**24], [2**24 + 1], [2**25]], lit(2.0**24, FLOAT), BEGINNING_TWICE),
        # 0.1 has one nearest decimal, double and float, all different numbers
        (DOUBLE, [[0.1], [0.2]], lit(Decimal("0.1"), TENTHS), ([0], [0, 1], [0], [0, 1])),
        (SMALL, [[Decimal("0.1")], [Decimal("0.2")]], lit(0.1, DOUBLE), ([0], [0, 1], [0], [0, 1])),
        (FLOAT, [[float(np.float32(0.1))], [0.25]], lit(0.1, DOUBLE), ([0], [0, 1], [], [0, 1])),
        (DOUBLE, [[float(np.float32(0.1))], [0.25]], lit(0.1, FLOAT), ([0], [0, 1], [], [0, 1])),
        # outside the column's range
        (pa.int8(), [[-128, 127], [None]], lit(128, INT), ([], [0, 1], [0, 1], [])),
        (pa.int8(), [[-128, 127], [None]], lit(-129, INT), ([], [0, 1], [], [0, 1])),
        (INT, [[1]], lit(2.0**70, DOUBLE), ([], [0], [0], [])),
        (SMALL, [[Decimal(1)]], lit(Decimal(10) ** 20, pa.decimal128(21, 0)), ([], [0], [0], [])),
        (INT, [[1]], lit(math.inf, DOUBLE), ([], [0], [0], [])),
        (INT, [[1]], lit(-math.inf, DOUBLE), ([], [0], [], [0])),
        (LONG, [[2**63 - 1]], lit(2.0**63, DOUBLE), ([0], [0], [0], [0])),  # rounds up to it
        (DOUBLE, [[1.0], [math.inf]], lit(math.inf, DOUBLE), ([1], [0], [0], [1])),
        # engines disagree about their order
        (INT, [[1]], lit(math.nan, DOUBLE), ([0], [0], [0], [0])),
        (INT, [[1], [5]], lit("5", pa.string()), ([1], [0], [0], [1])),
        (INT, [[1]], lit("05", pa.string()), ([0], [0], [0], [0])),
        (pa.string(), [["1"]], lit(5, INT), ([], [0], [0], [])),
        (pa.string(), [["1x"]], lit(5, INT), ([0], [0], [0], [0])),
        (pa.string(), [["1"]], lit(b"5", pa.binary()), ([0], [0], [0], [0])),
        (pa.bool_(), [[True]], lit(0, INT), ([0], [0], [0], [0])),
        (pa.date32(), [[1]], lit(5, INT), ([0], [0], [0], [0])),
    ],
)  # fmt: skip
def test_number_literals_compared_with_columns_of_other_types(
    type_: pa.DataType, files: list[list[Any]], literal: Literal, expected: tuple[list[int], ...]
) -> None:
    assert compared(type_, files, literal) == expected


def test_an_in_list_may_start_with_a_literal_outside_the_range() -> None:
    above, below = lit(128, INT), lit(-129, INT)
    assert kept(less(above, X), pa.int8(), [-128, 127]) == []
    assert kept(less(below, X), pa.int8(), [-128, 127]) == [0]
    assert kept(Not(less(above, X)), pa.int8(), [-128, 127]) == [0]
    assert kept(Not(less(below, X)), pa.int8(), [-128, 127]) == []


def test_a_long_rounded_straight_to_float_differs_from_one_rounded_twice() -> None:
    tricky = 2**60 + 2**36 + 1  # as double, a tie that float32 rounds the other way
    assert kept(eq(X, lit(tricky, LONG)), FLOAT, [2.0**60], [2.0**60 + 2.0**37]) == [0, 1]


def test_one_double_in_a_list_converts_all_options_to_double() -> None:
    near, half = lit(BIG + 1, LONG), lit(0.5, DOUBLE)
    assert kept(among(X, near), LONG, [BIG], [BIG + 1], [BIG + 9]) == [1]
    assert kept(among(X, near, half), LONG, [BIG], [BIG + 1], [BIG + 9]) == [0, 1]
    assert kept(Not(among(X, near, half)), LONG, [BIG], [BIG + 1], [BIG + 9]) == [0, 1, 2]
    large = lit(1e300, DOUBLE)
    assert kept(Between(X, near, lit(BIG + 1, LONG)), LONG, [BIG], [BIG + 1]) == [1]
    assert kept(Between(X, near, large), LONG, [BIG - 9], [BIG], [BIG + 1]) == [1, 2]


DAY = 86_400
NEW_YEAR = (date(2020, 1, 1) - date(1970, 1, 1)).days
MICROS = pa.timestamp("us")


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (lit("2020-01-01", pa.string()), ([1], [0, 2], [0], [1, 2])),
        (lit("2020-01-01 00:00:00", pa.string()), ([1], [0, 2], [0], [1, 2])),
        (lit(NEW_YEAR * DAY * 1000, pa.timestamp("ms")), ([1], [0, 2], [0], [1, 2])),
        # noon is between two dates, or is truncated to the first one
        (lit("2020-01-01 12:00:00", pa.string()), ([1, 2], [0, 1, 2], [0, 1], [1, 2])),
        (lit(NEW_YEAR * DAY * 10**6 + 1, MICROS), ([1, 2], [0, 1, 2], [0, 1], [1, 2])),
        # engines read it differently
        (lit("2020-1-1", pa.string()), ([0, 1, 2],) * 4),
        (lit("2020-02-30", pa.string()), ([0, 1, 2],) * 4),
        (lit("2020-01-01T00:00:00", pa.string()), ([0, 1, 2],) * 4),
        (lit("yesterday", pa.string()), ([0, 1, 2],) * 4),
        (lit(NEW_YEAR * DAY * 10**6, pa.timestamp("us", "UTC")), ([0, 1, 2],) * 4),
    ],
)
def test_literals_compared_with_dates(literal: Literal, expected: tuple[list[int], ...]) -> None:
    files = [[NEW_YEAR - 1], [NEW_YEAR], [NEW_YEAR + 1]]
    assert compared(pa.date32(), files, literal, "UTC") == expected


@pytest.mark.parametrize("zone", [None, "Pacific/Apia"])
def test_days_may_begin_after_midnight(zone: str | None) -> None:
    files = [[NEW_YEAR - 2], [NEW_YEAR - 1], [NEW_YEAR]]
    midnight = lit(NEW_YEAR * DAY, pa.timestamp("s"))
    assert compared(pa.date32(), files, midnight, zone)[0] == [1, 2]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (lit("2020-01-01", pa.string()), ([1], [0, 2], [0], [1, 2])),
        (lit("2020-01-01 00:00:00.000", pa.string()), ([1], [0, 2], [0], [1, 2])),
        (lit(NEW_YEAR, pa.date32()), ([1], [0, 2], [0], [1, 2])),
        (lit(NEW_YEAR * DAY, pa.timestamp("s")), ([1], [0, 2], [0], [1, 2])),
        (lit(NEW_YEAR * DAY * 10**9, pa.timestamp("ns")), ([1], [0, 2], [0], [1, 2])),
        (lit(NEW_YEAR * DAY * 10**6, pa.timestamp("us", "UTC")), ([0, 1, 2],) * 4),
    ],
)
def test_literals_compared_with_wall_clocks(
    unit: str, literal: Literal, expected: tuple[list[int], ...]
) -> None:
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    midnight = NEW_YEAR * DAY * per_second
    files = [[midnight - 1], [midnight], [midnight + 1]]
    assert compared(pa.timestamp(unit), files, literal, "UTC") == expected


def test_a_finer_literal_lies_between_two_values_of_the_column() -> None:
    literal = lit(1_500, pa.timestamp("ns"))
    assert compared(MICROS, [[0], [1], [2], [3]], literal, "UTC") == (
        *([1, 2], [0, 1, 2, 3]),
        *([0, 1], [1, 2, 3]),
    )


def test_not_in_of_texts_excludes_no_time_because_some_engines_compare_text() -> None:
    literal, other = lit("2020-01-01", pa.string()), lit("2020-01-02", pa.string())
    files = [[NEW_YEAR * DAY * 10**6], [0]]
    assert kept(among(X, literal, other), MICROS, *files) == [0]
    assert kept(Not(among(X, literal, other)), MICROS, *files) == [0, 1]


def instant(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=timezone.utc).timestamp()) * 10**6  # type: ignore[misc]


def wall(*parts: int) -> Literal:
    return Literal(instant(*parts), MICROS)


INSTANT = pa.timestamp("us", "UTC")
NEW_YORK = "America/New_York"


def test_a_wall_clock_literal_is_compared_with_instants_in_the_zone() -> None:
    files = [[instant(2020, 7, 1, 15, 59, 59)], [instant(2020, 7, 1, 16)], [instant(2020, 7, 2)]]
    noon = wall(2020, 7, 1, 12)
    assert compared(INSTANT, files, noon, NEW_YORK) == ([1], [0, 2], [0], [1, 2])
    assert compared(INSTANT, files, noon, "UTC") == ([], [0, 1, 2], [], [0, 1, 2])
    assert compared(INSTANT, files, lit(0, pa.date32()), "Asia/Tokyo")[2] == []
    assert compared(INSTANT, files, noon, None) == ([0, 1, 2],) * 4


def test_an_ambiguous_hour_matches_both_instants() -> None:
    files = [[instant(2021, 11, 7, hour, 30)] for hour in (4, 5, 6, 7)]
    twice = wall(2021, 11, 7, 1, 30)
    assert compared(INSTANT, files, twice, NEW_YORK) == (
        *([1, 2], [0, 1, 2, 3]),
        *([0, 1], [1, 2, 3]),
    )


def test_a_skipped_hour_matches_the_instants_before_and_after() -> None:
    files = [[instant(2021, 3, 14, hour, 30)] for hour in (5, 6, 7, 8)]
    never = wall(2021, 3, 14, 2, 30)
    assert compared(INSTANT, files, never, NEW_YORK) == (
        *([1, 2], [0, 1, 2, 3]),
        *([0, 1], [1, 2, 3]),
    )


def test_an_instant_is_compared_with_instants_without_a_zone() -> None:
    literal = lit(instant(2020, 1, 1), INSTANT)
    files = [[instant(2019, 12, 31)], [instant(2020, 1, 1)], [instant(2020, 1, 2)]]
    assert compared(INSTANT, files, literal) == ([1], [0, 2], [0], [1, 2])


@pytest.mark.parametrize("zone", [NEW_YORK, "Pacific/Kwajalein"])
def test_instants_shown_as_wall_clocks_may_change_their_order(zone: str) -> None:
    y, types = Column(("y",)), {"x": INSTANT, "y": INSTANT}
    later, earlier = instant(2021, 11, 7, 6, 10), instant(2021, 11, 7, 5, 50)
    assert kept(less(X, y), types, [(later, earlier)], zone=zone) == [0]
    assert kept(less(X, y), types, [(later, instant(2021, 11, 1))], zone=zone) == []


def test_days_before_the_gregorian_calendar_may_be_relabelled() -> None:
    old = lit((date(1500, 3, 1) - date(1970, 1, 1)).days, pa.date32())
    shifted = (date(1500, 3, 10) - date(1970, 1, 1)).days
    assert kept(eq(X, old), pa.date32(), [shifted], [0]) == [0]


DECLARED = {
    "char": Column(("x",), CharType(3, padded=True)),
    "varchar": Column(("x",), CharType(3, padded=False)),
}


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        # stored: "a", "a  ", "ab", "abcd" (read as "abc"), "b"
        ("char", "a", [0, 1]),
        ("char", "a ", [0, 1]),
        ("char", "abc", [3]),
        ("char", "abcd", [3]),
        ("char", "a\x01", [0, 1, 2, 3, 4]),
        ("varchar", "a", [0]),
        ("varchar", "a  ", [1]),
        ("varchar", "ab", [2]),
        ("varchar", "abc", [3]),
    ],
)
def test_char_and_varchar(declared: str, value: str, expected: list[int]) -> None:
    files = [["a"], ["a  "], ["ab"], ["abcd"], ["b"]]
    predicate = eq(DECLARED[declared], lit(value, pa.string()))
    assert kept(predicate, pa.string(), *files) == expected


def test_a_char_literal_matches_values_with_and_without_padding() -> None:
    literal = lit("ab  ", CharType(4, padded=True))
    for column in (X, *DECLARED.values()):
        assert kept(eq(column, literal), pa.string(), ["a"], ["ab"], ["ab "], ["b"]) == [1, 2]


def test_text_that_is_not_valid_unicode_excludes_nothing() -> None:
    assert kept(eq(X, lit("\ud800", pa.string())), pa.string(), ["a"]) == [0]


@pytest.mark.parametrize(
    ("declared", "stored", "usable"),
    [
        (LONG, INT, True),
        (INT, LONG, False),
        (DOUBLE, FLOAT, True),
        (FLOAT, DOUBLE, False),
        (pa.decimal128(12, 2), SMALL, True),
        (pa.decimal128(12, 3), SMALL, False),
        (pa.decimal128(8, 2), SMALL, False),
        (pa.timestamp("ns"), MICROS, True),
        (pa.timestamp("ms"), MICROS, False),
        (pa.timestamp("ns"), INSTANT, True),
        (INSTANT, MICROS, False),
        (pa.string(), INT, False),
        (pa.string(), pa.binary(), False),
        (pa.list_(INT), INT, False),
        (CharType(3, padded=False), INT, False),
    ],
)
def test_a_column_is_supported_only_if_the_engine_reads_the_stored_type(
    declared: pa.DataType | CharType, stored: pa.DataType, usable: bool
) -> None:
    null = Literal(None, stored)
    predicate = Comparison(Op.NULL_SAFE_EQ, Column(("x",), declared), null)
    never_null = {"x": stored}
    value: Any = Decimal(1) if stored == SMALL else b"1" if stored == pa.binary() else 1
    assert kept(predicate, never_null, [(value,)]) == ([] if usable else [0])


DECIMALS = {
    "e38": pa.decimal128(38, 37),
    "d20": pa.decimal128(20, 0),
    "d38": pa.decimal128(38, 0),
    "d9": pa.decimal128(9, 2),
}
#: Without a value of the columns that have another one in its place.
LARGE_DECIMALS = (None, Decimal(2_162_693), Decimal(10) ** 37, None)


def is_null_kept(text: str, dialect: SqlDialect) -> bool:
    """Whether the row may be one for which a predicate is NULL."""
    return kept(parse_predicate(f"({text}) IS NULL", dialect), DECIMALS, [LARGE_DECIMALS]) == [0]


@pytest.mark.parametrize("dialect", [HIVE, SPARK], ids=["hive", "spark"])
@pytest.mark.parametrize(
    "text",
    [
        # Spark, with all digits of a fraction kept: 2162693 is no decimal(38,37), and so NULL.
        "coalesce(e38, 0.5) < d20",
        "d20 = coalesce(e38, 0.5)",
        "coalesce(e38, 0.5) < 2162693",
        "coalesce(e38, 0.5) IN (2162693, 3)",
        "coalesce(d9, 0) < d38",
        "CASE WHEN d20 < 1 THEN 0.1234567890123456789012345678901234567 ELSE 0.5 END < d20",
    ],
)
def test_a_constant_of_a_case_has_its_type(text: str, dialect: SqlDialect) -> None:
    assert is_null_kept(text, dialect)


@pytest.mark.parametrize("text", ["coalesce(d9, 0) > 165", "coalesce(d9, 0.5) < d20"])
def test_a_case_of_narrow_decimals_has_a_common_type(text: str) -> None:
    assert not is_null_kept(text, SPARK)
