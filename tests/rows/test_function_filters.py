"""Rows are filtered by functions as engines filter them: Spark is the witness."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from devtools.spark import session_settings
from pyhudi_expr.errors import FilterNotApplicable
from pyhudi_expr.expr.frontend.sql.parser import HIVE, SPARK, TRINO, parse_predicate
from pyhudi_expr.rows.row_filter import columns_of, row_filter

_ZONE = "America/Los_Angeles"
_BEGIN = datetime(1969, 12, 30, 22, 59, 59, 999_999, tzinfo=timezone.utc)
_TEXTS = [
    "Oslo",
    "oslo",
    "",
    " Oslo ",
    "O%lo",
    "O_lo",
    "Øst\nfold",
    "a\\b",
    "é😀x",
    None,
    "%",
    "x.y",
]
_ROWS = pa.table(
    {
        "id": pa.array(range(48), pa.int64()),
        "s": pa.array([_TEXTS[n % 12] for n in range(48)]),
        "i": pa.array([None if n == 5 else n - 24 for n in range(48)], pa.int32()),
        "m": pa.array(
            [None if n == 7 else Decimal(n - 20) / 4 for n in range(48)], pa.decimal128(9, 2)
        ),
        "day": pa.array([date(1969, 12, 20) + timedelta(days=17 * n) for n in range(48)]),
        "ts": pa.array(
            [_BEGIN + timedelta(hours=7 * n, minutes=11 * n, seconds=n) for n in range(48)],
            pa.timestamp("us", "UTC"),
        ),
    }
)
FILTERS = [
    *("s LIKE '%sl%'", "s LIKE '_slo'", "s NOT LIKE '%o'", "s LIKE '%\n%'", "s LIKE '__x'"),
    *(
        "s LIKE '%\\\\%%'",
        "s LIKE 'O\\_%o'",
        "s LIKE '%/_%' ESCAPE '/'",
        "s LIKE '%.%'",
        "s LIKE '%%'",
    ),
    *("s LIKE '%sl%' OR s LIKE '%x'", "s LIKE '%s%' AND s LIKE '%l%'", "(s LIKE '%x') IS NULL"),
    *("lower(s) = 'oslo'", "upper(s) LIKE 'O%'", "length(s) = 3", "trim(s) = 'Oslo'"),
    *(
        "ltrim(s) = 'Oslo '",
        "rtrim(s) = ' Oslo'",
        "substr(s, 2, 2) = 'sl'",
        "substring(s, 3) = 'lo'",
    ),
    *(
        "concat(s, '-', s) = 'oslo-oslo'",
        "s || 'x' = 'Oslox'",
        "concat(s, NULL) IS NULL AND id < 9",
    ),
    *(
        "i % 7 = 3",
        "i % 7 = -3",
        "i % -7 = 3",
        "-i > 3",
        "mod(i, 5) = 2",
        "left(s, 2) = 'Os'",
        "abs(i) > 20",
        "abs(m) > 6",
        "if(i > 0, m, 0) > 1",
        "CASE WHEN i > 2 THEN m ELSE 7 END > 6",
        "i + 2 = 5",
        "NOT (i % 5 = 0)",
    ),
    *("year(day) = 1971", "month(day) = 2", "day(day) > 28", "dayofmonth(day) = 1"),
    *("year(ts) = 1969", "month(ts) = 1", "day(ts) = 31", "hour(ts) BETWEEN 3 AND 9"),
    *(
        "minute(ts) = 59",
        "second(ts) = 59",
        "to_date(ts) = DATE '1969-12-31'",
        "date(ts) > '1970-01-03'",
    ),
    *("CAST(ts AS date) = '1970-01-02'", "to_date(ts) IN (DATE '1970-01-01', DATE '1970-01-04')"),
    *(
        "ts > '1970-01-02T00:00:00Z'",
        "ts <= '1970-01-03 00:00:00+05:30'",
        "ts > '1970-01-02 00:00:00'",
    ),
]


@cache
def found(text: str) -> tuple[int, ...]:
    condition = row_filter(parse_predicate(text, SPARK), _ROWS.schema, _ZONE)
    return tuple(_ROWS.filter(condition)["id"].to_pylist())


def ids(spark: SparkSession, text: str) -> tuple[int, ...]:
    rows = spark.sql(f"SELECT id FROM rows_of_functions WHERE {text} ORDER BY id")
    return tuple(row.id for row in rows.collect())


@pytest.mark.long
@pytest.mark.spark
def test_functions_find_the_rows_of_spark(spark: SparkSession) -> None:
    schema = "id long, s string, i int, m decimal(9, 2), day date, ts timestamp"
    rows = [tuple(row.values()) for row in _ROWS.to_pylist()]
    spark.createDataFrame(rows, schema).createOrReplaceTempView("rows_of_functions")
    with session_settings(spark, {"spark.sql.session.timeZone": _ZONE}):
        wrong = {
            text: (seen, found(text))
            for text in FILTERS
            for seen in [ids(spark, text)]
            if seen != found(text)
        }
    assert wrong == {}


@pytest.mark.parametrize("text", FILTERS)
def test_each_filter_finds_some_rows_and_not_all(text: str) -> None:
    assert 0 < len(found(text)) < _ROWS.num_rows


def test_a_filter_reads_the_column_of_a_pattern() -> None:
    assert columns_of(parse_predicate("s LIKE '%x'"), _ROWS.schema) == ["s"]


@pytest.mark.parametrize(
    ("text", "zone", "message"),
    [
        ("i + 2147483600 > 0 AND id + 9223372036854775807 > 0", "UTC", "overflow"),
        ("year(ts) = 1970", None, "in which zone"),
        ("substr(s, -2) = 'lo'", "UTC", "positive literals"),
        ("m % 2 = 1", "UTC", "%"),
        ("initcap(s) = 'Oslo'", "UTC", "initcap"),
        ("CAST(i AS string) = '1'", "UTC", "CAST"),
        ("day > '1970-01-01T00:00:00Z'", "UTC", "is no date"),
    ],
)
def test_what_pyarrow_computes_differently_is_refused(
    text: str, zone: str | None, message: str
) -> None:
    with pytest.raises((FilterNotApplicable, pa.ArrowInvalid), match=message):
        _ROWS.filter(row_filter(parse_predicate(text, SPARK), _ROWS.schema, zone))


def test_the_backslash_of_hive_is_refused_in_patterns() -> None:
    """Its row by row and vectorised operators differ."""
    with pytest.raises(FilterNotApplicable, match="LIKE"):
        row_filter(parse_predicate(r"s LIKE '%\\_'", HIVE), _ROWS.schema, "UTC")


def test_times_of_trino_filter_rows() -> None:
    text = "ts > TIMESTAMP '1970-01-02 00:00:00'"
    condition = row_filter(parse_predicate(text, TRINO), _ROWS.schema, "UTC")
    by_text = row_filter(parse_predicate(text, SPARK), _ROWS.schema, "UTC")
    assert _ROWS.filter(condition) == _ROWS.filter(by_text)
