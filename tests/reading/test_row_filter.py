"""Predicates over rows: constants in the types of the columns beside them."""

from __future__ import annotations

from datetime import date, datetime, timezone

import pyarrow as pa
import pytest

from pyhudi_expr.frontend.sql import SPARK, parse_predicate
from pyhudi_expr.reading.row_filter import FilterNotApplicable, row_filter

TABLE = pa.table(
    {
        "day": pa.array([date(2020, 1, 1), date(2020, 1, 2), None]),
        "at": pa.array(
            [datetime(2020, month, 1, tzinfo=timezone.utc) for month in (1, 7)] + [None],
            pa.timestamp("us", "UTC"),
        ),
        "clock": pa.array([datetime(2020, 1, 1), datetime(2020, 7, 1), None], pa.timestamp("us")),
        "St": pa.array([{"A": 1}, {"A": 2}, None]),
    }
)


@pytest.mark.parametrize(
    ("text", "zone", "kept"),
    [
        ("day = '2020-01-02'", None, [1]),
        ("day BETWEEN DATE '2020-01-01' AND '2020-01-01'", None, [0]),
        ("at = TIMESTAMP '2020-01-01 01:00:00'", "Europe/Berlin", [0]),
        ("at IN (TIMESTAMP '2020-07-01 02:00:00')", "Europe/Berlin", [1]),
        ("at >= '2020-07-01'", "UTC", [1]),
        ("at = TIMESTAMP '2020-01-01 02:00:00+02:00'", None, [0]),
        ("clock > TIMESTAMP '2020-01-01 00:00:00'", None, [1]),
        ("clock <=> NULL", None, [2]),
        ("st.a = 2", None, [1]),
        ("NOT (ST.A = 2)", None, [0]),
    ],
)
def test_times_and_names(text: str, zone: str | None, kept: list[int]) -> None:
    numbered = TABLE.append_column("n", pa.array([0, 1, 2]))
    rows = numbered.filter(row_filter(parse_predicate(text, SPARK), TABLE.schema, zone))
    assert rows["n"].to_pylist() == kept


@pytest.mark.parametrize(
    ("text", "zone", "says"),
    [
        ("at > '2020-01-01'", None, "in which zone"),
        ("at > TIMESTAMP '2020-10-25 02:30:00'", "Europe/Berlin", "ambiguous"),
        ("at > '2020-01-01'", "Nowhere/At_All", "unknown"),
        ("day = 'x'", None, "'x' is no date32"),
        ("dya = 1", None, "is it day"),
        ("length(day) = 1 OR day RLIKE 'x'", None, "RLIKE"),
    ],
)
def test_what_is_refused(text: str, zone: str | None, says: str) -> None:
    with pytest.raises(FilterNotApplicable, match=says):
        row_filter(parse_predicate(text, SPARK), TABLE.schema, zone)
