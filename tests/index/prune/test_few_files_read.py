"""Tight pruning: of twenty files with sorted rows, only those that match and few others are kept.

File k has the numbers from 100 k to 100 k + 99, and the days and times of the month k.
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
    **{"i": pa.int32(), "l": pa.int64(), "f": pa.float32(), "d": pa.float64()},
    **{"w": pa.decimal128(38, 10), "n": pa.decimal128(12, 2)},
    **{"dt": pa.date32(), "ts": pa.timestamp("us", "UTC"), "s": pa.string()},
}
EPOCH = date(1970, 1, 1)


def row(number: int) -> tuple[Any, ...]:
    """The column values for one number."""
    day = date(2019 + number // 1200, number // 100 % 12 + 1, number % 100 // 4 + 1)
    micros = (day - EPOCH).days * 86_400_000_000
    exact = Decimal(number)
    return (number, number, float(number), float(number), exact, exact, (day - EPOCH).days, micros,
            day.isoformat())  # fmt: skip


@cache
def table() -> list[list[tuple[Any, ...]]]:
    """The rows of each file: the first one, a middle one and the last one."""
    return [[row(100 * k + rest) for rest in (0, 50, 99)] for k in range(FILES)]


#: (dialects, predicate, the maximum number of files kept)
CASES = [
    # Wide decimals
    ("hive spark", "round(w, 2) = 505.00", 1),
    ("hive spark", "round(w) = 505", 1),
    ("hive spark", "floor(w) = 505", 1),
    ("hive spark", "ceil(w) = 505", 1),
    ("hive spark", "- w = -505.0", 1),
    ("hive spark", "abs(w) = 505.0", 1),
    ("hive spark", "w / 2 = 252.5", 1),
    ("hive spark", "w / n = 1", 20),
    ("hive spark", "w + 1.5 = 506.5", 1),
    ("hive spark", "w - 5 = 500.0", 1),
    ("hive spark", "w * 2 = 1010.0", 1),
    ("hive spark", "w * w = 255025.0", 1),
    ("hive spark", "CAST(w AS DECIMAL(10,2)) = 505.00", 1),
    ("hive spark", "CAST(w AS INT) = 505", 1),
    ("hive spark", "CAST(w AS BIGINT) = 505", 1),
    ("hive spark trino presto", "CAST(w AS DOUBLE) = 505", 1),
    ("hive spark trino presto", "abs(w) = 505", 1),
    # Arithmetic and elementary functions
    ("hive spark", "i div 100 = 5", 1),
    ("hive spark", "l div -100 = -5", 1),
    ("hive spark", "sqrt(i) = 22.0", 1),
    ("hive spark", "sqrt(w) BETWEEN 22.0 AND 22.1", 1),
    ("hive spark", "power(i, 2) = 255025.0", 1),
    ("hive spark", "power(d, 0.5) = 22.0", 1),
    ("hive spark", "power(i - 1000, 2) = 100.0", 2),
    ("hive spark", "exp(i) < 2.0", 1),
    ("hive spark", "exp(i / 100) BETWEEN 149.0 AND 150.0", 1),
    ("hive spark", "ln(i) > 7.56", 1),
    ("hive spark", "log10(i) > 3.28", 1),
    ("hive spark", "log2(d) = 9.0", 1),
    ("hive spark", "sign(i - 1950) = 1", 1),
    ("spark", "signum(i - 1950) = 1", 1),
    # Casts between numbers
    ("hive spark", "CAST(i AS BIGINT) = 505", 1),
    ("hive spark", "CAST(d AS INT) = 505", 1),
    ("hive spark", "CAST(d AS BIGINT) = 505", 1),
    ("hive spark", "CAST(i AS SMALLINT) = 505", 1),
    ("hive spark", "CAST(l AS INT) = 505", 1),
    ("hive spark trino presto", "CAST(i AS REAL) = 505", 1),
    ("hive spark trino presto", "CAST(i AS DOUBLE) = 505", 1),
    ("hive spark trino presto", "CAST(f AS DOUBLE) = 505", 1),
    ("hive spark", "CAST(d AS FLOAT) = 505", 1),
    ("hive spark trino presto", "CAST(i AS DECIMAL(10,2)) = 505.00", 1),
    ("hive spark trino presto", "CAST(i AS DECIMAL(38,10)) = 505.00", 1),
    ("hive spark", "CAST(d AS DECIMAL(10,2)) = 505.00", 1),
    ("hive spark", "CAST(n AS DECIMAL(38,10)) = 505.00", 1),
    ("hive spark", "CAST(n AS INT) = 505", 1),
    # Days and times
    ("hive spark", "to_date(s) = '2019-06-05'", 1),
    ("hive spark trino presto", "CAST(s AS DATE) = DATE '2019-06-05'", 1),
    ("hive spark", "CAST(s AS DATE) >= '2020-08-01'", 1),
    ("hive spark", "months_between(dt, '2020-01-01') > 7.5", 1),
    ("hive spark", "months_between(dt, DATE '2020-01-01') < -11.5", 1),
    ("hive spark trino presto", "dt > current_date", 0),
    ("hive spark", "dt > current_date()", 0),
    ("hive spark", "dt > date_sub(current_date(), 1)", 0),
    ("hive spark", "ts > current_timestamp", 0),
    ("hive spark", "ts > current_timestamp()", 0),
    ("spark", "CAST(ts AS DOUBLE) >= 1596240000", 1),
    ("spark", "dt + INTERVAL '1' MONTH = DATE '2019-07-05'", 2),
    ("hive spark", "ts - INTERVAL '1' DAY > TIMESTAMP '2020-08-01 00:00:00'", 1),
    ("spark", "date_trunc('MONTH', dt) = TIMESTAMP '2019-06-01 00:00:00'", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "predicate", "most"),
    [(name, text, most) for names, text, most in CASES for name in names.split()],
)
def test_few_files_without_a_match_are_kept(dialect: str, predicate: str, most: int) -> None:
    found = kept(parse_predicate(predicate, DIALECTS[dialect]), TYPES, *table(), zone="UTC")
    assert len(found) <= most


def test_the_floor_of_a_quotient_of_decimals_may_exceed_long() -> None:
    types = {"a": pa.decimal128(18, 6), "b": pa.decimal128(38, 37)}
    row = (Decimal(-500_000_000_000), Decimal("-7.83734016754973471248838E-14"))
    predicate = parse_predicate("floor(a / b) = 6379715430373107725301845", DIALECTS["spark"])
    assert kept(predicate, types, [row], [(Decimal(1), Decimal(1))]) == [0]
