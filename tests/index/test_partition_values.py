"""What a partition's path proves about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.index.partition_values import (
    FormattedPaths,
    PartitionRanges,
    PartitionValues,
    PathLayout,
    path_layout,
)
from pyhudi_expr.tables.properties import TableProperties
from tests.index.statistics_entries import UNKNOWN, column, plain

HIVE = PathLayout(("p",), hive_style=True, encoded=False)
PLAIN = PathLayout(("p",), hive_style=False, encoded=False)
ENCODED = PathLayout(("p",), hive_style=True, encoded=True)
LEVELS = PathLayout(("p", "q"), hive_style=True, encoded=False)


def found(
    paths: Sequence[str], layout: PathLayout, type_: pa.DataType, name: str = "p"
) -> list[tuple[Any, Any, bool, bool]]:
    bounds = PartitionValues(paths, layout).bounds(column(type_, name))
    assert bounds is not None
    return plain(bounds)


def exactly(value: Any) -> tuple[Any, Any, bool, bool]:
    return (value, value, True, False)


DAY = date(2024, 2, 29).toordinal() - date(1970, 1, 1).toordinal()


@pytest.mark.parametrize(
    ("path", "layout", "type_", "value"),
    [
        ("p=a", HIVE, pa.string(), b"a"),
        ("P=a", HIVE, pa.string(), b"a"),
        ("a", PLAIN, pa.string(), b"a"),
        ("p=a=b", HIVE, pa.string(), b"a=b"),
        ("p=日本 é'", HIVE, pa.string(), "日本 é'".encode()),
        ("p=a%2Fb%3A%25", ENCODED, pa.string(), b"a/b:%"),
        ("p=naïve", ENCODED, pa.string(), "naïve".encode()),
        ("p=a+b", ENCODED, pa.string(), b"a+b"),
        ("p=7", HIVE, pa.int32(), 7),
        ("p=-7", HIVE, pa.int64(), -7),
        ("p=0", HIVE, pa.int32(), 0),
        ("p=true", HIVE, pa.bool_(), 1),
        ("p=false", HIVE, pa.bool_(), 0),
        ("p=2024-02-29", HIVE, pa.date32(), DAY),
        ("p=1", HIVE, pa.string(), b"1"),
    ],
)
def test_paths_that_determine_a_value(
    path: str, layout: PathLayout, type_: pa.DataType, value: Any
) -> None:
    assert found([path], layout, type_) == [exactly(value)]


@pytest.mark.parametrize(
    ("path", "layout", "type_"),
    [
        ("p=__HIVE_DEFAULT_PARTITION__", HIVE, pa.string()),
        ("__HIVE_DEFAULT_PARTITION__", PLAIN, pa.int32()),
        ("p=default", HIVE, pa.string()),
        ("p=", HIVE, pa.string()),
        ("", PLAIN, pa.string()),
        ("a", HIVE, pa.string()),
        ("q=a", HIVE, pa.string()),
        ("p=a/q=b", HIVE, pa.string()),
        ("p=50%25", HIVE, pa.string()),
        ("p=%FF", ENCODED, pa.string()),
        ("p=na%C3%AFve", ENCODED, pa.string()),
        ("a=b", PLAIN, pa.string()),
        ("p=b", PLAIN, pa.string()),
        ("p=07", HIVE, pa.int32()),
        ("p=+7", HIVE, pa.int32()),
        ("p=-0", HIVE, pa.int32()),
        ("p=7.0", HIVE, pa.int32()),
        ("p=７", HIVE, pa.int32()),
        ("p=3000000000", HIVE, pa.int32()),
        ("p=TRUE", HIVE, pa.bool_()),
        ("p=2024-2-9", HIVE, pa.date32()),
        ("p=2023-02-29", HIVE, pa.date32()),
        ("p=19782", HIVE, pa.date32()),
    ],
)
def test_ambiguous_paths(path: str, layout: PathLayout, type_: pa.DataType) -> None:
    assert found([path], layout, type_) == [UNKNOWN]


@pytest.mark.parametrize(
    "type_", [pa.float64(), pa.decimal128(9, 2), pa.timestamp("us", "UTC"), pa.binary()]
)
def test_types_whose_text_in_paths_is_ambiguous(type_: pa.DataType) -> None:
    assert PartitionValues(["p=1"], HIVE).bounds(column(type_, "p")) is None


def test_other_columns_are_unknown() -> None:
    assert PartitionValues(["p=1"], HIVE).bounds(column(pa.int32(), "x")) is None


def test_each_level_of_a_path_has_its_value() -> None:
    paths = ["p=a/q=1", "p=a/q=2", "p=__HIVE_DEFAULT_PARTITION__/q=1"]
    assert found(paths, LEVELS, pa.string(), "p") == [exactly(b"a"), exactly(b"a"), UNKNOWN]
    assert found(paths, LEVELS, pa.int32(), "q") == [exactly(1), exactly(2), exactly(1)]


def test_a_table_without_partitions() -> None:
    values = PartitionValues([""], PathLayout((), hive_style=False, encoded=False))
    assert values.bounds(column(pa.string(), "p")) is None


def layout(generator: str, fields: str, **more: str) -> PathLayout:
    raw = {
        "hoodie.table.version": "6" if "." in generator else "9",
        "hoodie.table.partition.fields": fields,
        f"hoodie.table.keygenerator.{'class' if '.' in generator else 'type'}": generator,
        **more,
    }
    return path_layout(TableProperties.parse(raw, "t"))


PACKAGE = "org.apache.hudi.keygen."


@pytest.mark.parametrize(
    ("generator", "fields", "trusted"),
    [
        ("SIMPLE", "p", ("p",)),
        ("SIMPLE_AVRO", "p", ("p",)),
        ("COMPLEX", "p,q", ("p", "q")),
        ("COMPLEX_AVRO", "p,q", ("p", "q")),
        ("CUSTOM", "p:SIMPLE,q:TIMESTAMP", ("p", "")),
        ("CUSTOM", "p:simple", ("p",)),
        ("CUSTOM", "p,q", ("", "")),
        ("TIMESTAMP", "p", ("",)),
        ("TIMESTAMP_AVRO", "p", ("",)),
        ("USER_PROVIDED", "p", ("",)),
        ("", "p", ("",)),
        (f"{PACKAGE}SimpleKeyGenerator", "p", ("p",)),
        (f"{PACKAGE}SimpleAvroKeyGenerator", "p", ("p",)),
        (f"{PACKAGE}ComplexKeyGenerator", "p,q", ("p", "q")),
        (f"{PACKAGE}CustomKeyGenerator", "p:SIMPLE,q:TIMESTAMP", ("p", "")),
        (f"{PACKAGE}TimestampBasedKeyGenerator", "p", ("",)),
        ("com.example.MyKeyGenerator", "p", ("",)),
    ],
)
def test_key_generators_that_write_values_unchanged(
    generator: str, fields: str, trusted: tuple[str, ...]
) -> None:
    assert layout(generator, fields).fields == trusted


def test_the_properties_define_the_format_of_paths() -> None:
    found = layout(
        "SIMPLE",
        "p",
        **{
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.partitionpath.urlencode": "true",
        },
    )
    assert (found.hive_style, found.encoded) == (True, True)
    found = layout("SIMPLE", "p")
    assert (found.hive_style, found.encoded) == (False, False)


DAY_SECONDS, HOUR_SECONDS = 86400, 3600
LEAP_DAY = DAY * DAY_SECONDS
"""The seconds at which the 29th of February 2024 begins in UTC."""


def times(
    path: str, type_: pa.DataType, unit: str, format_: str, zone: str | None = "UTC", **more: str
) -> tuple[Any, Any, bool, bool] | None:
    """The bounds of `p` in a partition of a TimestampBasedKeyGenerator's table."""
    settings = {"timestamp.type": unit, "output.dateformat": format_, "timezone": zone}
    raw = {
        "hoodie.table.version": "9",
        "hoodie.table.partition.fields": "p",
        "hoodie.table.keygenerator.type": "TIMESTAMP",
        "hoodie.datasource.write.hive_style_partitioning": str(path.startswith("p=")).lower(),
        **{f"hoodie.keygen.timebased.{key}": text for key, text in settings.items() if text},
        **{key.replace("__", "."): text for key, text in more.items()},
    }
    properties = TableProperties.parse(raw, "t")
    values = PartitionValues([path], path_layout(properties))
    ranges = PartitionRanges(values, pa.array([path]), FormattedPaths.of(properties))
    bounds = ranges.bounds(column(type_, "p"))
    return None if bounds is None else plain(bounds)[0]


def span(start: int, length: int, unit: int) -> tuple[int, int, bool, bool]:
    """A span of seconds in units of which a second has so many; NULL may be in any partition."""
    return start * unit, (start + length) * unit - 1, True, True


@pytest.mark.parametrize(
    ("path", "type_", "unit", "format_", "zone", "expected"),
    [
        ("p=2024-02-29", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", "UTC", (DAY_SECONDS, 1, 0)),
        ("p=20240229", pa.int32(), "UNIX_TIMESTAMP", "yyyyMMdd", "GMT", (DAY_SECONDS, 1, 0)),
        (
            "2024/02/29",
            pa.int64(),
            "EPOCHMILLISECONDS",
            "yyyy/MM/dd",
            "UTC",
            (DAY_SECONDS, 1000, 0),
        ),
        ("p=29.02.2024", pa.int64(), "UNIX_TIMESTAMP", "dd.MM.yyyy", "UTC", (DAY_SECONDS, 1, 0)),
        ("p=2024-02-29 00", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd HH", "UTC", (3600, 1, 0)),
        ("p=202402290000", pa.int64(), "UNIX_TIMESTAMP", "yyyyMMddHHmm", "UTC", (60, 1, 0)),
        ("p=2024-02-29", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", "GMT+8", (DAY_SECONDS, 1, 8)),
        ("p=2024-02-29", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", "GMT-1:00", (86400, 1, -1)),
    ],
)
def test_a_path_that_is_formatted_from_a_time_bounds_it(
    path: str,
    type_: pa.DataType,
    unit: str,
    format_: str,
    zone: str,
    expected: tuple[int, int, int],
) -> None:
    length, units, ahead = expected
    found = times(path, type_, unit, format_, zone)
    assert found == span(LEAP_DAY - ahead * HOUR_SECONDS, length, units)


def test_months_and_years_have_their_lengths() -> None:
    month = times("p=2024-02", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM")
    assert month == span(LEAP_DAY - 28 * DAY_SECONDS, 29 * DAY_SECONDS, 1)
    year = times("p=2024", pa.int64(), "UNIX_TIMESTAMP", "yyyy")
    assert year == span(LEAP_DAY - 59 * DAY_SECONDS, 366 * DAY_SECONDS, 1)
    last = times("p=9999-12", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM")
    assert last is not None
    assert last[1] == 253402300799


def test_microseconds_are_cut_towards_1970() -> None:
    for type_ in (pa.int64(), pa.timestamp("us", "UTC")):
        found = times("p=1970-01-01", type_, "EPOCHMICROSECONDS", "yyyy-MM-dd")
        assert found == (-999, DAY_SECONDS * 10**6 - 1, True, True)


def test_days() -> None:
    scalar = {"hoodie__keygen__timebased__timestamp__scalar__time__unit": "days"}
    for type_ in (pa.int64(), pa.date32()):
        found = times("p=2024-02-29", type_, "SCALAR", "yyyy-MM-dd", **scalar)
        assert found == (DAY, DAY, True, True)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "GMT+19"])
def test_a_zone_that_is_not_known_widens_the_range(zone: str | None) -> None:
    found = times("p=2024-02-29", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", zone)
    most = 18 * HOUR_SECONDS
    assert found == (LEAP_DAY - most, LEAP_DAY + DAY_SECONDS + most - 1, True, True)


@pytest.mark.parametrize(
    ("path", "type_", "unit", "format_", "more"),
    [
        ("p=2024-02-30", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", {}),
        ("p=1899-12-31", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", {}),
        ("p=55980-09-09", pa.int64(), "EPOCHMILLISECONDS", "yyyy-MM-dd", {}),
        ("p=__HIVE_DEFAULT_PARTITION__", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", {}),
        ("p=20240229", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", {}),
        ("p=3000-01-01", pa.int64(), "SCALAR", "yyyy-MM-dd", {"unit": "NANOSECONDS"}),
        ("p=2024-29", pa.int64(), "UNIX_TIMESTAMP", "yyyy-dd", {}),  # a day of any month
        ("p=2024-W09", pa.int64(), "UNIX_TIMESTAMP", "xxxx-'W'ww", {}),
        ("p=2024-02-29", pa.int64(), "SCALAR", "yyyy-MM-dd", {}),  # of an unknown unit
        ("p=2024-02-29", pa.string(), "DATE_STRING", "yyyy-MM-dd", {}),
        ("p=2024-02-29", pa.float64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", {}),
        ("p=2024-02-29", pa.timestamp("us", "UTC"), "EPOCHMILLISECONDS", "yyyy-MM-dd", {}),
        ("p=2024-02-29", pa.timestamp("us"), "EPOCHMICROSECONDS", "yyyy-MM-dd", {}),
        ("p=2024-02-29", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", {"parser": "com.Own"}),
        ("p=2024-02-29", pa.int64(), "UNIX_TIMESTAMP", "yyyy-MM-dd", {"generator": "CUSTOM"}),
    ],
)
def test_other_paths_and_settings_prove_nothing(
    path: str, type_: pa.DataType, unit: str, format_: str, more: dict[str, str]
) -> None:
    keys = {
        "unit": "hoodie__keygen__timebased__timestamp__scalar__time__unit",
        "parser": "hoodie__keygen__datetime__parser__class",
        "generator": "hoodie__table__keygenerator__type",
    }
    named = {keys[name]: text for name, text in more.items()}
    assert times(path, type_, unit, format_, **named) in (None, UNKNOWN)
