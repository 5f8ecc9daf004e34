"""Values that files of other writers, and of older ones, hold otherwise than Spark shows them.

What is expected is what Spark 3.5 with Hudi 1.2 showed of such files.
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import pyhudi_expr as ph
from pyhudi_expr.cli.main import cli
from pyhudi_expr.errors import CorruptFile, UnsupportedTable
from pyhudi_expr.tables.slices.slice_rows import parquet_file
from pyhudi_expr.tables.storage import Storage
from tests.foreign_tables import ForeignFile, write_foreign_table

UTC = timezone.utc
LEGACY = {
    "org.apache.spark.version": "3.5.1",
    "org.apache.spark.legacyDateTime": "",
    "org.apache.spark.timeZone": "UTC",
}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
DATE = {"type": "int", "logicalType": "date"}


def table_of(path: Path, avro: Any, *files: ForeignFile) -> ph.Table:
    write_foreign_table(path, avro, 8, files)
    return ph.table(str(path), progress=False)


def values(table: ph.Table, condition: str | None = None) -> list[Any]:
    rows = table.scan(condition, columns=["id", "c"], zone="UTC", dialect="spark").to_arrow()
    return rows.sort_by("id")["c"].to_pylist()


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (-719164, date(1, 1, 1)),
        (-141428, date(1582, 10, 4)),
        (-141427, date(1582, 10, 15)),
        (-354222, date(1000, 2, 28)),
        (-354221, date(1000, 3, 1)),  # the 29th of February, which the Gregorian calendar lacks
        (18262, date(2020, 1, 1)),
    ],
)
def test_days_of_the_legacy_calendar_keep_their_dates(
    tmp_path: Path, stored: int, shown: date
) -> None:
    days = pa.array([stored, None], pa.int32()).cast(pa.date32())
    table = table_of(tmp_path / "t", DATE, ForeignFile("a", days, metadata=LEGACY))
    assert values(table) == [shown, None]
    assert values(table, f"c = DATE '{shown}'") == [shown]
    found = table.to_pyarrow_dataset(f"c = DATE '{shown}'", dialect="spark", zone="UTC")
    assert found.to_table()["c"].to_pylist() == [shown]


def test_times_of_the_legacy_calendar_keep_their_dates(tmp_path: Path) -> None:
    stored = pa.array([-141_428 * 86_400_000_000 + 1, 1], pa.int64()).cast(
        pa.timestamp("us", "UTC")
    )
    table = table_of(tmp_path / "t", MICROS, ForeignFile("a", stored, metadata=LEGACY))
    assert values(table) == [
        datetime(1582, 10, 4, 0, 0, 0, 1, tzinfo=UTC),
        datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    ]


def test_early_times_in_a_zone_of_the_legacy_calendar_are_refused(tmp_path: Path) -> None:
    in_zone = {**LEGACY, "org.apache.spark.timeZone": "Asia/Shanghai"}
    early, late = (
        pa.array([us], pa.int64()).cast(pa.timestamp("us", "UTC")) for us in (-(10**16), 1)
    )
    table = table_of(
        *(tmp_path / "t", MICROS),
        *(
            ForeignFile("early", early, metadata=in_zone),
            ForeignFile("late", late, metadata=in_zone),
        ),
    )
    with pytest.raises(UnsupportedTable, match=r"p=early/.*Asia/Shanghai"):
        values(table)
    assert len(values(table, "p = 'late'")) == 1


def test_a_file_of_todays_calendar_is_shown_as_it_is(tmp_path: Path) -> None:
    days = pa.array([-141428], pa.int32()).cast(pa.date32())
    version = {"org.apache.spark.version": "3.5.1"}
    table = table_of(
        *(tmp_path / "t", DATE, ForeignFile("a", days), ForeignFile("b", days, metadata=version))
    )
    assert values(table) == [date(1582, 10, 14)] * 2


def test_milliseconds_in_a_file_of_microseconds_are_milliseconds(tmp_path: Path) -> None:
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    count = int(moment.timestamp() * 1000)
    mislabelled = pa.array([count], pa.int64()).cast(pa.timestamp("us", "UTC"))
    right = pa.array([moment], pa.timestamp("ms", "UTC"))
    table = table_of(
        tmp_path / "t", MILLIS, ForeignFile("old", mislabelled), ForeignFile("new", right)
    )
    assert values(table) == [moment, moment]
    condition = "c = TIMESTAMP '2020-01-01 00:00:00'"
    assert values(table, condition) == [moment, moment]
    found = table.to_pyarrow_dataset(condition, dialect="spark", zone="UTC").to_table()
    assert found["c"].to_pylist() == [moment, moment]


def test_int96_holds_instants(tmp_path: Path) -> None:
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    file = ForeignFile(
        *("a", pa.array([moment], pa.timestamp("us", "UTC"))),
        options={"use_deprecated_int96_timestamps": True},
    )
    assert values(table_of(tmp_path / "t", MICROS, file)) == [moment]


def test_a_long_becomes_the_nearest_double(tmp_path: Path) -> None:
    longs = pa.array([2**53 + 1, 7], pa.int64())
    table = table_of(tmp_path / "t", "double", ForeignFile("a", longs))
    assert values(table) == [float(2**53), 7.0]
    assert values(table, "c = 9007199254740992.0D") == [float(2**53)]


@pytest.mark.parametrize(
    ("avro", "stored"),
    [
        (MICROS, pa.array([1], pa.int64())),
        (MICROS, pa.array([1], pa.timestamp("us"))),
        ("int", pa.array([2**40], pa.int64())),
        (DATE, pa.array([1], pa.int32())),
    ],
    ids=["an integer", "a wall clock", "a long", "a number"],
)
def test_a_type_that_readers_convert_otherwise_is_refused(
    tmp_path: Path, avro: Any, stored: pa.Array
) -> None:
    table = table_of(tmp_path / "t", avro, ForeignFile("a", stored))
    with pytest.raises(UnsupportedTable, match="column 'c'"):
        values(table)
    with pytest.raises(UnsupportedTable, match="column 'c'"):
        table.to_pyarrow_dataset().to_table()


FAR = pa.array([1_704_067_200_000_000_000, 0], pa.int64()).cast(pa.timestamp("us", "UTC"))
"""A time in the year 55969, and one in 1970."""


def test_years_beyond_9999_are_compared_and_ordered(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", MICROS, ForeignFile("a", FAR))
    for condition in ("year(c) > 2500", "year(c) = 55969", "c > TIMESTAMP '2500-01-01 00:00:00'"):
        assert table.scan(condition, zone="UTC", dialect="spark").count() == 1, condition
    first = table.scan(order_by="c DESC", limit=1, columns=["id"]).to_arrow()
    assert first["id"].to_pylist() == [0]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_years_beyond_9999_are_printed_as_java_writes_them(
    tmp_path: Path, form: tuple[str, ...]
) -> None:
    table_of(tmp_path / "t", MICROS, ForeignFile("a", FAR))
    asked = ["scan", str(tmp_path / "t"), "id = 0", "--columns", "c", *form]
    for zone, text in (("UTC", "T00:00:00+00:00"), ("Asia/Tokyo", "T09:00:00+09:00")):
        shown = CliRunner().invoke(cli, [*asked, "--zone", zone])
        assert shown.exit_code == 0, shown.output
        assert f"+55969-09-28{text}" in shown.output


def test_a_file_without_a_byte_has_no_rows(tmp_path: Path) -> None:
    one = pa.array([1], pa.int64())
    table = table_of(tmp_path / "t", "long", ForeignFile("a", one), ForeignFile("b", one))
    (dead,) = (tmp_path / "t" / "p=a").glob("*.parquet")
    dead.write_bytes(b"")
    assert values(table) == [1]
    assert table.scan().count() == 1
    assert table.scan("c = 1").count() == 1
    assert table.to_pyarrow_dataset().count_rows() == 1
    dead.write_bytes(b"PAR1")
    with pytest.raises(CorruptFile, match=r"p=a/"):
        values(table)


def test_a_file_whose_column_has_a_name_that_is_no_text_is_corrupt(tmp_path: Path) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"nom": [1]}), sink, store_schema=False)
    content = sink.getvalue().to_pybytes().replace(b"nom", b"n\x96m")
    (tmp_path / "f.parquet").write_bytes(content)
    with pytest.raises(CorruptFile, match=r"f\.parquet: not a Parquet file"):
        parquet_file(Storage.open(str(tmp_path)), "f.parquet")
