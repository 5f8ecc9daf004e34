"""Tight pruning: of twenty files with sorted texts, only those that match and few others are kept.

File k has the city k, the names, codes and numbers from 10 k to 10 k + 9, and the days of a month.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, parse_predicate
from tests.expr.kept_files import kept

FILES = 20
TYPES: Mapping[str, pa.DataType] = {
    **{"city": pa.string(), "name": pa.string(), "i": pa.int32(), "l": pa.int64()},
    **{"n": pa.decimal128(12, 2), "w": pa.decimal128(38, 10), "f": pa.float32()},
    **{"d": pa.float64(), "dt": pa.date32(), "ts": pa.timestamp("us", "UTC")},
}
EPOCH = date(1970, 1, 1)
ALL = "hive spark trino presto"
JAVA = "hive spark"


def row(number: int) -> tuple[Any, ...]:
    """The column values for one number."""
    day = date(2019 + number // 120, number // 10 % 12 + 1, number % 10 + 1)
    exact = Decimal(number) + Decimal("0.50")
    numbers = (number, number, exact, exact, float(exact), float(exact))
    days = (day - EPOCH).days
    return (f"City{number // 10:02}", f"name_{number:03}", *numbers, days, days * 86_400_000_000)


@cache
def table() -> list[list[tuple[Any, ...]]]:
    """The rows of each file."""
    return [[row(10 * k + rest) for rest in range(10)] for k in range(FILES)]


#: (dialects, predicate, the files with a matching row, the maximum number of others kept)
CASES = [
    # Cases
    (ALL, "upper(city) = 'CITY05'", "5", 0),
    (ALL, "lower(city) = 'city05'", "5", 0),
    (ALL, "'CITY05' = upper(city)", "5", 0),
    (ALL, "upper(city) IN ('CITY05', 'CITY07')", "5 7", 0),
    (ALL, "upper(city) LIKE 'CITY05%'", "5", 0),
    (ALL, "lower(city) LIKE 'city0_'", "0 1 2 3 4 5 6 7 8 9", 0),
    (JAVA, "lower(trim(city)) = 'city05'", "5", 0),
    ("spark", "upper(city) <=> 'CITY05'", "5", 0),
    # Patterns
    (JAVA, "name RLIKE '^name_005'", "0", 0),
    (JAVA, "name REGEXP '^name_005$'", "0", 0),
    ("spark", "regexp_like(name, '^name_005')", "0", 0),
    (JAVA, "name RLIKE '^name_0051?'", "0", 0),
    # Made of texts
    (JAVA, "replace(name, 'me_', 'X') = 'naX005'", "0", 9),
    (JAVA, "replace(name, '_', '-') = 'name-005'", "0", 9),
    (JAVA, "concat_ws('-', name, city) = 'name_005-City00'", "0", 1),
    (JAVA, "concat_ws('-', 'x', name) = 'x-name_005'", "0", 1),
    (JAVA, "rpad(name, 10, ' ') = 'name_005  '", "0", 1),
    (JAVA, "rpad(name, 6, ' ') = 'name_0'", "0 1 2 3 4 5 6 7 8 9", 0),
    # Numbers as texts
    (JAVA, "CAST(i AS STRING) = '55'", "5", 0),
    (JAVA, "CAST(l AS STRING) IN ('55', '75')", "5 7", 0),
    (JAVA, "CAST(n AS STRING) = '55.50'", "5", 0),
    (JAVA, "CAST(w AS STRING) = '55.5000000000'", "5", 0),
    (JAVA, "CAST(d AS STRING) = '55.5'", "5", 0),
    (JAVA, "CAST(f AS STRING) = '55.5'", "5", 0),
    # Texts as numbers and times
    (JAVA, "i = '55'", "5", 0),
    (JAVA, "'55' = l", "5", 0),
    (JAVA, "i < '10'", "0", 0),
    (JAVA, "i BETWEEN '55' AND '56'", "5", 0),
    ("spark", "bigint(i) = 55", "5", 0),
    (JAVA, "dt LIKE '2019-07%'", "6", 0),
    (JAVA, "substr(dt, 1, 7) = '2019-07'", "6", 0),
    (JAVA, "substring(CAST(dt AS STRING), 1, 7) = '2019-07'", "6", 0),
    ("spark", "ts < to_timestamp('2019-01-05 00:00:00')", "0", 0),
    (JAVA, "ts < from_unixtime(1546600000)", "0", 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "predicate", "matching", "most"),
    [(name, *case) for names, *case in CASES for name in names.split()],
)
def test_few_files_without_a_match_are_kept(
    dialect: str, predicate: str, matching: str, most: int
) -> None:
    found = kept(parse_predicate(predicate, DIALECTS[dialect]), TYPES, *table(), zone="UTC")
    beside = set(found) - set(map(int, matching.split()))
    assert len(found) - len(beside) == len(matching.split())
    assert len(beside) <= most


def test_a_text_of_38_digits_is_a_number() -> None:
    text = "1234567890123456789012345678.5000000000"
    predicate = parse_predicate(f"CAST(w AS STRING) = '{text}'", DIALECTS["spark"])
    assert kept(predicate, TYPES, *table(), zone="UTC") == []
