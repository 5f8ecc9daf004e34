"""Texts with a T or a zone, compared with times: the readings of all engines are kept."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pytest

from pyhudi_expr.expr.nodes import Literal
from tests.expr.kept_files import compared, lit

INSTANT, MICROS = pa.timestamp("us", "UTC"), pa.timestamp("us")
NEW_YORK = "America/New_York"


def instant(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=timezone.utc).timestamp()) * 10**6  # type: ignore[misc]


def text(value: str) -> Literal:
    return lit(value, pa.string())


@pytest.mark.parametrize(
    ("value", "zone", "equal", "less_"),
    [
        # In UTC the clock shows 02:00; New York's is four hours behind.
        ("2020-07-01 02:00:00+02:00", "UTC", [1, 2], [0, 1]),
        ("2020-07-01 00:00:00Z", NEW_YORK, [1, 2, 3], [0, 1, 2]),
        ("2020-07-01T02:00:00 +02:00", NEW_YORK, [1, 2, 3], [0, 1, 2, 3]),
    ],
)
def test_a_text_with_a_zone_is_an_instant_or_a_wall_clock(
    value: str, zone: str, equal: list[int], less_: list[int]
) -> None:
    """Spark reads an instant, and Hive the clock in the text, in the session's zone."""
    files = [
        [instant(2020, 6, 30, 23)],
        *([instant(2020, 7, 1, hour)] for hour in (0, 2, 4, 9)),
    ]
    every, least = [0, 1, 2, 3, 4], [1, 2, 3, 4]
    assert compared(INSTANT, files, text(value), zone) == (equal, every, less_, least)


def test_a_text_with_a_zone_in_utc_is_exact_at_midnight() -> None:
    files = [[instant(2020, 6, 30, 23)], [instant(2020, 7, 1)], [instant(2020, 7, 1, 1)]]
    for value in ("2020-07-01T00:00:00Z", "2020-07-01 00:00:00 UTC", "2020-07-01T00:00:00"):
        assert compared(INSTANT, files, text(value), "UTC") == ([1], [0, 2], [0], [1, 2])


def test_a_time_with_a_t_may_be_the_beginning_of_its_day() -> None:
    files = [[instant(2020, 6, 30)], [instant(2020, 7, 1)], [instant(2020, 7, 1, 9)]]
    noon = text("2020-07-01T12:00:00Z")
    assert compared(INSTANT, files, noon, "UTC") == ([1, 2], [0, 1, 2], [0, 1, 2], [1, 2])


@pytest.mark.parametrize(
    ("type_", "zone"), [(INSTANT, None), (MICROS, "UTC"), (pa.date32(), "UTC")]
)
def test_a_text_with_a_zone_excludes_nothing_of_other_columns(
    type_: pa.DataType, zone: str | None
) -> None:
    literal = text("2020-07-01T00:00:00Z")
    assert compared(type_, [[0], [1]], literal, zone) == ([0, 1],) * 4


@pytest.mark.parametrize(
    "value",
    [
        *(
            "2020-02-30T00:00:00Z",
            "2020-07-01T00:00:00z",
            "2020-07-01T00:00Z",
            "2020-7-1T00:00:00Z",
        ),
        *("2020-07-01T00:00:00 Europe/Oslo", "2020-07-01Z", "2020-07-01T24:00:00Z", "now"),
        *("2020-07-01T00:00:00+15:00", "2020-07-01T00:00:00+01", " 2020-07-01T00:00:00Z"),
    ],
)
def test_other_texts_exclude_nothing(value: str) -> None:
    assert compared(INSTANT, [[0], [1]], text(value), "UTC") == ([0, 1],) * 4
