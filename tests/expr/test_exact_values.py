"""A partition has one value of its columns: conditions are evaluated, not bounded.

The engines judge each of these rules in `tests/truth`.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, parse_predicate
from pyhudi_expr.expr.semantics import here
from tests.expr.kept_files import kept

DAYS = [date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 29), date(2024, 12, 1)]
TYPES = {
    **{"day": pa.string(), "d": pa.date32(), "ts": pa.timestamp("us", "UTC")},
    **{"y": pa.int32(), "m": pa.int32(), "n": pa.int32(), "dec": pa.decimal128(5, 2)},
}
HIVE, SPARK, TRINO = ("hive",), ("spark",), ("trino", "presto")
BOTH, ALL = (*HIVE, *SPARK), (*HIVE, *SPARK, *TRINO)


def partition(day: date) -> list[Any]:
    number = (day - date(1970, 1, 1)).days
    noon = (number * 86_400 + 43_200) * 10**6
    decimal = Decimal(day.day).quantize(Decimal("0.01"))
    return [(day.isoformat(), number, noon, day.year, day.month, day.day, decimal)]


def kept_of(days: list[date], text: str, dialect: str) -> list[int]:
    given = DIALECTS[dialect]
    semantics = here("UTC", given.engine)
    files = map(partition, days)
    return kept(parse_predicate(text, given), TYPES, *files, semantics=semantics)


@pytest.mark.parametrize(
    ("dialects", "text", "expected"),
    [
        # a part of a text
        (ALL, "day LIKE '%-01'", [1, 3]),
        (ALL, "day NOT LIKE '%-01'", [0, 2]),
        (BOTH, "d LIKE '%-01'", [1, 3]),
        (ALL, "substr(day, 6, 2) = '01'", [1]),
        (BOTH, "substr(day, -2) = '01'", [1, 3]),
        (BOTH, "split(day, '-')[1] = '12'", [0, 3]),
        (BOTH, "split(day, '-')[3] = '12'", [0, 1, 2, 3]),  # NULL, or an error
        (ALL, "length(day) = 9", []),
        (ALL, "reverse(day) LIKE '10-%'", [1, 3]),
        (BOTH, "instr(day, '-12-') > 0", [0, 3]),
        (BOTH, "regexp_replace(day, '-', '') = '20240229'", [2]),
        (BOTH, "concat(y, '-', lpad(m, 2, '0')) = '2024-02'", [2]),
        # a text as a day
        (BOTH, "month(day) = 12", [0, 3]),
        (BOTH, "year(day) = 2024", [1, 2, 3]),
        (BOTH, "dayofweek(day) = 1", [0, 3]),
        (BOTH, "weekofyear(day) = 52", [0]),
        (BOTH, "date_format(day, 'yyyyMM') = '202402'", [2]),
        (BOTH, "date_format(d, 'dd.MM') = '29.02'", [2]),
        (BOTH, "unix_timestamp(day, 'yyyy-MM-dd') = 1704067200", [1]),
        (BOTH, "datediff(day, '2024-01-01') BETWEEN 0 AND 59", [1, 2]),
        (BOTH, "add_months(day, 1) = '2024-02-01'", [1]),
        (SPARK, "trunc(day, 'MM') = '2024-02-01'", [2]),
        (SPARK, "make_date(y, m, n) > date'2024-01-01'", [2, 3]),
        (BOTH, "n % 7 = 1", [1, 2, 3]),
        # implicit casts
        (BOTH, "day >= date'2024-02-29'", [2, 3]),
        (BOTH, "day BETWEEN date'2024-01-01' AND date'2024-03-01'", [1, 2]),
        (BOTH, "day IN (date'2024-01-01', date'2024-12-01')", [1, 3]),
        (SPARK, "day NOT IN (date'2024-01-01', date'2024-12-01')", [0, 2]),
        (HIVE, "day NOT IN (date'2024-01-01', date'2024-12-01')", [0, 1, 2, 3]),  # as texts
        (BOTH, "day < d", []),
        (BOTH, "day >= timestamp'2024-02-29 00:00:00'", [2, 3]),
        (BOTH, "ts < d", []),
        (BOTH, "dec = '29.00'", [2]),
        (BOTH, "dec >= '29'", [0, 2]),
        (SPARK, "ts >= '2024-02'", [2, 3]),
        (HIVE, "ts >= '2024-02'", [0, 1, 2, 3]),  # no time in Hive
        # constants
        (ALL, "d > date '2024-03-07' - interval '7' day", [3]),
        (BOTH, "ts >= timestamp'2024-02-29 12:00:00' - interval 1 day", [2, 3]),
        (BOTH, "day >= add_months(date'2024-01-29', 1)", [2, 3]),
        (BOTH, "d >= to_date('2024-02-29')", [2, 3]),
        (BOTH, "d >= date_sub('2024-03-07', 7)", [2, 3]),
        (BOTH, "datediff(d, '2024-01-01') > 59", [3]),
        (BOTH, "date_part('year', d) = 2023", [0]),
        # Trino and Presto
        (TRINO, "CAST(n AS bigint) = 29", [2]),
        (TRINO, "date_diff('day', d, date '2024-01-01') > 0", [0]),
        (TRINO, "date_parse(day, '%Y-%m-%d') >= timestamp '2024-02-29 00:00:00'", [2, 3]),
        (TRINO, "to_unixtime(ts) >= 1709208000", [2, 3]),
        (TRINO, "ts >= timestamp '2024-02-29 12:00:00 UTC'", [2, 3]),
        (TRINO, "dec = DECIMAL '29.00'", [2]),
    ],
)  # fmt: skip
def test_a_condition_on_partitions_of_one_value(
    dialects: tuple[str, ...], text: str, expected: list[int]
) -> None:
    for dialect in dialects:
        assert kept_of(DAYS, text, dialect) == expected, dialect


@pytest.mark.parametrize(
    ("dialects", "text"),
    [
        *((BOTH, f"{column} >= date_sub(current_date(), 7)") for column in ("day", "d", "ts")),
        *((BOTH, f"{column} >= current_date - interval 7 days") for column in ("day", "d", "ts")),
        (TRINO, "d >= current_date - interval '7' day"),
        (TRINO, "d >= date_add('day', -7, current_date)"),
        (TRINO, "date_diff('day', d, current_date) <= 7"),
    ],
)
def test_the_last_seven_days(dialects: tuple[str, ...], text: str) -> None:
    """The current day may be one earlier by another clock, and one more in another zone."""
    today = datetime.now(timezone.utc).date()
    days = [today - timedelta(days=ago) for ago in range(20)]
    for dialect in dialects:
        found = kept_of(days, text, dialect)
        assert set(range(8)) <= set(found) <= set(range(11)), dialect


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-1-1"],  # a day that engines parse, each in its own way
        ["2024-02-30"],
        ["1500-01-01"],  # of two calendars
        ["2024-01-01", "2024-01-02"],  # several values
        ["😀"],
    ],
)
def test_texts_whose_results_are_not_known_are_kept(texts: list[str]) -> None:
    for text in ("dayofweek(x) = 5", "substr(x, 6, 2) = '77'", "length(x) = 77"):
        is_of_days = text.startswith("dayofweek")
        if is_of_days or len(texts) > 1 or not texts[0].isascii():
            predicate = parse_predicate(text, DIALECTS["hive"])
            assert kept(predicate, pa.string(), texts, zone="UTC") == [0]


def test_a_null_among_equal_values_stays_null() -> None:
    files = (["a"], ["a", None], ["b", None])
    for text, expected in (("length(x) = 1", [0, 1, 2]), ("length(x) IS NULL", [1, 2])):
        predicate = parse_predicate(text, DIALECTS["spark"])
        assert kept(predicate, pa.string(), *files, zone="UTC") == expected
