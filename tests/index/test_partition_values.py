"""What a partition's path proves about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.index.partition_values import PartitionValues, PathLayout, path_layout
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
    ("generator", "fields", "believed"),
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
    generator: str, fields: str, believed: tuple[str, ...]
) -> None:
    assert layout(generator, fields).fields == believed


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
