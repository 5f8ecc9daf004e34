"""Nothing is read for nothing: of twenty files with sorted texts, those that match and few others.

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

from pyhudi_expr.frontend.sql import DIALECTS, parse_predicate
from tests.expr.layout import kept

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
    """The values of one number."""
    day = date(2019 + number // 120, number // 10 % 12 + 1, number % 10 + 1)
    exact = Decimal(number) + Decimal("0.50")
    numbers = (number, number, exact, exact, float(exact), float(exact))
    days = (day - EPOCH).days
    return (f"City{number // 10:02}", f"name_{number:03}", *numbers, days, days * 86_400_000_000)


@cache
def table() -> list[list[tuple[Any, ...]]]:
    """The rows of each file."""
    return [[row(10 * k + rest) for rest in range(10)] for k in range(FILES)]


#: (dialects, predicate, how many files it keeps at most)
ASKED = [
    # Cases
    (ALL, "upper(city) = 'CITY05'", 1),
    (ALL, "lower(city) = 'city05'", 1),
    (ALL, "'CITY05' = upper(city)", 1),
    (ALL, "upper(city) IN ('CITY05', 'CITY07')", 2),
    (ALL, "upper(city) LIKE 'CITY05%'", 1),
    (ALL, "lower(city) LIKE 'city0_'", 10),
    (JAVA, "lower(trim(city)) = 'city05'", 1),
    ("spark", "upper(city) <=> 'CITY05'", 1),
    # Patterns
    (JAVA, "name RLIKE '^name_005'", 1),
    (JAVA, "name REGEXP '^name_005$'", 1),
    ("spark", "regexp_like(name, '^name_005')", 1),
    (JAVA, "name RLIKE '^name_0051?'", 1),
    # Made of texts
    (JAVA, "replace(name, 'name', 'nom') = 'nom_005'", 20),
    (JAVA, "replace(name, '_', '-') = 'name-005'", 10),
    (JAVA, "concat_ws('-', name, city) = 'name_005-City00'", 2),
    (JAVA, "concat_ws('-', 'x', name) = 'x-name_005'", 2),
    (JAVA, "rpad(name, 10, ' ') = 'name_005  '", 2),
    (JAVA, "rpad(name, 6, ' ') = 'name_0'", 10),
    # Numbers as texts
    (JAVA, "CAST(i AS STRING) = '55'", 1),
    (JAVA, "CAST(l AS STRING) IN ('55', '75')", 2),
    (JAVA, "CAST(n AS STRING) = '55.50'", 1),
    (JAVA, "CAST(w AS STRING) = '55.5000000000'", 1),
    (JAVA, "CAST(d AS STRING) = '55.5'", 1),
    (JAVA, "CAST(f AS STRING) = '55.5'", 1),
    # Texts as numbers and times
    (JAVA, "i = '55'", 1),
    (JAVA, "'55' = l", 1),
    (JAVA, "i < '10'", 1),
    (JAVA, "i BETWEEN '55' AND '56'", 1),
    ("spark", "bigint(i) = 55", 1),
    (JAVA, "dt LIKE '2019-07%'", 1),
    (JAVA, "substr(dt, 1, 7) = '2019-07'", 1),
    (JAVA, "substring(CAST(dt AS STRING), 1, 7) = '2019-07'", 1),
    ("spark", "ts < to_timestamp('2019-01-05 00:00:00')", 1),
    (JAVA, "ts < from_unixtime(1546600000)", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "predicate", "most"),
    [(name, text, most) for names, text, most in ASKED for name in names.split()],
)
def test_few_files_are_read_for_nothing(dialect: str, predicate: str, most: int) -> None:
    found = kept(parse_predicate(predicate, DIALECTS[dialect]), TYPES, *table(), zone="UTC")
    assert len(found) <= most
