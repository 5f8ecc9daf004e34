"""Bounds from a footer equal those of the values, and both hold for every value."""

import io
import math
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.spark.entries.bounds import Range, footer_range, value_range
from pyhudi_expr.tables.slices.slice_files import FileSlice
from pyhudi_expr.tables.slices.slice_rows import SliceReader, parquet_columns

_INTEGERS = st.integers(-(2**31), 2**31 - 1)
_COLUMNS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int32(): _INTEGERS,
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.string(): st.text(max_size=8),
    pa.binary(): st.binary(max_size=8),
    pa.decimal128(9, 2): st.decimals(-9_999_999, 9_999_999, places=2),
    pa.decimal128(38, 10): st.decimals(-(10**27), 10**27, places=10),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.datetimes(),
    pa.timestamp("ms"): st.datetimes().map(lambda moment: moment.replace(microsecond=0)),
    pa.timestamp("ns"): st.integers(-(2**63), 2**63 - 1),
    pa.time32("ms"): st.integers(0, 86_399_999),
    pa.time64("us"): st.integers(0, 86_399_999_999),
    pa.binary(16): st.binary(min_size=16, max_size=16),
}


def parquet(values: pa.Array, **options: Any) -> pq.ParquetFile:
    sink = io.BytesIO()
    pq.write_table(pa.table({"c": values}), sink, row_group_size=4, **options)
    return pq.ParquetFile(sink)


def of_values(file: pq.ParquetFile) -> tuple[Range | None, int]:
    return value_range(column for (column,) in parquet_columns(file, ["c"], "file"))


@pytest.mark.parametrize("type_", _COLUMNS, ids=str)
def test_bounds_of_a_footer_equal_those_of_the_values(type_: pa.DataType) -> None:
    @given(st.lists(st.none() | _COLUMNS[type_], min_size=1, max_size=12))
    def agrees(values: list[Any]) -> None:
        file = parquet(pa.array(values, type_))
        found = footer_range(file.metadata, 0, type_)
        assert found.value_count == len(values)
        assert found.null_count == values.count(None)
        range_, nulls = of_values(file)
        assert nulls == found.null_count
        if found.is_known:
            assert found.range == range_

    agrees()


@pytest.mark.parametrize("type_", _COLUMNS, ids=str)
def test_complete_footers_are_trusted(type_: pa.DataType) -> None:
    examples = {
        pa.bool_(): True,
        pa.string(): "a",
        pa.binary(): b"a",
        pa.binary(16): bytes(16),
        pa.date32(): date.min,
    }
    default = Decimal(1) if pa.types.is_decimal(type_) else 1
    values = pa.array([examples.get(type_, default), *[None] * 5], type_)
    assert footer_range(parquet(values).metadata, 0, type_).is_known


@given(st.lists(st.none() | _COLUMNS[pa.decimal128(9, 2)], min_size=1, max_size=12), st.data())
def test_decimals_stored_as_integers(values: list[Decimal | None], data: Any) -> None:
    """As Spark's and Hive's writers store decimals with few digits."""
    type_ = pa.decimal128(data.draw(st.sampled_from([9, 18])), 2)
    file = parquet(pa.array(values, type_), store_decimal_as_integer=True)
    assert file.schema.column(0).physical_type in ("INT32", "INT64")
    found = footer_range(file.metadata, 0, type_)
    assert found.is_known
    assert (found.range, found.null_count) == of_values(file)


_ENDS = st.sampled_from(["", "a", "z", "é", "\ud7ff", "\uffff", "\U0010ffff"])
_LONG_TEXTS = st.builds(
    lambda unit, times, end: unit * times + end, _ENDS, st.sampled_from([1, 63, 64, 65, 500]), _ENDS
)


@given(st.lists(st.none() | _LONG_TEXTS, min_size=1, max_size=6))
def test_bounds_truncated_by_a_writer_still_hold(values: list[str | None]) -> None:
    """Polars keeps the first 64 bytes of the minimum text, and a greater text as maximum."""
    for type_ in (pa.string(), pa.binary()):
        sink = io.BytesIO()
        column = pa.array(values, pa.string()).cast(type_)
        pl.DataFrame(pa.table({"c": column})).write_parquet(sink, statistics="full")
        file = pq.ParquetFile(sink)
        found, (range_, nulls) = footer_range(file.metadata, 0, type_), of_values(file)
        assert found.null_count == nulls
        assert (found.is_known and found.range is None) == (range_ is None)
        if found.range is not None and range_ is not None:
            assert found.range.low <= range_.low
            assert found.range.high >= range_.high
            # Otherwise all rows would seem to have this value.
            assert found.range.low < found.range.high or range_.low == range_.high


@pytest.mark.parametrize("place", [0, 4, 8])
def test_statistics_missing_in_one_row_group_are_unknown(place: int) -> None:
    """A footer has no bounds of texts that are too long for it."""
    values = ["a"] * 12
    values[place] = "b" * 5_000
    file = parquet(pa.array(values))
    assert file.num_row_groups == 3
    assert not footer_range(file.metadata, 0, pa.string()).is_known


def test_missing_null_counts_are_unknown() -> None:
    sink = io.BytesIO()
    kept_fields = {"min": True, "max": True, "distinct_count": False, "null_count": False}
    pl.DataFrame({"c": [1, None, 3]}).write_parquet(sink, statistics=kept_fields)
    file = pq.ParquetFile(sink)
    assert file.metadata.row_group(0).column(0).statistics.has_min_max
    assert not file.metadata.row_group(0).column(0).statistics.has_null_count
    assert not footer_range(file.metadata, 0, pa.int64()).is_known


def test_writers_truncate_bounds() -> None:
    sink = io.BytesIO()
    pl.DataFrame({"c": ["a" * 100, "b" * 100]}).write_parquet(sink, statistics="full")
    found = footer_range(pq.ParquetFile(sink).metadata, 0, pa.string())
    assert found.range == Range(b"a" * 64, b"b" * 63 + b"c")


def test_zeros_are_the_widest() -> None:
    range_, _ = of_values(parquet(pa.array([0.0, -0.0])))
    assert range_ is not None
    assert (str(range_.low), str(range_.high)) == ("-0.0", "0.0")


@given(st.lists(st.none() | st.floats(), min_size=1, max_size=12))
def test_nan_is_above_all_floats(values: list[float | None]) -> None:
    file = parquet(pa.array(values, pa.float64()))
    # Only one writer is known to omit the statistics of chunks with NaN, and this is another one.
    present = [value for value in values if value is not None]
    assert footer_range(file.metadata, 0, pa.float64()).is_known == (not present)
    range_, nulls = of_values(file)
    assert nulls == len(values) - len(present)
    numbers = [value for value in present if not math.isnan(value)]
    if not present:
        assert range_ is None
        return
    assert range_ is not None
    if len(numbers) < len(present):
        assert math.isnan(range_.high)
    else:
        assert range_.high == max(numbers)
    if numbers:
        assert range_.low == min(numbers)
    else:
        assert math.isnan(range_.low)


@given(st.text(min_size=1, max_size=12), st.sampled_from(["", "a", "\ud7ff", "\U0010ffff"]))
def test_long_texts_are_bounded_by_short_ones(text: str, beginning: str) -> None:
    long_value = beginning + text * (4_097 // len(text) + 1)
    range_, _ = value_range([pa.array([long_value])])
    assert range_ is not None
    low, high = range_.low, range_.high
    assert isinstance(low, bytes)
    assert isinstance(high, bytes)
    assert low <= long_value.encode() <= high
    assert utf16(low.decode()) <= utf16(long_value) <= utf16(high.decode())
    assert len(low.decode()) <= 1024
    if any(character < "\ud7ff" for character in long_value[:1_024]):
        assert len(high.decode()) <= 1024


def utf16(text: str) -> bytes:
    """The order in which Java compares texts."""
    return text.encode("utf-16-be")


@pytest.mark.parametrize("last", [b"a", b"\xff"])
def test_long_binaries_are_bounded_by_short_ones(last: bytes) -> None:
    long_value = b"\x01" + last * 5_000
    range_, _ = value_range([pa.array([long_value])])
    assert range_ is not None
    assert isinstance(range_.low, bytes)
    assert isinstance(range_.high, bytes)
    assert range_.low <= long_value <= range_.high
    assert len(range_.high) <= 1024


def test_missing_statistics_are_unknown() -> None:
    values = pa.array([1, None, 2])
    assert not footer_range(
        parquet(values, write_statistics=False).metadata, 0, pa.int64()
    ).is_known


def test_statistics_of_int96_are_unknown() -> None:
    moments = pa.array([1, 2], pa.timestamp("us"))
    file = parquet(moments, use_deprecated_int96_timestamps=True)
    assert not footer_range(file.metadata, 0, pa.timestamp("us")).is_known


def test_decimals_keep_all_their_digits() -> None:
    number = Decimal("1234567890123456789012345678.0123456789")
    range_, _ = value_range([pa.array([number, number.copy_negate()], pa.decimal128(38, 10))])
    assert range_ == Range(
        -12345678901234567890123456780123456789, 12345678901234567890123456780123456789
    )


def test_a_slice_of_log_files_alone_is_refused(tmp_path: Path) -> None:
    reader = SliceReader(str(tmp_path), "20260101000000000", merges=True)
    one = FileSlice("p=1", "group-0", "20260101000000000", None, (".group-0_2026.log.1_0-0-0",))
    with pytest.raises(UnsupportedTable, match=r"p=1/group-0 .* no base file"):
        list(reader.columns(one, ["c"]))


def test_a_slice_of_an_unknown_merger_is_refused(tmp_path: Path) -> None:
    reader = SliceReader(str(tmp_path), "20260101000000000", merges=False)
    one = FileSlice("", "group-0", "20260101000000000", "base.parquet", (".log.1",))
    with pytest.raises(UnsupportedTable, match="merger is unknown"):
        list(reader.columns(one, ["c"]))
