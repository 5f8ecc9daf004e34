"""Iceberg's evaluators of metrics, manifests and row groups, inclusive and strict.

TestInclusiveMetricsEvaluator and the one with transforms, TestInclusiveManifestEvaluator,
TestStrictMetricsEvaluator, TestMetricsRowGroupFilter and TestMetricsRowGroupFilterTypes.

In Iceberg `<>`, NOT IN and NOT LIKE find nulls. In SQL they do not, so we skip more.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa

from tests.expr.peers.cases import Files, Peer, Verdict, unless_all_match
from tests.expr.statistics import NOTHING, RecordedStatistics

ONLY_NULLS_COUNTED = RecordedStatistics(minimum=False, maximum=False)
STRING, LONG_TEXT = pa.string(), "房东整租霍营小区二层两居室"
FLOATS = {"some_nans": pa.float32(), "no_nans": pa.float32(), "all_nans": pa.float64()}

#: Ids from 30 to 79, and columns with and without counts and bounds.
FILE = Files(
    {
        **{"id": pa.int32(), "no_stats": pa.int32(), "required": STRING, "all_nulls": STRING},
        **{"some_nulls": STRING, "no_nulls": STRING, "some_empty": STRING, **FLOATS},
        "all_nulls_double": pa.float64(),
    },
    [
        [
            (30, 1, "a", None, None, "a", "", 1.0, 1.0, math.nan, None),
            (79, 2, "b", None, "b", "b", LONG_TEXT, math.nan, 2.0, math.nan, None),
        ]
    ],
    {("some_nulls", 0): ONLY_NULLS_COUNTED, ("no_nulls", 0): ONLY_NULLS_COUNTED},
    frozenset({"no_stats", "required"}),
)
EMPTY = Files(FILE.types, [[]])
BEHIND_LAST = "イロハホ"  # the maximum cut off after four characters, and the next one
TEXTS = Files(
    {"t": STRING},
    [["aa", "dC"], ["1str1", "3str3"], ["abc", "イロハニホヘト"], ["abc", "abcdefghi"]],
)
VALUES = Files({"t": STRING}, [["aaa", "zzz"], ["abc"], ["abc", None]])
NUMBERS = Files({"f": pa.float32()}, [[5.0], [5.0, math.nan], [math.nan], [1.0, 2.0]])
STRUCTS = Files(
    {"s.present": STRING, "s.missing": STRING}, [[("x", None)]], {("s.present", 0): NOTHING}
)


def _comparisons(files: Files, name: str, low: int, high: int) -> list[Verdict]:
    """A column with values from `low` to `high`."""
    below, above = (low - 25, low - 1), (high + 1, high + 6)
    inside = (low, high - 4, high)
    return [
        (files, "-", [f"{name} < {value}" for value in (low - 25, low)]),
        (files, "+", [f"{name} < {value}" for value in (low + 1, high)]),
        (files, "-", [f"{name} <= {value}" for value in below]),
        (files, "+", [f"{name} <= {value}" for value in (low, high)]),
        (files, "-", [f"{name} > {value}" for value in (high, high + 6)]),
        (files, "+", [f"{name} > {value}" for value in (high - 1, high - 4)]),
        (files, "-", [f"{name} >= {value}" for value in above]),
        (files, "+", [f"{name} >= {value}" for value in (high, high - 4)]),
        (files, "-", [f"{name} = {value}" for value in below + above]),
        (files, "+", [f"{name} = {value}" for value in inside]),
        (files, "+", [f"{name} <> {value}" for value in below + inside + above]),
        (files, "+", [f"NOT {name} = {value}" for value in below + inside + above]),
        (
            files,
            "-",
            [f"{name} IN ({v}, {v + 1})" for v in (low - 25, low - 2, high + 1, high + 6)],
        ),
        (files, "+", [f"{name} IN ({v}, {v + 1})" for v in (low - 1, high - 4, high)]),
        (
            files,
            "+",
            [f"{name} NOT IN ({v}, {v + 1})" for v in (low - 25, low - 1, high, high + 1)],
        ),
        (files, "+", [f"NOT {name} < {low - 25}", f"{name} > {low - 25} AND {name} <= {low}"]),
        (files, "-", [f"NOT {name} > {low - 25}", f"{name} < {low - 25} AND {name} >= {low - 30}"]),
        (files, "-", [f"{name} < {low - 25} AND {name} >= {high + 1}"]),
        (files, "-", [f"{name} < {low - 25} OR {name} >= {high + 1}"]),
        (files, "+", [f"{name} < {low - 25} OR {name} >= {high - 19}"]),
        # A list this long is not evaluated by Iceberg.
        (files, "~", [f"{name} IN ({', '.join(map(str, range(low - 430, low)))})"]),
    ]


def _days(low: int, high: int) -> list[Verdict]:
    """Timestamps from one day to another, by their days."""
    first = datetime(1970, 1, 1, 12, tzinfo=timezone.utc)
    files = Files(
        {"ts": pa.timestamp("us", "UTC")}, [[first + timedelta(low), first + timedelta(high)]]
    )

    def day(number: int) -> str:
        return f"DATE '{date(1970, 1, 1) + timedelta(number)}'"

    of = "date(ts)"
    return [
        (files, "-", [f"{of} < {day(n)}" for n in (low - 25, low)]),
        (files, "+", [f"{of} < {day(n)}" for n in (low + 1, high)]),
        (files, "-", [f"{of} <= {day(n)}" for n in (low - 25, low - 1)]),
        (files, "+", [f"{of} <= {day(n)}" for n in (low, high)]),
        (files, "-", [f"{of} > {day(n)}" for n in (high, high + 6)]),
        (files, "+", [f"{of} > {day(n)}" for n in (high - 1, high - 4)]),
        (files, "-", [f"{of} >= {day(n)}" for n in (high + 1, high + 6)]),
        (files, "+", [f"{of} >= {day(n)}" for n in (high - 4, high)]),
        (files, "-", [f"{of} = {day(n)}" for n in (low - 25, low - 1, high + 1, high + 6)]),
        (files, "+", [f"{of} = {day(n)}" for n in (low, high - 4, high)]),
        (files, "+", [f"{of} <> {day(n)}" for n in (low - 1, low, high, high + 6)]),
        (files, "-", [f"{of} IN ({day(n)}, {day(n + 1)})" for n in (low - 2, high + 1)]),
        (files, "+", [f"{of} IN ({day(n)}, {day(n + 1)})" for n in (low - 1, high)]),
        (files, "+", [f"{of} NOT IN ({day(n)}, {day(n + 1)})" for n in (low - 1, high)]),
        (files, "+", [f"NOT {of} < {day(low - 25)}"]),
        (files, "-", [f"NOT {of} > {day(low - 25)}", f"{of} IS NULL"]),
    ]


def _time(hour: int) -> datetime:
    return datetime(2018, 6, 29, hour, 2, 34)


def _equal(type_: pa.DataType, rows: list[object], read: str, skipped: str) -> list[Verdict]:
    """A column of one type: a value that the row group has, and one that it has not."""
    files = Files({"v": type_}, [rows])
    return [(files, "+", [f"v = {read}"]), (files, "-", [f"v = {skipped}"])]


STRICT_NAMES = [("all_nulls", STRING), ("no_nulls", STRING), ("always_5", pa.int32())]
STRICT = Files(
    {"id": pa.int32(), **dict(STRICT_NAMES), "no_stats": pa.int32()},
    [[(30, None, "a", 5, 1), (79, None, "b", 5, 2)]],
    {("no_nulls", 0): ONLY_NULLS_COUNTED},
    frozenset({"no_stats"}),
)
STRICT_TEXTS = Files(
    {"t": STRING}, [["abc", "abd"], ["aa", "dC"], ["bbb", "eee", None], ["bbb", None]]
)

VERDICTS = [
    # inclusive: may a row match?
    *_comparisons(FILE, "id", 30, 79),
    *_comparisons(Files({"s.i": pa.int32()}, [[30, 79]]), "s.i", 30, 79),
    *_days(30, 79),
    (
        FILE,
        "-",
        ["all_nulls IS NOT NULL", "all_nulls < 'a'", "all_nulls <= 'a'", "all_nulls > 'a'"],
    ),
    (FILE, "-", ["all_nulls >= 'a'", "all_nulls = 'a'", "all_nulls LIKE 'a%'"]),
    (FILE, "-", ["all_nulls LIKE '%'", "all_nulls IN ('abc', 'def')"]),
    (FILE, "~", ["all_nulls NOT LIKE 'a%'", "all_nulls NOT IN ('abc', 'def')"]),
    (FILE, "+", ["some_nulls IS NOT NULL", "no_nulls IS NOT NULL", "all_nulls IS NULL"]),
    (
        FILE,
        "+",
        ["some_nulls IS NULL", "some_nulls IN ('abc', 'def')", "no_nulls IN ('abc', 'def')"],
    ),
    (FILE, "+", ["some_nulls NOT IN ('abc', 'def')", "no_nulls NOT IN ('abc', 'def')"]),
    (FILE, "-", ["no_nulls IS NULL", "required IS NULL"]),
    (FILE, "+", ["required IS NOT NULL", "required LIKE 'a%'", "required NOT LIKE 'a%'"]),
    (FILE, "+", ["is_nan(all_nans)", "is_nan(some_nans)", "NOT is_nan(some_nans)"]),
    (FILE, "-", ["is_nan(no_nans)", "is_nan(all_nulls_double)", "NOT is_nan(all_nans)"]),
    (FILE, "+", ["NOT is_nan(no_nans)"]),
    (FILE, "~", ["NOT is_nan(all_nulls_double)"]),
    (FILE, "+", [f"no_stats {op} 30" for op in ("<", "<=", "=", ">", ">=", "<>")]),
    (FILE, "+", ["no_stats IS NULL", "no_stats IS NOT NULL"]),
    (EMPTY, "-", ["id < 5", "id <= 30", "id = 70", "id > 78", "id >= 90", "id <> 101"]),
    (EMPTY, "-", ["some_nulls IS NULL", "some_nulls IS NOT NULL"]),
    (EMPTY, "-", ["is_nan(some_nans)", "NOT is_nan(some_nans)"]),
    (FILE, "+", ["some_empty LIKE '房东整租霍%'"]),
    (TEXTS, "+-++", ["t LIKE 'a%'"]),
    (TEXTS, "+---", ["t LIKE 'aa%'", "t LIKE 'aaa%'"]),
    (TEXTS, "-+--", ["t LIKE '1s%'", "t LIKE '1str1x%'"]),
    (TEXTS, "--+-", ["t LIKE 'ff%'"]),
    (TEXTS, "--+-", ["t LIKE 'dWX%'", "t LIKE 'イ%'"]),
    (TEXTS, "----", ["t LIKE 'aB%'", f"t LIKE '{BEHIND_LAST}%'"]),
    (TEXTS, "----", ["t LIKE '5%'", "t LIKE '3str3x%'"]),
    (TEXTS, "+++-", ["t NOT LIKE 'a%'", "t NOT LIKE 'ab%'", "t NOT LIKE 'abc%'"]),
    (TEXTS, "++++", ["t NOT LIKE 'aaa%'", "t NOT LIKE '1str1x%'", "t NOT LIKE 'abcd%'"]),
    (TEXTS, "++++", ["t NOT LIKE 'dWX%'", f"t NOT LIKE '{BEHIND_LAST}%'"]),
    (VALUES, "+++", ["t <> 'aaa'"]),
    (VALUES, "+-~", ["t <> 'abc'", "t NOT IN ('abc', 'def')", "t NOT LIKE 'a%'"]),
    (VALUES, "+++", ["t <> 'def'", "t NOT IN ('def', 'ghi')"]),
    (NUMBERS, "-+++", ["f <> REAL '5.0'", "f NOT IN (REAL '5.0', REAL '10.0')"]),
    (STRUCTS, "+", ["s.missing IS NULL", "s.present IS NULL", "s.present IS NOT NULL"]),
    (STRUCTS, "-", ["s.missing IS NOT NULL"]),
    *_equal(pa.bool_(), [False], "false", "true"),
    *_equal(pa.int32(), [0, 49], "5", "55"),
    *_equal(pa.int64(), [5_000_000_000, 5_000_000_049], "5000000049", "5000"),
    *_equal(pa.float32(), [1.5, 2.0], "1.97", "2.11"),
    *_equal(pa.float64(), [2.0, 2.5], "2.11", "1.97"),
    *_equal(pa.date32(), [date(2018, 6, 29)], "DATE '2018-06-29'", "DATE '2018-05-03'"),
    *_equal(
        pa.timestamp("us"),
        [_time(10)],
        "TIMESTAMP '2018-06-29 10:02:34'",
        "TIMESTAMP '2018-06-29 15:02:34'",
    ),
    *_equal(STRING, ["tapir"], "'tapir'", "'monthly'"),
    *_equal(pa.binary(), [b"abcd"], "X'61626364'", "X'00010203'"),
    *_equal(pa.decimal128(8, 2), [Decimal("77.77")], "77.77", "12.34"),
    *_equal(pa.decimal128(14, 2), [Decimal("88.88")], "88.88", "12.34"),
    *_equal(pa.decimal128(31, 2), [Decimal("99.99")], "99.99", "12.34"),
    # strict: do all rows match?
    (STRICT, "-", unless_all_match("no_nulls IS NOT NULL", "all_nulls IS NULL", "id < 80")),
    (STRICT, "-", unless_all_match("id <= 79", "id <= 80", "id > 29", "id >= 30")),
    (STRICT, "-", unless_all_match("always_5 = 5", "id <> 5", "id <> 29", "id <> 80", "id <> 85")),
    (STRICT, "-", unless_all_match("NOT id = 5", "NOT id = 80", "always_5 IN (5, 6)")),
    (STRICT, "-", unless_all_match("id NOT IN (5, 6)", "id NOT IN (80, 81)", "NOT id < 5")),
    (STRICT, "-", unless_all_match("id < 85 AND id >= 0", "id < 5 OR id >= 30")),
    (STRICT, "+", unless_all_match("all_nulls IS NOT NULL", "no_nulls IS NULL", "id < 30")),
    (STRICT, "+", unless_all_match("id < 31", "id < 79", "id <= 29", "id <= 30", "id > 79")),
    (STRICT, "+", unless_all_match("id > 78", "id > 30", "id >= 80", "id >= 79", "id >= 31")),
    (STRICT, "+", unless_all_match("id = 5", "id = 30", "id = 75", "id = 79", "id = 80")),
    (STRICT, "+", unless_all_match("id <> 30", "id <> 75", "id <> 79", "id IN (5, 6)")),
    (STRICT, "+", unless_all_match("id IN (29, 30)", "id NOT IN (29, 30)", "id NOT IN (79, 80)")),
    (STRICT, "+", unless_all_match("always_5 NOT IN (5, 6)", "no_nulls IN ('abc', 'def')")),
    (STRICT, "+", unless_all_match("no_nulls NOT IN ('abc', 'def')", "NOT id > 5")),
    (STRICT, "+", unless_all_match("id > 5 AND id <= 30", "id < 5 AND id >= 0")),
    (STRICT, "+", unless_all_match("id < 5 OR id >= 80", "id < 5 OR id >= 60", "no_stats < 5")),
    (STRICT, "+", unless_all_match("no_stats IS NULL", "no_stats IS NOT NULL", "no_stats <> 1")),
    (STRICT_TEXTS, "-+++", unless_all_match("t LIKE 'ab%'", "t LIKE 'a%'")),
    (STRICT_TEXTS, "++++", unless_all_match("t LIKE 'abc%'", "t LIKE 'zzz%'")),
    (STRICT_TEXTS, "--++", unless_all_match("t LIKE '%'", "t NOT LIKE 'zzz%'", "t NOT LIKE 'e%'")),
    (STRICT_TEXTS, "++++", unless_all_match("t < 'ab'", "t = 'bbb'", "t NOT LIKE '%'")),
]

WEAKER = {
    "required IS NULL": "a column may have become required after the file was written: its footer"
    " proves it, the schema does not",
    "NOT is_nan(all_nans)": "no statistics of Hudi or Parquet tell that all values are NaN",
}

ICEBERG = Peer("Iceberg", "trino", VERDICTS, WEAKER)
