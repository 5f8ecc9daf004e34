"""Delta's data skipping in Spark and in its kernel.

DataSkippingDeltaTests and PartitionLikeDataSkippingSuite; ScanSuite and
TimestampStatsAndDataSkippingSuite of the kernel.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from tests.expr.peers.cases import Files, Peer, Verdict

INT, TEXT, DAY = pa.int64(), pa.string(), pa.date32()
INSTANT, WALL_CLOCK = pa.timestamp("us", "UTC"), pa.timestamp("us")


def _one(name: str) -> list[Verdict]:
    files = Files({name: INT}, [[1]])
    return [
        (files, "+", [f"{name} = 1", f"{name} >= 1", f"{name} <= 1"]),
        (files, "+", [f"{name} <= 2", f"{name} >= 0"]),
        (files, "-", [f"{name} = 2", f"{name} > 1", f"{name} < 1"]),
    ]


ONE = Files({"a": INT}, [[1]])
LONG_MINIMUM, LONG_MAXIMUM = (
    Files({"a": TEXT}, [[f"{'A' * 1000}", "B", "C"]]),
    Files({"a": TEXT}, [["A", "B", f"{'C' * 1000}"]]),
)
TWO = Files({"a": INT}, [[1, 2]])
DATED = Files({"a": INT, "b": TEXT}, [[(1, "2017-09-01"), (2, "2017-08-31")]])
TENS = Files({"a": INT, "b": INT}, [[(10, 10), (20, 20)]])
MIXED = Files({"a": INT, "b": INT}, [[(1, 10), (2, 20)]])
NO_B = Files(MIXED.types, MIXED.rows, absent=frozenset("b"))
LEAVES = {"a": 1, "b.c.d": 2, "b.c.e": 3, "b.c.f.g": 4, "b.c.f.h": 5, "b.c.f.i": 6}
LEAVES |= {"b.c.j": 7, "b.c.k": 8, "b.l": 9, "m": 10}


def _leaves(indexed: int) -> list[Verdict]:
    known, absent = list(LEAVES)[:indexed], list(LEAVES)[indexed:]
    rows = [[tuple(LEAVES.values())]]
    files = Files(dict.fromkeys(LEAVES, INT), rows, absent=frozenset(absent))
    return [
        (files, "+", [f"{leaf} = {value}" for leaf, value in LEAVES.items()]),
        (files, "+", [f"{leaf} < 0" for leaf in absent]),
        (files, "-", [f"{leaf} < 0" for leaf in known]),
    ]


FALSE = Files({"a": pa.bool_()}, [[False]])
ONLY_NULL, SOME_NULL = Files({"a": pa.int32()}, [[None]]), Files({"a": pa.int32()}, [[None, 1]])
PAIR = Files({"a": INT, "b": INT}, [[(1, 2)]])
PAIR_NO_B = Files(PAIR.types, PAIR.rows, absent=frozenset("b"))
KEYS = Files(
    {"key": TEXT, "value": TEXT},
    [[(None, None)], [(None, "a")], [(None, "b")], [("a", "a"), ("a", None)], [("b", None)]],
)


def _micros(type_: pa.DataType, sql: str) -> list[Verdict]:
    zone = timezone.utc if type_ == INSTANT else None
    time = datetime(2019, 9, 9, 1, 2, 3, 456789, zone)
    files = Files({"ts": type_, "nested.ts": type_}, [[(time, time)]])
    micros, names = ("456789", "457001", "455999"), ("ts", "TS", "nEstED.tS")
    same, above, below = (f"cast('2019-09-09 01:02:03.{each}' AS {sql})" for each in micros)
    return [
        (files, "+", [f"{of} {op} {same}" for of in names for op in ("=", ">=", "<=")]),
        (files, "-", [f"{of} >= {above}" for of in names]),
        (files, "-", [f"{of} <= {below}" for of in names]),
        # Delta's statistics end at the millisecond.
        (files, "~", [f"ts > {same}", f"ts < {same}"]),
    ]


def _years(sql: str, type_: pa.DataType) -> list[Verdict]:
    texts = [
        ("2019-01-01 12:00:00.123456", "2019-01-01 18:00:00.999999"),
        ("2019-09-09 01:02:03.456789", "2019-09-09 01:02:03.456789"),
        ("2019-12-31 20:00:00.100000", "2019-12-31 23:59:59.999999"),
        ("2020-06-15 10:30:45.555555", "2020-06-15 15:45:30.888888"),
        ("2021-03-20 08:15:22.777777", "2021-03-20 16:42:18.333333"),
    ]
    zone = timezone.utc if type_ == INSTANT else None
    rows = [[datetime.fromisoformat(text).replace(tzinfo=zone) for text in ends] for ends in texts]
    files = Files({"ts": type_}, rows)
    facts = [
        (">= '2019-09-09 01:02:03.456789'", "-++++"),
        ("<= '2019-09-09 01:02:03.456789'", "++---"),
        (">= '2019-09-09 01:02:03.456790'", "-~+++"),
        ("= '2019-09-09 01:02:03.456789'", "-+---"),
        (">= '2019-01-01 00:00:00'", "+++++"),
        (">= '2020-01-01 00:00:00'", "--~++"),
        (">= '2019-06-01 00:00:00'", "-++++"),
        ("<= '2019-06-01 00:00:00'", "+----"),
        ("BETWEEN '2019-09-01 00:00:00' AND '2019-09-30 23:59:59'", "-+---"),
        ("BETWEEN '2019-01-01 00:00:00' AND '2019-12-31 23:59:59'", "+++--"),
        ("> '2019-09-09 01:02:03.457000'", "--+++"),
        ("< '2019-09-09 01:02:03.456000'", "+----"),
        (">= '2020-01-01 00:00:00.000001'", "---++"),
        (">= '2022-01-01 00:00:00'", "-----"),
        ("<= '2018-01-01 00:00:00'", "-----"),
    ]
    return [(files, found, ["ts " + text.replace(" '", f" {sql}'")]) for text, found in facts]


UTC_TIME = datetime(2019, 9, 9, 1, 2, 3, 456789, timezone.utc)
INSTANT_FILE = Files({"ts": INSTANT}, [[UTC_TIME]])
ALL_TYPES = Files(
    {
        **{"c1": INT, "c2": TEXT, "c3": pa.float32(), "c4": pa.float64(), "c5": INSTANT},
        **{"c6": WALL_CLOCK, "c7": DAY, "c8": pa.binary(), "c9": pa.bool_()},
        "c10": pa.decimal128(3, 2),
    },
    [
        [
            (
                *(i, str(i), float(i), float(i), datetime(2000 + i, i, i, i, tzinfo=timezone.utc)),
                *(datetime(2000 + i, i, i, i), date(2000 + i, i, i), str(i).encode() * 4, i == 1),
                Decimal(f"{i}.00"),
            )
            for i in (1, 2)
        ]
    ],
)
KERNEL_TYPES: dict[str, tuple[pa.DataType, Any, str, str, str]] = {
    **{"i": (pa.int32(), 0, "-1", "0", "1"), "l": (INT, 0, "-1", "0", "1")},
    **{"b": (pa.int8(), 0, "-1", "0", "1"), "s": (pa.int16(), 0, "-1", "0", "1")},
    **{"f": (pa.float32(), 0.0, "-1", "0", "1"), "d": (pa.float64(), 0.0, "-1", "0", "1")},
    "t": (TEXT, "0", "'!'", "'0'", "'1'"),
    "day": (DAY, date(2000, 1, 1), "date'1999-01-01'", "date'2000-01-01'", "date'2000-01-02'"),
    "dec": (pa.decimal128(1, 0), Decimal(0), "-1", "0", "1"),
}


def _kernel(name: str) -> list[Verdict]:
    type_, value, small, same, big = KERNEL_TYPES[name]
    files = Files({name: type_}, [[value]])
    return [
        (files, "+", [f"{name} = {same}", f"{name} >= {same}", f"{name} <= {same}"]),
        (files, "+", [f"{name} > {small}", f"{name} < {big}"]),
        (files, "-", [f"{name} = {small}", f"{name} > {same}", f"{name} >= {big}"]),
        (files, "-", [f"{name} < {same}", f"{name} <= {small}"]),
    ]


RANGE = Files({"id": INT}, [range(10)])


def _clustered(i: int) -> tuple[int, str, date, int]:
    """One row for each year, month, day and so on, in Los Angeles."""
    step = timedelta(days=396, hours=1, minutes=1, seconds=1, milliseconds=1)
    time = (datetime(1970, 1, 1, tzinfo=timezone.utc) + i * step).astimezone(
        ZoneInfo("America/Los_Angeles")
    )
    millis = f"{time.microsecond // 1000:03}".rstrip("0") or "0"
    return 9 - i, f"{time:%Y-%m-%d %H:%M:%S}.{millis}", time.date(), i


CLUSTERED = Files(
    {"s.a": pa.int32(), "s.b": TEXT, "c": DAY, "e": pa.int32()},
    [[_clustered(i)] for i in range(10)],
    zone="America/Los_Angeles",
)

VERDICTS = [
    (ONE, "+", ["TRUE", "a <=> 1", "1 = a", "1 <=> a", "1 <= a", "1 >= a", "2 >= a", "0 <= a"]),
    (ONE, "+", ["NOT a <=> 2"]),
    (
        ONE,
        "-",
        ["NOT a = 1", "NOT a <=> 1", "NOT 1 <=> a", "a <=> 2", "a != 1", "2 = a", "2 <=> a"],
    ),
    (ONE, "-", ["1 != a", "a >= 2", "a <= 0", "1 < a", "1 > a", "2 <= a", "0 >= a"]),
    *_one("a"),
    *_one("a.b"),
    *_one("a.b.c"),
    (LONG_MINIMUM, "+", ["a like 'A%'", f"a = '{'A' * 1000}'", "a > 'BA'", "a < 'AB'"]),
    (LONG_MINIMUM, "-", ["a < 'AA'", "a > 'CD'"]),
    (LONG_MAXIMUM, "+", ["a like 'A%'", "a like 'C%'", f"a = '{'C' * 1000}'", "a > 'BA'"]),
    (LONG_MAXIMUM, "+", ["a < 'AB'", "a > 'CC'"]),
    (LONG_MAXIMUM, "-", ["a >= 'D'", "a > 'CD'"]),
    *(
        verdict
        for name in ("a", "a.b")
        for files in [Files({name: TEXT}, [["apple", "microsoft"]])]
        for verdict in [
            (files, "+", [f"{name} like '{start}%'" for start in ("a", "ap", "m", "mic", "")]),
            (files, "-", [f"{name} like 'xyz%'"]),
        ]
    ),
    (TWO, "+", ["a > 0 AND a < 3", "a <= 1 AND a > -1", "a > 0 OR a < -3", "a >= 2 OR a < -1"]),
    (TWO, "-", ["a < 0 AND a > -2", "a > 5 OR a < -2"]),
    (DATED, "+", ["a > 0 AND b = '2017-09-01'", "a = 2 AND b >= '2017-08-30'"]),
    (DATED, "+", ["a >= 2 AND b LIKE '2017-08-%'", "a < 0 OR b = '2017-09-01'"]),
    (DATED, "+", ["a = 2 OR b < '2017-08-30'", "a < 2 OR b LIKE '2017-08-%'"]),
    (DATED, "+", ["a >= 2 OR b LIKE '2016-08-%'"]),
    (DATED, "-", ["a > 0 AND b LIKE '2016-%'", "a < 0 OR b LIKE '2016-%'"]),
    # Remainders by a constant are bounded here: those of 10 to 20 are not below 10.
    (TENS, "~", ["a % 100 < 10 AND b % 100 > 20", "a % 100 < 10 OR b > 20"]),
    (TENS, "~", ["a < 10 OR b % 100 > 20"]),
    (TENS, "-", ["a < 10 AND b % 100 > 20", "a % 100 < 10 AND b > 20", "a < 10 OR b > 20"]),
    (TWO, "+", ["NOT a < 0"]),
    (TWO, "-", ["NOT a > 0", "NOT a < 3", "NOT a >= 1", "NOT a <= 2", "NOT NOT a < 0"]),
    (TWO, "-", ["NOT (NOT a = 3)"]),
    (TENS, "~", ["NOT (a % 100 >= 10 AND b % 100 <= 20)", "NOT (a >= 10 AND b % 100 <= 20)"]),
    (TENS, "~", ["NOT (a % 100 >= 10 AND b <= 20)"]),
    (TENS, "-", ["NOT (a >= 10 AND b <= 20)"]),
    (MIXED, "+", ["NOT (a < 1 OR b > 20)"]),
    (MIXED, "~", ["NOT (a % 100 >= 1 OR b % 100 <= 20)"]),
    (MIXED, "-", ["NOT (a >= 1 OR b <= 20)", "NOT (a % 100 >= 1 OR b <= 20)"]),
    (MIXED, "-", ["NOT (a >= 1 OR b % 100 <= 20)"]),
    (NO_B, "+", ["b < 10", "a < 1 OR b < 10", "a < 1 OR (a >= 1 AND b < 10)"]),
    (NO_B, "-", ["a < 1 AND b < 10", "a < 1 OR (a > 10 AND b < 10)"]),
    *(verdict for indexed in (0, 3, 6, 9) for verdict in _leaves(indexed)),
    (FALSE, "+", ["!a", "NOT a", "a = false", "a <= false"]),
    (FALSE, "~", ["a", "NOT a = false", "a > true", "true = a", "true < a"]),
    (FALSE, "+", ["false = a OR a"]),
    (ONLY_NULL, "+", ["a IS NULL", "a <=> NULL", "TRUE", "NOT a <=> 1", "(a > 1) IS NULL"]),
    (ONLY_NULL, "+", ["(a > 1 AND a > 0) IS NULL", "(a > 1 OR a < 0) IS NULL"]),
    (ONLY_NULL, "~", ["a = NULL", "NOT a = NULL", "FALSE", "NULL AND a = 1"]),
    (ONLY_NULL, "-", ["a IS NOT NULL", "NOT a <=> NULL", "a = 1", "NOT a = 1", "a > 1", "a < 1"]),
    (ONLY_NULL, "-", ["a <> 1", "a <=> 1", "NOT ((a > 1) IS NULL)"]),
    (SOME_NULL, "+", ["a IS NULL", "a IS NOT NULL", "a <=> NULL", "NOT a <=> NULL", "a = 1"]),
    (SOME_NULL, "+", ["a <=> 1", "NOT a <=> 1", "(a > 0) IS NULL", "(a < 0) IS NULL"]),
    (SOME_NULL, "+", ["(a > 1 AND a > 0) IS NULL", "(a > 1 OR a < 0) IS NULL"]),
    (SOME_NULL, "+", ["NOT ((a > 0) IS NULL)"]),
    (SOME_NULL, "~", ["a = NULL", "NOT a = NULL", "FALSE", "NULL AND a = 1"]),
    (SOME_NULL, "-", ["a <> 1", "a > 1", "a < 1", "NOT a = 1"]),
    (PAIR, "-", ["(a > 0 AND b > 1) IS NULL", "(a > 0 OR b > 1) IS NULL"]),
    (PAIR, "+", ["NOT ((a > 0) IS NULL)"]),
    (PAIR, "~", ["(a > 0 OR a = -1 OR a = -2 OR b = -1 OR b = -2 OR b > 10 OR b = 7) IS NULL"]),
    (PAIR_NO_B, "+", ["NOT ((a > 0) IS NULL)", "(b > 0) IS NULL", "(b < 0) IS NULL"]),
    (PAIR_NO_B, "+", ["(b > 1 AND a > 0) IS NULL", "(b > 1 OR a < 0) IS NULL"]),
    (PAIR_NO_B, "-", ["(a > 0) IS NULL", "(a < 0) IS NULL", "(a > 1 AND a > 0) IS NULL"]),
    (PAIR_NO_B, "-", ["(a > 1 OR a < 0) IS NULL"]),
    (KEYS, "+++++", ["TRUE", "key <=> NULL OR value <=> NULL"]),
    (KEYS, "+++--", ["key IS NULL", "key <=> NULL"]),
    (KEYS, "---++", ["key IS NOT NULL"]),
    (KEYS, "---+-", ["key = 'a'", "key <=> 'a'", "key IS NOT NULL AND value IS NOT NULL"]),
    (KEYS, "----+", ["key = 'b'", "key <=> 'b'"]),
    (KEYS, "+--++", ["value IS NULL", "value <=> NULL", "NULL <=> value"]),
    (KEYS, "-+++-", ["value IS NOT NULL"]),
    (KEYS, "-+-+-", ["value = 'a'", "value <=> 'a'", "'a' <=> value"]),
    (KEYS, "--+--", ["value <> 'a'", "value = 'b'", "value <=> 'b'"]),
    (KEYS, "-+---", ["key IS NULL AND value = 'a'"]),
    (KEYS, "+----", ["key <=> NULL AND value <=> NULL"]),
    *_micros(INSTANT, "TIMESTAMP"),
    *_micros(WALL_CLOCK, "TIMESTAMP_NTZ"),
    *_years("TIMESTAMP", INSTANT),
    *_years("TIMESTAMP_NTZ", WALL_CLOCK),
    (
        INSTANT_FILE,
        "+",
        [
            *(f"ts {op} TIMESTAMP'2019-09-09 01:02:03.456789+00:00'" for op in (">=", "<=")),
            *(f"ts {op} TIMESTAMP'2019-09-08 17:02:03.456789-08:00'" for op in (">=", "<=")),
        ],
    ),
    (
        INSTANT_FILE,
        "-",
        [
            "ts >= TIMESTAMP'2019-09-09 01:02:03.457001+00:00'",
            "ts <= TIMESTAMP'2019-09-04 01:02:03.455999+00:00'",
            "ts >= TIMESTAMP'2019-09-08 17:02:03.457001-08:00'",
            "ts <= TIMESTAMP'2019-09-08 17:02:03.455999-08:00'",
        ],
    ),
    (ALL_TYPES, "+", ["c1 = 1", "c2 = '2'", "c3 < 1.5", "c4 > 1.0", "c9 = true", "c9 = false"]),
    (ALL_TYPES, "+", ["c5 >= '2001-01-01 01:00:00'", "c6 >= '2001-01-01 01:00:00'"]),
    (ALL_TYPES, "+", ["c7 = '2002-02-02'", "c10 > 1.5", "c8 = X'31313131'"]),
    (ALL_TYPES, "-", ["c1 = 10", "c2 = '4'", "c3 < 0.5", "c4 > 5.0", "c10 > 2.5"]),
    (ALL_TYPES, "-", ["c5 >= '2003-01-01 01:00:00'", "c6 >= '2003-01-01 01:00:00'"]),
    (ALL_TYPES, "-", ["c7 = '2003-02-02'"]),
    (ALL_TYPES, "~", ["c8 = X'33333333'"]),
    *(verdict for name in KERNEL_TYPES for verdict in _kernel(name)),
    (Files({"s": pa.int16(), "f": pa.float32()}, [[(0, 0.0)]]), "+", ["s = 0.0F", "f = 0S"]),
    (Files({"s": pa.int16(), "f": pa.float32()}, [[(0, 0.0)]]), "-", ["s = 1.0F", "f = 1S"]),
    (RANGE, "+", ["id = 5", "id < 7", "id < 15", "id <= 9", "id > 3", "id > -1", "id >= 0"]),
    (RANGE, "-", ["id = 10", "id < 0", "id < -1", "id <= -1", "id > 10", "id > 11", "id >= 11"]),
    # Partition-like skipping: files of one value. The first has a = 9.
    (CLUSTERED, "--------+-", ["COALESCE(null, s.a, 1) = 1", "CAST(s.a AS STRING) = '1'"]),
    (CLUSTERED, "++++++----", ["COALESCE(null, s.a, 1) > 3"]),
    (CLUSTERED, "++++++++-+", ["COALESCE(null, s.a, 1) != 1", "COALESCE(s.A, 1) != 1"]),
    (CLUSTERED, "------+---", ["COALESCE(TO_DATE(S.b), c) = '1976-07-03'"]),
    (CLUSTERED, "-------+++", ["CAST(s.A AS STRING) < '3'"]),
    (CLUSTERED, "+++++++---", ["CAST(s.A AS STRING) >= '3'"]),
    (CLUSTERED, "------+---", ["TO_DATE(s.b) = '1976-07-03'"]),
    (CLUSTERED, "--------+-", ["CAST(s.a AS TIMESTAMP) = TIMESTAMP_SECONDS(1)"]),
    (CLUSTERED, "+---------", ["YEAR(TIMESTAMP(s.b)) = 1969"]),
    (CLUSTERED, "-+--------", ["DAYOFYEAR(TIMESTAMP(s.b)) = 31", "MONTH(TIMESTAMP(s.b)) = 1"]),
    (CLUSTERED, "-----+----", ["MINUTE(TIMESTAMP(s.b)) = 5", "SECOND(TIMESTAMP(s.b)) = 5"]),
    (CLUSTERED, "-------+--", ["s.b LIKE '%7.007'"]),
    (CLUSTERED, "+++++++-++", ["NOT CONTAINS(s.b, '7.007')"]),
    (CLUSTERED, "-------++-", ["ENDSWITH(s.b, '7.007') OR ENDSWITH(s.b, '8.008')"]),
    (CLUSTERED, "------+---", ["DATE_FORMAT(c, 'yyyy-MM') = '1976-07'"]),
    (CLUSTERED, "+---------", ["LENGTH(s.b) = 21"]),
    (CLUSTERED, "-+--------", ["TRIM(CONCAT('      ', s.b, '   ')) = '1971-01-31 17:01:01.001'"]),
    (CLUSTERED, "-+--------", ["LOWER(CONCAT('AAA', s.b)) = 'aaa1971-01-31 17:01:01.001'"]),
    (CLUSTERED, "-+--------", ["CONCAT(s.b, CAST(s.a AS STRING)) = '1971-01-31 17:01:01.0018'"]),
    (CLUSTERED, "---------+", ["FROM_UNIXTIME(s.a) = '1969-12-31 16:00:00'"]),
    (CLUSTERED, "+---------", ["TO_UNIX_TIMESTAMP(CAST(s.b AS TIMESTAMP)) = 0"]),
    (CLUSTERED, "------+---", ["DATE_TRUNC('MONTH', CAST(s.b AS DATE)) = '1976-07-01'"]),
    (CLUSTERED, "------+---", ["TRUNC(CAST(s.b AS DATE), 'MONTH') = '1976-07-01'"]),
    (CLUSTERED, "-----+----", ["DATE_FROM_UNIX_DATE(s.a) = '1970-01-05'"]),
    (CLUSTERED, "----------", ["CAST(s.a AS STRING) IS NULL"]),
    (CLUSTERED, "++++++++++", ["CAST(s.a AS STRING) IS NOT NULL"]),
    (CLUSTERED, "---+------", ["s.a > 5 AND COALESCE(null, s.a, 1) < 7"]),
]

WEAKER = {
    **dict.fromkeys(
        [
            "YEAR(TIMESTAMP(s.b)) = 1969",
            *("DAYOFYEAR(TIMESTAMP(s.b)) = 31", "MONTH(TIMESTAMP(s.b)) = 1"),
            *("MINUTE(TIMESTAMP(s.b)) = 5", "SECOND(TIMESTAMP(s.b)) = 5"),
            "TO_UNIX_TIMESTAMP(CAST(s.b AS TIMESTAMP)) = 0",
        ],
        "Spark reads texts of times in more ways than those of days, in the session's zone",
    ),
    **dict.fromkeys(
        [
            "CAST(s.a AS TIMESTAMP) = TIMESTAMP_SECONDS(1)",
            "DATE_FROM_UNIX_DATE(s.a) = '1970-01-05'",
        ],
        "conversions of numbers to times are rare in queries",
    ),
}

DELTA = Peer("Delta", "spark", VERDICTS, WEAKER)
