"""The properties of virtual keys, what each operation changes and refuses, and statistics.

A file that is written meanwhile has no entry of these columns in `column_stats`, and
`partition_stats` keep the bounds of before: once keys are stored again, readers would skip the
partitions that new keys are in.

Which virtual keys Apache Hudi (1.2) keeps apart and together, as its own tables need it: without
meta fields it makes a row's key in two ways, its writers by the key generator, its readers and
merges straight from the engine's values (`RecordContext`). Where the two differ, an upsert adds a
second row and a delete finds none. So such tables are refused:

=============================  ======================  =========================================
key                            writers                 merges
=============================  ======================  =========================================
one column, complex generator  `column:value`          `value`
date                           `yyyy-MM-dd`            days since 1970
consistent timestamp           `yyyy-MM-dd HH:mm:ss`   microseconds since 1970
decimal                        digits                  the address of a Java object
binary                         hexadecimal digits      the address of a Java object
=============================  ======================  =========================================

Tables to which rows are only added (`definition.APPEND_ONLY`) may have keys of the last four: Hudi
compares none, and the writers' spelling, which indexes and readers here take, is known.

Generators other than the simple, complex and non-partitioned ones are refused by Hudi itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi_expr.arrays import arrow_nulls
from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_INDEX,
    RECORD_KEY,
    SECONDARY_INDEX,
    SECONDARY_INDEX_PREFIX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import (
    APPEND_ONLY,
    CLASS,
    COLUMNS,
    CONCATENATOR,
    ENABLED,
    PREFIX,
    Generator,
    KeyDefinition,
    is_virtual,
    key_definition,
    key_types,
    python_generator,
    split_names,
    virtual_keys,
)
from pyhudi_expr.tables.keys.key_storage import base_files
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix, column_stats_key
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import TableType, require_changeable, table_checksum

_ALLOWED = frozenset({"SIMPLE", "COMPLEX", "NON_PARTITION"})


class UnmergeableKeys(UnsupportedTable):
    """Hudi would not find rows again by such virtual keys."""


def require_mergeable(definition: KeyDefinition, types: Sequence[pa.DataType], label: str) -> None:
    """Check that Hudi finds rows by virtual keys.

    Args:
        definition: The definition of the keys.
        types: The types of the key's columns.
        label: The table, for messages.

    Raises:
        UnmergeableKeys: It does not; the message says why.
    """
    reason = _reason(definition, types)
    if reason is not None:
        raise UnmergeableKeys(
            f"{label}: Apache Hudi cannot keep a table with these virtual keys: {reason}"
        )


def _reason(definition: KeyDefinition, types: Sequence[pa.DataType]) -> str | None:
    generator = definition.hudi
    if generator.name.removesuffix("_AVRO") not in _ALLOWED:
        return (
            f"it has no tables without meta fields for {generator.value}, only for the simple, "
            "complex and non-partitioned generators"
        )
    is_complex = generator in (Generator.COMPLEX, Generator.COMPLEX_AVRO)
    if is_complex and len(definition.columns) == 1 and definition.names_only_column:
        return (
            f"its complex generator spells the key of one column {definition.columns[0]!r} with "
            "the name, its merges without: upserts would add rows and deletes find none; use "
            "SimpleKeyGenerator or NonpartitionedKeyGenerator"
        )
    if definition.append_only:
        return None
    for name, type_ in zip(definition.columns, types, strict=True):
        different = _spelled_differently(f"key column {name!r} of type {type_}", type_, definition)
        if different is not None:
            return f"{different}; if rows are only added to the table, set {APPEND_ONLY}=true"
    return None


def _spelled_differently(label: str, type_: pa.DataType, definition: KeyDefinition) -> str | None:
    if pa.types.is_date(type_):
        return f"its writers spell the {label} as yyyy-MM-dd, its merges as days"
    if pa.types.is_decimal(type_):
        return f"its merges do not compare the digits of the {label}"
    if pa.types.is_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return f"its merges do not compare the bytes of the {label}"
    if pa.types.is_timestamp(type_) and definition.text.consistent_timestamps:
        return f"its writers spell the {label} as a text, its merges as a number"
    return None


def key_statistics(table: HudiTable) -> tuple[str, ...]:
    """Return the metadata partitions that may have statistics of the meta columns."""
    found = table.properties.metadata_partitions & {COLUMN_STATS, PARTITION_STATS}
    return tuple(sorted(found)) if COLUMN_STATS in found else ()


def outdated_statistics(table: HudiTable) -> tuple[str, ...]:
    """Return those of `key_statistics` if a base file with rows has no entry of its keys.

    Raises:
        HudiError: The metadata table cannot be read.
    """
    partitions = key_statistics(table)
    metadata = MetadataTable.open(table) if partitions else None
    if metadata is None:
        return ()
    entries = metadata.statistics(COLUMN_STATS, [column_prefix(RECORD_KEY)])
    with_rows = (file.path for file in base_files(table, table.listing()) if file.rows)
    there = set(entries.key.to_pylist())
    return () if all(_key(path) in there for path in with_rows) else partitions


def _key(path: str) -> str:
    """Return the key of a file's entry, by its path below the base path."""
    partition, _, name = path.rpartition("/")
    return column_stats_key(RECORD_KEY, partition, name)


_KEY_INDEXES = (RECORD_INDEX, SECONDARY_INDEX, BLOOM_FILTERS)
_HUDI_KEY_PARTITIONS = (RECORD_INDEX, SECONDARY_INDEX_PREFIX)
_GENERATOR_TYPE, _GENERATOR_CLASS = (
    hudi_names.KEY_GENERATOR_TYPE,
    hudi_names.KEY_GENERATOR_CLASS,
)
_FIRST_WITH_TYPE = 8


class KeyDefinitionChanged(HudiError):  # noqa: N818 - names the finding
    """The requested key differs from the table's own."""


@dataclass(frozen=True)
class VirtualKeySettings:
    """Requested settings. None: as the table has them.

    Attributes:
        class_name: A Java class of Hudi, or `python:NAME`.
        keep_column: Writers go on writing `_hoodie_record_key`, although readers ignore it (the
            contingency).
        append_only: Rows are only added to the table.
    """

    columns: tuple[str, ...] | None = None
    concatenator: str | None = None
    class_name: str | None = None
    keep_column: bool = False
    append_only: bool | None = None

    @staticmethod
    def of(options: Mapping[str, str]) -> VirtualKeySettings:
        """Parse the settings from a writer's options."""
        columns = options.get(COLUMNS)
        keeps = options.get(hudi_names.POPULATE_META_FIELDS, "false").lower() == "true"
        return VirtualKeySettings(
            None if columns is None else split_names(columns),
            options.get(CONCATENATOR),
            options.get(CLASS),
            keeps,
            options[APPEND_ONLY].lower() == "true" if APPEND_ONLY in options else None,
        )


def check_rewritable(table: HudiTable) -> None:
    """Check that files can be rewritten without stored keys.

    Raises:
        HudiError: The table's writers still store them.
    """
    if not is_virtual(table.properties) or table.properties.meta_fields:
        raise HudiError(
            f"{table.base_path}: its writers still write _hoodie_record_key; "
            "`pyhudi virtual-keys enable` ends that"
        )


def require_enabling(
    table: HudiTable, definition: KeyDefinition, settings: VirtualKeySettings
) -> None:
    """Check that a table can have virtual keys of this definition.

    Raises:
        HudiError: It cannot, or has indexes that would break.
    """
    require_changeable(table.properties, table.base_path)
    types = key_types(table.schema(), definition.columns, table.base_path)
    definition.generator().keys([arrow_nulls(0, type_) for type_ in types])
    _require_order(table, definition, settings)
    _require_appendable(table, definition)
    if not settings.keep_column:
        require_mergeable(definition, types, table.base_path)
        require_no_hudi_key_indexes(table)
    if virtual_keys(table.properties, table.base_path) != definition:
        require_no_key_indexes(table)


def merge_definition(table: HudiTable, settings: VirtualKeySettings) -> KeyDefinition:
    """Return the table's own definition, completed by the request.

    Raises:
        KeyDefinitionChanged: The two differ.
    """
    label, saved = table.base_path, key_definition(table.properties, table.base_path)
    requested = saved
    if settings.columns is not None and settings.columns != saved.columns:
        _differ(label, COLUMNS, ",".join(settings.columns), ",".join(saved.columns))
    if settings.class_name is not None:
        own = python_generator(settings.class_name)
        if own is None and Generator.of(settings.class_name) is not saved.hudi:
            _differ(label, CLASS, settings.class_name, saved.hudi.class_name)
        requested = replace(requested, python=own)
    if settings.concatenator is not None:
        requested = replace(requested, concatenator=settings.concatenator)
    if settings.append_only is not None:
        requested = replace(requested, append_only=settings.append_only)
    if requested != saved and is_virtual(table.properties) and ENABLED in table.properties.raw:
        given, has = requested.settings(), saved.settings()
        for key in given.keys() | has.keys():
            if given.get(key) != has.get(key):
                _differ(label, key, given.get(key, ""), has.get(key, ""))
    return requested


def require_no_key_indexes(table: HudiTable) -> None:
    """Check that the extension has no indexes that another key definition would break.

    Raises:
        HudiError: It has.
    """
    names = [
        status.name
        for status in index_statuses(table)
        if status.store is Store.EXTENSION and status.kind in _KEY_INDEXES
    ]
    if names:
        raise HudiError(
            f"{table.base_path}: the indexes {', '.join(names)} of the extension are of the keys "
            "as they have been; drop them first (pyhudi index drop), and create them again "
            "afterwards"
        )


def _differ(label: str, key: str, given: str, saved: str) -> None:
    raise KeyDefinitionChanged(
        f"{label}: {key} is {given!r}, but the table has saved {saved!r}. The definition of a "
        "table's keys cannot be changed: rows that are there would get other keys; write a new "
        "table instead"
    )


def _require_order(
    table: HudiTable, definition: KeyDefinition, settings: VirtualKeySettings
) -> None:
    if settings.keep_column and not definition.uses_hudi_keys:
        raise HudiError(
            f"{table.base_path}: while writers keep _hoodie_record_key, readers cannot spell keys "
            "in another way than Hudi; leave the concatenator and the class to the table"
        )
    if settings.keep_column and not table.properties.meta_fields:
        raise HudiError(
            f"{table.base_path}: writers do not write _hoodie_record_key any more; "
            "`pyhudi virtual-keys disable` restores it"
        )


def _require_appendable(table: HudiTable, definition: KeyDefinition) -> None:
    if definition.append_only and table.properties.table_type is not TableType.COPY_ON_WRITE:
        raise HudiError(
            f"{table.base_path}: {APPEND_ONLY} is for tables of the type COPY_ON_WRITE: log files"
            " are merged by keys"
        )


def require_no_hudi_key_indexes(table: HudiTable) -> None:
    """Check that Hudi's metadata table has no indexes of stored keys.

    Raises:
        HudiError: It has.
    """
    names = sorted(
        name
        for name in table.properties.metadata_partitions
        | table.properties.metadata_partitions_inflight
        if name.startswith(_HUDI_KEY_PARTITIONS)
    )
    if names:
        raise HudiError(
            f"{table.base_path}: Hudi's metadata table has {', '.join(names)}. Without meta fields "
            "Hudi would fill these with nothing, then write rows twice, lose deletes and find no "
            "row by its key. Drop them first (pyhudi index drop), and create them again in the "
            "extension (--store extension)"
        )


def settings_enabled(
    table: HudiTable, definition: KeyDefinition, settings: VirtualKeySettings
) -> dict[str, str | None]:
    """Return the properties that turn virtual keys on; None: it is removed."""
    properties = table.properties
    keeps = "true" if settings.keep_column else "false"
    changes: dict[str, str | None] = {
        **definition.settings(),
        hudi_names.POPULATE_META_FIELDS: keeps,
    }
    if not properties.key_generator:
        if properties.version >= _FIRST_WITH_TYPE:
            changes[_GENERATOR_TYPE] = definition.hudi.name
        else:
            changes[_GENERATOR_CLASS] = definition.hudi.class_name
    if hudi_names.TABLE_CHECKSUM not in properties.raw:
        changes[hudi_names.TABLE_CHECKSUM] = table_checksum(properties.raw)
    return changes


def settings_disabled(table: HudiTable) -> dict[str, str | None]:
    """Return the properties of a table that stores its keys."""
    own: dict[str, str | None] = dict.fromkeys(
        key for key in table.properties.raw if key.startswith(PREFIX)
    )
    return {**own, hudi_names.POPULATE_META_FIELDS: "true"}
