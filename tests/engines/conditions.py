"""Conditions over the matrix table in SQL that Presto, Trino and DuckDB read alike."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import duckdb
import pyarrow as pa

from devtools.matrix import Row

SKIPPING = (
    "i = 3005",
    "i IN (1, 7, 1005, 22007)",
    "i BETWEEN 990 AND 2010",
    "NOT (i < 20000 OR i > 21000)",
    "i > 26022 AND i < 500000",
    "i > 2147483000",
    "ti = 0",
    "l = 3005000000000",
    "l < -4990000000000",
    "d = 4.25e0",
    "f = CAST(9.25 AS real)",
    "dec9 > CAST('9000.00' AS decimal(9, 2))",
    "s = 'name_003_05'",
    "s >= 'updated_' OR s < 'name_002'",
    "u = 'é006à1'",
    "u > '日本語'",
    "dt BETWEEN DATE '1971-01-01' AND DATE '1971-02-01'",
    "dt = DATE '1969-12-21'",
    "ts >= TIMESTAMP '1973-04-01 00:00:00'",
    "ts < TIMESTAMP '1969-12-25 00:00:00'",
    "ts BETWEEN TIMESTAMP '1970-01-29 01:02:03' AND TIMESTAMP '1970-01-29 01:03:05'",
    "b = false",
    "n IS NOT NULL",
    "n < 30",
    '"none" IS NOT NULL',
    "s LIKE '%7%' AND i < 0",
)
"""Each lets files be skipped."""

WIDE = "dec38 > CAST('1522000000000000000000000.0123456789' AS decimal(38, 10))"
"""Lets files be skipped, but not by the statistics of table version 6."""

OTHERS = (
    WIDE,
    "i <> 3005",
    "i % 7 = 3",
    "abs(i) < 100",
    "i = 3005 OR s = 'name_020_01'",
    "d <> 4.25e0",
    "u LIKE 'é%'",
    "n IS NULL",
    "n = 135 OR n IS NULL",
    "length(s) > 3",
)
"""Engines push no domain of these down, or one that every file meets."""

OF_PARTITIONS = ("q = 1 AND i > 10000", "q = 2", "q IN (0, 3) AND s LIKE '%_05'")
"""Presto's own connector fails on these with the tests' metastore ("Internal error")."""

_TYPES = {
    "id": pa.int64(),
    "b": pa.bool_(),
    "ti": pa.int32(),
    "i": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "dec9": pa.decimal128(9, 2),
    "dec38": pa.decimal128(38, 10),
    "s": pa.string(),
    "u": pa.string(),
    "dt": pa.date32(),
    "ts": pa.timestamp("us"),
    "st": pa.struct(
        {
            "a": pa.int32(),
            "b": pa.string(),
            "c": pa.struct({"d": pa.float64(), "e": pa.date32()}),
        }
    ),
    "n": pa.int32(),
    "none": pa.int32(),
    "q": pa.int32(),
}


def expected_ids(rows: Sequence[Row], condition: str) -> list[int]:
    """The ids of the rows for which a condition is TRUE by DuckDB, ascending.

    Presto and Trino read times in milliseconds, cut off or rounded; no condition depends on which.
    """
    arrays = {
        name: pa.array([_naive(row[name]) for row in rows], type_) for name, type_ in _TYPES.items()
    }
    arrays["ts"] = arrays["ts"].cast(pa.timestamp("ms"), safe=False)
    with duckdb.connect() as connection:
        connection.register("rows", pa.table(arrays))
        found = connection.execute(f"SELECT id FROM rows WHERE {condition} ORDER BY id").fetchall()
    return [one for (one,) in found]


def _naive(value: object) -> object:
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value
