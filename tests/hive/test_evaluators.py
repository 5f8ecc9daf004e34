"""Hive's evaluators, which check our rules elsewhere, agree with HiveServer2."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devtools.hiveserver import ENGINES, HiveServer
from tests.truth.engine import Answer, SessionOptions
from tests.truth.engines.hive import EvaluationMode, HiveEngine, HiveJvm, hive_jvm

pytestmark = pytest.mark.hive

_NAN, _INF = float("nan"), float("inf")
_ROWS = pa.table(
    {
        "id": pa.array(range(8), pa.int32()),
        "l": pa.array([2**32 + 5, 300, -1, 2**40, 2**63 - 2, 2**53 + 1, None, 5]),
        "i": pa.array([0, 5, 9, None, 1, 2**31 - 2, 2**31 - 1, -5], pa.int32()),
        "z": pa.array([None] * 8, pa.int32()),
        "d": pa.array([1e10, 300.7, _NAN, 1e300, 0.1, -1e300, None, 0.49999999999999994]),
        "f": pa.array([1.5, _NAN, 0.1, -2.5, 0.0, None, 3e38, _INF], pa.float32()),
        "s": pa.array(["\uffff", "a ", "a\t", None, "b", "A", "İ", ""]),
        "u": pa.array(["😀", "b", "a", "x", None, "a", "i", ""]),
        "m": pa.array([*map(Decimal, ("0.00", "1.00", "-1.50", "99.99", "2.50"))] + [None] * 3),
        "day": pa.array(
            [
                *(dt.date(2019, 6, 11), dt.date(1, 1, 1), None, dt.date(9999, 12, 30)),
                *(dt.date(1582, 10, 10), dt.date(2020, 2, 29), dt.date(1970, 1, 1), None),
            ]
        ),
        "clock": pa.array(
            [
                *(dt.datetime(2019, 6, 11, 5), dt.datetime(1, 1, 2), None, dt.datetime.max),
                *(dt.datetime(1582, 10, 10), dt.datetime(2020, 2, 29), dt.datetime(1970, 1, 1)),
                dt.datetime(1969, 12, 31, 23, 59, 59, 1),
            ],
            pa.timestamp("us"),
        ),
        "at": pa.array(
            [
                *(dt.datetime(2019, 6, 11, 5), dt.datetime(1880, 1, 2), None, dt.datetime.max),
                *(dt.datetime(1582, 10, 10), dt.datetime(2020, 2, 29), dt.datetime(1970, 1, 1)),
                dt.datetime(1969, 12, 31, 23, 59, 59, 1),
            ],
            pa.timestamp("us", tz="UTC"),
        ),
    }
)
_COLUMNS = (
    "id int, l bigint, i int, z int, d double, f float, s string, u string, m decimal(4,2), "
    "day date, clock timestamp, at timestamp"
)
_PREDICATES = (
    "i NOT BETWEEN z AND 4",
    "i NOT BETWEEN 9 AND z",
    "CASE WHEN i NOT BETWEEN z AND 4 THEN 1 ELSE 0 END = 0",
    "(i NOT BETWEEN z AND 4) IS NULL",
    "coalesce(d BETWEEN 9.0D AND 1.0D, false)",
    "i IN ('5', 9)",
    "pmod(i, 2147483647) < 0",
    "i + 1 < i",
    "floor(l) = l",
    "cast(l AS int) = 5",
    "cast(l AS tinyint) = 300",
    "cast(d AS int) > 2147483647L",
    "cast(d AS float) = cast(0.1 AS float)",
    "round(d) = 0",
    "f = f",
    "nullif(i, 1.9BD) IS NULL",
    "m * m > 6.2",
    "m / 3 > 0.3",
    "i <=> cast('2430723261005496515330888163.6938672382' AS decimal(38,10))",
    "s < u",
    "s > '😀'",
    "rtrim(s) = 'a'",
    "lower(s) LIKE 'i%'",
    "substr(s, -1) = 'a'",
    "trunc(day, 'YEAR') = '2019-01-01'",
    "trunc(clock, 'year') IS NULL",
    "add_months(day, 2) LIKE '1%'",
    "day BETWEEN '0001-01-01' AND '1970-01-01'",
    "date_format(clock, 'yyyy[-MM]') = '2019-06'",
    "hour(at) = 1",
    "unix_timestamp(at) < 0",
    "unix_timestamp(clock) = 18000",
    "at >= '1969-12-31 19:00:00'",
)
"""Predicates for which row or vectorised evaluation, Calcite or zones make a difference."""


@pytest.fixture(scope="module")
def jvm() -> Iterator[HiveJvm]:
    with hive_jvm() as running:
        yield running


@pytest.mark.smoke("rows-false")
@pytest.mark.parametrize("calcite", ["true", "false"])
@pytest.mark.parametrize(
    ("engine", "mode"),
    [("fetch", EvaluationMode.ROWS), ("tez", EvaluationMode.VECTOR_FILTER)],
    ids=["rows", "vectors"],
)
def test_evaluators_agree_with_hiveserver2(
    hive_server: HiveServer,
    jvm: HiveJvm,
    tmp_path: Path,
    engine: str,
    mode: EvaluationMode,
    calcite: str,
) -> None:
    pq.write_table(_ROWS, tmp_path / "rows.parquet")
    session_options = SessionOptions("America/New_York", {"hive.cbo.enable": calcite})
    results = HiveEngine(jvm, mode).evaluate(_ROWS, _PREDICATES, session_options)
    name = f"truth_{engine}_{calcite}"
    settings = {
        **ENGINES[engine],
        "hive.cbo.enable": calcite,
        # As the handler's input formats read.
        "hive.parquet.date.proleptic.gregorian.default": "true",
    }
    with hive_server.session(settings) as session:
        session.run(
            f"CREATE EXTERNAL TABLE {name} ({_COLUMNS}) STORED AS PARQUET LOCATION '{tmp_path}'"
        )
        found = {
            predicate: sorted(
                number for (number,) in session.run(f"SELECT id FROM {name} WHERE {predicate}")
            )
            for predicate in _PREDICATES
        }
        session.run(f"DROP TABLE {name}")
    assert found == {
        predicate: [row for row, is_true in enumerate(result.truths.to_pylist()) if is_true]
        for predicate, result in zip(_PREDICATES, results, strict=True)
        if isinstance(result, Answer)
    }
