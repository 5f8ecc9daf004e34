"""Predicates over rows: constants get the types of the columns that they are compared with."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.errors import FilterNotApplicable, UnknownColumn
from pyhudi_expr.expr.frontend.arrow.filter_lists import parse_filters
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.rows.arrow_filter import arrow_filter

TABLE = pa.table(
    {
        "day": pa.array([date(2020, 1, 1), date(2020, 1, 2), None]),
        "at": pa.array(
            [datetime(2020, month, 1, tzinfo=timezone.utc) for month in (1, 7)] + [None],
            pa.timestamp("us", "UTC"),
        ),
        "clock": pa.array([datetime(2020, 1, 1), datetime(2020, 7, 1), None], pa.timestamp("us")),
        "St": pa.array([{"A": 1}, {"A": 2}, None]),
    }
)


@pytest.mark.parametrize(
    ("text", "zone", "kept"),
    [
        ("day = '2020-01-02'", None, [1]),
        ("day BETWEEN DATE '2020-01-01' AND '2020-01-01'", None, [0]),
        ("at = TIMESTAMP '2020-01-01 01:00:00'", "Europe/Berlin", [0]),
        ("at IN (TIMESTAMP '2020-07-01 02:00:00')", "Europe/Berlin", [1]),
        ("at >= '2020-07-01'", "UTC", [1]),
        ("at = TIMESTAMP '2020-01-01 02:00:00+02:00'", None, [0]),
        ("clock > TIMESTAMP '2020-01-01 00:00:00'", None, [1]),
        ("clock <=> NULL", None, [2]),
        ("st.a = 2", None, [1]),
        ("NOT (ST.A = 2)", None, [0]),
    ],
)
def test_times_and_names(text: str, zone: str | None, kept: list[int]) -> None:
    numbered = TABLE.append_column("n", pa.array([0, 1, 2]))
    rows = numbered.filter(arrow_filter(parse_predicate(text, SPARK), TABLE.schema, zone))
    assert rows["n"].to_pylist() == kept


NUMBERS = pa.table(
    {
        "d": pa.array([3.14159, 4.5, None]),
        "f": pa.array([0.1, 2.5, None], pa.float32()),
        "m": pa.array([Decimal("3.14"), Decimal("0.10"), None], pa.decimal128(9, 2)),
        "wide": pa.array([1, 2, None], pa.decimal128(38, 10)),
        "i": pa.array([3, 4, None], pa.int32()),
    }
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        *(("d = 3.14159", [0]), ("3.14159 = d", [0]), ("d IN (1.1, 3.14159)", [0])),
        *(("d BETWEEN 3.14159 AND 3.14159", [0]), ("d + 1 = 4.14159", [0]), ("d <> 3.14159", [1])),
        *(("d > 3.14159", [1]), ("f = 0.1", []), ("f = 2.5", [1]), ("f < 0.11", [0])),
        *(("m = 3.14", [0]), ("m = 1e-1", [1]), ("m > 3.1399999E0", [0]), ("m = 3.1400", [0])),
        *(
            ("f > -1000000000", [0, 1]),
            ("f IN (2, 16777217)", []),
            ("d < 9007199254740993", [0, 1]),
        ),
        *(("i < 3.5", [0]), ("i = 3.0", [0]), ("wide > 1.5", [1])),
    ],
)
def test_constants_take_the_type_of_number_columns(text: str, kept: list[int]) -> None:
    numbered = NUMBERS.append_column("n", pa.array([0, 1, 2]))
    rows = numbered.filter(arrow_filter(parse_predicate(text, SPARK), NUMBERS.schema, None))
    assert rows["n"].to_pylist() == kept


OF_OTHER_TYPES = pa.table(
    {
        "day": pa.array([date(2024, 1, 16), date(2024, 1, 17), None]),
        "clock": pa.array([datetime(2024, 1, 16), datetime(2024, 1, 17), None], pa.timestamp("us")),
        "ok": pa.array([True, False, None]),
        "d": pa.array([-0.0, 1.0, float("nan")]),
        "i": pa.array([0, 5, None], pa.int32()),
        "m": pa.array([Decimal("1.55"), Decimal("0.10"), None], pa.decimal128(9, 2)),
        "s": pa.array(["0", "x", None]),
    }
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("day IN (TIMESTAMP '2024-01-16 12:00:00')", []),
        ("day NOT IN (TIMESTAMP '2024-01-16 12:00:00')", [0, 1]),
        ("day IN (TIMESTAMP '2024-01-16 00:00:00', TIMESTAMP '2020-01-01 00:00:00')", [0]),
        ("coalesce(day, day) IN (TIMESTAMP '2024-01-16 12:00:00')", []),
        ("clock IN (TIMESTAMP '2024-01-16 00:00:00.0000001')", []),
        ("clock IN (TIMESTAMP '2024-01-17 00:00:00.000000')", [1]),
        ("i IN (5.0, 7.5)", [1]),
        ("i NOT IN (5.5)", [0, 1]),
        ("i IN (3000000000, 5)", [1]),
        ("m IN (1.555, 0.1)", [1]),
        ("m NOT IN (1.555)", [0, 1]),
        ("d IN (0, 7)", [0]),
        ("day IN (TIMESTAMP '2024-01-16 12:00:00', NULL) IS NULL", [0, 1, 2]),
    ],
)
def test_in_finds_what_its_comparisons_find(text: str, kept: list[int]) -> None:
    """pyarrow's is_in casts what it looks for to the column's type."""
    numbered = OF_OTHER_TYPES.append_column("n", pa.array([0, 1, 2]))
    rows = numbered.filter(arrow_filter(parse_predicate(text, SPARK), OF_OTHER_TYPES.schema, None))
    assert rows["n"].to_pylist() == kept


@pytest.mark.parametrize("text", ["ok IN (10)", "i IN (true)", "d IN ('0')", "i IN ('5', '6')"])
def test_in_is_refused_where_its_comparisons_are(text: str) -> None:
    with pytest.raises(FilterNotApplicable, match="is none: write"):
        arrow_filter(parse_predicate(text, SPARK), OF_OTHER_TYPES.schema, None)


def test_a_filter_lists_in_finds_no_day_by_a_time() -> None:
    filters = parse_filters([("day", "in", [datetime(2024, 1, 16, 12)])])
    rows = OF_OTHER_TYPES.filter(arrow_filter(filters, OF_OTHER_TYPES.schema, None, is_in=True))
    assert rows.num_rows == 0


@pytest.mark.parametrize(("text", "kept"), [("isnan(d)", [1]), ("NOT isnan(d)", [0, 2])])
def test_nan_is_found_by_a_filter_for_nan(text: str, kept: list[int]) -> None:
    rows = pa.table({"d": [1.0, float("nan"), None], "n": [0, 1, 2]})
    found = rows.filter(arrow_filter(parse_predicate(text, SPARK), rows.schema, None))
    assert found["n"].to_pylist() == kept


@pytest.mark.parametrize("text", ["d = m", "m < CAST('NaN' AS double)", "wide = 1.5E0"])
def test_decimals_are_not_converted_to_doubles(text: str) -> None:
    with pytest.raises(FilterNotApplicable, match="decimals against"):
        arrow_filter(parse_predicate(text, SPARK), NUMBERS.schema, None)


def test_filters_that_pyarrow_cannot_compute_are_refused_before_reading() -> None:
    with pytest.raises(FilterNotApplicable, match="precision out of range"):
        arrow_filter(parse_predicate("wide + 1 > 2", SPARK), NUMBERS.schema, None)


@pytest.mark.parametrize(
    ("text", "zone", "message"),
    [
        ("at > '2020-01-01'", None, "in which zone"),
        ("at > TIMESTAMP '2020-10-25 02:30:00'", "Europe/Berlin", "ambiguous"),
        ("at > '2020-01-01'", "Nowhere/At_All", "unknown"),
        ("length(day) = 1 OR day RLIKE '(?i)x'", None, "RLIKE"),
    ],
)
def test_unsupported_filters_are_refused(text: str, zone: str | None, message: str) -> None:
    with pytest.raises(FilterNotApplicable, match=message):
        arrow_filter(parse_predicate(text, SPARK), TABLE.schema, zone)


CITIES = pa.schema({"City": pa.string(), "n": pa.int64(), "m": pa.decimal128(9, 2)})
OF_TIMES = pa.schema({"day": pa.date32(), "at": pa.timestamp("us", "UTC"), "ok": pa.bool_()})
TEXTS, BOOLEANS = "the column City (string) has texts", "the column ok (bool) has booleans"


@pytest.mark.parametrize(
    ("schema", "triple", "message"),
    [
        (CITIES, ("city", ">", 5), f"{TEXTS}, and 5 is none: write '5'"),
        (CITIES, ("city", "=", date(2024, 1, 5)), f"{TEXTS}, and 2024-01-05 is none: write '2024"),
        (CITIES, ("city", "in", ["x", True]), f"{TEXTS}, and true is none: write 'true'"),
        (CITIES, ("n", "=", "100"), "n (int64) has numbers, and '100' is none: write 100"),
        (CITIES, ("n", "=", True), "has numbers, and true is none: write a number such as 100"),
        (CITIES, ("m", "between", (1, "x")), "has numbers, and 'x' is none: write a number such"),
        (
            CITIES,
            ("m", "like", "5%"),
            "for texts, and the column m is decimal128(9, 2): compare it",
        ),
        (
            CITIES,
            ("n", "not like", "%5"),
            "for texts, and the column n is int64: compare its values",
        ),
        (OF_TIMES, ("ok", "=", 1), f"{BOOLEANS}, and 1 is none: write TRUE or FALSE"),
        (
            OF_TIMES,
            ("day", ">", 5),
            "day (date32[day]) has dates, and 5 is none: write '2024-01-31'",
        ),
        (OF_TIMES, ("day", ">", "5"), "has dates, and '5' is none: write '2024-01-31'"),
        (
            OF_TIMES,
            ("at", ">", "2024-1-5"),
            "has times, and '2024-1-5' is none: write '2024-01-31' or",
        ),
    ],
)
def test_a_wrong_constant_is_named_with_its_column_and_what_to_write(
    schema: pa.Schema, triple: tuple[Any, ...], message: str
) -> None:
    sound = next(name for name in schema.names if name.lower() != triple[0])
    filters = parse_filters([(sound, "is not null"), triple])
    with pytest.raises(FilterNotApplicable, match=re.escape(message)):
        arrow_filter(filters, schema, "UTC", is_in=True)


def test_a_column_that_the_schema_lacks_is_named_with_the_nearest_one() -> None:
    with pytest.raises(UnknownColumn, match="dya; is it day"):
        arrow_filter(parse_predicate("dya = 1", SPARK), TABLE.schema, None)
