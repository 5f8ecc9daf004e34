"""The key definition of a table, from its properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.tables.keys.definition import (
    Generator,
    hidden_columns,
    is_virtual,
    key_definition,
    virtual_keys,
)
from pyhudi_expr.tables.keys.generators import MissingKey, register
from pyhudi_expr.tables.properties import TableProperties

A, N = pa.array(["x", "", None]), pa.array([1, 2, None], pa.int32())


def properties(given: Mapping[str, str]) -> TableProperties:
    raw = {
        "hoodie.table.version": "9",
        "hoodie.populate.meta.fields": "false",
        "hoodie.table.recordkey.fields": "a",
    }
    return TableProperties.parse({**raw, **given}, "t")


def keys(columns: Sequence[pa.Array], **given: str) -> list[str | None]:
    raw = {name.replace("__", "."): value for name, value in given.items()}
    generator = key_definition(
        properties({f"hoodie.{k}": v for k, v in raw.items()}), "t"
    ).generator()
    found: list[str | None] = generator.keys(columns).to_pylist()
    return found


TWO = {"table__recordkey__fields": "a,n"}


@pytest.mark.parametrize(
    ("generator", "key"),
    [
        ("SIMPLE", "x"),
        ("NON_PARTITION", "x"),
        ("TIMESTAMP", "x"),
        ("CUSTOM", "x"),
        ("COMPLEX", "a:x"),
        ("COMPLEX_AVRO", "a:x"),
        ("GLOBAL_DELETE", "a:x"),
        ("org.apache.hudi.keygen.ComplexKeyGenerator", "a:x"),
        ("org.apache.hudi.keygen.NonpartitionedAvroKeyGenerator", "x"),
    ],
)
def test_the_key_of_one_column(generator: str, key: str) -> None:
    assert keys([A[:1]], table__keygenerator__type=generator) == [key]


def test_a_class_of_another_package_is_another_generator() -> None:
    with pytest.raises(UnsupportedTable, match=r"'com\.acme\.ComplexKeyGenerator' cannot be made"):
        keys([A[:1]], table__keygenerator__type="com.acme.ComplexKeyGenerator")


def test_the_complex_generators_new_encoding_ends_with_version_9() -> None:
    new = {
        "table__keygenerator__type": "COMPLEX",
        "write__complex__keygen__new__encoding": "true",
    }
    assert keys([A[:1]], **new) == ["a:x"]
    assert keys([A[:1]], **new, table__version="8") == ["x"]
    assert keys([A[:1]], table__keygenerator__type="COMPLEX", table__version="8") == ["a:x"]


@pytest.mark.parametrize("generator", ["COMPLEX", "CUSTOM", "NON_PARTITION", ""])
def test_the_key_of_several_columns(generator: str) -> None:
    found = keys([A[:2], N[:2]], **TWO, table__keygenerator__type=generator)
    assert found == ["a:x,n:1", "a:__empty__,n:2"]
    assert keys([A[2:], N[:1]], **TWO) == ["a:__null__,n:1"]


def test_an_error_about_a_row_without_a_key_shows_its_values() -> None:
    with pytest.raises(MissingKey, match=r"a, n .*\{'a': None, 'n': None\}"):
        keys([A, N], **TWO)
    with pytest.raises(MissingKey, match=r"\{'a': ''\}"):
        keys([A[:2]])


def test_keys_are_joined_by_the_tables_concatenator() -> None:
    assert keys([A[:2], N[:2]], **TWO, recordkey__virtual__concatenator="_") == ["x_1", "_2"]
    with pytest.raises(MissingKey, match="'a': None"):
        keys([A[2:], N[:1]], **TWO, recordkey__virtual__concatenator="_")
    assert keys([A[:1]], recordkey__virtual__concatenator="_") == ["x"]


class UpperKeys:
    """A key generator as a user would write it."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns

    def keys(self, columns: Sequence[pa.Array]) -> pa.Array:
        return pc.utf8_upper(columns[0])


def test_a_custom_generator() -> None:
    register("upper", UpperKeys)
    assert keys([A[:1]], recordkey__virtual__class="python:upper") == ["X"]
    with pytest.raises(UnsupportedTable, match=r"'lower' is not known.*register"):
        keys([A[:1]], recordkey__virtual__class="python:lower")


def test_properties_that_make_keys_virtual() -> None:
    stored = {"hoodie.populate.meta.fields": "true"}
    assert virtual_keys(properties(stored), "t") is None
    assert is_virtual(properties({}))
    assert is_virtual(properties({**stored, "hoodie.recordkey.virtual.enabled": "true"}))


def test_meta_columns_that_readers_show_as_null() -> None:
    stored = {"hoodie.populate.meta.fields": "true"}
    assert hidden_columns(properties(stored)) == set()
    contingency = properties({**stored, "hoodie.recordkey.virtual.enabled": "true"})
    assert hidden_columns(contingency) == {"_hoodie_record_key"}
    assert len(hidden_columns(properties({}))) == 5


def test_properties_that_contradict_each_other() -> None:
    with pytest.raises(HudiError, match=r"'b', but hoodie\.table\.recordkey\.fields is 'a'"):
        virtual_keys(properties({"hoodie.recordkey.virtual.columns": "b"}), "t")
    with pytest.raises(UnsupportedTable, match=r"com\.acme\.Keys"):
        virtual_keys(properties({"hoodie.table.keygenerator.type": "com.acme.Keys"}), "t")
    with pytest.raises(
        UnsupportedTable, match=r"virtual\.class is 'com\.acme\.Keys', a Java class"
    ):
        virtual_keys(properties({"hoodie.recordkey.virtual.class": "com.acme.Keys"}), "t")
    with pytest.raises(UnsupportedTable, match="no record key"):
        virtual_keys(properties({"hoodie.table.recordkey.fields": ""}), "t")


def test_the_settings_survive_a_round_trip() -> None:
    given = {
        "hoodie.table.recordkey.fields": "a,n",
        "hoodie.table.keygenerator.type": "COMPLEX",
        "hoodie.recordkey.virtual.concatenator": "_",
        "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": "true",
        "hoodie.recordkey.virtual.timezone": "Europe/Oslo",
    }
    definition = key_definition(properties(given), "t")
    assert definition.hudi is Generator.COMPLEX
    assert not definition.uses_hudi_keys
    assert key_definition(properties({**given, **definition.settings()}), "t") == definition
