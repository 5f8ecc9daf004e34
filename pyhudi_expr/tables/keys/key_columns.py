"""The columns of a table's keys in its schema."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.tables.keys.definition import COLUMNS, is_virtual, split_names, virtual_keys
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
        " a key; Hive and Spark's own reader show them"
    )
