"""Settings that define a table's virtual record keys, and the columns of the keys.

===================================  ===========================================================
`hoodie.recordkey.virtual...`        Hudi's own setting, or the meaning
===================================  ===========================================================
`.enabled`                           readers compute the keys; if `hoodie.populate.meta.fields` is
                                     true, writers still write `_hoodie_record_key`
`.columns`                           `hoodie.table.recordkey.fields`
`.class`                             `hoodie.table.keygenerator.type` (`.class` before version 8);
                                     `python:NAME` is a custom generator, see `generators`
`.concatenator`                      Hudi supports `,` only (keys `a:x,b:y`). With another one, or
                                     with a custom generator, Hudi's writers still merge by Hudi's
                                     keys of the same columns; only our indexes and readers use the
                                     custom keys
`.timezone`                          of the writers' JVMs, where keys have timestamps as texts
`.append.only`                       rows are neither updated nor deleted, so Hudi never compares
                                     keys; key columns may be dates, decimals and bytes then
===================================  ===========================================================

A table without meta fields that has none of these settings has Hudi's key generator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import pyarrow as pa

from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.tables.hudi_names import META_COLUMNS, RECORD_KEY
from pyhudi_expr.tables.keys.generators import (
    HudiKeys,
    JavaText,
    JoinedKeys,
    KeyGenerator,
    registered,
)
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.schema import nested_type


class MissingKeyColumn(UnsupportedTable):
    """Keys are virtual, and made of a column that the table does not have."""


def key_types(schema: pa.Schema, columns: Sequence[str], label: str) -> list[pa.DataType]:
    """Return the types of the key's columns.

    Raises:
        MissingKeyColumn: A column does not exist; the message begins with `label`.
    """
    return [_type(schema, column, label) for column in columns]


def require_key_columns(properties: TableProperties, schema: pa.Schema, label: str) -> None:
    """Refuse a table with virtual keys that are made of a column that it does not have.

    A table without any key column has no keys, and nobody makes some.

    Raises:
        MissingKeyColumn: A column does not exist; the message begins with `label`.
    """
    if is_virtual(properties):
        named = split_names(properties.raw.get(COLUMNS, "")) or properties.record_key_fields
        key_types(schema, named, label)


def _type(schema: pa.Schema, column: str, label: str) -> pa.DataType:
    found = nested_type(schema, column)
    if found is None:
        raise MissingKeyColumn(
            f"{label}: the key column {column!r} is not in the schema; there are"
            f" {', '.join(schema.names)}"
        )
    return found


def columns_without_nulls(properties: TableProperties, label: str) -> tuple[str, ...]:
    """Return the columns in which a null alone means that a row has no virtual key.

    In a key of several columns Hudi spells a null as `__null__`, so it is no such column.
    """
    try:
        definition = virtual_keys(properties, label)
    except HudiError:  # whoever makes keys reports it
        return ()
    if definition is None or definition.python is not None:
        return ()
    is_one = len(definition.columns) == 1 or not definition.uses_hudi_keys
    return definition.columns if is_one else ()


def null_key_message(label: str, column: str, files: Sequence[str]) -> str:
    """Return the message about files with rows that have no record key."""
    return (
        f"{label}: the key column {column!r} is null in rows of {len(files)} files, and these rows"
        f" have no record key; the first of the files is {files[0]}. Write the rows again with"
        " a key; Hive, and Spark without the extension, show them"
    )


PREFIX = "hoodie.recordkey.virtual."
ENABLED, COLUMNS, CONCATENATOR, CLASS, TIMEZONE, APPEND_ONLY = (
    PREFIX + name
    for name in ("enabled", "columns", "concatenator", "class", "timezone", "append.only")
)
CONSISTENT_TIMESTAMPS = "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled"
NEW_ENCODING = "hoodie.write.complex.keygen.new.encoding"

HUDI_CONCATENATOR = ","
_PYTHON = "python:"
_PACKAGE = "org.apache.hudi.keygen."
_ALWAYS_NAMED = 9
"""From this table version on, the complex generator always names its only column."""


class Generator(Enum):
    """Hudi's key generators (`KeyGeneratorType`) by their types; the value is the class."""

    SIMPLE = "SimpleKeyGenerator"
    SIMPLE_AVRO = "SimpleAvroKeyGenerator"
    COMPLEX = "ComplexKeyGenerator"
    COMPLEX_AVRO = "ComplexAvroKeyGenerator"
    TIMESTAMP = "TimestampBasedKeyGenerator"
    TIMESTAMP_AVRO = "TimestampBasedAvroKeyGenerator"
    CUSTOM = "CustomKeyGenerator"
    CUSTOM_AVRO = "CustomAvroKeyGenerator"
    NON_PARTITION = "NonpartitionedKeyGenerator"
    NON_PARTITION_AVRO = "NonpartitionedAvroKeyGenerator"
    GLOBAL_DELETE = "GlobalDeleteKeyGenerator"
    GLOBAL_DELETE_AVRO = "GlobalAvroDeleteKeyGenerator"

    @property
    def class_name(self) -> str:
        """The Java class."""
        return _PACKAGE + self.value

    @staticmethod
    def of(name: str) -> Generator | None:
        """Return a generator by type or class name; None if Hudi has no such one for columns."""
        package, point, simple = name.rpartition(".")
        if package + point not in ("", _PACKAGE):
            return None  # its keys are its own, whatever its simple name is
        if simple.upper() in Generator.__members__:
            return Generator[simple.upper()]
        return next((one for one in Generator if one.value == simple), None)

    @staticmethod
    def inferred(key: Sequence[str], partitions: Sequence[str]) -> Generator:
        """Return Hudi's default generator for these key and partition columns."""
        if not partitions:
            return Generator.NON_PARTITION
        several = len(partitions) > 1 or len(key) > 1
        return Generator.COMPLEX if several else Generator.SIMPLE


@dataclass(frozen=True)
class KeyDefinition:
    """How a table's keys are computed.

    Attributes:
        columns: The columns of the key, with dots where nested.
        hudi: The generator of Hudi's writers.
        python: The name of a custom generator; None if there is none.
        concatenator: Separates the values of several columns.
        names_only_column: Whether the complex generator names its only column.
        text: How values are formatted.
        append_only: Whether rows are only added, so that no key is ever looked for by Hudi.
    """

    columns: tuple[str, ...]
    hudi: Generator
    python: str | None = None
    concatenator: str = HUDI_CONCATENATOR
    names_only_column: bool = True
    text: JavaText = field(default_factory=JavaText)
    append_only: bool = False

    @property
    def uses_hudi_keys(self) -> bool:
        """Whether the keys are those that Hudi's writers merge by."""
        joined = len(self.columns) > 1 and self.concatenator != HUDI_CONCATENATOR
        return self.python is None and not joined

    def generator(self) -> KeyGenerator:
        """Return the generator. Raises UnsupportedTable if a custom one is not registered here."""
        if self.python is not None:
            return registered(self.python)(self.columns)
        if not self.uses_hudi_keys:
            return JoinedKeys(self.columns, self.concatenator, self.text)
        return HudiKeys(self.columns, self._names_columns, self.text)

    def as_hudi_has_it(self) -> KeyDefinition:
        """Return the definition of the keys that Hudi's writers merge by.

        They also put these keys into delete blocks.
        """
        return replace(self, python=None, concatenator=HUDI_CONCATENATOR)

    @property
    def _names_columns(self) -> bool:
        if len(self.columns) > 1:
            return True
        if self.hudi in (Generator.COMPLEX, Generator.COMPLEX_AVRO):
            return self.names_only_column
        # CustomKeyGenerator uses the simple one for one column.
        return self.hudi in (Generator.GLOBAL_DELETE, Generator.GLOBAL_DELETE_AVRO)

    def settings(self) -> dict[str, str]:
        """Return the properties of the definition, all those of the design."""
        own = {} if self.python is None else {CLASS: _PYTHON + self.python}
        zone = {TIMEZONE: self.text.zone} if self.text.consistent_timestamps else {}
        appended = {APPEND_ONLY: "true"} if self.append_only else {}
        return {
            ENABLED: "true",
            COLUMNS: ",".join(self.columns),
            CONCATENATOR: self.concatenator,
            CLASS: self.hudi.class_name,
            **own,
            **zone,
            **appended,
        }


def virtual_keys(properties: TableProperties, label: str) -> KeyDefinition | None:
    """Return the definition by which readers compute the table's keys; None if they are stored.

    Raises:
        HudiError: The table (`label`) does not define its keys.
    """
    if is_virtual(properties):
        return key_definition(properties, label)
    return None


def is_virtual(properties: TableProperties) -> bool:
    """Return whether readers compute the keys, whether or not some are stored."""
    return not properties.meta_fields or properties.raw.get(ENABLED, "").lower() == "true"


def hidden_columns(properties: TableProperties) -> frozenset[str]:
    """Return the meta columns that readers show as nulls, although some files have values."""
    if not properties.meta_fields:
        return frozenset(META_COLUMNS)
    return frozenset({RECORD_KEY}) if is_virtual(properties) else frozenset()


def key_definition(properties: TableProperties, label: str) -> KeyDefinition:
    """Return how the table's keys are computed, stored or not. Raises HudiError."""
    raw = properties.raw
    columns = split_names(raw.get(COLUMNS, "")) or properties.record_key_fields
    if not columns:
        raise UnsupportedTable(
            f"{label}: the table has no record key of its own (hoodie.table.recordkey.fields), so"
            " no key columns: Hudi makes synthetic keys and stores them; nobody can make them again"
        )
    if columns != properties.record_key_fields:
        raise HudiError(
            f"{label}: {COLUMNS} is {','.join(columns)!r}, but hoodie.table.recordkey.fields is "
            f"{','.join(properties.record_key_fields)!r}; hoodie.properties was changed by hand"
        )
    own = raw.get(CLASS, "")
    if own and python_generator(own) is None and Generator.of(own) is None:
        raise UnsupportedTable(
            f"{label}: {CLASS} is {own!r}, a Java class whose keys cannot be made here. Where the "
            "table stores its keys, remove this setting; else write it anew with the keys of this "
            "class as a column"
        )
    return KeyDefinition(
        columns,
        _hudi_generator(properties, label),
        python_generator(own),
        raw.get(CONCATENATOR) or HUDI_CONCATENATOR,
        properties.version >= _ALWAYS_NAMED or not _flag(raw, NEW_ENCODING),
        JavaText(_flag(raw, CONSISTENT_TIMESTAMPS), raw.get(TIMEZONE) or "UTC"),
        _flag(raw, APPEND_ONLY),
    )


def split_names(names: str) -> tuple[str, ...]:
    """Return the names of a comma separated list."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def python_generator(class_name: str) -> str | None:
    """Return the name in `python:NAME`; None for a Java class."""
    return class_name.removeprefix(_PYTHON) if class_name.startswith(_PYTHON) else None


def _hudi_generator(properties: TableProperties, label: str) -> Generator:
    if not properties.key_generator:
        return Generator.inferred(properties.record_key_fields, properties.partition_fields)
    found = Generator.of(properties.key_generator)
    if found is None:
        raise UnsupportedTable(
            f"{label}: keys of the generator {properties.key_generator!r} cannot be made here; "
            "Hudi's simple, complex, non-partitioned, timestamp based and custom ones can"
        )
    return found


def _flag(raw: Mapping[str, str], key: str) -> bool:
    return raw.get(key, "").strip().lower() == "true"
