"""DuckDB skips row groups by bounds of floats, beside which there may be NaN (pull 16962)."""

from __future__ import annotations

import math

import pyarrow as pa

from tests.expr.peers.cases import Files, Peer
from tests.expr.peers.polars import GREATEST

FLOATS = Files({"x": pa.float32()}, [[1.0, 3.0], [1.0, math.nan, 3.0], [math.nan]])

VERDICTS = [
    (FLOATS, "---", ["x < 1D", "x = 5D", "x > 5D AND x < 10D", "x IN (0D, 5D)"]),
    (FLOATS, "-++", ["x > 5D", "x >= 4D", "NOT (x <= 4D)"]),
    (FLOATS, "++-", ["x < 2D", "x = 3D"]),
]

WEAKER = dict.fromkeys(("x = 5D", "x > 5D AND x < 10D", "x IN (0D, 5D)"), GREATEST)

DUCKDB = Peer("DuckDB", "spark", VERDICTS, WEAKER)
