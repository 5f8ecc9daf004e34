"""The columns of decoded Avro records, and the parsing of their schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy.typing as npt

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.mdt.bytes.byte_strings import ByteStrings

#: A schema as JSON: the name of a type, a list of branches, or a mapping.
AvroSchema: TypeAlias = Any


class UndecodedError(ValueError):
    """The records are damaged, or not supported here; the message says which."""


@dataclass(frozen=True)
class Numbers:
    """Integers (int64), floats (float64) or booleans, one for each row."""

    values: npt.NDArray[Any]


@dataclass(frozen=True)
class Texts:
    """Strings (as UTF-8) or bytes, one for each row."""

    values: ByteStrings


@dataclass(frozen=True)
class Struct:
    """A record: its fields by name, all with the same rows."""

    fields: dict[str, Column]


@dataclass(frozen=True)
class Branch:
    """The rows of a union that took one branch, ascending, and their values.

    Attributes:
        name: The branch's type; for a record its name without namespace.
    """

    name: str
    rows: Int64Array
    column: Column


@dataclass(frozen=True)
class Union:
    """A union: its branches that occur, without nulls.

    Attributes:
        size: The number of rows.
    """

    size: int
    branches: tuple[Branch, ...]


@dataclass(frozen=True)
class Entries:
    """Maps: all entries of all rows, ascending by row; entry i belongs to row `rows[i]`."""

    rows: Int64Array
    key: Texts
    value: Column


@dataclass(frozen=True)
class Skipped:
    """Arrays, which are skipped."""


Column: TypeAlias = Numbers | Texts | Struct | Union | Entries | Skipped | None
"""None: nulls only."""


@lru_cache(maxsize=64)
def parsed(schema: str) -> tuple[Any, dict[str, Any]]:
    """Return the schema, and its named types by their names without namespace."""
    named: dict[str, Any] = {}
    root = json.loads(schema)
    for node in _types(root):
        if "name" in node and node["type"] in ("record", "fixed", "enum"):
            name = simple(node["name"])
            if named.setdefault(name, node) is not node:
                raise UndecodedError(f"two types are named {name}")
    refuse_empty(root)
    return root, named


def refuse_empty(schema: AvroSchema) -> None:
    """Check that no few bytes may hold any number of values.

    The length of an array is a number in the data, and records consist of records. Without this
    check 2**60 items of no size would be read one by one. All of Hudi's records take at least one
    byte.

    Raises:
        UndecodedError: A type takes no bytes.
    """
    types = list(_types(schema))
    sized = [node for node in types if node.get("type") in ("record", "fixed")]
    # Names of types that may take no bytes; those that cannot are removed until none is left.
    empty, before = {simple(str(node.get("name"))) for node in sized}, None
    while empty != before:
        before = empty
        empty = {simple(str(node.get("name"))) for node in sized if _is_empty(node, before)}
    for node in types:
        repeated = {"record": node, "array": node.get("items")}.get(str(node.get("type")))
        if repeated is not None and _is_empty(repeated, empty):
            raise UndecodedError("the schema has values that may be many in no bytes")


def _is_empty(schema: AvroSchema, empty: set[str]) -> bool:
    """Return whether values of the schema take no bytes; `empty` are the names of such types."""
    match schema:
        case str():
            return schema == "null" or simple(schema) in empty
        case {"type": "record", "fields": fields}:
            return all(_is_empty(field["type"], empty) for field in fields)
        case {"type": "fixed", "size": size}:
            return not size
        case {"type": kind}:
            return _is_empty(kind, empty)
    return False


def _types(schema: AvroSchema) -> Iterator[dict[str, Any]]:
    """Return every part of the schema that is an object, including the fields of records."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
        if isinstance(node, dict | list):
            children = node.values() if isinstance(node, dict) else node
            waiting.extend(child for child in children if isinstance(child, dict | list))


def simple(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition(".")[2]


def branch_name(schema: AvroSchema) -> str:
    """Return the name of a union's branch: its type, or a named type's name without namespace."""
    if isinstance(schema, dict):
        schema = schema.get("name", schema["type"])
    return simple(schema) if isinstance(schema, str) else ""
