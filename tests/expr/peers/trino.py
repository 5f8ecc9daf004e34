"""Trino's domains of Parquet statistics (TestTupleDomainParquetPredicate), as what they exclude."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from tests.expr.peers.cases import Files, Peer, Verdict
from tests.expr.statistics import NOTHING, RecordedStatistics


def _integers(type_: pa.DataType) -> list[Verdict]:
    x = {"x": type_}
    nulls = RecordedStatistics(minimum=False, maximum=False, nulls=False)
    files = Files(
        x, [[100], [0, 100], [None], [100, None], [1]], {("x", 3): nulls, ("x", 4): NOTHING}
    )
    return [
        (files, "++-++", ["x = 100", "x >= 100", "x BETWEEN 100 AND 110"]),
        (files, "-+-++", ["x = 0", "x < 100", "x = 50", "x IN (5, 99)"]),
        (files, "---++", ["x = 101", "x > 100", "x < 0"]),
        (files, "--+++", ["x IS NULL"]),
        (files, "++-++", ["x IS NOT NULL"]),
        (Files(x, [[32, 42], [30, 40]]), "+-", ["x IN (42, 43, 44, 112)"]),
    ]


def _decimals(precision: int, scale: int, unit: str) -> list[Verdict]:
    hundred = 100 * Decimal(unit)
    x = {"x": pa.decimal128(precision, scale)}
    files = Files(x, [[hundred], [0 * hundred, hundred], [hundred]], {("x", 2): NOTHING})
    above, below = hundred + Decimal(unit), hundred - Decimal(unit)
    return [
        (files, "+++", [f"x = DECIMAL '{hundred}'", f"x >= DECIMAL '{hundred}'"]),
        (files, "-++", [f"x = DECIMAL '{below}'", f"x < DECIMAL '{hundred}'"]),
        (files, "--+", [f"x = DECIMAL '{above}'", f"x > DECIMAL '{hundred}'"]),
    ]


def _floats(type_: pa.DataType, minimum: float, maximum: float) -> list[Verdict]:
    x = {"x": type_}
    files = Files(
        x, [[minimum], [minimum, maximum], [math.nan], [minimum, math.nan], [math.nan, None]]
    )
    # Trino gives up bounds with NaN.
    return [
        (files, "+++++", [f"x >= {minimum - 1}"]),
        (files, "-++++", [f"x > {maximum - 1}"]),
        (files, "--~+~", [f"x = {maximum + 1}"]),
        (files, "--~~~", [f"x < {minimum - 1}", f"x = {minimum - 1}"]),
        (files, "----+", ["x IS NULL"]),
    ]


BOOLEANS = Files({"x": pa.bool_()}, [[True], [False], [False, True]])
TEXTS = Files({"x": pa.string()}, [["taco"], ["apple", "taco"], ["中国", "美利坚"], ["Test", None]])
DAYS = Files(
    {"x": pa.date32()},
    [[date(1970, 4, 11)], [date(1970, 1, 1), date(1970, 4, 11)]],
)
NOON = datetime(1970, 1, 19, 10, 28, 52, 123457)
TIMES = Files({"x": pa.timestamp("us")}, [[NOON], [NOON, NOON + timedelta(milliseconds=50)]])
PAIRS = Files(
    {"a": pa.int64(), "b": pa.int64()},
    [[(32, 42), (42, 500)], [(32, 50), (42, 400)], [(32, 1), (42, 40)]],
)

VERDICTS = [
    (BOOLEANS, "+-+", ["x", "x = true", "NOT (x = false)"]),
    (BOOLEANS, "-++", ["NOT x", "x = false"]),
    *(
        verdict
        for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64())
        for verdict in _integers(type_)
    ),
    (Files({"x": pa.int64()}, [[1024, 65578]]), "-", ["x IN (42, 43, 44, 404)"]),
    *_decimals(5, 2, "0.01"),
    *_decimals(5, 0, "1"),
    *_decimals(15, 2, "0.01"),
    *_decimals(20, 5, "0.00001"),
    *_decimals(20, 0, "1"),
    *_floats(pa.float64(), 3.25, 42.25),
    *_floats(pa.float32(), 4.25, 40.25),
    (TEXTS, "++--", ["x = 'taco'"]),
    (TEXTS, "-+--", ["x = 'apple'", "x < 'b'  AND x > 'a'", "x LIKE 'b%'"]),
    (TEXTS, "--+-", ["x = '中国'", "x > 'tacos'", "x BETWEEN '中' AND '丯'"]),
    (TEXTS, "---+", ["x = 'Test'", "x IS NULL"]),
    (DAYS, "++", ["x = DATE '1970-04-11'"]),
    (DAYS, "-+", ["x = DATE '1970-01-01'", "x < DATE '1970-04-11'"]),
    (DAYS, "--", ["x > DATE '1970-04-11'", "x < DATE '1970-01-01'"]),
    (TIMES, "++", ["x >= TIMESTAMP '1970-01-19 10:28:52.123457'"]),
    (TIMES, "-+", ["x > TIMESTAMP '1970-01-19 10:28:52.150'"]),
    (TIMES, "--", ["x > TIMESTAMP '1970-01-19 10:28:52.200'"]),
    (TIMES, "--", ["x < TIMESTAMP '1970-01-19 10:28:52.100'"]),
    (PAIRS, "++-", ["a IN (42, 43, 44, 404) AND b BETWEEN 42 AND 404"]),
    (PAIRS, "---", ["a IN (43, 44, 404) AND b BETWEEN 42 AND 404"]),
]

WEAKER: dict[str, str] = {}

TRINO = Peer("Trino", "trino", VERDICTS, WEAKER)
