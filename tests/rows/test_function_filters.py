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
from pyhudi_expr.expr.semantics import Engine
from pyhudi_expr.rows.arrow_filter import arrow_filter, columns_of
from pyhudi_expr.rows.row_filter import row_filter

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
    *("s RLIKE 'sl'", "s RLIKE '^O.lo$|x'", "s RLIKE '[^A-Z a-z]'", "s RLIKE '(?:s|w)lo?$'"),
    *("s RLIKE '^.{4}$'", "NOT s RLIKE '\\\\W'", "regexp_like(s, '\\\\w+\\\\.\\\\w')"),
    *("endswith(s, 'lo')", "contains(s, '%')", "s ILIKE 'o%O'", "s LIKE ANY ('%x', '_slo')"),
    *("s LIKE ALL ('O%', '%o')", "NOT contains(s, 'l')"),
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
_OF_TEXTS = [
    *("reverse(s) = 'olsO'", "instr(s, 'sl') = 2", "replace(s, 'sl', 'x') = 'Oxo'"),
    *("split(s, 'l')[0] = 'Os'", "lpad(s, 5, '*') = '*Oslo'"),
    "(i = '5' OR s LIKE '%w' AND length(s) = 3)",
]
EVALUATED = [
    *("i = '5'", "CAST(i AS string) LIKE '%1'", "CAST(m AS int) = 2"),
    *("CAST(day AS string) > '1971'", "i / 2 > 3", "floor(m) = 2", "ceil(m) = -1"),
    *("nullif(i, 3) < 5", "day = CAST('1970-02-26' AS date) OR quarter(day) = 3"),
    # Of characters beyond U+FFFF engines differ: pyarrow leaves these rows out first.
    *(f"s <> 'é😀x' AND {text}" for text in _OF_TEXTS),
    *("last_day(day) = DATE '1971-01-31'", "add_months(day, 1) > '1971-01-01'"),
    *("dayofweek(day) = 2", "weekofyear(day) < 9", "quarter(day) = 1", "dayofyear(day) < 20"),
    *("datediff(day, DATE '1970-01-01') > 60", "date_sub(day, 7) < DATE '1970-06-01'"),
    *("date_format(ts, 'yyyy-MM') = '1970-01'", "date_trunc('day', ts) < '1970-01-05'"),
    *("unix_timestamp(ts) > 100000", "from_unixtime(id * 86400) > '1970-01-09'"),
    "day <= current_date - 18000 AND ts <= now() - INTERVAL '18000' DAY AND i > 0",
]
"""Conditions that pyarrow does not evaluate."""


@cache
def found(text: str) -> tuple[int, ...]:
    condition = row_filter(parse_predicate(text, SPARK), _ROWS.schema, _ZONE, Engine.SPARK)
    return tuple(condition.rows(_ROWS)["id"].to_pylist())


@pytest.mark.smoke
@pytest.mark.spark
def test_functions_find_the_rows_of_spark(spark: SparkSession) -> None:
    schema = "id long, s string, i int, m decimal(9, 2), day date, ts timestamp"
    rows = [tuple(row.values()) for row in _ROWS.to_pylist()]
    spark.createDataFrame(rows, schema).createOrReplaceTempView("rows_of_functions")
    texts = [*FILTERS, *EVALUATED]
    truths = ", ".join(f"({text}) AS c{n}" for n, text in enumerate(texts))
    with session_settings(spark, {"spark.sql.session.timeZone": _ZONE}):
        shown = spark.sql(f"SELECT id, {truths} FROM rows_of_functions ORDER BY id").collect()
    seen = {text: tuple(row.id for row in shown if row[f"c{n}"]) for n, text in enumerate(texts)}
    wrong = {text: (ids, found(text)) for text, ids in seen.items() if ids != found(text)}
    assert wrong == {}


@pytest.mark.parametrize("text", [*FILTERS, *EVALUATED])
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
        ("day > '1970-01-01T00:00:00Z'", "UTC", "has dates"),
    ],
)
def test_what_pyarrow_computes_differently_is_refused(
    text: str, zone: str | None, message: str
) -> None:
    with pytest.raises((FilterNotApplicable, pa.ArrowInvalid), match=message):
        _ROWS.filter(arrow_filter(parse_predicate(text, SPARK), _ROWS.schema, zone))


@pytest.mark.parametrize("text", EVALUATED)
def test_what_pyarrow_cannot_evaluate_is_evaluated_by_the_rules_of_pruning(text: str) -> None:
    condition = row_filter(parse_predicate(text, SPARK), _ROWS.schema, _ZONE, Engine.SPARK)
    assert condition.evaluated is not None


def test_a_row_of_which_it_is_not_certain_whether_it_matches_is_an_error() -> None:
    """A text of a day without zeros is read by each engine in its own way."""
    rows = pa.table({"s": ["2024-01-05", "2024-1-5"]})
    condition = row_filter(
        parse_predicate("s = DATE '2024-01-05'", SPARK), rows.schema, "UTC", Engine.SPARK
    )
    assert condition.rows(rows[:1]) == rows[:1]
    with pytest.raises(FilterNotApplicable, match=r"not certain .* '2024-1-5'"):
        condition.rows(rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("initcap(s) = 'Oslo'", "initcap"),
        ("s RLIKE '(?i)a'", "RLIKE"),
        ("CAST(s AS double) = 5", "CAST"),
        ("i > 3 OR md5(s) = 'x'", "md5"),
    ],
)
def test_a_function_without_a_rule_is_refused_before_a_row_is_read(text: str, message: str) -> None:
    with pytest.raises(FilterNotApplicable, match=message):
        row_filter(parse_predicate(text, SPARK), _ROWS.schema, "UTC", Engine.SPARK)


def test_the_backslash_of_hive_is_refused_in_patterns() -> None:
    """Its row by row and vectorised operators differ."""
    with pytest.raises(FilterNotApplicable, match="LIKE"):
        arrow_filter(parse_predicate(r"s LIKE '%\\_'", HIVE), _ROWS.schema, "UTC")


def test_times_of_trino_filter_rows() -> None:
    text = "ts > TIMESTAMP '1970-01-02 00:00:00'"
    condition = arrow_filter(parse_predicate(text, TRINO), _ROWS.schema, "UTC")
    by_text = arrow_filter(parse_predicate(text, SPARK), _ROWS.schema, "UTC")
    assert _ROWS.filter(condition) == _ROWS.filter(by_text)
