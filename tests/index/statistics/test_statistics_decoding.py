"""What an entry of `column_stats` or `partition_stats` proves, and which are not trusted."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.expr.domains import float_ordinal
from pyhudi_expr.index.statistics.statistics_decoding import (
    DecodedBounds,
    StatisticsEntries,
    decode,
    decode_merged,
)
from pyhudi_expr.tables.hudi_names import IS_DELETED
from tests.index.statistics_entries import UNKNOWN, Entry, column, entries, plain

ORD = float_ordinal
WIDEST = "9999999999999999999999999999.9999999999"


def unscaled(value: int) -> bytes:
    return value.to_bytes((value.bit_length() // 8) + 1, "big", signed=True)


def of_files(found: StatisticsEntries, type_: pa.DataType, *, logs: bool = False) -> DecodedBounds:
    return decode(found, column(type_), np.full(len(found), logs))


def of_partitions(found: StatisticsEntries, type_: pa.DataType) -> DecodedBounds:
    return decode_merged(found, column(type_))


# Wrappers and value types, of both index versions.

READ = [
    # wrapper, value type, info, column type, stored bounds, bounds
    ("BooleanWrapper", None, None, pa.bool_(), (False, True), (0, 1)),
    ("BooleanWrapper", "boolean", None, pa.bool_(), (True, True), (1, 1)),
    ("IntWrapper", None, None, pa.int32(), (-5, 7), (-5, 7)),
    ("IntWrapper", "int", None, pa.int32(), (-(2**31), 2**31 - 1), (-(2**31), 2**31 - 1)),
    ("IntWrapper", "int", None, pa.int64(), (1, 2), (1, 2)),
    ("LongWrapper", "long", None, pa.int64(), (-(2**62), 2**62), (-(2**62), 2**62)),
    ("LongWrapper", None, None, pa.int64(), (1, 2), (1, 2)),
    ("FloatWrapper", "float", None, pa.float32(), (-1.5, 2.5), (ORD(-1.5), ORD(2.5))),
    ("DoubleWrapper", None, None, pa.float64(), (0.0, 2.5), (0, ORD(2.5))),
    (
        *("DoubleWrapper", "double", None, pa.float64()),
        *((-math.inf, math.inf), (ORD(-math.inf), ORD(math.inf))),
    ),
    ("StringWrapper", None, None, pa.string(), ("", "é"), (b"", "é".encode())),
    ("StringWrapper", "string", None, pa.string(), ("a", "b"), (b"a", b"b")),
    ("BytesWrapper", "bytes", None, pa.binary(), (b"", b"\xff"), (b"", b"\xff")),
    ("BytesWrapper", "fixed", None, pa.binary(2), (b"\x00\x01", b"\xff"), (b"\x00\x01", b"\xff")),
    ("BytesWrapper", None, None, pa.binary(), (b"a", b"b"), (b"a", b"b")),
    ("DateWrapper", None, None, pa.date32(), (-1, 19000), (-1, 19000)),
    ("IntWrapper", "date", None, pa.date32(), (-1, 19000), (-1, 19000)),
    (
        *("LongWrapper", None, None, pa.timestamp("us", "UTC")),
        *((-(10**15), 10**15), (-(10**15), 10**15)),
    ),
    ("LongWrapper", "timestamp us", None, pa.timestamp("us", "UTC"), (-1, 5), (-1, 5)),
    ("LongWrapper", "timestamp ms", None, pa.timestamp("ms", "UTC"), (-1, 5), (-1, 5)),
    ("LongWrapper", "timestamp ms", None, pa.timestamp("us", "UTC"), (-1, 5), (-1000, 5000)),
    ("LongWrapper", "local timestamp us", None, pa.timestamp("us"), (-1, 5), (-1, 5)),
    ("LongWrapper", "local timestamp ms", None, pa.timestamp("ms"), (-1, 5), (-1, 5)),
    ("TimestampMicrosWrapper", None, None, pa.timestamp("us", "UTC"), (-1, 5), (-1, 5)),
    ("DecimalWrapper", None, None, pa.decimal128(9, 2), (-1 * 10**15, 25 * 10**14), (-100, 250)),
    (
        *("DecimalWrapper", None, None, pa.decimal128(20, 2)),
        *((-1 * 10**15, 25 * 10**14), (Decimal("-1.00"), Decimal("2.50"))),
    ),
    ("BytesWrapper", "decimal", "9,2", pa.decimal128(9, 2), (-100, 250), (-100, 250)),
    ("BytesWrapper", "decimal", "9,2", pa.decimal128(12, 4), (-100, 250), (-10000, 25000)),
    (
        *("BytesWrapper", "decimal", "38,10", pa.decimal128(38, 10)),
        *((1 - 10**38, 10**38 - 1), (Decimal(f"-{WIDEST}"), Decimal(WIDEST))),
    ),
]


@pytest.mark.parametrize(("wrapper", "value_type", "info", "type_", "stored", "expected"), READ)
def test_bounds_are_decoded_by_wrapper_value_type_and_column_type(
    wrapper: str,
    value_type: str | None,
    info: str | None,
    type_: pa.DataType,
    stored: tuple[Any, Any],
    expected: tuple[Any, Any],
) -> None:
    low, high = stored
    if pa.types.is_decimal(type_):
        low, high = unscaled(low), unscaled(high)
    found = of_files(entries(wrapper, [(low, high, 0, 9)], value_type, info), type_)
    assert plain(found.bounds) == [(*expected, True, False)]
    assert not found.doubted.any()


UNREADABLE = [
    # wrapper, value type, info, column type, bounds
    ("IntWrapper", "int", None, pa.string(), (1, 2)),
    ("StringWrapper", "string", None, pa.int32(), ("1", "2")),
    ("StringWrapper", None, None, pa.date32(), ("2020-01-01", "2020-01-02")),
    ("DoubleWrapper", "double", None, pa.int64(), (1.0, 2.0)),
    ("DateWrapper", None, None, pa.timestamp("us", "UTC"), (1, 2)),
    ("IntWrapper", "date", None, pa.timestamp("us"), (1, 2)),
    ("LongWrapper", None, None, pa.timestamp("ms", "UTC"), (1, 2)),
    ("LongWrapper", None, None, pa.timestamp("ns", "UTC"), (1, 2)),
    ("LongWrapper", "timestamp us", None, pa.timestamp("ms", "UTC"), (1, 2)),
    ("LongWrapper", "long", None, pa.timestamp("us", "UTC"), (1, 2)),
    ("LongWrapper", "timestamp ms", None, pa.timestamp("us", "UTC"), (-(2**62), 2**62)),
    ("BytesWrapper", "decimal", None, pa.decimal128(9, 2), (b"\x01", b"\x02")),
    ("BytesWrapper", "decimal", "9", pa.decimal128(9, 2), (b"\x01", b"\x02")),
    ("BytesWrapper", "bytes", None, pa.decimal128(9, 2), (b"\x01", b"\x02")),
    ("BytesWrapper", "decimal", "9,2", pa.binary(), (b"\x01", b"\x02")),
    ("BytesWrapper", "decimal", "12,4", pa.decimal128(9, 2), (b"\x01", b"\x02")),
    ("LongWrapper", "local timestamp us", None, pa.timestamp("us", "UTC"), (1, 2)),
    ("LongWrapper", "timestamp us", None, pa.timestamp("us"), (1, 2)),
    ("LongWrapper", "long", None, pa.int32(), (1, 2**31)),
    ("LongWrapper", None, None, pa.int32(), (-(2**31) - 1, 2)),
    ("IntWrapper", "int", None, pa.date32(), (1, 2)),
    ("IntWrapper", None, None, pa.date32(), (1, 2)),
    ("IntWrapper", "date", None, pa.int32(), (1, 2)),
    ("BytesWrapper", "decimal", "18,2", pa.decimal128(4, 2), (b"\x01", b"\x27\x10")),
    # Milliseconds of 2020, in the year 12000, and nanoseconds of 2020, as microseconds.
    ("LongWrapper", None, None, pa.timestamp("us", "UTC"), (1_577_836_800_000, 1_577_836_800_001)),
    ("LongWrapper", None, None, pa.timestamp("us"), (1_577_836_800_000, 316_500_000_000_000)),
    ("LongWrapper", None, None, pa.timestamp("us"), (10**18, 1_577_836_800_000_000_000)),
    # Unsigned integers.
    ("IntWrapper", None, None, pa.int64(), (-5, -3)),
    ("LongWrapper", None, None, pa.float64(), (-5, -3)),
]
"""Of other types readers give NULL for some values."""


@pytest.mark.parametrize("wrapper", ["ArrayWrapper", "NoSuchWrapper"])
def test_bounds_in_an_unknown_wrapper_are_unknown(wrapper: str) -> None:
    found = of_files(entries(wrapper, [(object(), object(), 1, 9)]), pa.int32())
    assert plain(found.bounds) == [UNKNOWN]


@pytest.mark.parametrize(("wrapper", "value_type", "info", "type_", "stored"), UNREADABLE)
def test_a_bound_of_another_type_is_unknown(
    wrapper: str,
    value_type: str | None,
    info: str | None,
    type_: pa.DataType,
    stored: tuple[Any, Any],
) -> None:
    found = of_files(entries(wrapper, [(*stored, 0, 9)], value_type, info), type_)
    assert plain(found.bounds) == [UNKNOWN]
    assert found.doubted.all()


@pytest.mark.parametrize(
    ("wrapper", "type_", "stored"),
    [
        ("FloatWrapper", pa.float64(), float(np.float32(0.1))),
        ("FloatWrapper", pa.float64(), float(np.float32(3.4028235e38))),
        ("IntWrapper", pa.float64(), 3),
        ("IntWrapper", pa.float32(), 2**24 + 1),
        ("LongWrapper", pa.float32(), 2**60 + 2**36 + 1),
        ("DoubleWrapper", pa.float32(), 0.1),
    ],
)
def test_bounds_from_before_a_float_column_was_widened_hold_every_reading_of_its_values(
    wrapper: str, type_: pa.DataType, stored: float
) -> None:
    bounds = of_files(entries(wrapper, [(stored, stored, 0, 9)]), type_).bounds
    [(lower, upper, _, _)] = plain(bounds)
    readings = [float(stored), float(np.float32(stored)), float(str(np.float32(stored)))]
    assert lower <= min(map(ORD, readings))
    assert max(map(ORD, readings)) <= (2**63 if upper is None else upper)


def test_entries_of_several_encodings_are_decoded_together() -> None:
    first = entries("DateWrapper", [(1, 2, 0, 5), (None, None, None, None)])
    second = entries("IntWrapper", [(None, None, None, None), (3, 4, 0, 5)], "date")
    both = StatisticsEntries(
        {**first.minimum, **second.minimum},
        {**first.maximum, **second.maximum},
        np.array([0, 0]),
        np.array([5, 5]),
    )
    assert plain(of_files(both, pa.date32()).bounds) == [(1, 2, True, False), (3, 4, True, False)]


def test_without_entries_there_are_no_bounds() -> None:
    assert plain(of_files(entries("IntWrapper", []), pa.int32()).bounds) == []
    assert plain(of_files(entries("StringWrapper", []), pa.string()).bounds) == []


# Nulls.


@pytest.mark.parametrize(
    ("wrapper", "type_", "zero"),
    [
        ("IntWrapper", pa.int32(), 0),
        ("LongWrapper", pa.int64(), 0),
        ("BooleanWrapper", pa.bool_(), False),
        ("DateWrapper", pa.date32(), 0),
        ("LongWrapper", pa.timestamp("us", "UTC"), 0),
        ("DecimalWrapper", pa.decimal128(9, 2), b"\0"),
    ],
)
def test_a_base_file_of_nulls_is_recorded_with_zeros(
    wrapper: str, type_: pa.DataType, zero: Any
) -> None:
    given = entries(wrapper, [(zero, zero, 9, 9), (zero, zero, 8, 9)])
    assert [entry[2:] for entry in plain(of_files(given, type_).bounds)] == [
        (False, True),
        (True, True),
    ]
    in_log = of_files(given, type_, logs=True)
    assert [entry[2:] for entry in plain(in_log.bounds)] == [(True, True), (True, True)]


COUNTED: list[tuple[Entry, tuple[Any, Any, bool, bool]]] = [
    ((1, 2, 0, 9), (1, 2, True, False)),
    ((1, 2, 3, 9), (1, 2, True, True)),
    ((1, 2, 9, 9), (1, 2, True, True)),
    ((None, None, 9, 9), (None, None, False, True)),
    ((None, None, 0, 0), (None, None, False, False)),
    ((None, None, 0, 9), (None, None, True, False)),
    ((None, None, 3, 9), UNKNOWN),
    ((1, 2, None, 9), (1, 2, True, True)),
    ((1, 2, 0, None), (1, 2, True, True)),
    ((None, None, None, None), UNKNOWN),
]


@pytest.mark.parametrize(("entry", "expected"), COUNTED)
def test_null_counts_say_whether_values_and_nulls_may_occur(
    entry: Entry, expected: tuple[Any, Any, bool, bool]
) -> None:
    assert plain(of_files(entries("IntWrapper", [entry]), pa.int32()).bounds) == [expected]


# Statistics that Hudi writes and that must not be trusted.

FLOATS = [pa.float32(), pa.float64()]
LACKING = [pa.string(), pa.binary(), *FLOATS, pa.timestamp("us", "UTC"), pa.decimal128(9, 2)]
ALWAYS = [pa.bool_(), pa.int32(), pa.int64(), pa.date32()]


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_float_range_of_zeros_may_be_a_file_with_nan(type_: pa.DataType, zero: float) -> None:
    wrapper = "FloatWrapper" if type_ == pa.float32() else "DoubleWrapper"
    found = of_files(entries(wrapper, [(zero, 0.0, 0, 9), (zero, 1.0, 0, 9)]), type_)
    assert plain(found.bounds) == [UNKNOWN, (0, ORD(1.0), True, False)]
    assert found.doubted.tolist() == [True, False]


def test_zeros_from_before_a_column_was_widened_may_be_a_file_with_nan_too() -> None:
    found = of_files(entries("FloatWrapper", [(0.0, 0.0, 0, 9)]), pa.float64())
    assert plain(found.bounds) == [UNKNOWN]


@pytest.mark.parametrize("ends", [(math.nan, math.nan), (math.nan, 1.0), (1.0, math.nan)])
def test_a_nan_bound_of_a_float_range_is_unknown(ends: tuple[float, float]) -> None:
    [(lower, upper, may_be_value, _)] = plain(
        of_files(entries("DoubleWrapper", [(*ends, 0, 9)]), pa.float64()).bounds
    )
    assert may_be_value
    assert upper is None or not math.isnan(ends[1])
    assert lower is None or lower == ORD(1.0)


@pytest.mark.parametrize("type_", FLOATS)
def test_float_ranges_of_partitions_are_not_trusted(type_: pa.DataType) -> None:
    found = of_partitions(entries("DoubleWrapper", [(1.0, 2.0, 0, 9)]), type_)
    assert plain(found.bounds) == [UNKNOWN]


@pytest.mark.parametrize("type_", LACKING)
def test_all_null_is_not_trusted_if_a_footer_may_lack_statistics(type_: pa.DataType) -> None:
    found = of_files(entries("StringWrapper", [(None, None, 9, 9)]), type_)
    assert plain(found.bounds) == [UNKNOWN]
    assert found.doubted.tolist() == [True]


@pytest.mark.parametrize("type_", ALWAYS)
def test_all_null_is_trusted_if_footers_have_statistics(type_: pa.DataType) -> None:
    found = of_files(entries("StringWrapper", [(None, None, 9, 9)]), type_)
    assert plain(found.bounds) == [(None, None, False, True)]


@pytest.mark.parametrize("type_", LACKING)
def test_a_partition_with_nulls_may_hold_files_whose_statistics_were_missing(
    type_: pa.DataType,
) -> None:
    assert plain(of_partitions(entries("NoWrapper", [(None, None, 3, 9)]), type_).bounds) == [
        UNKNOWN
    ]
    some = of_partitions(entries("StringWrapper", [("a", "b", 3, 9)]), pa.string())
    assert plain(some.bounds) == [UNKNOWN]


def test_a_partition_without_nulls_has_a_range_and_may_hold_files_without_the_column() -> None:
    found = of_partitions(entries("StringWrapper", [("a", "b", 0, 9)]), pa.string())
    assert plain(found.bounds) == [(b"a", b"b", True, True)]


def test_a_partition_is_not_trusted_about_marks_of_deletes() -> None:
    """Clusterings of Hudi 1.2 make no entries of them, and count their values as nulls."""
    found = entries("BooleanWrapper", [(None, None, 9, 9), (False, False, 3, 9)])
    bounds = decode_merged(found, column(pa.bool_(), IS_DELETED)).bounds
    assert plain(bounds) == [(None, None, True, True)] * 2


@pytest.mark.parametrize("type_", ALWAYS)
def test_an_all_null_partition_is_trusted_if_footers_have_statistics(
    type_: pa.DataType,
) -> None:
    found = of_partitions(entries("IntWrapper", [(None, None, 9, 9)]), type_)
    assert plain(found.bounds) == [(None, None, False, True)]


PRIVATE = "\ue000".encode()
BEYOND = b"\xf5"  # above every text with this prefix
UTF_16 = [
    # Java orders UTF-16 units: supplementary characters below U+E000..U+FFFF.
    (("a", "\ufffd"), (b"a", BEYOND)),
    (("😀", "\ufffd"), (PRIVATE, BEYOND)),
    (("😀", "😂"), (PRIVATE, "😂".encode())),
    (("\ufffd", "\ufffd"), ("\ufffd".encode(), BEYOND)),
    (("a", "日本"), (b"a", "日本".encode())),
    (("a", "z\ue000b"), (b"a", b"z" + BEYOND)),
    (("x😀\ny", "y"), (b"x" + PRIVATE, b"y")),
    (("x\ufffd😀", "y"), ("x\ufffd".encode() + PRIVATE, b"y")),
]


@pytest.mark.parametrize(("stored", "expected"), UTF_16)
@pytest.mark.parametrize("merged", [False, True])
def test_text_bounds_merged_in_utf_16_order_hold_in_both_orders(
    stored: tuple[str, str], expected: tuple[Any, Any], merged: bool
) -> None:
    given = entries("StringWrapper", [(*stored, 0, 9)])
    found = of_partitions(given, pa.string()) if merged else of_files(given, pa.string())
    assert plain(found.bounds) == [(*expected, True, merged)]
    assert found.doubted.tolist() == [expected != tuple(text.encode() for text in stored)]


@given(
    st.lists(st.text(st.sampled_from("a\ud7ff\ue000\uffff😀\U0010ffff"), max_size=3), min_size=1)
)
def test_every_text_lies_between_bounds_merged_by_java(texts: list[str]) -> None:
    low, high = (end(texts, key=lambda text: text.encode("utf-16-be")) for end in (min, max))
    found = of_files(entries("StringWrapper", [(low, high, 0, 9)]), pa.string())
    [(lower, upper, _, _)] = plain(found.bounds)
    assert all(lower <= text.encode() <= upper for text in texts)


@pytest.mark.parametrize(
    ("wrapper", "ends", "type_"),
    [
        ("IntWrapper", (2, 1), pa.int32()),
        ("StringWrapper", ("b", "a"), pa.string()),
        ("DoubleWrapper", (2.0, 1.0), pa.float64()),
    ],
)
def test_a_minimum_above_the_maximum_is_not_trusted(
    wrapper: str, ends: tuple[Any, Any], type_: pa.DataType
) -> None:
    found = of_files(entries(wrapper, [(*ends, 0, 9)]), type_)
    assert plain(found.bounds) == [UNKNOWN]
    assert found.doubted.tolist() == [True]


# Log files.


@pytest.mark.parametrize("type_", [*ALWAYS, *LACKING])
@pytest.mark.parametrize("rows", [0, 9])
def test_a_log_file_without_bounds_may_be_a_partial_update(type_: pa.DataType, rows: int) -> None:
    found = of_files(entries("NoWrapper", [(None, None, rows, rows)]), type_, logs=True)
    assert plain(found.bounds) == [UNKNOWN]


def test_bounds_of_a_log_file_are_trusted() -> None:
    found = of_files(entries("IntWrapper", [(1, 2, 1, 9)]), pa.int32(), logs=True)
    assert plain(found.bounds) == [(1, 2, True, True)]
