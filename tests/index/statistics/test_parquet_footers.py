"""What Parquet footers prove, and what they do not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi_expr.expr.domains import domain_of, float_ordinal
from pyhudi_expr.index.statistics import column_stats, parquet_footers
from pyhudi_expr.index.statistics.column_stats import WholeColumnStats
from pyhudi_expr.index.statistics.stored_bounds import StoredColumn, physical_bounds
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage
from tests.index.statistics_entries import UNKNOWN, column, plain

MICROS = pa.timestamp("us", "UTC")


def bounds_of(
    directory: Path, values: pa.Array, requested_type: pa.DataType | None = None, **options: Any
) -> tuple[Any, Any, bool, bool]:
    pq.write_table(pa.table({"c": values}), directory / "f.parquet", **options)
    return read(directory, requested_type or values.type)


def read(directory: Path, type_: pa.DataType, name: str = "c") -> tuple[Any, Any, bool, bool]:
    storage = Storage.open(str(directory))
    [bounds] = parquet_footers.read_bounds(storage, ["f.parquet"], [column(type_, name)])
    [found] = plain(bounds)
    return found


VALUES = [
    (pa.bool_(), [True, False], (0, 1)),
    (pa.int8(), [-128, 127], (-128, 127)),
    (pa.int16(), [3, -3], (-3, 3)),
    (pa.int32(), [-(2**31), 2**31 - 1], (-(2**31), 2**31 - 1)),
    (pa.int64(), [2**62, -(2**62)], (-(2**62), 2**62)),
    (pa.string(), ["b", "", "é"], (b"", "é".encode())),
    (pa.string(), ["😀", "\ufffd"], ("\ufffd".encode(), "😀".encode())),
    (pa.binary(), [b"\xff", b"\x00"], (b"\x00", b"\xff")),
    (pa.date32(), [date(1969, 12, 31), date(2020, 1, 1)], (-1, 18262)),
    (pa.timestamp("ms"), [datetime(1970, 1, 1, 0, 0, 1)], (1000, 1000)),
    (pa.timestamp("us"), [datetime(1970, 1, 1, 0, 0, 1, 5)], (1000005, 1000005)),
    (MICROS, [datetime(1969, 12, 31, 23, 59, 59)], (-1000000, -1000000)),
    (pa.decimal128(9, 2), [Decimal("-1.25"), Decimal("3.50")], (-125, 350)),
    (pa.decimal128(18, 4), [Decimal("-1.25"), Decimal("3.50")], (-12500, 35000)),
    (
        *(pa.decimal128(38, 10), [Decimal("-1.25"), Decimal("3.5")]),
        (Decimal("-1.2500000000"), Decimal("3.5000000000")),
    ),
]


@pytest.mark.parametrize(("type_", "values", "expected"), VALUES)
def test_every_type_has_bounds(
    tmp_path: Path, type_: pa.DataType, values: list[Any], expected: tuple[Any, Any]
) -> None:
    assert bounds_of(tmp_path, pa.array(values, type_)) == (*expected, True, False)
    assert bounds_of(tmp_path, pa.array([*values, None], type_)) == (*expected, True, True)
    assert bounds_of(tmp_path, pa.array([None, None], type_)) == (None, None, False, True)
    assert bounds_of(tmp_path, pa.array([], type_)) == (None, None, False, False)


NULLS = (None, None, False, True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("added", NULLS),
        ("st.added", NULLS),
        ("added.x", NULLS),
        ("ST.A", (1, 2, True, False)),
        ("twice", UNKNOWN),  # which of the two is not known
        ("i.x", UNKNOWN),  # no struct: readers fail or cast
    ],
)
def test_a_column_that_a_file_lacks_is_null(tmp_path: Path, name: str, expected: Any) -> None:
    rows = [pa.array([1, 2]), pa.array([{"a": 1}, {"a": 2}]), *[pa.array(["x", "y"])] * 2]
    pq.write_table(pa.table(rows, ["i", "st", "twice", "Twice"]), tmp_path / "f.parquet")
    asked = column(pa.int64(), name)
    storage = Storage.open(str(tmp_path))
    for null_if_absent in (True, False):
        wanted = replace(asked, null_if_absent=null_if_absent)
        [found] = parquet_footers.read_bounds(storage, ["f.parquet"], [wanted])
        assert plain(found) == [UNKNOWN if expected is NULLS and not null_if_absent else expected]


@pytest.mark.parametrize("stored_as_integer", [True, False])
def test_decimals_are_read_from_integers_and_from_bytes(
    tmp_path: Path, stored_as_integer: bool
) -> None:
    values = pa.array([Decimal("-1.25"), Decimal("3.50")], pa.decimal128(9, 2))
    found = bounds_of(tmp_path, values, store_decimal_as_integer=stored_as_integer)
    assert found == (-125, 350, True, False)


def test_bounds_of_row_groups_are_combined(tmp_path: Path) -> None:
    values = pa.array([5, 6, None, None, 1, 2], pa.int32())
    assert bounds_of(tmp_path, values, row_group_size=2) == (1, 6, True, True)
    values = pa.array([5, 6, 1, 2], pa.int32())
    assert bounds_of(tmp_path, values, row_group_size=2) == (1, 6, True, False)


def test_one_row_group_without_statistics_makes_the_file_unknown(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("c", pa.binary())])
    with pq.ParquetWriter(tmp_path / "f.parquet", schema) as writer:
        writer.write_table(pa.table({"c": [b"a"]}, schema))
        # Arrow writes no bounds for values above 4 KiB.
        writer.write_table(pa.table({"c": [b"z" * 5000]}, schema))
    [lower, upper, may_be_value, _] = read(tmp_path, pa.binary())
    assert may_be_value
    assert upper is None or upper >= b"z" * 5000
    assert lower is None or lower <= b"a"


def test_a_file_without_statistics_is_unknown(tmp_path: Path) -> None:
    values = pa.array([1, 2], pa.int32())
    assert bounds_of(tmp_path, values, write_statistics=False) == UNKNOWN


def test_int96_timestamps_have_no_bounds(tmp_path: Path) -> None:
    values = pa.array([datetime(2020, 1, 1)], pa.timestamp("ns"))
    found = bounds_of(tmp_path, values, use_deprecated_int96_timestamps=True)
    assert found[:3] == (None, None, True)


WIDER = [
    (pa.array([1, 2], pa.int32()), pa.int64(), (1, 2)),
    (
        pa.array([datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("ms")),
        pa.timestamp("us"),
        (10**6,) * 2,
    ),
    (pa.array([1, 2], pa.int32()), pa.float64(), (None, None)),
    (pa.array(["1"], pa.string()), pa.int32(), (None, None)),
    (pa.array([1], pa.timestamp("us")), pa.timestamp("ms"), (None, None)),
    (pa.array([Decimal("1.25")], pa.decimal128(9, 2)), pa.decimal128(9, 3), (None, None)),
]


@pytest.mark.parametrize(("values", "requested_type", "expected"), WIDER)
def test_bounds_of_a_column_whose_type_changed(
    tmp_path: Path, values: pa.Array, requested_type: pa.DataType, expected: tuple[Any, Any]
) -> None:
    assert bounds_of(tmp_path, values, requested_type)[:2] == expected


def test_a_nested_column_is_found_by_its_dotted_name(tmp_path: Path) -> None:
    structs = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "z"}])
    pq.write_table(pa.table({"st": structs, "a": [9, 9, 9]}), tmp_path / "f.parquet")
    assert read(tmp_path, pa.int64(), "st.a") == (1, 1, True, True)
    assert read(tmp_path, pa.string(), "st.b") == (b"x", b"z", True, True)


def test_a_missing_column_is_unknown(tmp_path: Path) -> None:
    pq.write_table(pa.table({"d": [1]}), tmp_path / "f.parquet")
    assert read(tmp_path, pa.int64()) == UNKNOWN


def test_files_that_cannot_be_read_are_unknown(tmp_path: Path) -> None:
    assert read(tmp_path, pa.int32()) == UNKNOWN
    bounds_of(tmp_path, pa.array([1, 2], pa.int32()))
    content = (tmp_path / "f.parquet").read_bytes()
    for damaged in (
        b"",
        content[: len(content) // 2],
        content[:-4] + b"nope",
        b"\0" * len(content),
    ):
        (tmp_path / "f.parquet").write_bytes(damaged)
        assert read(tmp_path, pa.int32()) == UNKNOWN


def test_a_float_column_that_became_double_holds_both_readings() -> None:
    single = 0.10000000149011612  # float32 of 0.1
    stored, requested = domain_of(pa.float32()), domain_of(pa.float64())
    assert stored is not None
    assert requested is not None
    column = StoredColumn(0, stored, requested, may_be_nan=False)
    lower, upper = (physical_bounds([single], column, end)[0] for end in (-math.inf, math.inf))
    assert lower[0] < float_ordinal(0.1)
    assert upper[0] > float_ordinal(single)


class BlockedFile(Storage):
    """Blocks the reading of one file until it is released."""

    held: str
    reached: Event
    let_go: Event

    @staticmethod
    def of(storage: Storage, path: str) -> BlockedFile:
        held = BlockedFile(storage.uri, storage.backend, storage.root)
        for name, value in (("held", path), ("reached", Event()), ("let_go", Event())):
            object.__setattr__(held, name, value)
        return held

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        if path == self.held:
            self.reached.set()
            assert self.let_go.wait(20)
        return super().open_input(path, size)


def test_footers_are_used_as_soon_as_they_are_read(
    golden: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_stats, "_FOOTERS", 1)
    table = HudiTable.open(str(golden["cow_v6_simplekeygen_hivestyle_no_metafields"]))
    listing, requested_column = table.listing(), column(pa.int32(), "id")
    paths = listing.paths(np.arange(listing.num_files))
    [read_bounds] = parquet_footers.read_bounds(table.storage, paths, [requested_column])
    expected = plain(read_bounds)
    assert len(expected) == 3
    assert UNKNOWN not in expected

    storage = BlockedFile.of(table.storage, paths[-1])
    stats = WholeColumnStats(None, listing, storage)
    everywhere = np.ones(len(listing.partitions), np.bool_)

    def known(wait: float) -> list[Any]:
        bounds = stats.load([requested_column], everywhere, wait).bounds(requested_column)
        assert bounds is not None
        return plain(bounds)

    assert known(0)[-1] == UNKNOWN
    assert storage.reached.wait(20)
    assert known(0) == [*expected[:-1], UNKNOWN]
    storage.let_go.set()
    assert known(20) == expected
