"""Virtual keys that Hudi's own merging would break: measured with Hudi 1.2."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from pyhudi_expr.manage.virtual_key_settings import UnmergeableKeys, require_mergeable
from pyhudi_expr.tables.keys.definition import Generator, KeyDefinition
from pyhudi_expr.tables.keys.generators import JavaText

INSTANT = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.int32(), pa.int64(), pa.float64(), INSTANT, pa.timestamp("us")]
)
def test_keys_that_hudi_merges_correctly(type_: pa.DataType) -> None:
    require_mergeable(KeyDefinition(("a",), Generator.NON_PARTITION), [type_], "t")
    require_mergeable(KeyDefinition(("a", "b"), Generator.COMPLEX), [type_, pa.string()], "t")


@pytest.mark.parametrize("type_", [pa.date32(), pa.decimal128(10, 2), pa.binary()])
def test_types_that_hudi_merges_wrongly(type_: pa.DataType) -> None:
    for columns in (("a",), ("b", "a")):
        definition = KeyDefinition(columns, Generator.NON_PARTITION)
        with pytest.raises(UnmergeableKeys, match=r"t: .*'a'"):
            require_mergeable(definition, [*[pa.string()] * (len(columns) - 1), type_], "t")


@pytest.mark.parametrize("type_", [pa.date32(), pa.decimal128(10, 2), pa.binary(), INSTANT])
def test_a_table_to_which_rows_are_only_added_may_have_them(type_: pa.DataType) -> None:
    text = JavaText(consistent_timestamps=True)
    refused = KeyDefinition(("a",), Generator.NON_PARTITION, text=text)
    with pytest.raises(UnmergeableKeys, match=r"set hoodie\.recordkey\.virtual\.append\.only=true"):
        require_mergeable(refused, [type_], "t")
    require_mergeable(replace(refused, append_only=True), [type_], "t")
    with pytest.raises(UnmergeableKeys, match="CustomKeyGenerator"):
        require_mergeable(replace(refused, append_only=True, hudi=Generator.CUSTOM), [type_], "t")


def test_timestamps_formatted_as_text() -> None:
    text = JavaText(consistent_timestamps=True)
    with pytest.raises(UnmergeableKeys, match="as a text"):
        require_mergeable(KeyDefinition(("a",), Generator.SIMPLE, text=text), [INSTANT], "t")


def test_the_only_column_of_a_complex_generator() -> None:
    with pytest.raises(UnmergeableKeys, match="SimpleKeyGenerator"):
        require_mergeable(KeyDefinition(("a",), Generator.COMPLEX), [pa.string()], "t")
    plain = KeyDefinition(("a",), Generator.COMPLEX, names_only_column=False)
    require_mergeable(plain, [pa.string()], "t")


@pytest.mark.parametrize("name", ["TIMESTAMP", "CUSTOM", "GLOBAL_DELETE"])
def test_generators_that_hudi_refuses_for_virtual_keys(name: str) -> None:
    with pytest.raises(UnmergeableKeys, match=Generator[name].value):
        require_mergeable(KeyDefinition(("a",), Generator[name]), [pa.string()], "t")
