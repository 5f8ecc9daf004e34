"""Polars skips row groups by bounds of floats, beside which there may be NaN (pull 26805)."""

from __future__ import annotations

import math

import pyarrow as pa

from tests.expr.peers.cases import Files, Peer

NAN = "CAST('NaN' AS DOUBLE)"
FLOATS = Files({"x": pa.float64()}, [[1.0, 3.0, math.nan]])

VERDICTS = [
    (FLOATS, "-", ["x < 1D", "x <= 0.5D", "x = 0D", "x BETWEEN -1D AND 0D", f"x > {NAN}"]),
    (FLOATS, "-", ["x = 5D", "x BETWEEN 4D AND 5D"]),
    (FLOATS, "+", ["x > 5D", "x >= 5D", f"x = {NAN}", "x < 2D", "x = 3D", "x BETWEEN 2D AND 9D"]),
]

GREATEST = "of a file that may hold NaN the greatest number is not kept"
WEAKER = {
    "x = 5D": GREATEST,
    "x BETWEEN 4D AND 5D": GREATEST,
    f"x > {NAN}": "engines differ in what NaN is above",
}

POLARS = Peer("Polars", "spark", VERDICTS, WEAKER)
