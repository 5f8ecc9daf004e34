"""Values as Java formats them.

`tests/spark/virtual_keys/test_key_generators.py` compares them with Hudi's own.
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.tables.keys.generators import AmbiguousText, JavaText

INSTANT = pa.timestamp("us", "UTC")


def text(value: Any, type_: pa.DataType, **settings: Any) -> str | None:
    found = JavaText(**settings).of(pa.array([None, value], type_), "x")
    assert found.type == pa.string()
    assert found[0].as_py() is None
    spelled: str | None = found[1].as_py()
    return spelled


@pytest.mark.parametrize(
    ("value", "type_", "spelled"),
    [
        ("é😀", pa.string(), "é😀"),
        ("", pa.string(), ""),
        (-5, pa.int64(), "-5"),
        (True, pa.bool_(), "true"),
        (date(2024, 1, 2), pa.date32(), "2024-01-02"),
        (date(1, 1, 2), pa.date32(), "0001-01-02"),
        (2932897, pa.date32(), "+10000-01-01"),
        (Decimal("1.50"), pa.decimal128(10, 2), "1.50"),
        (Decimal("1E-10"), pa.decimal128(38, 10), "1E-10"),
        (Decimal("0E-10"), pa.decimal128(38, 10), "0E-10"),
        (b"\x00\xff", pa.binary(), "00ff"),
        (1_500_000, INSTANT, "1500000"),
        (-1, pa.timestamp("us"), "-1"),
        (1.0, pa.float64(), "1.0"),
        (-0.0, pa.float64(), "-0.0"),
        (0.001, pa.float64(), "0.001"),
        (9.99e-4, pa.float64(), "9.99E-4"),
        (1e7, pa.float64(), "1.0E7"),
        (5e-324, pa.float64(), "4.9E-324"),
        (float("nan"), pa.float64(), "NaN"),
        (float("-inf"), pa.float64(), "-Infinity"),
        (0.1, pa.float32(), "0.1"),
    ],
)
def test_values_are_written_as_java_writes_them(
    value: Any, type_: pa.DataType, spelled: str
) -> None:
    assert text(value, type_) == spelled


@pytest.mark.parametrize(
    ("micros", "zone", "spelled"),
    [
        (0, "UTC", "1970-01-01 00:00:00.0"),
        (1_999, "UTC", "1970-01-01 00:00:00.001"),
        (-1_999, "UTC", "1969-12-31 23:59:59.999"),
        (-999, "UTC", "1970-01-01 00:00:00.0"),
        (120_000, "UTC", "1970-01-01 00:00:00.12"),
        (1_700_000_000_000_000, "America/New_York", "2023-11-14 17:13:20.0"),
    ],
)
def test_consistent_timestamps_are_written_as_java_writes_them(
    micros: int, zone: str, spelled: str
) -> None:
    assert text(micros, INSTANT, consistent_timestamps=True, zone=zone) == spelled


def test_wall_clocks_are_numbers_whatever_the_setting() -> None:
    assert text(7, pa.timestamp("us"), consistent_timestamps=True) == "7"


@pytest.mark.parametrize(
    ("value", "type_", "zone"),
    [
        (1e15, pa.float64(), "UTC"),
        (1e6, pa.float32(), "UTC"),
        (datetime(1500, 1, 1, tzinfo=timezone.utc), INSTANT, "UTC"),
        (datetime(1890, 1, 1, tzinfo=timezone.utc), INSTANT, "Europe/Oslo"),
        (-800_000, pa.date32(), "UTC"),
        ([1], pa.list_(pa.int64()), "UTC"),
    ],
)
def test_values_that_writers_format_differently_are_refused(
    value: Any, type_: pa.DataType, zone: str
) -> None:
    with pytest.raises(AmbiguousText, match="x"):
        text(value, type_, consistent_timestamps=True, zone=zone)
