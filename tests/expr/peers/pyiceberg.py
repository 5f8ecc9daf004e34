"""PyIceberg's evaluators of metrics, inclusive and strict (test_evaluator.py).

Cases that Iceberg has, too, are in `iceberg`.
"""

from __future__ import annotations

import math

import pyarrow as pa

from tests.expr.peers.cases import Files, Peer, unless_all_match
from tests.expr.statistics import NOTHING

DOUBLE = pa.float64()
#: Nothing but NaN; a maximum of NaN; bounds of NaN, so nothing is known; NaN beside right bounds.
NANS = Files(
    {"all": DOUBLE, "top": DOUBLE, "unknown": DOUBLE, "some": DOUBLE},
    [[(math.nan, 7.0, 1.0, 7.0), (math.nan, math.nan, 30.0, 22.0)]],
    {("unknown", 0): NOTHING},
)
EMPTY_TEXT = Files({"t": pa.string()}, [["", ""]])
PROMOTED = Files({"l": pa.int64(), "d": DOUBLE}, [[(30, 30.0), (79, 79.0)]])
FIVES = Files({"x": pa.int32()}, [[5, None], [None, None], [5, 5]])
FLOATS = Files({"x": DOUBLE}, [[5.0, math.nan], [math.nan, math.nan], [5.0]])

VERDICTS = [
    (NANS, "-", [f"{name} {op} 1" for name in ("all", "top", "some") for op in ("<", "<=", "=")]),
    (NANS, "+", [f"{name} {op} 10" for name in ("top", "some") for op in ("<", "<=", "=", ">")]),
    (NANS, "+", [f"unknown {op} 1" for op in ("<", "<=", "=", ">", ">=", "<>")]),
    (NANS, "-", ["all > 1", "all >= 1", "all > 30", "all = 30", "some = 30", "some > 30"]),
    (NANS, "+", [f"{name} {op} 1" for name in ("top", "some") for op in (">", ">=", "<>")]),
    (NANS, "+", ["all <> 1", "some <> 10", "some <> 30", "all NOT IN (1, 10, 30)"]),
    (NANS, "+", ["top IN (1, 10, 30)", "unknown IN (1, 10, 30)", "some IN (1, 10, 30)"]),
    (NANS, "+", ["some IN (5, 7)", "some IN (22, 25)", "some NOT IN (1, 30)"]),
    (NANS, "-", ["all IN (1, 10, 30)", "some IN (1, 30)"]),
    (EMPTY_TEXT, "-", ["t < ''", "t > 'abc'", "t = 'abc'", *unless_all_match("t = ''", "t < 'a'")]),
    (EMPTY_TEXT, "-", unless_all_match("t <> 'abc'")),
    (PROMOTED, "-", ["l > 100", "d > 100.0", *unless_all_match("l > 20", "l < 100")]),
    (PROMOTED, "+", ["l < 50", "d < 50.0", *unless_all_match("l > 100", "l < 20", "d < 20.0")]),
    (PROMOTED, "-", unless_all_match("d > 20.0", "d < 100.0")),
    # Rows with null do not match in SQL.
    (FIVES, "+++", unless_all_match("x <> 5", "x NOT IN (5, 6)")),
    (FLOATS, "+-+", unless_all_match("x <> 5.0", "x NOT IN (5.0, 6.0)")),
]

WEAKER = dict.fromkeys(
    ("all > 1", "all >= 1", "all > 30"), "in Hive NaN is above all numbers: the rows match"
)

PYICEBERG = Peer("PyIceberg", "hive", VERDICTS, WEAKER)
